"""Chat model in this process, by llama.cpp through xllamacpp, shared by all its users.

The same prompt gives the same numbers to the last bit, whatever was asked before. That is not a
matter of course. llama.cpp keeps its results for a prompt and reads of the next one only the part
after their common beginning, and the number of tokens it reads at a time decides which of its
kernels sum, and how they round: the same prompt read anew, after another claim on its context, or
twice in a row had log-probabilities up to .2 and P(supported) up to .01 apart (Qwen2.5 0.5B, four
bits, on a CPU). So a prompt is read in stages that are cut at fixed places: the system's message,
the context, the claim. Before each stage comes a request that ends where the stage begins, but for
one sign that no text has there; it leaves in the cache exactly the stages before. That costs some
eight tokens a claim. And there is only one cache, and one prompt at a time, as prompts that share a
batch round differently, too.

llama.cpp opens a web server that cannot be switched off. Here it listens on a socket in a private
folder that is deleted at once (on Windows: on loopback), with a random key of this process only.
"""

from __future__ import annotations

import atexit
import os
import secrets
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.errors import BackendError, MissingExtraError
from veridical.pipeline.inference.completions import Completion, read_completion
from veridical.pipeline.inference.failures import malformed

if TYPE_CHECKING:
    from pathlib import Path

BATCH_TOKENS = 256
"""Tokens per batch: a request can be stopped between batches, not within."""

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Load:
    """Identity of a loaded model: the file, and the options it is run with.

    A prompt may have `context_tokens` tokens, answer included.
    """

    path: Path
    context_tokens: int
    threads: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """Numbers of prompt tokens, computed or found in the cache, and of answer tokens."""

    evaluated: int = 0
    reused: int = 0
    generated: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.evaluated + other.evaluated,
            self.reused + other.reused,
            self.generated + other.generated,
        )


_leaving = threading.Event()
"""Set when the process ends: a request under way stops after its batch, none begins."""


class LlamaModel:
    """Loaded model. Any thread may ask it; while one does, the others wait."""

    def __init__(self, server: Any) -> None:  # noqa: ANN401 -- xllamacpp has no types
        self._server = server
        self._lock = threading.Lock()
        self._held: tuple[Messages, ...] = ()

    def ask(
        self, stages: Sequence[Messages], top_logprobs: int, stop: threading.Event
    ) -> tuple[Completion | Unmeasured, Tokens]:
        """Return the completion of the last stage, and the tokens of all; this blocks.

        Each stage begins like the one before it and goes on where that one has its last sign. Once
        `stop` is set it ends after the batch under way, with a result of no use.
        """
        before = tuple(stages[:-1])
        completion: Completion | Unmeasured = malformed("no stages")
        tokens = Tokens()
        with self._lock:
            # The content of the cache is known again only after all went well.
            held, self._held = self._held, ()
            same = _common(held, before)
            for number in range(max(0, same - 1), len(stages)):
                cached = same > 0 or number > 0
                completion, read = self._read(stages[number], top_logprobs, stop, cached=cached)
                tokens += read
                if isinstance(completion, Unmeasured):
                    return completion, tokens
            self._held = before
        return completion, tokens

    def write(
        self, request: Mapping[str, object], stop: threading.Event
    ) -> tuple[Completion | Unmeasured, Tokens]:
        """Return the completion of a request for a text, and its tokens; this blocks.

        Nothing of it is left for later prompts; once `stop` is set it ends soon, see `ask`.
        """
        with self._lock:
            self._held = ()
            return self._answer({**request, **_STREAM, "cache_prompt": False}, stop)

    def leave(self) -> None:
        """Return when no thread is in llama.cpp any more; to be called as the process ends.

        A thread that comes back from there to an interpreter which is gone ends the process with a
        crash. Such threads remain where a caller did not wait, as after a timeout.
        """
        _leaving.set()
        with self._lock:
            self._held = ()

    def _read(
        self, messages: Messages, top_logprobs: int, stop: threading.Event, *, cached: bool
    ) -> tuple[Completion | Unmeasured, Tokens]:
        return self._answer(_request(messages, top_logprobs, cached=cached), stop)

    def _answer(
        self, request: Mapping[str, object], stop: threading.Event
    ) -> tuple[Completion | Unmeasured, Tokens]:
        chunks: list[object] = []

        def keep(chunk: object) -> bool:
            chunks.append(chunk)
            return stop.is_set() or _leaving.is_set()

        try:
            if not (stop.is_set() or _leaving.is_set()):
                self._server.handle_chat_completions(dict(request), keep)
        except Exception as error:  # noqa: BLE001 -- a failing request is a value
            # Only the name: the message may quote the prompt.
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR, type(error).__name__), Tokens()
        return read_chunks(chunks)


