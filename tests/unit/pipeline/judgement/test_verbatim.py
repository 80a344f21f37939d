"""A refused claim that is a sentence of its evidence is decided by that sentence alone."""

from __future__ import annotations

import pytest

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Claim, Passage, Source, SourceSpan, Span
from veridical.core.verdicts import Budget, Note, PartVerdict, Role, Status, Verdict
from veridical.pipeline.judgement import PooledEstimate, may_stand_verbatim, stands_verbatim
from veridical.testing import FAKE, fake_estimate

POLICY = Policy().resolved(FAKE)
TEXT = "A hat is red. The coat is blue."
SENTENCE = "A hat is red."
SOURCES = {"S1": Source("S1", TEXT)}
PLACE = SourceSpan("S1", Span(0, len(SENTENCE)))
ALONE = Passage(SENTENCE, (PLACE,), (PLACE,))
LATE = Unmeasured(UnmeasuredReason.TIMEOUT)


def refused(status: Status = Status.UNSUPPORTED, *, measured: bool = True) -> Verdict:
    claim = Claim("c1", SENTENCE, Span(0, len(SENTENCE)), 0)
    p1 = fake_estimate(0.1) if measured else LATE
    part = PartVerdict(SENTENCE, claim.span, Status.UNSUPPORTED, p1)
    return Verdict(
        claim,
        status,
        "r",
        (),
        p1,
        fake_estimate(0.2),
        Budget(0.95),
        None,
        (Note.PARTLY_SCORED,),
        parts=(part,),
    )


def reading(supported: float) -> PooledEstimate:
    return PooledEstimate(fake_estimate(supported), ALONE)


@pytest.mark.parametrize("status", Status)
def test_a_claim_may_be_lifted_if_it_was_read_and_refused(status: Status) -> None:
    lifted = {Status.UNSUPPORTED, Status.CONTRADICTED, Status.PARTIALLY_SUPPORTED}
    assert may_stand_verbatim(refused(status)) is (status in lifted)
    assert not may_stand_verbatim(refused(status, measured=False))


def test_the_sentence_alone_decides_and_its_reading_takes_the_place_of_the_first() -> None:
    found = stands_verbatim(refused(), reading(0.9), POLICY, SOURCES)
    assert (found.status, found.rule, found.parts) == (Status.SUPPORTED, "stands_verbatim", ())
    assert (found.p1, found.p0) == (fake_estimate(0.9), fake_estimate(0.2))
    assert found.evidence_dependence == pytest.approx(0.7)
    assert found.budget.target == 0.95
    assert found.budget.observed_bits is not None
    assert [(span.text, span.role) for span in found.evidence] == [(SENTENCE, Role.SUPPORTS)]
    assert (found.windows_scored, found.notes) == ((PLACE,), (Note.PARTLY_SCORED,))


@pytest.mark.parametrize(
    "read", [reading(0.3), PooledEstimate(LATE, ALONE), PooledEstimate(fake_estimate(0.9))]
)
def test_a_reading_that_supports_nothing_changes_nothing(read: PooledEstimate) -> None:
    before = refused()
    assert stands_verbatim(before, read, POLICY, SOURCES) is before
