"""Public cross-encoders through ONNX Runtime: each asked and read as it was trained.

A text that the model cannot read whole is unmeasured, never cut: what is cut first is the claim.
One pair is one run, so that no estimate depends on its neighbours
(docs/decisions/0027-public-verifiers.md).
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from pathlib import Path
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
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import BackendSpec
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.encoder_runs import runs_of
from veridical.pipeline.inference.model_folder import ModelFolder, read_card, read_folder
from veridical.pipeline.inference.model_store import folder_of, verify
from veridical.pipeline.inference.onnx_graphs import (
    FOREIGN,
    in_threads,
    is_read,
    open_session,
    open_tokenizer,
    softmax,
    threads_of,
)
from veridical.pipeline.inference.presets import (
    CONTRADICTED,
    NOT_SUPPORTED,
    SUPPORTED,
    Preset,
    presets,
)
from veridical.pipeline.inference.windows import counter, sentences, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenizers import Encoding, Tokenizer

    Runs = Callable[["Encoding"], Any]

_PLACE = re.compile(r"\{(context|claim|question)\}")
_PAIRS = frozenset({"pair", "spans"})
_RELOAD = "The files are damaged, or newer than the installed onnxruntime or tokenizers"
_engines: dict[tuple[Path, str], Engine] = {}
_engines_lock = threading.Lock()


def create(
    model: str | None = None, *, threads: int | None = None
) -> CrossEncoder | EmbeddedVerifier:
    """Return a backend for a model folder (entry point `onnx`); it is loaded on first use.

    `ConfigurationError` if there is no such folder, or it is not recognised.
    """
    if not model:
        msg = "the backend onnx has no default model"
        raise ConfigurationError(msg, hint="Give the path of a folder: onnx:FOLDER")
    return _backend(Path(model).expanduser().resolve(), "onnx", threads)


def create_hub(
    model: str | None = None, *, threads: int | None = None, folder: str | None = None
) -> CrossEncoder | EmbeddedVerifier:
    """Return a backend for a downloaded model `NAME[@REVISION]` (entry point `hub`).

    `ConfigurationError` if it was not downloaded to `folder`; nothing is downloaded here.
    """
    name, _, revision = (model or "").partition("@")
    if not name:
        msg = "the backend hub has no default model"
        raise ConfigurationError(msg, hint="Name one: hub:NAME, a preset or owner/repository")
    path = folder_of(name, revision or None, folder=None if folder is None else Path(folder))
    return _backend(path, "hub", threads, name=name, named=presets().get(name))


BACKEND = BackendSpec(create, in_process=True)
HUB = BackendSpec(create_hub, settings="models", in_process=True)


def _backend(
    path: Path,
    backend: str,
    threads: int | None,
    *,
    name: str | None = None,
    named: Preset | None = None,
) -> CrossEncoder | EmbeddedVerifier:
    card = read_card(path)
    if card is not None:
        return EmbeddedVerifier(card, threads=threads, name=backend)
    model = read_folder(path, named)
    return CrossEncoder(model, threads=threads, backend=backend, name=name or path.name)


@dataclass(frozen=True, slots=True)
class Engine:
    """One loaded model; shared by the whole process."""

    preset: Preset
    tokenizer: Tokenizer
    special: re.Pattern[str] | None
    run: Runs

    def encodings(self, query: Query) -> list[list[Encoding]]:
        """Return the inputs of a query: for each sentence asked, one for each window."""
        context, claim = fold(query.context), fold(query.claim)
        question = None if query.question is None else fold(query.question)
        parts = sentences(claim) if self.preset.aggregation == "min_of_max" else []
        evidence = self._windows(context)
        return [
            [self._encoding(window, part, question) for window in evidence]
            for part in parts or [claim]
        ]

    def _windows(self, context: str) -> list[str]:
        preset = self.preset
        if preset.window_words is None:
            return [context]
        count = counter(preset.window_unit, self._tokens)
        return windows(context, preset.window_words, preset.window_joint, count)

    def _tokens(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def _encoding(self, doc: str, claim: str, question: str | None) -> Encoding:
        preset = self.preset
        template = str(preset.template)
        if question and preset.question_template is not None:
            template = preset.question_template
        values = {"context": doc, "claim": claim, "question": question or ""}
        if preset.kind in _PAIRS:
            return self.tokenizer.encode(_filled(template, values), claim)
        safe = {place: self._disarmed(text) for place, text in values.items()}
        return self.tokenizer.encode(_filled(template, safe))

    def _disarmed(self, text: str) -> str:
        """Return a text in which no special token of the model is one: its template has some."""
        if self.special is None:
            return text
        return self.special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def _filled(template: str, values: dict[str, str]) -> str:
    return _PLACE.sub(lambda match: values[match[1]], template)


class CrossEncoder:
    """Cross-encoder of a model folder: P(supported), and P(contradicted) where it has that class.

    `threads` is how many claims are scored at once; None means the processors this process may use.
    """

    def __init__(
        self,
        model: ModelFolder,
        *,
        threads: int | None = None,
        backend: str = "onnx",
        name: str | None = None,
    ) -> None:
        self._threads = threads_of(threads)
        self._model = model
        self.labels = model.labels
        preset = model.preset
        self.info = BackendInfo(
            name=backend,
            model=name or model.path.name,
            estimator=Estimator.CROSS_ENCODER,
            fingerprint=model.fingerprint,
            support_threshold=preset.threshold,
            reads=Reads(preset.reads),
            languages=preset.languages,
            tells_contradiction=preset.contradicts,
            measures_dependence=False,
        )

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order.

        `BackendError` if the model cannot be loaded.
        """
        readable = [is_read(query, self.info.languages) for query in queries]
        asked = [query for query, is_one in zip(queries, readable, strict=True) if is_one]
        read = iter(await self._read(asked))
        return [next(read) if is_one else FOREIGN for is_one in readable]

    async def _read(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        if not queries:
            return []
        loaded = await anyio.to_thread.run_sync(engine, self._model)
        stop = threading.Event()
        sizes = [len(query.context) for query in queries]
        try:
            return await in_threads(
                lambda i: self._measure(loaded, queries[i], stop),
                sizes,
                self._threads,
                abandon=True,
            )
        finally:
            stop.set()  # the thread of a query that was given up ends after its run

    def _measure(self, loaded: Engine, query: Query, stop: threading.Event) -> Measurement:
        started = perf_counter()
        try:
            found = read_query(loaded, query, stop)
        except Exception as error:  # noqa: BLE001 -- a failing run is a value, never a crash of the host
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR, type(error).__name__)
        if isinstance(found, Unmeasured):
            return found
        return Estimate(
            supported=found.supported,
            contradicted=found.contradicted,
            not_in_context=max(0.0, 1.0 - found.supported - found.contradicted),
            low=found.supported,
            high=found.supported,
            estimator=self.info.estimator,
            model=self.info.model,
            fingerprint=self.info.fingerprint,
            latency_ms=(perf_counter() - started) * 1000,
            tokens=found.tokens,
            cost_usd=0.0,
        )


