from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.measurements import Estimate
from veridical.core.policy import Policy
from veridical.core.sources import as_sources
from veridical.core.types import Binding, Claim, Part, Passage, SourceSpan, Span
from veridical.core.verdicts import Role, Status, Verdict
from veridical.pipeline.judgement import (
    PooledEstimate,
    SubclaimScore,
    attach_evidence,
    differing,
    judge_claim,
    part_verdicts,
    replaced,
    unread_parts,
)
from veridical.pipeline.judgement import worded_as_evidence as worded
from veridical.pipeline.judgement.quantities import LIMIT, Replaced, underived
from veridical.testing import fake_estimate


def passage(text: str) -> Passage:
    return Passage(text, (SourceSpan("S1", Span(0, len(text))),))


def verdict(policy: Policy, claim: str, evidence: str, p1: float = 0.95) -> Verdict:
    read = passage(evidence)
    binding = Binding((), (read,), (), windows_total=1)
    reading = PooledEstimate(fake_estimate(p1, 0.0), read)
    asserted = Claim("c1", claim, Span(0, len(claim)), 0)
    found = judge_claim(asserted, binding, reading, PooledEstimate(fake_estimate(0.1)), policy)
    return attach_evidence(found, reading, as_sources({"S1": evidence}))


def candidates(policy: Policy, claim: str, evidence: str) -> list[str]:
    sources = as_sources({"S1": evidence})
    return [each.text for each in replaced(verdict(policy, claim, evidence), sources)]


@pytest.mark.parametrize(
    ("claim", "evidence", "read"),
    [
        ("It starts at 2 p.m. today.", "It starts at 14:00.", "It starts at 14:00 today."),
        ("It cost USD 4,200,000.", "It cost $4.2 million.", "It cost $4.2 million."),
        ("50 % of them left.", "Half of them left.", "Half of them left."),
        ("Over 300 people came.", "There were 330 people.", "330 people came."),
        ("On 2024-05-05 it rained.", "It rained on 5 May 2024.", "On 5 May 2024 it rained."),
        ("Close to 300 people came.", "290 people came.", "290 people came."),
        ("It took 60 s, then 1 h.", "1 minute, then 60 min.", "It took 1 minute, then 60 min."),
    ],
)
def test_a_quantity_is_read_in_the_words_of_the_evidence(
    claim: str, evidence: str, read: str
) -> None:
    assert worded(claim, [passage(evidence)]) == read


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It starts at 2 p.m.", "It starts at 15:00."),
        ("It starts at 14:00.", "It starts at 14:00, that is 2 p.m."),
        ("It opened in 2024.", "It opened on 5 May 2024."),
        ("At least 2 dogs barked.", "3 cats slept."),
        ("It requires Python 3.10.", "It requires Python 3.1."),
        ("Nearly 300 people came.", "150 people came."),
        ("She read up to 5 books.", "She read 2 books."),
        ("Members are at least 18 years old.", "Members are 21 years old."),
        ("The project ran over two years.", "The project ran for 11 years."),
        ("No number here.", "It starts at 14:00."),
    ],
)
def test_what_is_not_the_same_or_stands_there_already_is_left(claim: str, evidence: str) -> None:
    assert worded(claim, [passage(evidence)]) == claim


def test_the_quantity_that_differs_is_put_in_from_the_evidence(policy: Policy) -> None:
    found = candidates(policy, "The wingspan is 34 cm.", "The wingspan is 34 mm in males.")
    assert found == ["The wingspan is 34 mm."]


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It takes 5 days.", "It takes 5 days, or 7 days by ship."),
        ("It takes a week.", "It takes 7 days, or 9 days by ship."),
        ("It takes 12 days.", "It takes 10 to 14 days."),
        ("It takes 5 days.", "It weighs 7 kg."),
        ("5 dogs barked.", "7 cats slept."),
        ("It takes 5 days and 6 kg.", "It takes 7 days and 8 kg."),
        ("It takes long.", "It takes 7 days."),
    ],
)
def test_nothing_is_put_in_where_the_quantity_is_stated_or_has_no_counterpart(
    policy: Policy, claim: str, evidence: str
) -> None:
    assert candidates(policy, claim, evidence) == []


def test_no_more_than_two_quantities_are_put_in(policy: Policy) -> None:
    found = candidates(policy, "It takes 5 days.", "It takes 7 days, 8 days, or 9 days.")
    assert len(found) == LIMIT


TANK = "The tank holds 7 litres. It is blue."
TANK_PARTS = (Part("The tank holds 5 litres.", Span(0, 24)), Part("It is blue.", Span(25, 36)))


