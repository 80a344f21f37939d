"""Language model in a GGUF file, run in this process by llama.cpp (extra `gguf`).

P comes from the log-probabilities of the first answer token, asked through the model's own chat
template. Claims on one context are asked one after the other, so that llama.cpp finds its results
for the context in its cache and has to read the claim alone. It changes no number: see `llama_cpp`.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from veridical.core.measurements import (
    BackendInfo,
    Estimator,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import BackendSpec
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.clients import ensure_positive
from veridical.pipeline.inference.llama_cpp import (
    LlamaModel,
    Load,
    Messages,
    Tokens,
    shared,
    xllamacpp,
)
from veridical.pipeline.inference.logprobs import read_logprobs
from veridical.pipeline.inference.processors import usable_processors
from veridical.pipeline.inference.prompts import Prompt, fingerprint, prompt_for

if TYPE_CHECKING:
    from collections.abc import Sequence

FENCE, QUOTE = "<data-", '"'
"""Starts of the context and of the claim in a prompt: the text before them is constant."""

_CUT = "~"
_MAGIC = b"GGUF"
_MEBIBYTE = 2**20
_TOP_LOGPROBS = 20
_NO_FILE = "Give the path of a model file: gguf:PATH"


def create(
    model: str | None = None,
    *,
    threads: int | None = None,
    context_tokens: int = 4096,
    timeout_s: float = 60.0,
) -> Gguf:
    """Return a backend for a model file (entry point `gguf`); it is loaded on first use.

    `ConfigurationError` if there is no such file, if it is no GGUF file, or if an option is out of
    range; `MissingExtraError` without xllamacpp.
    """
    if not model:
        msg = "the backend gguf has no default model"
        raise ConfigurationError(msg, hint=_NO_FILE)
    threads = usable_processors() if threads is None else threads
    ensure_positive(threads=threads, context_tokens=context_tokens, timeout_s=timeout_s)
    load = Load(Path(model).expanduser(), context_tokens, threads)
    return Gguf(load, timeout_s=timeout_s)


BACKEND = BackendSpec(create, settings="gguf", in_process=True)


class Gguf:
    """P from the log-probabilities of the first answer token of a model in this process.

    A context of more than `context_tokens` is refused before it is read, a claim that exceeds them
    after its context. `timeout_s` is the limit of one query in seconds, waiting for other users of
    the same model included. The fingerprint holds
    the file's size and a SHA-256 of its first and last MiB: that of the whole would take seconds.
    """

    def __init__(self, load: Load, *, timeout_s: float) -> None:
        xllamacpp()  # if it is missing, that is to be known at once
        self._load = load
        self._timeout_s = timeout_s
        self._engine: LlamaModel | None = None
        self._last = ""
        self._counting = threading.Lock()
        self._tokens = Tokens()
        self.info = BackendInfo(
            name="gguf",
            model=load.path.name,
            estimator=Estimator.LOGPROBS,
            fingerprint=fingerprint(file_digest(load.path), str(_TOP_LOGPROBS)),
            reads=Reads.WHOLE,
        )

    @property
    def tokens(self) -> Tokens:
        """Tokens of all queries answered so far."""
        return self._tokens

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order.

        `BackendError` if the file cannot be loaded.
        """
        if not queries:
            return []
        engine = await anyio.to_thread.run_sync(self._open, abandon_on_cancel=True)
        prompts = [prompt_for(query) for query in queries]
        # The context that was asked about last may be in the cache still: it comes first.
        contexts: dict[str, list[int]] = {self._last: []}
        for i, prompt in enumerate(prompts):
            contexts.setdefault(prompt.context, []).append(i)
        results: list[Measurement | None] = [None] * len(queries)
        limiter = anyio.CapacityLimiter(1)
        for i in chain.from_iterable(contexts.values()):
            self._last = prompts[i].context
            results[i] = await self._measure(engine, prompts[i], limiter)
        return [result for result in results if result is not None]

    def close(self) -> None:
        """Release the model: its memory is free once no other backend and no query uses it.

        A closed backend that is asked again loads it again.
        """
        self._engine = None

    def _open(self) -> LlamaModel:
        # Two threads that come here at once get the same model, through `shared`.
        self._engine = engine = self._engine or shared(self._load)
        return engine

    async def _measure(
        self, engine: LlamaModel, prompt: Prompt, limiter: anyio.CapacityLimiter
    ) -> Measurement:
        started = perf_counter()
        stop = threading.Event()
        ask = partial(engine.ask, stages(prompt), _TOP_LOGPROBS, stop)
        try:
            with anyio.fail_after(self._timeout_s):
                completion, tokens = await anyio.to_thread.run_sync(
                    ask, abandon_on_cancel=True, limiter=limiter
                )
        except TimeoutError:
            return Unmeasured(UnmeasuredReason.TIMEOUT, f"{self._timeout_s:g} s")
        finally:
            stop.set()  # the thread of a query that was given up ends after its batch
        with self._counting:
            self._tokens += tokens
        if isinstance(completion, Unmeasured):
            return completion
        reading = read_logprobs(completion.top or ())
        if isinstance(reading, Unmeasured):
            return reading
        return reading.estimate(
            self.info,
            latency_ms=(perf_counter() - started) * 1000,
            tokens=tokens.evaluated + tokens.generated,
            cost_usd=0.0,
        )


def stages(prompt: Prompt) -> tuple[Messages, Messages, Messages]:
    """Return the prompt cut off before its context, the same before its claim, and all of it.

    The sign at the place of the cut is one that no context and no claim begins with.
    """
    before = prompt.context.partition(FENCE)[0] + _CUT
    upon = prompt.context + prompt.claim.partition(QUOTE)[0] + _CUT
    first, second = (replace(prompt, context="", claim=cut).messages for cut in (before, upon))
    return first, second, prompt.messages


def file_digest(path: Path) -> str:
    """Return a SHA-256 of a GGUF file's size and its first and last MiB.

    `ConfigurationError` if there is none at `path`.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            first = file.read(_MEBIBYTE)
            file.seek(max(0, size - _MEBIBYTE))
            last = file.read()
    except OSError as error:
        msg = f"the model file {path} cannot be read ({type(error).__name__})"
        raise ConfigurationError(msg, hint=_NO_FILE) from None
    if not first.startswith(_MAGIC):
        msg = f"the model file {path} is no GGUF file"
        raise ConfigurationError(msg, hint=_NO_FILE)
    return hashlib.sha256(b"%d\n" % size + first + last).hexdigest()