@dataclass(frozen=True, slots=True)
class EncoderReading:
    """P(supported) and P(contradicted) of a query, and the tokens read for it."""

    supported: float
    contradicted: float
    tokens: int = 0


def read_query(
    loaded: Engine, query: Query, stop: threading.Event | None = None
) -> EncoderReading | Unmeasured:
    """Return the joint reading of all windows of a query; unmeasured if one is too long."""
    rows = loaded.encodings(query)
    lengths = [len(encoding.ids) for row in rows for encoding in row]
    most = loaded.preset.max_tokens
    if most is not None and max(lengths) > most:
        detail = f"{max(lengths)} tokens, {most} at most"
        return Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, detail)
    readings: list[list[EncoderReading]] = []
    for row in rows:
        found = [_read_one(loaded, one) for one in row if stop is None or not stop.is_set()]
        readings.append([one for one in found if isinstance(one, EncoderReading)])
        for one in found:
            if isinstance(one, Unmeasured):
                return one
    joint = aggregated(readings, loaded.preset.aggregation)
    return EncoderReading(joint.supported, joint.contradicted, sum(lengths))


def _read_one(loaded: Engine, encoding: Encoding) -> EncoderReading | Unmeasured:
    return read_logits(loaded.preset, loaded.run(encoding), encoding)


