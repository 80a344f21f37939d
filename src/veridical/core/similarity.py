"""Measures of answers: similarity, consistency, dependence on evidence, contradictions.

A measure that could not be taken has a `value` of None and the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veridical.core.measurements import NOTHING, Taken
from veridical.core.printing import Document, number, one_line
from veridical.errors import UnmeasuredError


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Number from 0 to 1, or None with the reason for its absence; `float()` gives it.

    `taken` is the usage of the measurement. `UnmeasuredError` from `float()` if there is no number.
    """

    value: float | None
    reason: str | None = None
    taken: Taken = NOTHING

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            msg = "a measure has a value or the reason why it has none"
            raise ValueError(msg)

    def __float__(self) -> float:
        """Return the value; `UnmeasuredError` if there is none."""
        if self.value is None:
            msg = f"this was not measured ({self.reason})"
            raise UnmeasuredError(msg, self.reason or "", hint="Try again, or ask another backend")
        return self.value

    def __str__(self) -> str:
        return f"not measured: {self.reason}" if self.value is None else f"{self.value:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity(Measure):
    """Similarity of two texts: the harmonic mean of both directions of entailment.

    `forward` is how much of the second text follows from the first, `backward` the other way.
    """

    forward: float | None = None
    backward: float | None = None

    def to_dict(self) -> Document:
        """Return the similarity as a JSON object of schema `veridical.similarity/1`."""
        return {
            "schema": "veridical.similarity/1",
            "value": number(self.value),
            "reason": self.reason,
            **self.taken.body(),
            "forward": number(self.forward),
            "backward": number(self.backward),
        }

    def __str__(self) -> str:
        return Measure.__str__(self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Dependence(Measure):
    """Dependence of an answer on its evidence: 0 not at all, 1 wholly.

    By `re_asking`, 1 - the `similarity` of `answer_with` and `answer_without`, the answers of a
    text model with and without the evidence; no more than the `agreement` of the answer in question
    with the first, in the direction in which they agree most. By `scrubbing`, the mean total
    variation of the claims' distributions with and without their evidence, over `claims_measured`
    of `claims_total`.
    """

    method: Literal["re_asking", "scrubbing"]
    similarity: Similarity | None = None
    agreement: Similarity | None = None
    answer_with: str | None = None
    answer_without: str | None = None
    claims_measured: int | None = None
    claims_total: int | None = None

    def to_dict(self) -> Document:
        """Return the measure as a JSON object of schema `veridical.dependence/1`."""
        return {
            "schema": "veridical.dependence/1",
            "value": number(self.value),
            "reason": self.reason,
            **self.taken.body(),
            "method": self.method,
            "similarity": None if self.similarity is None else number(self.similarity.value),
            "agreement": None if self.agreement is None else number(self.agreement.value),
            "answer_with": self.answer_with,
            "answer_without": self.answer_without,
            "claims_measured": self.claims_measured,
            "claims_total": self.claims_total,
        }

    def __str__(self) -> str:
        return f"{Measure.__str__(self)} (by {self.method.replace('_', ' ')})"

    def __repr__(self) -> str:
        return f"Dependence(value={self.value}, method={self.method!r}, reason={self.reason!r})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Consistency(Measure):
    """Independence of the wording: 1 - the mean absolute difference between all pairs.

    Of one claim in several `wordings` (the first is its own) by their P(supported), in
    `probabilities`, None where one could not be measured; of several answers 1 - that is their mean
    pairwise similarity. `refused` counts rewordings with other facts than the claim's.
    """

    method: Literal["text_model", "rules", "samples"]
    wordings: tuple[str, ...] = ()
    probabilities: tuple[float | None, ...] = ()
    refused: int = 0

    def to_dict(self) -> Document:
        """Return the measure as a JSON object of schema `veridical.consistency/1`."""
        return {
            "schema": "veridical.consistency/1",
            "value": number(self.value),
            "reason": self.reason,
            **self.taken.body(),
            "method": self.method,
            "wordings": list(self.wordings),
            "probabilities": [number(p) for p in self.probabilities],
            "refused": self.refused,
        }

    def __str__(self) -> str:
        by = f"{len(self.wordings)} wordings by {self.method.replace('_', ' ')}"
        return f"{Measure.__str__(self)} ({by})"

    def __repr__(self) -> str:
        return f"Consistency(value={self.value}, method={self.method!r}, reason={self.reason!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Contradiction:
    """Two claims of one answer that oppose each other; `probability` is the smaller direction's."""

    first_id: str
    second_id: str
    first_text: str
    second_text: str
    probability: float

    def __repr__(self) -> str:
        return f"Contradiction({self.first_id!r}, {self.second_id!r}, {self.probability:.3f})"


@dataclass(frozen=True, slots=True)
class Contradictions:
    """The claims of one answer that oppose each other.

    Of the `pairs_total` pairs that share content words, the `pairs_read` nearest were read, and
    `pairs_unmeasured` of these could not be measured. `taken` is the usage of the readings.
    """

    pairs: tuple[Contradiction, ...]
    pairs_read: int
    pairs_total: int
    pairs_unmeasured: int = 0
    taken: Taken = NOTHING

    def to_dict(self) -> Document:
        """Return the pairs as a JSON object of schema `veridical.contradictions/1`."""
        return {"schema": "veridical.contradictions/1", **self.body()}

    def body(self) -> Document:
        """Return the JSON object without its schema, as part of another."""
        return {
            "pairs": [
                {
                    "claims": [pair.first_id, pair.second_id],
                    "texts": [pair.first_text, pair.second_text],
                    "probability": number(pair.probability),
                }
                for pair in self.pairs
            ],
            "pairs_read": self.pairs_read,
            "pairs_total": self.pairs_total,
            "pairs_unmeasured": self.pairs_unmeasured,
            **self.taken.body(),
        }

    def __str__(self) -> str:
        lines = [
            f"✗ {pair.first_id} and {pair.second_id} oppose each other ({pair.probability:.2f}): "
            f"{one_line(pair.first_text, 100)} / {one_line(pair.second_text, 100)}"
            for pair in self.pairs
        ]
        lines.append(f"{self.pairs_read} of {self.pairs_total} pairs of claims read")
        return "\n".join(lines)
