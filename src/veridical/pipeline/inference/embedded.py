"""The embedded verifier: an ONNX cross-encoder on the CPU, no key and no download.

Pairs are scored one to a run, one run to a core. The int8 weights quantise activations over the
whole batch, so that in a shared batch a claim's probability moves with its neighbours (by up to
.36, benchmarks/results/batching.md); alone it is the same every time, needs no padding and, with a
core each, is faster (docs/decisions/0005-one-pair-per-run.md).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from veridical.core.homoglyphs import fold
from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import BackendSpec
from veridical.errors import BackendError
from veridical.pipeline.inference.card import DEFAULT_MODEL, WeightsCard, load_card
from veridical.pipeline.inference.onnx_graphs import (
    FOREIGN,
    in_threads,
    is_read,
    open_session,
    open_tokenizer,
    softmax,
    threads_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

CHECK_TOLERANCE = 0.5
"""Tolerance for the logits of the self-check: rounding moves them by less than .3."""

_engines: dict[tuple[Path, str], _Engine] = {}
_engines_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Engine:
    """One loaded set of weights; shared by the whole process."""

    card: WeightsCard
    session: InferenceSession
    tokenizer: Tokenizer


def create(model: str | None = None, *, threads: int | None = None) -> EmbeddedVerifier:
    """Return the embedded verifier (entry point `embedded`); weights load on first use."""
    return EmbeddedVerifier(model or DEFAULT_MODEL, threads=threads)


BACKEND = BackendSpec(create, in_process=True, instant=True)


class EmbeddedVerifier:
    """A cross-encoder that gives P(supported, contradicted, not in context) for a pair.

    `threads` is how many pairs are scored at once; None means the processors this process may use.
    """

    def __init__(
        self,
        model: str | WeightsCard = DEFAULT_MODEL,
        *,
        threads: int | None = None,
        name: str = "embedded",
    ) -> None:
        self._threads = threads_of(threads)
        self._card = load_card(model) if isinstance(model, str) else model
        # Made once: it is asked for with every query, and a fingerprint takes as long as a claim.
        self._info = BackendInfo(
            name=name,
            model=self._card.name,
            estimator=Estimator.CROSS_ENCODER,
            fingerprint=self._card.fingerprint,
            support_threshold=self._card.calibration.support_threshold,
            contradiction_threshold=self._card.calibration.contradiction_threshold,
            certainty=self._card.certainty,
            languages=("en",),
        )

    @property
    def info(self) -> BackendInfo:
        """Name, model, estimator, fingerprint and calibrated thresholds."""
        return self._info

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in the order of the logits."""
        return self._card.labels

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        readable = [is_read(query, ("en",)) for query in queries]
        pairs = zip(queries, readable, strict=True)
        read = iter(await self._read([query for query, is_english in pairs if is_english]))
        return [next(read) if is_english else FOREIGN for is_english in readable]

    async def _read(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        if not queries:
            return []
        engine = await anyio.to_thread.run_sync(_engine, self._card)
        encodings = await anyio.to_thread.run_sync(_encode, engine, queries)
        sizes = [len(encoding.ids) for encoding in encodings]
        return await in_threads(lambda i: _score(engine, encodings[i]), sizes, self._threads)


def _engine(card: WeightsCard) -> _Engine:
    """Load the weights once per process; `BackendError` if they are damaged."""
    with _engines_lock:
        key = card.weights, card.fingerprint
        if key not in _engines:
            card.verify()
            _engines[key] = _load(card)
        return _engines[key]


def _load(card: WeightsCard) -> _Engine:
    hint = "Reinstall veridical and onnxruntime"
    session = open_session(card.weights, card.name, hint)
    engine = _Engine(card, session, open_tokenizer(card.tokenizer, card.name, hint))
    _ensure_right(engine)
    return engine


def _ensure_right(engine: _Engine) -> None:
    """Raise `BackendError` unless the weights compute the reference logits of the card here.

    Rounding differs from processor to processor; the check is for overflow, which makes the answers
    to everything nearly the same (docs/decisions/0008-quantisation.md).
    """
    import numpy as np

    check = engine.card.check
    found = np.asarray(_run(engine, check.input_ids), dtype=np.float64)
    if not np.allclose(found, check.logits, rtol=0, atol=CHECK_TOLERANCE):
        msg = f"{engine.card.name} gives wrong results on this processor"
        raise BackendError(msg, hint="Please report it, with the output of veridical doctor")


def _encode(engine: _Engine, queries: Sequence[Query]) -> list[Encoding]:
    pairs = [(fold(query.context), fold(query.claim)) for query in queries]
    return engine.tokenizer.encode_batch(pairs)


def _score(engine: _Engine, encoding: Encoding) -> Measurement:
    tokens = len(encoding.ids)
    if tokens > engine.card.max_tokens:
        detail = f"{tokens} tokens, {engine.card.max_tokens} at most"
        return Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, detail)
    started = perf_counter()
    try:
        logits = _run(engine, encoding.ids)
    except Exception as error:  # noqa: BLE001 -- a failing run is a value, never a crash of the host
        return Unmeasured(UnmeasuredReason.BACKEND_ERROR, type(error).__name__)
    latency_ms = (perf_counter() - started) * 1000
    return _estimate(engine.card, logits, tokens, latency_ms)


def _run(engine: _Engine, tokens: Sequence[int]) -> Any:  # noqa: ANN401 -- a numpy array, not imported here
    import numpy as np

    ids = np.asarray([tokens], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return engine.session.run(["logits"], inputs)[0][0]


def _estimate(card: WeightsCard, logits: Any, tokens: int, latency_ms: float) -> Measurement:  # noqa: ANN401
    import numpy as np

    calibration = card.calibration
    scaled = np.asarray(logits, dtype=np.float64) / calibration.temperature + calibration.bias
    if not np.isfinite(scaled).all():
        return Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "the model returned no finite numbers")
    probabilities = dict(zip(card.labels, softmax(scaled).tolist(), strict=True))
    supported = probabilities["supported"]
    low, high = calibration.interval(supported)
    return Estimate(
        supported=supported,
        contradicted=probabilities["contradicted"],
        not_in_context=probabilities["not_in_context"],
        low=low,
        high=high,
        estimator=Estimator.CROSS_ENCODER,
        model=card.name,
        fingerprint=card.fingerprint,
        latency_ms=latency_ms,
        tokens=tokens,
        cost_usd=0.0,
    )
