from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.sources import as_sources
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Binder, Corpus
from veridical.pipeline.evidence.meaning import Meanings
from veridical.pipeline.inference.vectors import packaged_vectors

texts = st.lists(st.text(max_size=30) | st.sampled_from(["The kid sleeps.", "A dog."]), max_size=6)


def meanings(*sentences: str) -> Meanings:
    return Meanings(packaged_vectors(), sentences)


@pytest.mark.parametrize(
    ("claim", "sentences"),
    [
        ("The kid is asleep.", ("The dog is outside.", "The child is sleeping.")),
        ("Physicians are paid well.", ("Nurses work at night.", "Doctors have high salaries.")),
        ("It was cheap.", ("The house is old.", "It cost very little money.")),
    ],
)
def test_the_sentence_that_says_it_in_other_words_is_the_nearest(
    claim: str, sentences: tuple[str, str]
) -> None:
    other, same = meanings(*sentences).of(claim).scores()
    assert same > other


def test_what_a_sentence_lacks_is_gained_by_the_one_that_has_it() -> None:
    near = meanings("Zora founded Umbral.", "Umbral bought Quill.", "Zora founded Umbral.").of(
        "Zora's Umbral bought Quill."
    )
    gains = near.gains([0])
    assert gains[1] > gains[2] == 0.0


def test_a_range_has_what_is_nearest_in_any_of_its_sentences() -> None:
    near = meanings("Zora founded Umbral.", "Umbral bought Quill.", "It rains.").of("Zora, Quill")
    both, rain = near.of_ranges([(0, 2), (2, 3)])
    assert both >= max(near.scores()) > rain


@settings(max_examples=50, deadline=None)
@given(texts, st.text(max_size=30))
def test_every_sentence_has_a_score_from_0_to_1(sentences: list[str], claim: str) -> None:
    near = meanings(*sentences).of(claim)
    scores = near.scores()
    assert len(scores) == len(sentences)
    assert all(-1e-4 <= score <= 1 + 1e-4 for score in scores)
    for range_score, score in zip(
        near.of_ranges([(i, i + 1) for i in range(len(sentences))]), scores, strict=True
    ):
        assert range_score == pytest.approx(score, abs=1e-5)


def test_a_claim_is_bound_to_the_sentence_that_says_it_in_other_words() -> None:
    filler = " ".join(f"The dog number {i} is outside in the yard." for i in range(80))
    sources = as_sources({"S1": f"{filler} The child is sleeping. {filler}"})
    for vectors, found in ((packaged_vectors(), True), (None, False)):
        corpus = Corpus(sources, split_sentences, vectors=vectors)
        bound = Binder(corpus, windows=0).bind("The kid is asleep.", ())
        assert ("child" in bound.with_evidence[0].text) is found


@given(texts, texts)
@settings(max_examples=50, deadline=None)
def test_claims_that_are_expected_have_the_scores_they_have_alone(
    sentences: list[str], claims: list[str]
) -> None:
    expecting = meanings(*sentences)
    expecting.expect(claims)
    for claim in claims:
        found, alone = expecting.of(claim), meanings(*sentences).of(claim)
        assert found.scores().tolist() == alone.scores().tolist()


def test_what_is_expected_is_worked_out_once() -> None:
    asked: list[int] = []

    class Counting:
        def pieces(self, texts: Sequence[str]) -> list[list[int]]:
            return packaged_vectors().pieces(texts)

        def nearness(self, pieces: Sequence[int], others: Sequence[int]) -> object:
            asked.append(len(pieces))
            return packaged_vectors().nearness(pieces, others)

    found = Meanings(Counting(), ["The kid sleeps.", "A dog barks."])
    claims = ["The child is asleep.", "A dog sleeps.", "A child barks."]
    found.expect(claims)
    assert len(asked) == 1
    for claim in claims:
        found.of(claim)
    assert sum(asked) == asked[0]