def of_parts(policy: Policy) -> tuple[Verdict, tuple[Replaced, ...]]:
    found = verdict(policy, "The tank holds 5 litres. It is blue.", TANK)
    found = replace(found, claim=replace(found.claim, parts=TANK_PARTS))
    return found, replaced(found, as_sources({"S1": TANK}))


def test_the_part_that_has_the_quantity_is_read(policy: Policy) -> None:
    found, again = of_parts(policy)
    assert [(each.text, each.part) for each in again] == [
        ("The tank holds 7 litres.", TANK_PARTS[0])
    ]
    assert unread_parts(found, again) == TANK_PARTS
    assert unread_parts(found, ()) == ()


def test_a_claim_with_another_quantity_names_the_part_that_has_it(policy: Policy) -> None:
    found, again = of_parts(policy)
    looks = [SubclaimScore((), PooledEstimate(fake_estimate(0.9))) for _ in TANK_PARTS]
    parts = part_verdicts(found, looks, policy)
    other = PooledEstimate(fake_estimate(0.9, 0.05))
    ruled = differing(found, again, [other], policy, parts)
    statuses = [part.status for part in ruled.parts]
    assert (ruled.status, statuses) == (
        Status.CONTRADICTED,
        [Status.CONTRADICTED, Status.SUPPORTED],
    )
    assert ruled.parts[0].p1 == ruled.p1
    listed = replace(found, parts=parts)
    assert unread_parts(listed, again) == ()
    assert differing(listed, again, [other], policy).parts == ruled.parts


CLAIM, EVIDENCE = "The wingspan is 34 cm.", "The wingspan is 34 mm in males."


def decided(policy: Policy, other: PooledEstimate) -> Verdict:
    found = verdict(policy, CLAIM, EVIDENCE)
    return differing(found, replaced(found, as_sources({"S1": EVIDENCE})), [other], policy)


def test_a_claim_that_is_supported_with_another_quantity_is_contradicted(policy: Policy) -> None:
    found = decided(policy, PooledEstimate(fake_estimate(0.9, 0.05)))
    assert (found.status, found.rule) == (Status.CONTRADICTED, "quantity_differs")
    assert found.difference is not None
    assert (found.difference.claimed, found.difference.stated) == ("34 cm", "34 mm")
    assert found.difference.span.of(EVIDENCE) == "34 mm"
    assert [span.role for span in found.evidence] == [Role.CONTRADICTS]


def test_its_probability_is_what_the_other_quantity_leaves(policy: Policy) -> None:
    found = decided(policy, PooledEstimate(fake_estimate(0.9, 0.05)))
    assert isinstance(found.p1, Estimate)
    assert found.p1.supported == pytest.approx(0.1)
    assert found.p1.contradicted == pytest.approx(0.9)
    assert found.p1.low == found.p1.high == pytest.approx(0.1)
    assert found.budget.observed_bits == pytest.approx(0.0)


def test_a_yes_no_backend_stays_one(policy: Policy) -> None:
    found = decided(policy, PooledEstimate(fake_estimate(0.9, None)))
    assert found.status is Status.CONTRADICTED
    assert isinstance(found.p1, Estimate)
    assert found.p1.contradicted is None


@pytest.mark.parametrize("other", [0.3, 0.75])
def test_a_claim_that_is_not_plainly_supported_with_the_other_quantity_stays(
    policy: Policy, other: float
) -> None:
    found = decided(policy, PooledEstimate(fake_estimate(other)))
    assert (found.status, found.difference) == (Status.SUPPORTED, None)


SUM = "We ordered 9 chairs on Monday and 6 chairs on Friday."


@pytest.mark.parametrize(
    ("claim", "derived"),
    [
        ("15 chairs were ordered in total.", True),
        ("16 chairs were ordered in total.", False),
        ("15 chairs were ordered.", False),
    ],
)
def test_a_sum_of_two_stated_quantities_is_not_called_contradicted(
    policy: Policy, claim: str, derived: bool
) -> None:
    found = verdict(policy, claim, SUM, p1=0.05)
    found = underived(replace(found, status=Status.CONTRADICTED), as_sources({"S1": SUM}))
    assert (found.status is Status.UNDETERMINED) is derived
    assert (found.rule == "derived_quantity") is derived


def test_no_quantity_is_put_in_for_one_that_follows_from_two(policy: Policy) -> None:
    assert candidates(policy, "15 chairs were ordered in total.", SUM) == []
    assert candidates(policy, "16 chairs were ordered in total.", SUM) != []


def test_a_difference_of_temperatures_is_no_temperature(policy: Policy) -> None:
    evidence = "The temperature fell from 21 °C to 14 °C."
    assert candidates(policy, "The temperature fell by 7 °C.", evidence) == []
