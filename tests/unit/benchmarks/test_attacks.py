"""Hostile texts are many, different, and the same every time."""

from __future__ import annotations

from collections import Counter

import pytest

from _attacks import ATTACKS, CONTROLS, Attack, Kind, tried
from _bases import BASES
from veridical.core.verdicts import Status

INSERTED = [
    attack
    for attack in (*ATTACKS, *CONTROLS)
    if attack.kind not in {Kind.CLAIM, Kind.CLAIM_UNICODE} and "(evidence)" not in attack.name
]


def named(attack: Attack) -> str:
    return attack.name


def test_there_are_at_least_sixty_of_different_names() -> None:
    assert len(ATTACKS) >= 60
    assert len({(attack.kind, attack.name) for attack in ATTACKS}) == len(ATTACKS)
    assert {attack.kind for attack in ATTACKS} == set(Kind) - {Kind.HARMLESS}


@pytest.mark.parametrize("attack", ATTACKS, ids=named)
def test_an_attack_changes_a_text_and_the_same_way_every_time(attack: Attack) -> None:
    pairs = [(base.evidence, base.claim) for base in BASES]
    attacked = [attack.on(*pair) for pair in pairs]
    assert attacked != pairs
    assert attacked == [attack.on(*pair) for pair in pairs]


@pytest.mark.parametrize("attack", ATTACKS, ids=named)
def test_an_attack_changes_one_of_the_two_texts_alone(attack: Attack) -> None:
    in_claim = attack.kind in {Kind.CLAIM, Kind.CLAIM_UNICODE}
    for base in BASES:
        evidence, claim = attack.on(base.evidence, base.claim)
        assert (evidence if in_claim else claim) == (base.evidence if in_claim else base.claim)


@pytest.mark.parametrize("attack", INSERTED, ids=named)
def test_what_is_put_into_the_evidence_leaves_every_line_of_it(attack: Attack) -> None:
    for base in BASES:
        evidence, _ = attack.on(base.evidence, base.claim)
        assert len(evidence) > len(base.evidence)
        # In one place: what stands before and after it is the evidence.
        kept = next(
            i for i in range(len(base.evidence) + 1) if _split_at(i, base.evidence, evidence)
        )
        assert kept >= 0


def _split_at(place: int, whole: str, longer: str) -> bool:
    return longer.startswith(whole[:place]) and longer.endswith(whole[place:])


def test_texts_for_the_evidence_are_all_different() -> None:
    base = BASES[0]
    found = {attack.on(base.evidence, base.claim) for attack in INSERTED}
    assert len(found) == len(INSERTED)


def test_each_attack_meets_other_bases_in_turn_when_not_all() -> None:
    met = Counter(base.name for _, base in tried(ATTACKS, BASES, every=3))
    assert set(met) == {base.name for base in BASES}
    assert len(list(tried(ATTACKS, BASES, every=3))) < len(list(tried(ATTACKS, BASES))) / 2


def test_the_bases_have_every_verdict() -> None:
    assert len({base.name for base in BASES}) == len(BASES)
    assert {base.right for base in BASES} == {
        Status.SUPPORTED,
        Status.CONTRADICTED,
        Status.UNSUPPORTED,
    }
