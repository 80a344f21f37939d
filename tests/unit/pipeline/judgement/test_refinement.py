from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.measurements import Measurement, Taken, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.sources import as_sources
from veridical.core.types import Binding, Citation, Claim, Part, Passage, SourceSpan, Span
from veridical.core.verdicts import Note, PartVerdict, Role, Status, Verdict
from veridical.pipeline.judgement import (
    PooledEstimate,
    SubclaimScore,
    judge_claim,
    rescore_subclaims,
    subclaims,
)
from veridical.pipeline.judgement.budget import budget, dependence
from veridical.testing import fake_estimate

SOURCES = as_sources({"S1": "It opened in 1998. It closed in 2003."})
FIRST, SECOND = SourceSpan("S1", Span(0, 18)), SourceSpan("S1", Span(19, 37))
PARTS = (Part("It opened.", Span(0, 4)), Part("It closed.", Span(5, 9)))
CLAIM = Claim("c1", "It opened and closed.", Span(0, 21), 0, parts=PARTS)
STRONG = replace(CLAIM, parts=(), weaker="Some opened.")


def unsupported(
    policy: Policy,
    claim: Claim = CLAIM,
    p0: float = 0.0,
    p1: Measurement = fake_estimate(0.2),  # noqa: B008 -- a frozen value
) -> Verdict:
    cited = (Citation("S1", Span(0, 1), "S1"),)
    binding = Binding(cited, (Passage("whole", (FIRST,)),), (), windows_total=2)
    elsewhere = Passage("rest", (SourceSpan("S2", Span(0, 4)),))
    return judge_claim(
        claim, binding, PooledEstimate(p1), PooledEstimate(fake_estimate(p0), elsewhere), policy
    )


def look(p1: Measurement, piece: SourceSpan = SECOND) -> SubclaimScore:
    passage = Passage("text", (piece,))
    return SubclaimScore((passage,), PooledEstimate(p1, passage))


def refine(verdict: Verdict, policy: Policy, *looks: SubclaimScore) -> Verdict:
    return rescore_subclaims(verdict, looks, policy, SOURCES)


def test_some_parts_supported_make_a_partially_supported_claim(policy: Policy) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.1))]
    found = refine(unsupported(policy), policy, *looks)
    assert (found.status, found.rule) == (Status.PARTIALLY_SUPPORTED, "some_parts_supported")
    assert found.parts == (
        PartVerdict(PARTS[0].text, PARTS[0].span, Status.SUPPORTED, fake_estimate(0.9)),
        PartVerdict(PARTS[1].text, PARTS[1].span, Status.UNSUPPORTED, fake_estimate(0.1)),
    )
    assert [(e.text, e.role) for e in found.evidence] == [("It opened in 1998.", Role.SUPPORTS)]


def test_all_parts_supported_make_a_claim_as_probable_as_the_weakest(policy: Policy) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.8))]
    found = refine(unsupported(policy), policy, *looks)
    assert found.status is Status.SUPPORTED
    assert found.p1 == fake_estimate(0.8)
    assert found.budget == budget(0.95, found.p0, found.p1)
    assert [(part.text, part.p1) for part in found.parts] == [
        (PARTS[0].text, fake_estimate(0.9)),
        (PARTS[1].text, fake_estimate(0.8)),
    ]


def test_a_claim_more_probable_as_a_whole_than_by_its_supported_parts_stays_so(
    policy: Policy,
) -> None:
    before = unsupported(policy, p1=fake_estimate(0.9))
    found = refine(before, policy, look(fake_estimate(0.95), FIRST), look(fake_estimate(0.8)))
    assert (found.status, found.p1) == (Status.SUPPORTED, before.p1)


def test_the_evidence_of_a_claim_that_its_parts_support_is_what_supports_them(
    policy: Policy,
) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.8))]
    found = refine(unsupported(policy), policy, *looks)
    assert [e.text for e in found.evidence] == ["It opened in 1998.", "It closed in 2003."]
    assert {e.role for e in found.evidence} == {Role.SUPPORTS}


def test_the_notes_of_a_claim_that_its_parts_support_are_those_of_a_supported_one(
    policy: Policy,
) -> None:
    before = unsupported(policy, replace(CLAIM, parts=PARTS[:1]), p0=0.9)
    assert before.notes == (Note.SUPPORTED_BY_UNCITED_SOURCE,)
    assert refine(before, policy, look(fake_estimate(0.9))).notes == (Note.EVIDENCE_INDEPENDENT,)


