"""What the wrappers share: asking the wrapped backend safely, whole or in pieces."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import anyio

from veridical.core.ports import estimators_of
from veridical.core.types import Measurement, Unmeasured, UnmeasuredReason
from veridical.errors import VeridicalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from veridical.core.ports import Backend
    from veridical.core.types import BackendInfo, Estimator, Query

PROMPT_TOKENS = 200
"""Tokens that instructions, fences and the answer add to the texts of a query, about."""

_BYTES_PER_TOKEN = 4


class Wrapper:
    """A backend around another, which it speaks as; `wrapped` is the one inside."""

    def __init__(self, backend: Backend) -> None:
        self.wrapped = backend

    @property
    def info(self) -> BackendInfo:
        """Name, model, estimator, fingerprint and calibrated thresholds of the wrapped backend."""
        return self.wrapped.info

    @property
    def estimators(self) -> frozenset[Estimator]:
        """The estimators that estimates of the wrapped backend may come from."""
        return estimators_of(self.wrapped)


async def ask(backend: Backend, queries: Sequence[Query]) -> list[Measurement]:
    """Return one measurement per query, whatever the backend does.

    An exception, a reply of another length and a value that is no measurement become
    `Unmeasured`. Only a `VeridicalError` (the backend cannot be used at all) is raised on.
    """
    if not queries:
        return []
    try:
        measured = list(await backend.estimate(queries))
    except VeridicalError:
        raise
    except Exception as error:  # noqa: BLE001 -- a backend's bug must not break the host
        return [_failed(type(error).__name__)] * len(queries)
    if len(measured) != len(queries):
        return [_failed("wrong number of measurements")] * len(queries)
    return [m if isinstance(m, Measurement) else _failed("not a measurement") for m in measured]


def _failed(detail: str) -> Unmeasured:
    return Unmeasured(UnmeasuredReason.BACKEND_ERROR, detail)


def pieces(queries: Sequence[Query], size: int) -> list[list[int]]:
    """Return the positions of the queries, in pieces of at most `size`.

    Queries on one context stay together as far as `size` allows, so that a request can carry the
    context once; several small groups share a piece.
    """
    groups: dict[tuple[str, str | None], list[int]] = {}
    for position, query in enumerate(queries):
        groups.setdefault((query.context, query.question), []).append(position)
    found: list[list[int]] = []
    for group in groups.values():
        if found and len(found[-1]) + len(group) <= size:
            found[-1] += group
        else:
            found += [group[start : start + size] for start in range(0, len(group), size)]
    return found


async def each(
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


def estimated_tokens(query: Query) -> int:
    """Return about how many tokens a request with this query takes.

    A token is four bytes of UTF-8: four letters of English, and about one character of a script
    that is written without spaces, of which four characters are more than one token.
    """
    texts = (query.claim, query.context, query.question or "")
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return PROMPT_TOKENS + math.ceil(size / _BYTES_PER_TOKEN)
