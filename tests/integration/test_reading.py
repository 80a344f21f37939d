"""Evidence that is there is read: with the packaged verifier, through the doors people use."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

import veridical
from veridical import Verifier
from veridical.audit.auditing import audit
from veridical.core.verdicts import PartVerdict, Status, Verdict
from veridical.pipeline.inference.embedded import EmbeddedVerifier

FILLER = " ".join(f"Room {i} of the hospital is painted in a light colour." for i in range(80))


def test_a_claim_is_supported_by_a_source_that_shares_no_word_with_it() -> None:
    report = veridical.check(
        "The kid is asleep.", {"S1": "The dog is outside.", "S2": "The child is sleeping."}
    )
    (verdict,) = report.claims
    assert verdict.status is Status.SUPPORTED
    assert [span.text for span in verdict.evidence] == ["The child is sleeping."]


@pytest.mark.parametrize("around", ["", FILLER])
def test_the_evidence_is_found_by_its_meaning_in_long_and_short_sources(around: str) -> None:
    source = f"{around} Doctors have high salaries. {around}"
    (verdict,) = veridical.check("Physicians are paid well.", {"S1": source}).claims
    assert verdict.status is Status.SUPPORTED
    assert "Doctors have high salaries." in {span.text for span in verdict.evidence}


def test_a_step_is_read_with_the_entailed_step_before_it() -> None:
    steps = ["The child is sleeping.", "The kid is asleep."]
    sources = {"S1": f"{FILLER} The child is sleeping. {FILLER}"}
    found = anyio.run(partial(audit, steps, Verifier(EmbeddedVerifier()), sources=sources))
    assert [step.label for step in found.steps] == ["ENTAILED", "ENTAILED"]
    assert "step1" in found.steps[1].read_against


@pytest.mark.spec("SPEC-08.07")
@pytest.mark.parametrize(
    ("answer", "source", "false"),
    [
        ("A won and B came third.", "A won. B came fourth.", "B came third."),
        ("A won the race and B came third.", "A won the race. B came fourth.", "B came third."),
        ("A won the race; B came third.", "A won the race. B came fourth.", "B came third."),
        ("Ann won and Bert came third.", "Ann won. Bert came fourth.", "Bert came third."),
        (
            "J. Smith won the race and K. Jones came third.",
            "J. Smith won the race. K. Jones came fourth.",
            "K. Jones came third.",
        ),
        (
            "He won the race, but she came third.",
            "He won the race. She came fourth.",
            "She came third.",
        ),
        (
            "X fell by 12 % and Y rose by 3 %.",
            "X fell by 12 %. Y rose by 9 %.",
            "Y rose by 3 %.",
        ),
        (
            "Sales fell by 12 % and costs rose by 3 %.",
            "Sales fell by 12 %. Costs rose by 9 %.",
            "Costs rose by 3 %.",
        ),
        (
            "It opened in 1998 and they closed it in 2005.",
            "It opened in 1998. They closed it in 2010.",
            "They closed it in 2005.",
        ),
        (
            "A was founded in 1990, while B was founded in 2001.",
            "A was founded in 1990. B was founded in 2005.",
            "B was founded in 2001.",
        ),
        (
            "The bridge opened in 1998, and its toll is 3 euros.",
            "The bridge opened in 1998. The toll of the bridge is 5 euros.",
            "The bridge's toll is 3 euros.",
        ),
        (
            "Paris is the capital of France, and its mayor is Ann Lee.",
            "Paris is the capital of France. The mayor of Paris is Pierre Dubois.",
            "Its mayor is Ann Lee.",
        ),
    ],
)
def test_a_half_false_sentence_names_its_half(answer: str, source: str, false: str) -> None:
    report = veridical.check(answer, {"S1": source})
    pieces = [piece for verdict in report.claims for piece in verdict.parts or [verdict]]
    statuses = {_text(piece): piece.status for piece in pieces}
    assert len(statuses) == 2
    assert statuses.pop(false) is Status.CONTRADICTED
    assert set(statuses.values()) == {Status.SUPPORTED}


def _text(piece: PartVerdict | Verdict) -> str:
    return piece.text if isinstance(piece, PartVerdict) else piece.claim.text


@pytest.mark.spec("SPEC-08.01")
def test_a_value_that_is_bound_to_the_wrong_thing_lacks_bits() -> None:
    source = "The bridge carries eight lanes. The tunnel carries six lanes."
    answer = "The tunnel carries six lanes [S1]. The tunnel carries eight lanes [S1]."
    right, wrong = veridical.check(answer, {"S1": source}).claims
    assert right.budget.budget_gap_bits is not None
    assert wrong.budget.budget_gap_bits is not None
    assert wrong.budget.budget_gap_bits > 2.0 > right.budget.budget_gap_bits
    assert (right.flagged, wrong.flagged) == (False, True)
    assert wrong.budget.confidence_justified is False
