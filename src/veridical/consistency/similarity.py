"""Similarity of two texts: by entailment in both directions, or by the cosine of vectors.

A measurement that failed is a value with its reason.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from operator import mul
from typing import TYPE_CHECKING

from veridical.core.measurements import (
    UNKNOWN,
    Estimate,
    Query,
    Taken,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.similarity import Similarity
from veridical.core.text import normalise
from veridical.core.types import ensure_text
from veridical.errors import VeridicalError
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.inference.wrappers.base import safe_estimate
from veridical.pipeline.judgement.contradictions import content_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.core.ports import Backend, EmbeddingModel

CHUNK = 500
"""Characters of a text that are read at once: some 100 tokens, as windows of evidence are."""
CHUNKS_READ = 2
"""Number of chunks of a longer text read for a sentence of the other: the most similar."""


LONGEST_SUBJECT = 4
"""Words from the beginning of the other text that a pronoun may stand for."""


async def semantic_similarity(
    a: str, b: str, backend: Backend, *, question: str | None = None
) -> Similarity:
    """Return the similarity of two texts, from 0 to 1, by entailment in both directions.

    Each sentence of one text is read against the other, in chunks of whole sentences of up to 500
    characters, of which the two that share most words with the sentence are read:

        e(s | t)     = max over chunks of max(0, P(s supported | chunk) - P(s contradicted | chunk))
        forward      = mean of e(s | a) over the sentences s of b;  backward: of e(s | b) over a
        similarity   = 2 forward backward / (forward + backward), 0 if both are 0

    A contradiction counts as nothing in common. Texts with the same normal form have similarity 1
    without a measurement. If one text begins with a pronoun, it is also read with the first one to
    four words of the other in place of the pronoun, and the greatest similarity counts.
    Bidirectional entailment as the measure of meaning: Kuhn, Gal & Farquhar (2023), there as yes
    or no. `reason` is that of the first sentence that could not be measured.
    """
    ensure_text(a, "the first text")
    ensure_text(b, "the second text")
    readings = [_Reading(one, other) for one, other in _readings(a, b)]
    if any(reading.same for reading in readings):
        return Similarity(value=1.0, forward=1.0, backward=1.0)
    pairs = {pair: None for reading in readings for pair in reading.pairs}
    queries = [Query(sentence, chunk, question) for sentence, chunk in pairs]
    measured = await safe_estimate(backend, queries)
    lost = [each.reason.value for each in measured if isinstance(each, Unmeasured)]
    took = Taken.by(measured)
    if lost:
        return Similarity(value=None, reason=lost[0], taken=took)
    entailed = {
        pair: _entailed(each)
        for pair, each in zip(pairs, measured, strict=True)
        if isinstance(each, Estimate)
    }
    found = (reading.similarity(entailed) for reading in readings)
    return replace(max(found, key=float), taken=took)


class _Reading:
    """Two texts, and the sentence pairs to measure for their similarity."""

    def __init__(self, a: str, b: str) -> None:
        self.same = normalise(a).text == normalise(b).text
        self._forth, self._back = _entailments(a, b), _entailments(b, a)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Sentences, each with a chunk to read it against."""
        both = (*self._forth, *self._back)
        return [(sentence, chunk) for sentence, chunks in both for chunk in chunks]

    def similarity(self, entailed: Mapping[tuple[str, str], float]) -> Similarity:
        """Return the similarity of the texts, given the entailments."""
        forward, backward = (
            mean([max(entailed[sentence, chunk] for chunk in chunks) for sentence, chunks in part])
            for part in (self._forth, self._back)
        )
        both = forward + backward
        value = 2 * forward * backward / both if both else 0.0
        return Similarity(value=value, forward=forward, backward=backward)


# --- pronouns --------------------------------------------------------------------------------

_PRONOUN = re.compile(
    r"\s*(?:it|he|she|they|this|that|these|those)(?P<is>['’]s)?\s+", re.IGNORECASE
)


