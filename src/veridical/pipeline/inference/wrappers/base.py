"""Shared parts of the wrappers: safe queries to the wrapped object, whole or in pieces.

They wrap backends, and text models, which `texts` presents to them as backends: a query is a
`Query` or a `TextRequest`, a result an `Estimate` or a `Generated`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import anyio

from veridical.core.measurements import (
    BackendInfo,
    BilledFailure,
    Estimate,
    Estimator,
    Generated,
    Query,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import estimators_of
from veridical.errors import VeridicalError
from veridical.pipeline.inference.prices import Usage
from veridical.pipeline.logs import log_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

logger = logging.getLogger(__name__)

PROMPT_TOKENS = 200
"""Estimate of the tokens that instructions, fences and the answer add to the texts of a query."""

GRACE_S = 0.02
"""Seconds behind a deadline in which work that was cancelled may end in order."""

_BYTES_PER_TOKEN = 4

Q = TypeVar("Q", bound=Query | TextRequest)
R = TypeVar("R", bound=Estimate | Generated)
I = TypeVar("I")  # noqa: E741 -- query, result, info
Q_contra = TypeVar("Q_contra", contravariant=True, bound=Query | TextRequest)
R_co = TypeVar("R_co", covariant=True, bound=Estimate | Generated)
I_co = TypeVar("I_co", covariant=True)


class Estimates(Protocol[Q_contra, R_co, I_co]):
    """Protocol of everything that estimates queries: backends and their wrappers."""

    @property
    def info(self) -> I_co:
        """Metadata of the backend or text model."""
        ...

    async def estimate(self, queries: Sequence[Q_contra]) -> Sequence[R_co | Unmeasured]:
        """Return one result or failure per query: same length, same order."""
        ...


class Wrapper(Generic[Q, R, I]):
    """Backend around another one, with its metadata; `wrapped` is the inner one."""

    def __init__(self, backend: Estimates[Q, R, I]) -> None:
        self.wrapped = backend

    @property
    def info(self) -> I:
        """Metadata of the wrapped object."""
        return self.wrapped.info

    @property
    def estimators(self: Wrapper[Query, Estimate, BackendInfo]) -> frozenset[Estimator]:
        """Estimators that estimates of the wrapped backend may come from."""
        return estimators_of(self.wrapped)


def _failed(detail: str) -> Unmeasured:
    return Unmeasured(UnmeasuredReason.BACKEND_ERROR, detail)


async def safe_estimate(
    backend: Estimates[Q, R, I],
    queries: Sequence[Q],
    failed: Callable[[str], Unmeasured] = _failed,
) -> list[R | Unmeasured]:
    """Return one result per query, whatever the backend does.

    An exception, a reply of another length and a value that is no result become the failure that
    `failed` makes of a detail. Only a `VeridicalError` (the backend cannot be used at all) is
    raised on, and the cancellation of the caller.
    """
    if not queries:
        return []
    try:
        # One more than asked for tells that there are too many; they may be without end.
        found = list(itertools.islice(await backend.estimate(queries), len(queries) + 1))
    except VeridicalError:
        raise
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        log_failure(backend.info, error, len(queries))
        return [failed("cancelled by itself")] * len(queries)
    except Exception as error:  # noqa: BLE001 -- a backend's bug must not break the host
        log_failure(backend.info, error, len(queries))
        return [failed(type(error).__name__)] * len(queries)
    if len(found) != len(queries):
        return [failed("wrong number of measurements")] * len(queries)
    kind = Estimate if isinstance(queries[0], Query) else Generated
    return [m if _is_result(m, kind) else failed("not a measurement") for m in found]


def _is_cancelled() -> bool:
    """Return whether somebody has cancelled the task of the caller."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _is_result(found: object, kind: type[Estimate | Generated]) -> bool:
    """Return whether a value is a result, or a failure, whose fields can be reported."""
    if isinstance(found, Unmeasured):
        return _is_failure(found)
    return isinstance(found, kind) and (not isinstance(found, Estimate) or well_typed(found))


