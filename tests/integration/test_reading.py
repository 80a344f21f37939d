"""Evidence that is there is read: with the packaged verifier, through the doors people use."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

import veridical
from veridical import Verifier
from veridical.audit.auditing import audit
from veridical.core.verdicts import Status
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
