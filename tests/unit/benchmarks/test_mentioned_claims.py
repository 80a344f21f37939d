"""Texts that mention a claim are many, of ten kinds, and in two halves that share nothing."""

from __future__ import annotations

from collections import Counter

from _meaning_texts import TEXTS, Mention
from _mentions import HALVES, Pair, labelled, mentioning, pairs, placed, texts

PAIR = Pair("x/0", "The hat is red.", "The hat is blue.", holds=False)
NAME = Pair("x/1", "Anna left.", "Anna stayed.", holds=False)


def test_there_are_at_least_forty_texts_of_each_kind_in_both_halves() -> None:
    halves = [list(texts(half)) for half in HALVES]
    assert sum(map(len, TEXTS.values())) == sum(map(len, halves)) >= 40
    assert not {*halves[0]} & {*halves[1]}
    for half in halves:
        assert set(Counter(kind for kind, _ in half).values()) == {3}
        assert {kind for kind, _ in half} == set(Mention)


def test_the_halves_share_no_claim() -> None:
    develop, held = ({pair.claim for pair in labelled(half)} for half in HALVES)
    assert develop
    assert held
    assert not develop & held


def test_the_order_of_claims_is_the_same_every_time_and_each_is_one_sentence() -> None:
    first = [pair.id for pair in pairs("a")]
    assert first == [pair.id for pair in pairs("a")]
    assert len(first) > 100
    assert all("?" not in pair.claim for pair in pairs("a"))


def test_a_text_has_the_claim_as_a_clause_whose_names_keep_their_capital() -> None:
    assert mentioning("Some say that {clause}.", PAIR) == "Some say that the hat is blue."
    assert mentioning("Some say that {clause}.", NAME) == "Some say that Anna stayed."
    assert mentioning("Myth: {sentence}.", PAIR) == "Myth: The hat is blue."


def test_a_source_keeps_its_text_and_has_the_mention_behind_it() -> None:
    found = list(placed("a", [PAIR, NAME]))
    assert len(found) == 2 * len(list(texts("a")))
    for _, text, pair, source in found:
        assert source.startswith(pair.source)
        assert source.endswith(mentioning(text, pair))
