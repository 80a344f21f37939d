"""The embedded verifier: an ONNX cross-encoder on the CPU, no key and no download.

Pairs are scored one to a run, one run to a core. The int8 weights quantise activations over the
whole batch, so that in a shared batch a claim's probability moves with its neighbours (by up to
.36, benchmarks/results/batching.md); alone it is the same every time, needs no padding and, with a
core each, is faster (docs/decisions/0005-one-pair-per-run.md).
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from veridical.core.homoglyphs import fold
from veridical.core.language import is_foreign
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
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.card import DEFAULT_MODEL, WeightsCard, load_card
from veridical.pipeline.inference.processors import usable_processors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

CHECK_TOLERANCE = 0.5
"""Tolerance for the logits of the self-check: rounding moves them by less than .3."""

_FOREIGN = Unmeasured(UnmeasuredReason.LANGUAGE_NOT_SUPPORTED, "it reads English only")
_engines: dict[str, _Engine] = {}
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

    def __init__(self, model: str = DEFAULT_MODEL, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            msg = f"threads must be 1 or more, not {threads}"
            raise ConfigurationError(msg, hint="Leave it out to use every processor")
        self._card = load_card(model)
        self._threads = threads or usable_processors()

    @property
    def info(self) -> BackendInfo:
        """Name, model, estimator, fingerprint and calibrated thresholds."""
        calibration = self._card.calibration
        return BackendInfo(
            name="embedded",
            model=self._card.name,
            estimator=Estimator.CROSS_ENCODER,
            fingerprint=self._card.fingerprint,
            support_threshold=calibration.support_threshold,
            contradiction_threshold=calibration.contradiction_threshold,
            certainty=self._card.certainty,
            languages=("en",),
        )

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        foreign = [any(map(is_foreign, map(fold, (q.claim, q.context)))) for q in queries]
        pairs = zip(queries, foreign, strict=True)
        read = iter(await self._read([query for query, is_other in pairs if not is_other]))
        return [_FOREIGN if is_other else next(read) for is_other in foreign]

    async def _read(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        if not queries:
            return []
        engine = await anyio.to_thread.run_sync(_engine, self._card)
        encodings = await anyio.to_thread.run_sync(_encode, engine, queries)
        results: list[Measurement | None] = [None] * len(queries)
        # The longest first, so that no core is left with a long pair at the end.
        order = iter(sorted(range(len(queries)), key=lambda i: -len(encodings[i].ids)))
        limiter = anyio.CapacityLimiter(self._threads)

        async def work() -> None:
            for i in order:
                results[i] = await anyio.to_thread.run_sync(
                    _score, engine, encodings[i], limiter=limiter
                )

        async with anyio.create_task_group() as tasks:
            for _ in range(min(self._threads, len(queries))):
                tasks.start_soon(work)
        return [result for result in results if result is not None]


def _engine(card: WeightsCard) -> _Engine:
    """Load the weights once per process; `BackendError` if they are damaged."""
    with _engines_lock:
        if card.name not in _engines:
            card.verify()
            _engines[card.name] = _load(card)
        return _engines[card.name]


def _load(card: WeightsCard) -> _Engine:
    # Its official builds report to their maker unless this is set before they are first imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(card.weights), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(card.tokenizer))
    except Exception as error:
        msg = f"{card.name} cannot be loaded ({type(error).__name__})"
        raise BackendError(msg, hint="Reinstall veridical and onnxruntime") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a "</s>" in a text is text, not the end of it
    engine = _Engine(card, session, tokenizer)
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
    exponentials = np.exp(scaled - scaled.max())
    probabilities = dict(
        zip(card.labels, (exponentials / exponentials.sum()).tolist(), strict=True)
    )
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