def read_logits(preset: Preset, logits: Any, encoding: Encoding) -> EncoderReading | Unmeasured:  # noqa: ANN401 -- a numpy array, not imported here
    """Return what the logits of one input say, by the convention of the preset."""
    import numpy as np

    chosen = np.asarray(_chosen(preset, logits, encoding), dtype=np.float64)
    if chosen.ndim != 2 or chosen.shape[1] != len(preset.labels) or not len(chosen):  # noqa: PLR2004 -- inputs and classes
        detail = f"logits of another shape than the {len(preset.labels)} labels have"
        return Unmeasured(UnmeasuredReason.MALFORMED_REPLY, detail)
    if not np.isfinite(chosen).all():
        return Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "the model returned no finite numbers")
    columns = dict(zip(preset.labels, softmax(chosen).T, strict=True))
    if NOT_SUPPORTED in columns:
        # Of the tokens of a claim the least supported one counts; anything else is one row.
        worst = int(columns[NOT_SUPPORTED].argmax())
        return EncoderReading(float(columns[SUPPORTED][worst]), 0.0)
    return EncoderReading(float(columns[SUPPORTED][0]), float(columns[CONTRADICTED][0]))


def _chosen(preset: Preset, logits: Any, encoding: Encoding) -> Any:  # noqa: ANN401
    """Return the rows of logits that count, with one column for each label."""
    if preset.kind == "seq2seq":
        return logits[:, 0, list(preset.answer_ids or ())]
    if preset.kind == "token_zero":
        return logits[:, 0]
    if preset.kind == "spans":
        return logits[0, [i for i, text in enumerate(encoding.sequence_ids) if text == 1]]
    return logits


def aggregated(readings: Sequence[Sequence[EncoderReading]], how: str) -> EncoderReading:
    """Return the joint reading of the windows of each sentence, and of the sentences.

    `max` is the largest of both probabilities over the windows, scaled down to a sum of 1 where
    they exceed it; `max_of_hallucinated` the window with the least support; `min_of_max` the
    sentence with the least support in its best window.
    """
    joint = [_hardest(row) if how == "max_of_hallucinated" else _largest(row) for row in readings]
    return min(joint, key=lambda one: one.supported)


def _hardest(row: Sequence[EncoderReading]) -> EncoderReading:
    return min(row, key=lambda one: one.supported)


def _largest(row: Sequence[EncoderReading]) -> EncoderReading:
    supported = max(one.supported for one in row)
    contradicted = max(one.contradicted for one in row)
    total = max(1.0, supported + contradicted)
    return EncoderReading(supported / total, contradicted / total)


def engine(model: ModelFolder) -> Engine:
    """Load a model once per process; `BackendError` if that fails or a file is not as downloaded.

    `ConfigurationError` if its graph takes other inputs, or has another number of classes.
    """
    key = model.path, model.fingerprint
    with _engines_lock:
        if key not in _engines:
            verify(model.path)
            _engines[key] = _load(model)
        return _engines[key]


def _load(model: ModelFolder) -> Engine:
    preset, name = model.preset, model.path.name
    is_pair = preset.kind in _PAIRS
    tokenizer = open_tokenizer(model.tokenizer, name, _RELOAD, special=not is_pair)
    sessions = [open_session(path, name, _RELOAD) for path in model.graphs]
    special = None if is_pair else _special(tokenizer)
    return Engine(preset, tokenizer, special, runs_of(sessions, preset, name))


def _special(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    added = tokenizer.get_added_tokens_decoder().values()
    tokens = sorted({one.content for one in added if one.special}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, tokens))) if tokens else None
