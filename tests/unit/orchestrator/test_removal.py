"""An answer without its failing claims: Markdown around them still reads as it did."""

from __future__ import annotations

from types import ModuleType

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import Report
from veridical.core.measurements import Query
from veridical.core.types import Span
from veridical.orchestrator import without_failing
from veridical.orchestrator.removal import _disjoint, _without
from veridical.testing import fake_estimate

CASES = [
    ("It is red. It never sank. It is blue.", "It is red. It is blue."),
    ("It never sank. It is blue.", "It is blue."),
    ("It is red. It never sank.", "It is red."),
    ("- It is red.\n- It never sank.\n- It is blue.", "- It is red.\n- It is blue."),
    ("1. It is red.\n2. It never sank.\n", "1. It is red.\n"),
    ("- It never sank. It is blue.", "- It is blue."),
    ("It is red.\n\nIt never sank.\n\nIt is blue.", "It is red.\n\nIt is blue."),
    ("It is red. **It never sank.** It is blue.", "It is red. It is blue."),
    ("| A | B |\n|---|---|\n| Ship | never sank |\n| Boat | red |", None),
    ("It never sank.", ""),
    ("It is red.", "It is red."),
    (
        "It is red.\n\n```\nx = 1  # never [S9]\n```\n",
        "It is red.\n\n```\nx = 1  # never [S9]\n```\n",
    ),
]


def against_never(bridge: ModuleType, answer: str) -> Report:
    """Check an answer with a backend that is against every claim with "never"."""

    def reads(query: Query) -> object:
        never = "never" in query.claim
        return fake_estimate(0.01, 0.98) if never else fake_estimate(0.98, 0.01)

    async def run() -> Report:
        found: Report = await bridge.verifier(reads).check(answer, bridge.SOURCES)
        return found

    return anyio.run(run)


@pytest.mark.parametrize(("answer", "kept"), CASES)
def test_a_failing_claim_is_taken_out_of_its_place(
    bridge: ModuleType, answer: str, kept: str | None
) -> None:
    expected = answer.replace("| Ship | never sank |\n", "") if kept is None else kept
    assert without_failing(against_never(bridge, answer)) == expected


def test_overlapping_claims_are_taken_out_once() -> None:
    assert _disjoint([Span(5, 9), Span(0, 3), Span(7, 12)]) == [Span(0, 3), Span(5, 12)]


@given(st.text(alphabet="ab -*|\n1.", max_size=30), st.integers(0, 30), st.integers(1, 30))
def test_no_other_word_is_lost(text: str, start: int, length: int) -> None:
    span = Span(min(start, len(text)), min(start + length, len(text)))
    kept = [c for c in text[: span.start] + text[span.end :] if c.isalpha()]
    assert [c for c in _without(text, span) if c.isalpha()] == kept
