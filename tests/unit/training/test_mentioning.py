"""Texts that repeat a claim: the label follows from what they say of it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "training"))
import mentioning
from mentioning import framed, frames, is_repeatable, repeated, repetitions
from programmatic.base import (
    CONTRADICTED,
    NOT_IN_CONTEXT,
    NOT_SUPPORTED,
    SUPPORTED,
    Pair,
)


def chance() -> Random:
    return Random(0)  # noqa: S311 -- no secret


LACKS = Pair("The hall was full.", "The play began at eight.", NOT_IN_CONTEXT, "s")
OTHER = Pair("Trams run.", "Anna stayed until ten.", SUPPORTED, "s")


@pytest.fixture
def frame_of(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"S": ["It is certain that {clause}."], "C": ["It is not true that {clause}."]}
    monkeypatch.setattr(mentioning, "frames", lambda: texts | {"N": ["Some say: {sentence}."]})


def all_of(pair: Pair) -> Counter[tuple[str, str]]:
    """Return how often each text and label comes of a pair."""
    rng = chance()
    found = [repeated(pair, OTHER, rng) for _ in range(300)]
    return Counter(
        (each.evidence.replace(pair.evidence, "").strip(), each.label) for each in found if each
    )


@pytest.mark.usefixtures("frame_of")
def test_beside_evidence_that_lacks_the_claim_the_text_decides() -> None:
    assert set(all_of(LACKS)) == {
        ("It is certain that the play began at eight.", SUPPORTED),
        ("It is not true that the play began at eight.", CONTRADICTED),
        ("Some say: The play began at eight.", NOT_IN_CONTEXT),
    }


@pytest.mark.usefixtures("frame_of")
def test_where_the_evidence_decides_the_label_stays() -> None:
    opposed = Pair("The play began at nine.", LACKS.claim, CONTRADICTED, "s")
    assert {label for _, label in all_of(opposed)} == {CONTRADICTED}
    assert not any("certain" in text for text, _ in all_of(opposed))
    shown = Pair("At eight the play began.", LACKS.claim, SUPPORTED, "s")
    assert {label for _, label in all_of(shown)} == {SUPPORTED}
    assert all("Anna stayed until ten" in text for text, _ in all_of(shown)), "another claim"


@pytest.mark.parametrize(
    "claim", ["It fell. It rose.", "Did it fall?", "x" * 300, "First\nsecond", ""]
)
def test_only_one_short_statement_is_repeated(claim: str) -> None:
    assert not is_repeatable(claim)
    assert repeated(Pair("E.", claim, NOT_IN_CONTEXT, "s"), OTHER, chance()) is None


def test_a_label_of_two_ways_is_left_alone() -> None:
    assert repeated(Pair("E.", "It fell.", NOT_SUPPORTED, "s"), OTHER, chance()) is None


def test_a_claim_becomes_a_clause_but_a_name_keeps_its_letter() -> None:
    assert framed("Some say that {clause}.", "The rate is 2.5 %.") == (
        "Some say that the rate is 2.5 %."
    )
    assert framed("Some say that {clause}.", "Anna left.") == "Some say that Anna left."
    assert framed("Heard: {sentence}!", "The hat is blue.") == "Heard: The hat is blue!"


def test_each_written_frame_has_the_claim_once_and_its_label_is_known() -> None:
    found = frames()
    assert all(len(found[letter]) >= 90 for letter in "SCN")
    for text in (text for texts in found.values() for text in texts):
        assert text.count("{clause}") + text.count("{sentence}") == 1, text
        assert text.replace("{clause}", "").replace("{sentence}", "").count("{") == 0, text
    assert len(set().union(*map(set, found.values()))) == sum(map(len, found.values()))


def test_no_frame_is_a_text_of_the_benchmark() -> None:
    root = Path(mentioning.__file__).resolve().parents[1]
    lines = (root / "benchmarks" / "mentions.jsonl").read_text(encoding="utf-8").splitlines()
    known = {json.loads(line)["text"] for line in lines}
    assert known.isdisjoint(set().union(*map(set, frames().values())))


@pytest.mark.usefixtures("frame_of")
def test_a_share_of_the_pairs_is_repeated() -> None:
    assert len(list(repetitions([LACKS] * 1000, 0.1, chance()))) == pytest.approx(100, abs=40)
