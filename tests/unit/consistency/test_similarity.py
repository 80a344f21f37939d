"""Similarity of two texts: made-up probabilities and vectors, and the embedded model."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.consistency.similarity import CHUNKS_READ, semantic_similarity, vector_similarity
from veridical.core.measurements import (
    Measurement,
    Query,
    TextModelInfo,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import Backend
from veridical.core.similarity import Similarity
from veridical.errors import TextError
from veridical.settings import Settings
from veridical.testing import FAKE, FakeBackend, fake_estimate
from veridical.wiring.build import build_backend

T = TypeVar("T")
LOST = Unmeasured(UnmeasuredReason.RATE_LIMITED)
Vectors = Sequence[Sequence[float]]


def wait(call: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(call)


def similarity(a: str, b: str, answer: Callable[[Query], Measurement]) -> tuple[object, ...]:
    found = wait(lambda: semantic_similarity(a, b, FakeBackend(answer)))
    return found.value, found.forward, found.backward, found.reason


@pytest.fixture(scope="module")
def embedded() -> Backend:
    return build_backend(Settings(threads=1), "embedded")


# --- by entailment -----------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.08")
def test_similarity_is_the_harmonic_mean_of_both_directions() -> None:
    def answer(query: Query) -> Measurement:
        return fake_estimate(0.9) if query.claim == "Second one." else fake_estimate(0.6, 0.3)

    value, forward, backward, _ = similarity("First one.", "Second one.", answer)
    assert (forward, backward) == (0.9, pytest.approx(0.3))
    assert value == pytest.approx(2 * 0.9 * 0.3 / 1.2)


def test_a_contradiction_lowers_similarity_and_never_below_0() -> None:
    assert similarity("It is on.", "It is off.", lambda _: fake_estimate(0.1, 0.9))[0] == 0.0


def test_a_yes_or_no_backend_will_do() -> None:
    found = similarity("It is on.", "It works.", lambda _: fake_estimate(0.8, None))
    assert found[0] == pytest.approx(0.8)


def test_texts_that_read_the_same_are_not_put_to_a_backend() -> None:
    backend = FakeBackend(lambda _: LOST)
    found = wait(lambda: semantic_similarity("It’s  on.", "it's on.", backend))
    assert (found.value, backend.queries) == (1.0, [])


def test_what_could_not_be_measured_has_no_similarity_but_a_reason() -> None:
    assert similarity("One.", "Two.", lambda _: LOST) == (None, None, None, "rate_limited")


def test_a_backend_that_breaks_or_miscounts_is_a_reason_and_no_exception() -> None:
    class Broken:
        info = FAKE

        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            if len(queries[0].claim) > 5:
                raise ZeroDivisionError
            return []

    for text in ("A longer text.", "Two."):
        found = wait(lambda text=text: semantic_similarity(text, text + "!", Broken()))
        assert found.reason == "backend_error"


def test_longer_texts_are_read_sentence_by_sentence_against_the_nearest_chunks_only() -> None:
    long = " ".join(f"Sentence number {n} is about topic{n} and nothing else." for n in range(60))
    backend = FakeBackend(lambda _: fake_estimate(0.9))
    wait(lambda: semantic_similarity(long, "The text is about topic7.", backend))
    assert len(backend.queries) == CHUNKS_READ + 60
    assert max(len(query.context) for query in backend.queries) < 600
    forth = [q.context for q in backend.queries if q.claim == "The text is about topic7."]
    assert any("topic7 " in context for context in forth)


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_similarity_is_symmetric_and_between_0_and_1(a: str, b: str) -> None:
    def answer(query: Query) -> Measurement:
        return fake_estimate(len(query.claim) % 10 / 10)

    if any("\ud800" <= char <= "\udfff" for char in a + b):
        return
    value, forward, backward, _ = similarity(a, b, answer)
    assert isinstance(value, float)
    assert 0 <= value <= 1
    assert similarity(b, a, answer)[:3] == (pytest.approx(value), backward, forward)


@pytest.mark.spec("SPEC-16.08")
def test_the_embedded_model_tells_a_paraphrase_from_another_answer(embedded: Backend) -> None:
    def value(a: str, b: str) -> float:
        return float(wait(lambda: semantic_similarity(a, b, embedded)))

    same = value("The bridge opened in 1998.", "In 1998 the bridge was opened.")
    assert same > 0.7
    assert value("The bridge opened in 1998.", "The bridge opened in 1850.") < 0.2
    assert value("The bridge opened in 1998.", "Whales are mammals.") < 0.2


@pytest.mark.spec("SPEC-16.08")
@pytest.mark.parametrize(
    ("pronoun", "named", "other"),
    [
        ("It opened in 1998.", "The bridge opened in 1998.", "The bridge opened in 1989."),
        ("He was born in Vienna.", "Ann Lee was born in Vienna.", "Ann Lee died in Vienna."),
        ("It's closed on Sundays.", "The museum is closed on Sundays.", "The museum is open."),
        ("They cost five dollars.", "The tickets cost five dollars.", "The tickets are free."),
        ("He cannot swim.", "The boy cannot swim.", "The boy can swim."),
        ("It opened in 1998.", "The bridge opened in 1998.", "It rained all day."),
    ],
)
def test_a_pronoun_stands_for_what_the_other_text_begins_with(
    embedded: Backend, pronoun: str, named: str, other: str
) -> None:
    def value(a: str, b: str) -> float:
        return float(wait(lambda: semantic_similarity(a, b, embedded)))

    assert value(pronoun, named) > 0.8
    assert value(named, pronoun) > 0.8
    assert value(pronoun, other) < 0.3


def test_a_pronoun_is_replaced_in_one_text_only_and_by_a_few_words() -> None:
    backend = FakeBackend(lambda _: fake_estimate(0.5))
    wait(lambda: semantic_similarity("It is on.", "She is off.", backend))
    assert len(backend.queries) == 2
    wait(lambda: semantic_similarity("It is on.", "A b c d e f g h.", backend))
    assert {q.claim for q in backend.queries if q.claim.endswith(" is on.")} == {
        *("It is on.", "A is on.", "A b is on.", "A b c is on.", "A b c d is on.")
    }


def test_an_empty_text_cannot_be_compared(embedded: Backend) -> None:
    with pytest.raises(TextError, match="second text is empty"):
        wait(lambda: semantic_similarity("a", " ", embedded))


# --- by vectors ------------------------------------------------------------------------------


class Known:
    """An embedding model with the same reply to everything."""

    info = TextModelInfo("known", "known")

    def __init__(self, reply: Vectors | Unmeasured | Exception) -> None:
        self.reply = reply

    async def embed(self, texts: Sequence[str]) -> Vectors | Unmeasured:
        assert list(texts) == ["One.", "Two."]
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def by_vectors(reply: Vectors | Unmeasured | Exception) -> Similarity:
    return wait(lambda: vector_similarity("One.", "Two.", Known(reply)))


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        ((1, 0), (3, 0), 1.0),
        ((1, 1), (1, 0), 0.5**0.5),
        ((1, 0), (-1, 0), 0.0),
        ((1, 0), (0, 1), 0),
    ],
)
@pytest.mark.spec("SPEC-16.08")
def test_vectors_are_compared_by_their_cosine(
    one: Sequence[float], other: Sequence[float], value: float
) -> None:
    assert by_vectors([one, other]).value == pytest.approx(value)


numbers = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3)


@given(numbers, numbers)
def test_the_similarity_of_vectors_is_from_0_to_1_or_has_a_reason(
    one: list[float], other: list[float]
) -> None:
    found = by_vectors([one, other])
    assert (found.value is None) == (found.reason is not None)
    assert found.value is None or 0 <= found.value <= 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (LOST, "rate_limited"),
        (ZeroDivisionError(), "backend_error"),
        ([[1.0]], "malformed_reply"),
        ([[0.0], [1.0]], "malformed_reply"),
        ([[math.nan, 1.0], [1.0, 1.0]], "malformed_reply"),
        ([[math.inf], [1.0]], "malformed_reply"),
        ([[1.3e308, 1.3e308], [0.1, 0.1]], "malformed_reply"),
        ([[1.0, 0.0], [1.0, 0.0, 5.0]], "malformed_reply"),
        ([["a"], ["b"]], "malformed_reply"),
        ([None, None], "malformed_reply"),
        (None, "malformed_reply"),
    ],
)
def test_a_model_without_usable_vectors_is_a_reason_and_no_exception(
    reply: Vectors | Unmeasured | Exception, reason: str
) -> None:
    assert by_vectors(reply).reason == reason
