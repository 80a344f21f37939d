"""Facts found by their meaning, on either database; meaning is which words two texts share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from zlib import crc32

import pytest

from veridical.core.measurements import TextModelInfo, Unmeasured, UnmeasuredReason
from veridical.errors import BackendError, ConfigurationError, InputError
from veridical.memory import Memory, Tier

NewUrl = Callable[[], str]
FACTS = ("The bridge has eight lanes.", "The toll is two euros.", "A cat sat on the mat.")
SIZE = 512


class Words:
    """Embedding model that counts words; it refuses long texts."""

    def __init__(self, model: str = "words") -> None:
        self.info = TextModelInfo("words", model)
        self.asked: list[Sequence[str]] = []
        self.fails: Unmeasured | None = None
        self.refuses, self.refusal = "long", Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG)

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Unmeasured:
        self.asked.append(texts)
        if self.fails is not None:
            return self.fails
        if any(self.refuses in text for text in texts):
            return self.refusal
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> list[float]:
        found = [0.0] * SIZE
        for word in text.lower().strip(".?").split():
            found[crc32(word.encode()) % SIZE] += 1.0
        return found


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def memory(new_url: NewUrl, words: Words) -> Iterator[Memory]:
    with Memory(new_url(), embeddings=words) as memory:
        for text in FACTS:
            memory.remember(text, entities=["bridge"] if "bridge" in text else [])
        yield memory


def texts(memory: Memory, text: str, **filters: object) -> list[str]:
    return [each.fact.text for each in memory.similar(text, **filters)]  # type: ignore[arg-type]


def test_the_closest_facts_come_first_and_say_how_close_they_are(memory: Memory) -> None:
    found = memory.similar("how many lanes has the bridge")
    assert found[0].fact.text == FACTS[0]
    assert [each.similarity for each in found] == sorted(
        (each.similarity for each in found), reverse=True
    )
    (same,) = memory.similar(FACTS[1], limit=1)
    assert (same.fact.text, same.similarity) == (FACTS[1], pytest.approx(1.0))


def test_a_vector_is_made_once_and_when_it_is_first_looked_for(
    memory: Memory, words: Words
) -> None:
    assert words.asked == []
    memory.similar("lanes")
    assert words.asked == [["lanes"], list(FACTS)]
    memory.remember("The cat is grey.")
    memory.similar("cat")
    assert words.asked[2:] == [["cat"], ["The cat is grey."]]


def test_another_model_has_vectors_of_its_own(new_url: NewUrl) -> None:
    url = new_url()
    for name in ("one", "two", "one"):
        with Memory(url, embeddings=Words(name)) as memory:
            if not memory.facts():
                memory.remember(FACTS[0])
            assert texts(memory, "bridge") == [FACTS[0]]


def test_facts_that_are_not_remembered_now_are_not_found(memory: Memory) -> None:
    memory.similar("cat")
    (cat,) = memory.search("cat")
    memory.retract(cat.id)
    assert FACTS[2] not in texts(memory, "cat")
    assert texts(memory, "cat", entities="Bridge") == [FACTS[0]]


def test_more_facts_than_one_request_takes(memory: Memory, words: Words) -> None:
    for number in range(150):
        memory.remember(f"Number {number}", tier=Tier.TASK)
    assert texts(memory, "number 77", limit=1) == ["Number 77"]
    assert sum(map(len, words.asked)) == len(FACTS) + 150 + 1
    assert len(memory.similar("number", limit=1000)) == len(FACTS) + 150


@pytest.mark.parametrize(
    "reason", [UnmeasuredReason.CONTEXT_TOO_LONG, UnmeasuredReason.BACKEND_ERROR]
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_fact_that_the_model_refuses_is_left_out_and_logged_without_its_text(
    memory: Memory,
    words: Words,
    caplog: pytest.LogCaptureFixture,
    reason: UnmeasuredReason,
    alone: bool,
) -> None:
    words.refusal = Unmeasured(reason)
    if alone:
        memory.similar("mat")
    memory.remember("A long SECRET.")
    assert texts(memory, "mat", limit=9)[0] == FACTS[2]
    assert "refused 1 facts" in caplog.text
    assert "SECRET" not in caplog.text


def test_a_model_that_refuses_every_fact_is_a_named_error(memory: Memory, words: Words) -> None:
    words.refuses = "."
    with pytest.raises(BackendError, match="context_too_long"):
        memory.similar("mat")


@pytest.mark.parametrize("after", [0, 1])
def test_a_model_that_fails_is_a_named_error(memory: Memory, words: Words, after: int) -> None:
    for _ in range(after):
        memory.similar("cat")
    words.fails = Unmeasured(UnmeasuredReason.TIMEOUT)
    with pytest.raises(BackendError, match="timeout") as caught:
        memory.similar("SECRET")
    assert "SECRET" not in str(caught.value)
    words.fails = None
    assert texts(memory, "cat")


LIES = [None, 7, [], [[]], [["a"]], [[1.0], [1.0]], [[float("nan")]], [[1.0], [1.0, 2.0]], [1.0]]


def test_vectors_that_are_none_are_a_named_error(
    memory: Memory, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    async def embed(_: Sequence[str]) -> object:
        return told[-1]

    with monkeypatch.context() as patch:
        patch.setattr(words, "embed", embed)
        for lie in LIES:
            told.append(lie)
            with pytest.raises(BackendError, match="malformed_reply"):
                memory.similar("cat")
    assert texts(memory, "cat")


def test_wrong_use_is_a_named_error(memory: Memory, new_url: NewUrl) -> None:
    with pytest.raises(InputError):
        memory.similar(" ")
    with pytest.raises(InputError):
        memory.similar("cat", limit=0)
    with Memory(new_url()) as other, pytest.raises(ConfigurationError, match="no embedding model"):
        other.similar("cat")
    with Memory(new_url(), embeddings=Words()) as empty:
        assert empty.similar("cat") == []


def test_what_the_queue_rejects_takes_its_vector_along(memory: Memory) -> None:
    from veridical.store.memory_queue import MemoryQueue, Settled, new_queue_row

    memory.similar("cat")
    (cat,) = memory.search("cat")
    queue = MemoryQueue(memory._store)
    assert queue.settle(cat.id, Settled(queue=new_queue_row("timeout")))
    assert queue.settle(cat.id, Settled(removed_at=cat.created))
    assert FACTS[2] not in texts(memory, "cat")