def _readings(a: str, b: str) -> Iterator[tuple[str, str]]:
    """Yield two texts as they are, then with possible antecedents of an initial pronoun."""
    yield a, b
    begins_a, begins_b = _PRONOUN.match(a), _PRONOUN.match(b)
    if begins_a and not begins_b:
        yield from ((text, b) for text in _resolved(a, begins_a, b))
    elif begins_b and not begins_a:
        yield from ((a, text) for text in _resolved(b, begins_b, a))


def _resolved(text: str, pronoun: re.Match[str], other: str) -> Iterator[str]:
    """Yield a text with the first words of the other one in place of its pronoun."""
    start = _sentences(other)[0].split()
    verb = "is " if pronoun["is"] else ""
    for length in range(1, min(LONGEST_SUBJECT, len(start) - 2) + 1):
        yield f"{' '.join(start[:length])} {verb}{text[pronoun.end() :]}"


async def vector_similarity(a: str, b: str, model: EmbeddingModel) -> Similarity:
    """Return the similarity of two texts by the cosine of their vectors, clipped to [0, 1].

    One vector for each text. Blind to negation: a text and its denial are close to each other.
    `semantic_similarity` is not.
    """
    ensure_text(a, "the first text")
    ensure_text(b, "the second text")
    found = await _vectors([a, b], model)
    if isinstance(found, Unmeasured):
        return Similarity(value=None, reason=found.reason.value, taken=UNKNOWN)
    cosine = _cosine(found)
    if cosine is None:
        return Similarity(value=None, reason=UnmeasuredReason.MALFORMED_REPLY.value, taken=UNKNOWN)
    # Embedding models do not report their usage.
    return Similarity(value=min(1.0, max(0.0, cosine)), taken=UNKNOWN)


async def _vectors(
    texts: Sequence[str], model: EmbeddingModel
) -> Sequence[Sequence[float]] | Unmeasured:
    try:
        found = await model.embed(texts)
    except VeridicalError:
        raise
    except Exception as error:  # noqa: BLE001 -- a model's bug must not break the host
        return Unmeasured(UnmeasuredReason.BACKEND_ERROR, type(error).__name__)
    return found


def _cosine(vectors: Sequence[Sequence[float]]) -> float | None:
    """Return the cosine of two vectors of one length; None for anything else in their place."""
    try:
        one, other = vectors
        lengths = math.hypot(*one) * math.hypot(*other)
        cosine = sum(map(mul, one, other)) / lengths
        comparable = len(one) == len(other)
    except (TypeError, ValueError, ArithmeticError):
        return None
    # A number that is not finite, or too large, makes one of the two so.
    return cosine if comparable and math.isfinite(lengths) and math.isfinite(cosine) else None


def _entailments(premise: str, hypothesis: str) -> list[tuple[str, list[str]]]:
    """Return each sentence of the hypothesis with the chunks of the premise to read it against."""
    chunks = _chunks(premise)
    content = [content_words(chunk) for chunk in chunks]
    found = []
    for sentence in _sentences(hypothesis):
        wanted = content_words(sentence)
        nearest = sorted(range(len(chunks)), key=lambda i: (-len(wanted & content[i]), i))
        found.append((sentence, [chunks[i] for i in sorted(nearest[:CHUNKS_READ])]))
    return found


def _sentences(text: str) -> list[str]:
    return [span.of(text) for span in split_sentences(text)] or [text]


def _chunks(text: str) -> list[str]:
    chunks: list[str] = []
    for sentence in _sentences(text):
        if chunks and len(chunks[-1]) + len(sentence) < CHUNK:
            chunks[-1] += f" {sentence}"
        else:
            chunks.append(sentence)
    return chunks


def _entailed(measured: Estimate) -> float:
    # A backend that answers yes or no only cannot tell a contradiction: then there is none to take.
    return max(0.0, measured.supported - (measured.contradicted or 0.0))


def mean(values: Sequence[float]) -> float:
    """Return the mean of one or more values."""
    return sum(values) / len(values)