def test_only_the_softened_form_supported_is_an_over_extrapolation(policy: Policy) -> None:
    before = unsupported(policy, STRONG)
    found = refine(before, policy, look(fake_estimate(0.9)))
    assert found.status is Status.PARTIALLY_SUPPORTED
    assert found.rule == "only_a_weaker_form_is_supported"
    assert Note.OVER_EXTRAPOLATION in found.notes
    assert found.parts == (
        PartVerdict(STRONG.text, STRONG.span, Status.UNSUPPORTED, before.p1),
        PartVerdict("Some opened.", STRONG.span, Status.SUPPORTED, fake_estimate(0.9)),
    )


@pytest.mark.parametrize(
    "measured", [fake_estimate(0.1), fake_estimate(0.1, 0.8), Unmeasured(UnmeasuredReason.TIMEOUT)]
)
@pytest.mark.parametrize("claim", [CLAIM, STRONG])
def test_a_second_look_that_finds_no_support_leaves_the_status(
    policy: Policy, claim: Claim, measured: Measurement
) -> None:
    before = unsupported(policy, claim)
    found = refine(before, policy, *[look(measured)] * len(claim.fragments))
    assert (found.status, found.rule, found.p1) == (before.status, before.rule, before.p1)


def contradicted(policy: Policy) -> Verdict:
    claim = replace(CLAIM, weaker="Some opened.")
    return unsupported(policy, claim, p1=fake_estimate(0.05, 0.9))


def test_what_is_read_again_are_the_parts_and_unless_contradicted_a_softened_form(
    policy: Policy,
) -> None:
    soft = replace(CLAIM, weaker="Some opened.")
    assert subclaims(unsupported(policy, soft)) == (*PARTS, Part("Some opened.", CLAIM.span))
    assert subclaims(contradicted(policy)) == PARTS
    assert subclaims(unsupported(policy, soft, p1=fake_estimate(0.9))) == ()


def test_sentences_are_read_again_of_supported_claims_too(policy: Policy) -> None:
    supported = unsupported(policy, p1=fake_estimate(0.9))
    for verdict in (supported, contradicted(policy), unsupported(policy)):
        assert subclaims(verdict, by_sentence=True) == PARTS


def test_a_claim_called_contradicted_whose_parts_are_all_supported_is_supported(
    policy: Policy,
) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.8))]
    found = refine(contradicted(policy), policy, *looks)
    assert (found.status, found.rule) == (Status.SUPPORTED, "all_parts_supported")


def test_a_claim_is_no_less_probable_than_its_least_probable_part(policy: Policy) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.4, 0.1))]
    found = refine(contradicted(policy), policy, *looks)
    assert found.p1 == fake_estimate(0.4, 0.1)
    assert found.status is Status.PARTIALLY_SUPPORTED
    assert found.budget == budget(0.95, found.p0, found.p1)
    assert found.evidence_dependence == dependence(found.p0, found.p1)


def test_a_contradiction_that_no_part_bears_out_is_decided_by_the_least_probable_part(
    policy: Policy,
) -> None:
    looks = [look(fake_estimate(0.5), FIRST), look(fake_estimate(0.4))]
    found = refine(contradicted(policy), policy, *looks)
    assert (found.status, found.rule) == (Status.UNSUPPORTED, "p1_below_support_threshold")


def test_parts_that_a_yes_no_backend_finds_less_probable_than_before_are_contradicted(
    policy: Policy,
) -> None:
    before = unsupported(policy, p0=0.9, p1=fake_estimate(0.1, None))
    looks = [look(fake_estimate(0.25, None), FIRST), look(fake_estimate(0.2, None))]
    found = refine(before, policy, *looks)
    assert (found.status, found.p1) == (Status.CONTRADICTED, fake_estimate(0.2, None))
    assert {part.status for part in found.parts} == {Status.CONTRADICTED}


def test_the_notes_of_the_first_look_that_still_hold_are_kept(policy: Policy) -> None:
    first = unsupported(policy, p0=0.9)
    notes = (Note.SUPPORTED_BY_UNCITED_SOURCE, Note.PARTLY_SCORED)
    before = replace(first, notes=notes)
    found = refine(before, policy, look(fake_estimate(0.4)), look(fake_estimate(0.5)))
    assert (found.p1, found.notes) == (fake_estimate(0.4), notes)


def test_a_part_as_probable_as_the_whole_does_not_replace_it(policy: Policy) -> None:
    before = unsupported(policy)
    found = refine(before, policy, look(fake_estimate(0.2, 0.1)), look(fake_estimate(0.6)))
    assert found.p1 == before.p1