def _is_failure(found: Unmeasured) -> bool:
    usage = (found.tokens, found.cost_usd) if isinstance(found, BilledFailure) else ()
    return (
        isinstance(found.reason, UnmeasuredReason)
        and isinstance(found.detail, str)
        and isinstance(found.retry_after_s, int | float | None)
        and all(map(_is_finite, usage))
    )


def well_typed(estimate: Estimate) -> bool:
    """Return whether the fields that `Estimate` does not check are of their types."""
    return (
        isinstance(estimate.estimator, Estimator)
        and isinstance(estimate.model, str)
        and isinstance(estimate.fingerprint, str)
        and isinstance(estimate.samples, int)
        and isinstance(estimate.tokens, int | None)
        and _is_finite(estimate.latency_ms)
        and _is_finite(estimate.cost_usd)
    )


def _is_finite(number: object) -> bool:
    return number is None or (isinstance(number, int | float) and math.isfinite(number))


def log_failure(info: object, error: BaseException, queries: int) -> None:
    """Log the failure of a backend or text model: its name, the error's type, number of queries."""
    name = getattr(info, "name", "unknown")
    fields = {"backend": name, "error": type(error).__name__, "queries": queries}
    log_event(logger, logging.WARNING, "backend_failed", fields)


def batches_by_context(queries: Sequence[Query | TextRequest], size: int) -> list[list[int]]:
    """Return the positions of the queries, in pieces of at most `size`, each one request.

    A request carries queries on one context: different contexts never share a piece.
    """
    groups: dict[object, list[int]] = {}
    for position, query in enumerate(queries):
        groups.setdefault(_shared(query), []).append(position)
    return [
        group[start : start + size]
        for group in groups.values()
        for start in range(0, len(group), size)
    ]


def _shared(query: Query | TextRequest) -> object:
    """Return the common part of the queries of one request."""
    return (query.context, query.question) if isinstance(query, Query) else query.user


async def run_bounded(
    items: Iterable[list[int]], work: Callable[[list[int]], Awaitable[None]], *, at_once: int
) -> None:
    """Do `work` on each item, up to `at_once` at a time, in order of their start.

    A `VeridicalError` of one stops the others and is raised as it is, not in a group.
    """
    todo = iter(items)
    start = list(itertools.islice(todo, at_once))
    if not start:
        return
    if len(start) == 1 and at_once > 1:  # one piece needs no tasks
        await work(start[0])
        return
    errors: list[VeridicalError] = []

    async def worker(item: list[int] | None) -> None:
        while item is not None:
            try:
                await work(item)
            except VeridicalError as error:
                errors.append(error)
                tasks.cancel_scope.cancel()
                return
            item = next(todo, None)

    async with anyio.create_task_group() as tasks:
        for first in start:
            tasks.start_soon(worker, first)
    if errors:
        raise errors[0]


def estimated_usage(query: Query | TextRequest) -> Usage:
    """Return an upper estimate of the usage of a request: a text may be as long as allowed."""
    if isinstance(query, Query):
        return Usage(_tokens(query.claim, query.context, query.question or ""), 1)
    schema = "" if query.schema is None else json.dumps(query.schema, default=str)
    return Usage(_tokens(query.system, query.user, schema), query.max_tokens)


def estimated_tokens(query: Query | TextRequest) -> int:
    """Return an estimate of the tokens of a request, including a text that it writes."""
    usage = estimated_usage(query)
    # The one word that answers a query is in `PROMPT_TOKENS`.
    written = 0 if isinstance(query, Query) else usage.output_tokens
    return usage.input_tokens + written


def _tokens(*texts: str) -> int:
    """Return an estimate of the tokens of texts in a prompt.

    A token is four bytes of UTF-8: four letters of English, and about one character of a script
    that is written without spaces, of which four characters are more than one token.
    """
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return PROMPT_TOKENS + math.ceil(size / _BYTES_PER_TOKEN)
