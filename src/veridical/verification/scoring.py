"""Scores of claims by a backend: queries in batches, failures as values."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from veridical.core.cancellation import remaining
from veridical.core.measurements import (
    BilledFailure,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.pipeline.evidence import join_passages
from veridical.pipeline.inference.wrappers.base import safe_estimate
from veridical.pipeline.inference.wrappers.deadline import run_within
from veridical.pipeline.judgement import PooledEstimate, decides, pool_passages
from veridical.verification.worker_threads import in_worker_thread

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from veridical.core.policy import Policy
    from veridical.core.ports import Backend
    from veridical.core.types import Passage, Source

CHUNK = 64
"""Queries that go to the backend in one batch; progress is reported after each."""

FEW = 64
"""Texts up to which a step is made at once: a change of threads takes longer."""

AT_ONCE = 8
"""Batches of one answer that are under way at once at most."""

T = TypeVar("T")
R = TypeVar("R")

Context: TypeAlias = tuple[str, "tuple[Passage, ...] | None"]
"""Claim or part of one, and the passages to read for it; None if there is no time to read any."""

_NOT_ASKED = Unmeasured(UnmeasuredReason.DISABLED, "not an assertion")
_LATE = Unmeasured(UnmeasuredReason.TIMEOUT, "no time to look for its evidence")
_UNANSWERED = Unmeasured(UnmeasuredReason.TIMEOUT, "no answer within the deadline of the check")


class Progress(Protocol):
    """Callback protocol for the number of finished queries."""

    def __call__(self, done: int, total: int, /) -> None:
        """Receive the progress: `done` of `total` queries are answered; `total` may grow."""
        ...


@dataclass(slots=True)
class _Item:
    """Passages of a claim, the queries of each turn, and the answers."""

    passages: tuple[Passage, ...] | None
    turns: tuple[Sequence[Query], ...]
    measured: list[Measurement] = field(default_factory=list)

    @property
    def first(self) -> int:
        """Number of queries of the first turn."""
        return len(self.turns[0]) if self.turns else 0

    def turn(self, number: int, policy: Policy) -> Sequence[Query]:
        """Return the queries of a turn: none where one of the answers decides."""
        if number and any(decides(measurement, policy) for measurement in self.measured):
            return ()
        return self.turns[number] if number < len(self.turns) else ()


def _groups(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """Yield the items in groups whose first queries go to the backend at once."""
    group: list[_Item] = []
    asked = 0
    for item in items:
        if group and asked + item.first > size:
            yield group
            group, asked = [], 0
        group.append(item)
        asked += item.first
    if group:
        yield group


class ClaimScorer:
    """Scorer that puts queries to a backend, in batches; its failures become `Unmeasured`.

    Several batches are under way at once if the policy says `parallel`, else one after the other.
    Where the nearest passage decides, the rest is not read
    (docs/decisions/0018-meaning-and-reading.md). `measured` is every answer so far,
    `sources` and `question` are those of all queries.
    """

    def __init__(
        self,
        backend: Backend,
        sources: Mapping[str, Source],
        question: str | None,
        progress: Progress | None,
        *,
        batch_size: int = CHUNK,
    ) -> None:
        self._backend = backend
        self.sources = sources
        self._batch_size = batch_size
        self.question = question
        self._progress = progress
        self._total = 0
        self._turns = anyio.Semaphore(AT_ONCE)
        self.measured: list[Measurement] = []

    async def read(self, contexts: Sequence[Context], policy: Policy) -> list[PooledEstimate]:
        """Return the joint reading of the passages of each claim."""
        return [reading async for reading in self.readings(contexts, policy)]

    async def readings(
        self, contexts: Sequence[Context], policy: Policy
    ) -> AsyncGenerator[PooledEstimate]:
        """Yield the results of `read`, each as soon as its passages are measured."""
        made = partial(self._items, contexts, policy)
        items = made() if len(contexts) <= FEW else await in_worker_thread(made)
        self._total += sum(item.first for item in items)
        self._tell()
        groups = list(_groups(items, self._batch_size))
        at_once = AT_ONCE if policy.parallel else 1
        self._turns = anyio.Semaphore(at_once)
        async for group in _in_turn(groups, partial(self._read_group, policy), at_once):
            for item in group:
                await asyncio.sleep(0)  # pooling and judging take time, and others have their turn
                yield _pooled(item, policy)

    async def _read_group(self, policy: Policy, group: list[_Item]) -> list[_Item]:
        """Measure a group of items, turn by turn; decided ones get no more queries."""
        for number in range(max((len(item.turns) for item in group), default=0)):
            asked = [(item, query) for item in group for query in item.turn(number, policy)]
            self._total += len(asked) if number else 0
            await self._measure(asked)
        return group

    def _items(self, contexts: Iterable[Context], policy: Policy) -> list[_Item]:
        return [
            _Item(None, ()) if passages is None else self._item(claim, passages, policy)
            for claim, passages in contexts
        ]

    def _item(self, claim: str, found: tuple[Passage, ...], policy: Policy) -> _Item:
        passages = self._as_read(found)
        queries = self._queries(claim, passages)
        # Of a cascade the second backend is asked once for all passages of a claim: no turns there.
        if self._backend.info.reads is not Reads.PASSAGES or policy.windows != 0:
            return _Item(passages, (queries,))
        turns: dict[int, list[Query]] = {}
        for passage, query in zip(passages, queries, strict=True):
            turns.setdefault(passage.turn, []).append(query)
        return _Item(passages, tuple(turns.values()))

    async def _measure(self, queries: Iterable[tuple[_Item, Query]]) -> None:
        """Put the queries, and hand each item its answers."""
        waiting = list(queries)
        starts = range(0, len(waiting), self._batch_size)
        batches = [waiting[start : start + self._batch_size] for start in starts]
        answers = _in_turn(batches, self._in_my_turn, len(batches))
        async with aclosing(answers):
            for batch in batches:
                measured = await anext(answers)
                for (item, _), found in zip(batch, measured, strict=True):
                    item.measured.append(found)

    async def _in_my_turn(self, batch: Sequence[tuple[_Item, Query]]) -> Sequence[Measurement]:
        async with self._turns:
            measured = await self._answers([query for _, query in batch])
        self.measured += measured
        self._tell()
        return measured

    async def _answers(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return the backend's answers, those in time for the deadline of the work around."""
        left = remaining()
        if left == math.inf:
            return await safe_estimate(self._backend, queries, failed)
        found: list[Measurement] = [_UNANSWERED] * len(queries)

        async def ask() -> None:
            found[:] = await safe_estimate(self._backend, queries, failed)

        await run_within(left, ask())
        return list(found)

    def _as_read(self, passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
        whole = self._backend.info.reads is Reads.WHOLE
        return join_passages(passages, self.sources) if whole else passages

    def _queries(self, claim: str, passages: tuple[Passage, ...]) -> list[Query]:
        both = self._backend.info.reads is Reads.BOTH
        wholes = [p.text for p in join_passages(passages, self.sources)] if both else []
        whole = wholes[0] if len(wholes) == 1 else None  # one text of several is not the whole
        return [Query(claim, passage.text, self.question, whole) for passage in passages]

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(len(self.measured), self._total)


def _pooled(item: _Item, policy: Policy) -> PooledEstimate:
    if not item.passages:
        return PooledEstimate(_LATE if item.passages is None else _NOT_ASKED)
    return pool_passages(item.passages, item.measured, policy)


async def _in_turn(
    items: Sequence[T], work: Callable[[T], Awaitable[R]], at_once: int
) -> AsyncGenerator[R]:
    """Yield the results of `work` for each item, in order, with so many of them under way at once.

    The next one begins as soon as there is room, whoever reads the results. Work under way ends
    with its reader, or with an error of one of them.
    """
    if at_once == 1 or len(items) == 1:
        for item in items:
            yield await work(item)
        return
    waiting, started = iter(items), partial(_started, work, anyio.current_effective_deadline())
    running = deque(started(item) for item in islice(waiting, at_once))
    try:
        while running:
            yield await running[0]
            running.popleft()
            running.extend(started(item) for item in islice(waiting, 1))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _started(work: Callable[[T], Awaitable[R]], deadline: float, item: T) -> asyncio.Task[R]:
    """Return a task that knows the deadline around its caller: a task of its own has none."""

    async def run() -> R:
        with anyio.CancelScope(deadline=deadline):
            return await work(item)
        await anyio.sleep_forever()  # the deadline of an outer scope ends the caller and this
        raise TimeoutError

    return asyncio.ensure_future(run())


def failed(detail: str) -> Unmeasured:
    """Return a failure of a model whose tokens and cost are unknown."""
    return BilledFailure(UnmeasuredReason.BACKEND_ERROR, detail)
