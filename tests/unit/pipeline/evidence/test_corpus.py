from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.sources import as_sources
from veridical.core.types import Span
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Corpus, CorpusCache
from veridical.pipeline.evidence.corpus import KEPT_CORPORA
from veridical.pipeline.evidence.tokens import words

BuildCorpus = Callable[..., Corpus]
LONG = " ".join(f"Sentence number {i} says something about topic{i}." for i in range(60))


def test_every_sentence_is_in_a_window(corpus: BuildCorpus) -> None:
    built = corpus({"S1": LONG, "S2": "Short."})
    covered = {i for window in built.windows for i in range(window.first, window.last)}
    assert covered == set(range(len(built.sentences)))


def test_windows_stay_in_one_source_and_under_the_budget(corpus: BuildCorpus) -> None:
    built = corpus({"S1": LONG, "S2": LONG}, 50)
    for window in built.windows:
        inside = built.sentences[window.first : window.last]
        assert {sentence.piece.source for sentence in inside} == {window.source}
        assert sum(sentence.tokens for sentence in inside) <= 50


def test_windows_begin_and_end_with_sentences(corpus: BuildCorpus) -> None:
    built = corpus({"S1": LONG})
    for window in built.windows:
        text = built.text(built.span(window))
        assert text.startswith("Sentence number")
        assert text.endswith(".")


def test_ranking_prefers_the_window_that_shares_rare_words(corpus: BuildCorpus) -> None:
    built = corpus({"S1": LONG})
    scores = built.rank("What about topic42?")
    best = built.windows[scores.windows.argmax()]
    assert "topic42" in built.text(built.span(best))


def test_a_claim_without_known_words_scores_zero_everywhere(corpus: BuildCorpus) -> None:
    scores = corpus({"S1": LONG}).rank("zzz qqq")
    assert set(scores.windows) == set(scores.sentences) == {0.0}


def test_a_source_of_marks_alone_still_has_a_window(corpus: BuildCorpus) -> None:
    built = corpus({"S1": "...", "S2": "!!!"})
    assert {window.source for window in built.windows} == {"S1", "S2"}
    assert built.rank("anything").windows.tolist() == [0.0] * len(built.windows)


@settings(max_examples=50)
@given(st.dictionaries(st.text(min_size=1).filter(str.strip), st.text(min_size=1), max_size=3))
def test_any_text_can_be_indexed_and_ranked(texts: dict[str, str]) -> None:
    texts = {f"S{i}": text for i, text in enumerate(texts.values()) if text.strip()}
    if texts:
        built = Corpus(as_sources(texts), lambda text: [Span(0, len(text))])
        windows = built.rank("a claim " + " ".join(texts.values())).windows
        assert len(windows) == len(built.windows) > 0


def test_words_keep_numbers_whole_and_fold_the_rest() -> None:
    assert words("The Bridges cost 1,250.50 EUR in 2019") == [
        "bridge",
        "cost",
        "1,250.50",
        "eur",
        "2019",
    ]


def test_words_of_a_script_without_spaces_are_single_characters() -> None:
    assert words("東京は首都") == list("東京は首都")


def test_negations_are_words() -> None:
    assert words("is not no never") == ["not", "no", "never"]


def test_the_corpus_of_the_same_sources_is_kept() -> None:
    corpora = CorpusCache(split_sentences)
    first = corpora.of(as_sources({"S1": "One. Two.", "S2": "Three."}))
    assert corpora.of(as_sources({"S1": "One. Two.", "S2": "Three."})) is first


@pytest.mark.parametrize(
    "sources",
    [
        {"S1": "One. Four.", "S2": "Three."},
        {"S1": "One. Two."},
        {"S2": "Three.", "S1": "One. Two."},
        {"S1": "One. Two.", "S3": "Three."},
    ],
    ids=["another text", "one source fewer", "another order", "another id"],
)
def test_other_sources_have_a_corpus_of_their_own(sources: dict[str, str]) -> None:
    corpora = CorpusCache(split_sentences)
    corpora.of(as_sources({"S1": "One. Two.", "S2": "Three."}))
    found = corpora.of(as_sources(sources))
    assert {name: source.text for name, source in found.sources.items()} == sources
    assert list(found.sources) == list(sources)


def test_corpora_are_kept_as_long_as_their_texts_have_room_together() -> None:
    corpora = CorpusCache(split_sentences, characters=10)
    first, second = (as_sources({"S1": text}) for text in ("One.", "Two."))
    kept = corpora.of(first)
    corpora.of(second)
    assert corpora.of(first) is kept
    corpora.of(as_sources({"S1": "Three."}))  # no room for the one that was asked for least lately
    assert corpora.of(first) is kept


def test_of_many_small_corpora_the_last_are_kept() -> None:
    corpora = CorpusCache(split_sentences)
    texts = [as_sources({"S1": f"It has {n} lanes."}) for n in range(KEPT_CORPORA + 1)]
    first, second, *_ = [corpora.of(text) for text in texts]
    assert corpora.of(texts[1]) is second
    assert corpora.of(texts[0]) is not first


def test_the_last_corpus_is_kept_whatever_its_size_until_it_is_dropped() -> None:
    corpora = CorpusCache(split_sentences, characters=10)
    large = as_sources({"S1": "A large source."})
    kept = corpora.of(large)
    assert corpora.of(large) is kept
    corpora.drop_large()
    assert corpora.of(large) is not kept


def test_small_corpora_outlive_the_drop_of_large_ones() -> None:
    corpora = CorpusCache(split_sentences, characters=10)
    kept = corpora.of(as_sources({"S1": "One."}))
    corpora.drop_large()
    assert corpora.of(as_sources({"S1": "One."})) is kept