# A stream that reports its progress is one that can be stopped.
_STREAM: Mapping[str, object] = MappingProxyType({"stream": True, "return_progress": True})


def _common(held: Sequence[Messages], wanted: Sequence[Messages]) -> int:
    """Return the number of common stages of two prompts."""
    pairs = enumerate(zip(held, wanted, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(held), len(wanted)))


def _request(messages: Messages, top_logprobs: int, *, cached: bool) -> dict[str, object]:
    return {
        "messages": list(messages),
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": top_logprobs,
        "cache_prompt": cached,
        "chat_template_kwargs": {"enable_thinking": False},  # the first token is to be the answer
        **_STREAM,
    }


_engines: WeakValueDictionary[Load, LlamaModel] = WeakValueDictionary()
_engines_lock = threading.Lock()


@atexit.register
def _leave() -> None:
    for engine in list(_engines.values()):
        engine.leave()


def shared(load: Load) -> LlamaModel:
    """Return the model that the whole process shares; it lives as long as it has users.

    `BackendError` if the file cannot be loaded, `MissingExtraError` without xllamacpp.
    """
    with _engines_lock:
        engine = _engines.get(load)
        if engine is None:
            engine = _engines[load] = LlamaModel(start(load))
        return engine


def xllamacpp() -> Any:  # noqa: ANN401
    """Return the module of that name, imported; `MissingExtraError` if it is not installed."""
    try:
        import xllamacpp as module
    except ImportError as error:
        msg = "the backend gguf needs llama.cpp"
        hint = "Install it with pip install 'veridical[gguf]'"
        raise MissingExtraError(msg, hint=hint) from error
    return module


def start(load: Load) -> Any:  # noqa: ANN401
    """Return a model loaded anew, as xllamacpp's `Server`; `BackendError` if that fails."""
    module = xllamacpp()
    parameters = module.CommonParams()
    parameters.model.path = str(load.path)
    parameters.n_ctx = load.context_tokens
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
    for processors in (parameters.cpuparams, parameters.cpuparams_batch):
        processors.n_threads = load.threads
        processors.poll = 0  # threads that wait for each other busily starve on a busy machine
    # On a CPU, flash attention sums short batches, such as a claim, in 16 bits.
    parameters.flash_attn_type = module.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.swa_full = True  # or else models with a sliding window lose the prefix
    parameters.cache_ram_mib = 0  # up to 8 GiB for prompts that do not come back
    parameters.warmup = False
    parameters.verbosity = -1  # it writes to the standard error
    parameters.ui = parameters.endpoint_slots = False
    parameters.n_threads_http = 1
    parameters.api_keys = [secrets.token_urlsafe()]
    try:
        with tempfile.TemporaryDirectory(prefix="veridical-") as folder:
            if os.name == "posix":
                parameters.hostnames = [f"{folder}/closed.sock"]
            return module.Server(parameters)
    except Exception as error:
        msg = f"{load.path.name} cannot be loaded ({type(error).__name__})"
        hint = "Is it a whole GGUF file of a chat model, and is there memory for it?"
        raise BackendError(msg, hint=hint) from error


def read_chunks(chunks: Sequence[object]) -> tuple[Completion | Unmeasured, Tokens]:
    """Return the completion in the chunks of a stream, without its usage, and its tokens."""
    choice: dict[str, object] = {}
    written: list[str] = []
    read = None
    for chunk in chunks:
        match chunk:
            case {"error": dict(error)}:
                return _refused(error), Tokens()
            case {"choices": [dict(part), *_]}:
                _add(part, choice, written)
        match chunk:
            case {"timings": {"prompt_n": int(n), "cache_n": int(old), "predicted_n": int(new)}}:
                read = Tokens(n, old, new)
    if read is None:  # they come last
        return malformed("the stream broke off"), Tokens()
    choice["message"] = {"content": "".join(written)}
    return read_completion({"choices": [choice]}), read


def _add(part: Mapping[str, object], choice: dict[str, object], written: list[str]) -> None:
    """Add a chunk's part of the choice: text, the first log-probabilities, the finish reason."""
    match part:
        case {"delta": {"content": str(text)}}:
            written.append(text)
    match part:
        case {"logprobs": {"content": [_, *_]} as logprobs}:
            choice.setdefault("logprobs", logprobs)
        case {"finish_reason": str(reason)}:
            choice["finish_reason"] = reason


def _refused(error: Mapping[str, object]) -> Unmeasured:
    match error:
        case {"type": "exceed_context_size_error", "n_prompt_tokens": int(n), "n_ctx": int(most)}:
            detail = f"{n} tokens, {most} at most"
            return Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, detail)
        case {"code": int(code)}:
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR, f"llama.cpp says {code}")
    return Unmeasured(UnmeasuredReason.BACKEND_ERROR, "llama.cpp refused")
