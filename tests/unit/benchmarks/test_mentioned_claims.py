"""Texts that mention a claim are of ten kinds, and in two halves that share nothing."""

from __future__ import annotations

from collections import Counter

from _mentions import HALVES, Mention, Pair, assertions, labelled, mentioning, pairs, placed, texts

PAIR = Pair("x/0", "The hat is red.", "The hat is blue.", holds=False)
NAME = Pair("x/1", "Anna left.", "Anna stayed.", holds=False)


def test_each_half_has_six_texts_of_each_kind_and_thirty_that_assert_the_claim() -> None:
    halves = [list(texts(half)) for half in HALVES]
    for half, found in zip(HALVES, halves, strict=True):
        kinds = Counter(kind for kind, _ in found)
        assert set(kinds) == set(Mention)
        assert min(kinds.values()) >= 6
        assert len(list(assertions(half))) >= 30
    assert not {*halves[0]} & {*halves[1]}
    assert not {*assertions("a")} & {*assertions("b")}


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
    tried = list(texts("a"))
    found = list(placed(tried, [PAIR, NAME]))
    assert len(found) == 2 * len(tried)
    for _, text, pair, source in found:
        assert source.startswith(pair.source)
        assert source.endswith(mentioning(text, pair))


def test_a_text_of_several_lines_is_a_paragraph() -> None:
    tried = [("list of myths", "Myths:\n- {sentence}.")] * 3
    for _, _, _, source in placed(tried, [PAIR, NAME]):
        assert "\n\nMyths:\n- " in source
