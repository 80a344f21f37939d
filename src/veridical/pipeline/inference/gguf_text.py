"""Text from a language model in a GGUF file, in this process, by llama.cpp (extra `gguf`).

A schema becomes a grammar, which the text cannot leave. The model is shared with the backend `gguf`
of the same file, and like there the same request gives the same text.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from veridical.core.measurements import (
    Generated,
    TextModelInfo,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import TextModelSpec
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.clients import ensure_positive
from veridical.pipeline.inference.gguf import file_digest
from veridical.pipeline.inference.llama_cpp import LlamaModel, Load, shared, xllamacpp
from veridical.pipeline.inference.openai_text import ReplyFormat, chat, generated, response_format
from veridical.pipeline.inference.prices import Usage
from veridical.pipeline.inference.processors import usable_processors

if TYPE_CHECKING:
    from veridical.pipeline.inference.completions import Completion
    from veridical.pipeline.inference.llama_cpp import Tokens


def create(
    model: str | None = None,
    *,
    threads: int | None = None,
    context_tokens: int = 4096,
    timeout_s: float = 300.0,
) -> GgufText:
    """Return a text model for a model file (entry point `gguf`); it is loaded on first use.

    `ConfigurationError` if there is no such file, if it is no GGUF file, or if an option is out of
    range; `MissingExtraError` without xllamacpp.
    """
    if not model:
        msg = "the text model gguf has no default model"
        raise ConfigurationError(msg, hint="Give the path of a model file: gguf:PATH")
    threads = usable_processors() if threads is None else threads
    ensure_positive(threads=threads, context_tokens=context_tokens, timeout_s=timeout_s)
    load = Load(Path(model).expanduser(), context_tokens, threads)
    return GgufText(load, timeout_s=timeout_s)


TEXT_MODEL = TextModelSpec(
    create, settings="gguf", options=frozenset({"context_tokens"}), in_process=True
)


class GgufText:
    """Texts of a model in this process, one at a time; `timeout_s` is the limit of each."""

    def __init__(self, load: Load, *, timeout_s: float) -> None:
        xllamacpp()  # if it is missing, that is to be known at once
        self._load = load
        self._timeout_s = timeout_s
        self._engine: LlamaModel | None = None
        self.info = TextModelInfo("gguf", load.path.name)
        self.fingerprint = repr((file_digest(load.path), load.context_tokens))

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        """Return the model's text; an abandoned request ends after the batch under way.

        `BackendError` if the file cannot be loaded.
        """
        started = perf_counter()
        stop = threading.Event()
        try:
            with anyio.fail_after(self._timeout_s):
                completion, tokens = await anyio.to_thread.run_sync(
                    partial(self._write, request, stop), abandon_on_cancel=True
                )
        except TimeoutError:
            return Unmeasured(UnmeasuredReason.TIMEOUT, f"{self._timeout_s:g} s")
        finally:
            stop.set()
        if isinstance(completion, Unmeasured):
            return completion
        usage = Usage(tokens.evaluated, tokens.generated, tokens.reused)
        latency_ms = (perf_counter() - started) * 1000
        return generated(
            replace(completion, usage=usage),
            self.info.model,
            latency_ms=latency_ms,
            price=lambda _: 0.0,
        )

    def close(self) -> None:
        """Release the model; see `Gguf.close`."""
        self._engine = None

    def _write(
        self, request: TextRequest, stop: threading.Event
    ) -> tuple[Completion | Unmeasured, Tokens]:
        self._engine = engine = self._engine or shared(self._load)
        return engine.write(arguments(request), stop)


def arguments(request: TextRequest) -> dict[str, object]:
    """Return a request in the form that llama.cpp takes."""
    found: dict[str, object] = {
        "messages": chat(request),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    if request.seed is not None:
        found["seed"] = request.seed
    if request.schema is not None:
        found["response_format"] = response_format(request.schema, ReplyFormat.JSON_SCHEMA)
    return found
