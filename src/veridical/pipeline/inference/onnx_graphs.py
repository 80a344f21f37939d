"""ONNX graphs and tokenizers of cross-encoders: loading, and runs of one pair a core."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from veridical.core.homoglyphs import fold
from veridical.core.language import is_foreign
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.processors import usable_processors

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from veridical.core.measurements import Query

T = TypeVar("T")

FOREIGN = Unmeasured(UnmeasuredReason.LANGUAGE_NOT_SUPPORTED, "it reads English only")


def is_read(query: Query, languages: Collection[str] | None) -> bool:
    """Return whether the texts of a query may be in one of the languages of a model.

    Surely foreign text is known for models that read English only; None means any language.
    """
    if languages is None or set(languages) != {"en"}:
        return True
    return not any(map(is_foreign, map(fold, (query.claim, query.context))))


def threads_of(threads: int | None) -> int:
    """Return how many pairs are scored at once; None means the processors this process may use."""
    if threads is not None and threads < 1:
        msg = f"threads must be 1 or more, not {threads}"
        raise ConfigurationError(msg, hint="Leave it out to use every processor")
    return threads or usable_processors()


def open_session(path: Path, name: str, hint: str) -> InferenceSession:
    """Load a graph for runs of one thread; `BackendError` if it cannot be loaded."""
    # Its official builds report to their maker unless this is set before they are first imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise _unloadable(name, error, hint) from error


def open_tokenizer(path: Path, name: str, hint: str, *, special: bool = False) -> Tokenizer:
    """Load a tokenizer that neither cuts nor pads; `BackendError` if it cannot be loaded.

    Unless `special`, a special token in a text, such as `</s>`, is text and not the end of it.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise _unloadable(name, error, hint) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = not special
    return tokenizer


def _unloadable(name: str, error: Exception, hint: str) -> BackendError:
    return BackendError(f"{name} cannot be loaded ({type(error).__name__})", hint=hint)


def softmax(logits: Any) -> Any:  # noqa: ANN401 -- numpy arrays, not imported here
    """Return probabilities over the last axis of finite logits."""
    import numpy as np

    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


async def in_threads(
    work: Callable[[int], T], sizes: Sequence[int], threads: int, *, abandon: bool = False
) -> list[T]:
    """Return `work(i)` for each size, in order, with at most `threads` of them at once.

    With `abandon` a cancelled caller does not wait for the threads.
    """
    results: dict[int, T] = {}
    # The largest first, so that no core is left with a large one at the end.
    order = iter(sorted(range(len(sizes)), key=lambda i: -sizes[i]))
    limiter = anyio.CapacityLimiter(threads)

    async def some() -> None:
        for i in order:
            results[i] = await anyio.to_thread.run_sync(
                work, i, limiter=limiter, abandon_on_cancel=abandon
            )

    async with anyio.create_task_group() as tasks:
        for _ in range(min(threads, len(sizes))):
            tasks.start_soon(some)
    return [results[i] for i in range(len(sizes))]
