"""Check of a verifier on this machine: plain pairs, results on record, the time of a pair.

Results on record are a file `golden.json` in the folder of a model, written once with the model's
own code: `{"pairs": [{"context", "claim", "question", "supported"}]}`, where `question` may be left
out, `supported` is P(supported), and further keys (token ids, logits) are not read here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from veridical.core.measurements import Estimate, Query
from veridical.errors import BackendError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from veridical.core.measurements import BackendInfo
    from veridical.core.ports import Backend

GOLDEN = "golden.json"
TOLERANCE = 0.1
"""Allowed difference in P(supported): int8 on another processor moves logits by up to .3."""

LENGTHS = (128, 512)
ROUNDS = 5
FITS = 3
"""Steps in which a context is brought to the length wanted."""

_CONTEXT = "The bridge was opened in 1932. It has eight lanes and is 1,149 metres long."
PAIRS = (
    (Query("The bridge has eight lanes.", _CONTEXT), True),
    (Query("The bridge was opened in 1932.", _CONTEXT), True),
    (Query("The bridge was opened in 1987.", _CONTEXT), False),
    (Query("The library closes at noon.", _CONTEXT), False),
)
_FILLER = "The ferry leaves the harbour at noon and returns in the evening. "


@dataclass(frozen=True, slots=True)
class PairResult:
    """Probabilities of a built-in pair, beside what is expected."""

    expected_supported: bool
    supported: float
    contradicted: float | None
    right: bool


@dataclass(frozen=True, slots=True)
class PairTime:
    """Median milliseconds of one pair of so many tokens, the instructions included."""

    tokens: int
    ms: float


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """Number of pairs on record, and the largest difference in P(supported)."""

    pairs: int
    largest_difference: float
    tolerance: float
    right: bool


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """Results on the built-in pairs and on those on record, and times by length.

    A length that does not fit has no time; `golden` is None if nothing is on record.
    """

    pairs: tuple[PairResult, ...]
    times: tuple[PairTime, ...]
    golden: GoldenResult | None

    @property
    def right(self) -> bool:
        """True if every pair is read as expected."""
        golden_right = self.golden is None or self.golden.right
        return golden_right and all(pair.right for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class Golden:
    """Pairs on record, and P(supported) of each."""

    queries: tuple[Query, ...]
    supported: tuple[float, ...]


def read_golden(folder: Path) -> Golden | None:
    """Return the results on record in the folder of a model; None if there are none.

    `ConfigurationError` if the file is malformed.
    """
    path = folder / GOLDEN
    if not path.exists():
        return None
    try:
        return _parsed(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        msg = f"{path} holds no results on record"
        raise ConfigurationError(msg, hint="docs/choices.md has the form of the file") from None


def _parsed(document: dict[str, Any]) -> Golden:
    pairs = document["pairs"]
    queries = tuple(Query(one["claim"], one["context"], one.get("question")) for one in pairs)
    supported = tuple(float(one["supported"]) for one in pairs)
    if not queries:
        raise ValueError
    return Golden(queries, supported)


async def check_model(backend: Backend, golden: Golden | None = None) -> ModelCheck:
    """Return the results and times of a backend; `BackendError` if a pair has no estimate."""
    compared = None if golden is None else await _compared(backend, golden)
    found = await _asked(backend, [query for query, _ in PAIRS])
    pairs = [
        _read(one, backend.info, expected=expected)
        for (_, expected), one in zip(PAIRS, found, strict=True)
    ]
    times = [await _time(backend, length) for length in LENGTHS]
    known = tuple(time for time in times if time is not None)
    return ModelCheck(tuple(pairs), known, compared)


async def _compared(backend: Backend, golden: Golden) -> GoldenResult:
    found = await _asked(backend, golden.queries)
    pairs = zip(found, golden.supported, strict=True)
    largest = max(abs(one.supported - probability) for one, probability in pairs)
    return GoldenResult(len(golden.queries), largest, TOLERANCE, largest <= TOLERANCE)


def _read(one: Estimate, info: BackendInfo, *, expected: bool) -> PairResult:
    is_supported = one.supported >= info.support_threshold
    return PairResult(expected, one.supported, one.contradicted, is_supported is expected)


async def _time(backend: Backend, length: int) -> PairTime | None:
    """Fit the context to a length by the tokens that the model counts, then take the time."""
    query, tokens = _query(length // 2), 0
    for step in range(FITS):
        (one,) = await backend.estimate([query])
        if not isinstance(one, Estimate) or not one.tokens:
            return None
        tokens = one.tokens
        if step < FITS - 1:
            query = _query(len(query.context.split()) * length // tokens)
    return PairTime(tokens, median([await _timed(backend, query) for _ in range(ROUNDS)]))


def _query(words: int) -> Query:
    filler = (_FILLER * words).split()[: max(1, words)]
    return Query("The ferry returns in the evening.", " ".join(filler))


async def _timed(backend: Backend, query: Query) -> float:
    started = perf_counter()
    await _asked(backend, [query])
    return (perf_counter() - started) * 1000


async def _asked(backend: Backend, queries: Sequence[Query]) -> list[Estimate]:
    measured = await backend.estimate(queries)
    found = [one for one in measured if isinstance(one, Estimate)]
    if len(found) < len(queries):
        msg = f"{backend.info.name} gives no estimate of a plain pair"
        raise BackendError(msg, hint="veridical doctor says whether it is usable")
    return found