def test_supported_parts_as_probable_as_a_contradicted_whole_replace_it(policy: Policy) -> None:
    wary = replace(policy, contradiction_threshold=0.2)
    before = unsupported(wary, p1=fake_estimate(0.75, 0.25))
    assert before.status is Status.CONTRADICTED
    found = refine(before, wary, look(fake_estimate(0.9)), look(fake_estimate(0.75)))
    assert (found.status, found.p1) == (Status.SUPPORTED, fake_estimate(0.75))


def test_a_claim_is_no_less_probable_than_it_is_as_a_whole(policy: Policy) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.01))]
    found = refine(contradicted(policy), policy, *looks)
    assert (found.status, found.p1) == (Status.CONTRADICTED, fake_estimate(0.05, 0.9))


def test_the_part_that_opposes_a_claim_is_where_it_is_contradicted(policy: Policy) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.3, 0.6))]
    found = refine(unsupported(policy), policy, *looks)
    assert found.status is Status.CONTRADICTED
    assert [part.status for part in found.parts] == [Status.SUPPORTED, Status.CONTRADICTED]
    assert [(e.text, e.role) for e in found.evidence] == [("It closed in 2003.", Role.CONTRADICTS)]


def test_a_contradicted_claim_says_which_of_its_parts_the_evidence_opposes(policy: Policy) -> None:
    looks = [look(fake_estimate(0.9), FIRST), look(fake_estimate(0.01, 0.9))]
    found = refine(contradicted(policy), policy, *looks)
    assert (found.status, found.p1) == (Status.CONTRADICTED, fake_estimate(0.05, 0.9))
    assert [part.status for part in found.parts] == [Status.SUPPORTED, Status.CONTRADICTED]
    assert [(e.text, e.role) for e in found.evidence] == [("It closed in 2003.", Role.CONTRADICTS)]


def test_a_part_that_could_not_be_measured_does_not_stand_for_the_claim(policy: Policy) -> None:
    late = Unmeasured(UnmeasuredReason.TIMEOUT)
    found = refine(unsupported(policy), policy, look(fake_estimate(0.4)), look(late))
    assert (found.status, found.p1) == (Status.UNSUPPORTED, fake_estimate(0.2))


def test_what_a_second_look_reads_is_listed_and_paid_for_too(policy: Policy) -> None:
    again = look(fake_estimate(0.1))
    again = replace(again, reading=replace(again.reading, taken=Taken(2, 0.25)))
    before = replace(unsupported(policy, STRONG), taken=Taken(5, 0.5))
    found = refine(before, policy, again)
    assert found.windows_scored == (FIRST, SECOND)
    assert found.taken == Taken(7, 0.75)


def test_a_claim_with_nothing_to_read_again_keeps_its_verdict(policy: Policy) -> None:
    before = unsupported(policy, replace(CLAIM, parts=()))
    assert refine(before, policy) == before


def test_a_claim_is_not_supported_where_a_part_is_more_surely_contradicted(policy: Policy) -> None:
    before = unsupported(policy, p0=0.9, p1=fake_estimate(0.7))
    assert Note.EVIDENCE_INDEPENDENT in before.notes
    opposed = fake_estimate(0.1, 0.8)
    found = refine(before, policy, look(fake_estimate(0.9), FIRST), look(opposed))
    assert (found.status, found.rule) == (Status.PARTIALLY_SUPPORTED, "a_part_is_contradicted")
    assert [part.status for part in found.parts] == [Status.SUPPORTED, Status.CONTRADICTED]
    assert [(e.text, e.role) for e in found.evidence] == [("It closed in 2003.", Role.CONTRADICTS)]
    assert found.p1 == opposed
    assert Note.EVIDENCE_INDEPENDENT not in found.notes


@pytest.mark.parametrize(
    "measured", [fake_estimate(0.2), fake_estimate(0.1, 0.8), fake_estimate(0.1, 0.9)]
)
def test_a_claim_more_surely_supported_stays_so_and_lists_the_part_that_is_not(
    policy: Policy, measured: Measurement
) -> None:
    before = unsupported(policy, p1=fake_estimate(0.9))
    found = refine(before, policy, look(fake_estimate(0.9), FIRST), look(measured))
    assert (found.status, found.p1, found.evidence) == (Status.SUPPORTED, before.p1, ())
    assert found.parts[1].status is not Status.SUPPORTED
