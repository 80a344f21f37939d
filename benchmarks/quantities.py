"""Share of pairs judged right that differ in a quantity, or only seem to.

`quantity_pairs.jsonl` has a hundred claims with their evidence, in twelve kinds of text. Half of
them state the evidence's quantity in another form (supported), half another value, unit, date,
time, sign or ordinal (contradicted). The rules were written with half A at hand; half B was written
before them and read once they stood.

Every claim goes through `Verifier.verify` with the embedded verifier, at the thresholds that ship.
Right is the status "supported" for an equal quantity and "contradicted" for another one; flagged is
any status that a gate stops. "Without the rules" is the same verifier that leaves the claim's
quantities as they are and puts none of the evidence's into it.
"""

from __future__ import annotations

import argparse
import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import anyio

from _common import Page, Requirement, publish, table
from veridical import Verifier
from veridical.core.verdicts import Status, Verdict
from veridical.pipeline.inference.embedded import EmbeddedVerifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAIRS = Path(__file__).parent / "quantity_pairs.jsonl"
RIGHT = {"equal": Status.SUPPORTED, "different": Status.CONTRADICTED}
LEAST = 98


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim, its evidence, and whether both state the same quantity."""

    id: str
    domain: str
    kind: str
    label: str
    evidence: str
    claim: str

    @property
    def half(self) -> str:
        """A, which the rules were developed on, or B."""
        return self.id[0].upper()


def main() -> None:
    """Judge every pair with the rules and without, print the page."""
    chosen = options()
    found = [pair for pair in pairs() if chosen.half in {None, pair.half}]
    verifier = Verifier(EmbeddedVerifier())
    with_rules = anyio.run(judged, verifier, found)
    with switched_off():
        without = anyio.run(judged, verifier, found)
    page = Page("Quantities", lines(found, with_rules, without), required(found, with_rules))
    publish(page, __doc__, chosen)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("A", "B"), help="judge one half only")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


def pairs() -> list[Pair]:
    """Return all pairs."""
    return [Pair(**json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


async def judged(verifier: Verifier, found: Sequence[Pair]) -> list[Verdict]:
    """Return the verdict on each pair."""
    return [await verifier.verify(pair.claim, {"S1": pair.evidence}) for pair in found]


@contextmanager
def switched_off() -> Iterator[None]:
    """Have the verifier read claims as they are, and only as they are."""
    with (
        patch("veridical.verification.bound_claims.worded_as_evidence", lambda claim, _: claim),
        patch("veridical.verification.rule_stage.replaced", lambda *_: ()),
    ):
        yield


# --- the page --------------------------------------------------------------------------------


def lines(
    found: Sequence[Pair], with_rules: Sequence[Verdict], without: Sequence[Verdict]
) -> list[str]:
    """Return how many pairs are right, by half and label, and which are not."""
    head = ("", "pairs", "right", "right without the rules")
    groups: dict[str, Callable[[Pair], bool]] = {
        "all": lambda _: True,
        "half A": lambda pair: pair.half == "A",
        "half B": lambda pair: pair.half == "B",
        "equal, half B": lambda pair: pair.half == "B" and pair.label == "equal",
        "different, half B": lambda pair: pair.half == "B" and pair.label == "different",
    }
    rows = []
    for name, belongs in groups.items():
        chosen = [i for i, pair in enumerate(found) if belongs(pair)]
        rights = [sum(right(found[i], v[i]) for i in chosen) for v in (with_rules, without)]
        rows.append((name, len(chosen), *rights))
    return [*table(head, rows), *_wrong(found, with_rules)]


def _wrong(found: Sequence[Pair], verdicts: Sequence[Verdict]) -> list[str]:
    rows = [
        (pair.id, pair.domain, pair.kind, pair.label, verdict.status.value, verdict.rule)
        for pair, verdict in zip(found, verdicts, strict=True)
        if not right(pair, verdict)
    ]
    return table(("not right", "text", "kind", "label", "status", "rule"), rows) if rows else []


def right(pair: Pair, verdict: Verdict) -> bool:
    """Say whether a pair got the status that it should."""
    return verdict.status is RIGHT[pair.label]


def required(found: Sequence[Pair], verdicts: Sequence[Verdict]) -> list[Requirement]:
    """Hold 98 of a hundred pairs right."""
    counted = sum(right(pair, verdict) for pair, verdict in zip(found, verdicts, strict=True))
    least = round(LEAST * len(found) / 100)
    text = f"at least {least} of {len(found)} pairs are right"
    return [Requirement(text, str(counted), counted >= least)]


if __name__ == "__main__":
    main()
