"""A run of a batch: rows in input order, results as they come, until nothing is left to do."""

from __future__ import annotations

import json
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from veridical.batch.index import RowIndex
from veridical.batch.output import blocks, encoded
from veridical.batch.results import of_fault
from veridical.batch.rows import FaultyRow
from veridical.batch.survey import survey
from veridical.core.measurements import NOTHING, Taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from veridical.batch.engines import BatchEngine
    from veridical.batch.output import Block, OutputFolder
    from veridical.batch.results import RowResult
    from veridical.batch.rows import BatchRow
    from veridical.batch.survey import Selection, Survey
    from veridical.batch.totals import Totals
    from veridical.core.printing import Document

SCHEMA = "veridical.batch/1"
Stopped: TypeAlias = Literal["limit", "flagged_share"]


@dataclass(frozen=True, slots=True)
class BatchJob:
    """Rows, the folder of their results, and everything that the results depend on (`identity`).

    `limit` is the most rows that one run checks, `stop_share` the flagged share at which it stops
    once that is surely reached or missed, `end` the number of rows behind which it stops anyway.
    """

    selection: Selection
    folder: OutputFolder
    identity: Document
    per_claim: bool = False
    limit: int | None = None
    stop_share: float | None = None
    end: int | None = None


@dataclass(slots=True)
class BatchRun:
    """State of a run: rows of the job, those written, those checked now, and their usage."""

    rows: int
    totals: Totals
    kept: int = 0
    rows_checked: int = 0
    taken: Taken = NOTHING
    started: float = field(default_factory=monotonic)
    seconds: float = 0.0
    stopped: Stopped | None = None

    @property
    def per_second(self) -> float | None:
        """Rows checked in a second; None before the first."""
        return self.rows_checked / self.seconds if self.rows_checked and self.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the end at this rate; None where it is unknown."""
        left = self.rows - self.totals.rows - self.kept
        return max(left, 0) / self.per_second if self.per_second else None

    @property
    def complete(self) -> bool:
        """True if nothing is left to do."""
        every = self.totals.rows == self.rows and not self.totals.errors
        return every or self.stopped == "flagged_share"

    def body(self) -> Document:
        """Return the summary `veridical.batch/1`."""
        written = self.totals.rows
        return {
            "schema": SCHEMA,
            "rows": {
                "total": self.rows,
                "written": written,
                "not_written": self.rows - written,
                "errors": self.totals.errors.total(),
            },
            **self.totals.body(),
            "stopped": self.stopped,
            "run": {
                "rows_checked": self.rows_checked,
                "seconds": round(self.seconds, 3),
                "rows_per_second": None if self.per_second is None else round(self.per_second, 3),
                **self.taken.body(),
            },
        }


@dataclass(frozen=True, slots=True)
class _Ready:
    """Result of a row: its bytes, and its first line."""

    data: bytes
    first: Document


@dataclass(frozen=True, slots=True)
class _Task:
    """Result that an engine will have."""

    task: Any


def run_batch(
    job: BatchJob,
    engine: Callable[[], BatchEngine],
    progress: Callable[[BatchRun], None] | None = None,
) -> BatchRun:
    """Check what is left of the job; `engine` is called when a row needs one.

    Errors are those of `survey` and `OutputFolder.opened`, and a `BackendError` if the backend
    cannot start.
    """
    with job.folder.opened(job.identity), RowIndex() as index:
        found = survey(job.selection, job.folder, index)
        _keep(job.folder, found.prefix, index)
        run = BatchRun(found.rows, found.totals, found.kept)
        _Worklist(job, found, index, engine).write(run, progress)
        if run.totals.rows == run.rows:
            job.folder.end()
        return run


def _keep(folder: OutputFolder, prefix: int, index: RowIndex) -> None:
    """Move the results behind the beginning that stands to where the index finds them."""

    def is_kept(block: Block) -> bool:
        return block.id is not None and index.kept(block.id, block.digest) is not None

    end = 0
    for block in blocks(folder.kept):
        index.keep(block)
        end = block.end
    folder.move_tail(prefix, end, is_kept)
    for block in blocks(folder.kept, end):
        index.keep(block)


class _Worklist:
    """Rows of a run behind the beginning that stands, in order."""

    def __init__(
        self, job: BatchJob, found: Survey, index: RowIndex, engine: Callable[[], BatchEngine]
    ) -> None:
        self._job = job
        self._found = found
        self._index = index
        self._new_engine = engine
        self._engine: BatchEngine | None = None
        self._submitted = 0

    def write(self, run: BatchRun, progress: Callable[[BatchRun], None] | None) -> None:
        """Append the results to the output, one after the other."""
        try:
            with self._job.folder.rows.open("ab") as output:
                for result in self._results(run):
                    output.write(result.data)
                    output.flush()
                    run.totals.add(result.first)
                    run.seconds = monotonic() - run.started
                    if progress is not None:
                        progress(run)
        finally:
            run.seconds = monotonic() - run.started
            if self._engine is not None:
                self._engine.close()

    def _results(self, run: BatchRun) -> Iterator[_Ready]:
        """Yield the results in order, until the flagged share is decided."""
        if self._decided(run):
            return
        for result in self._in_order(run):
            yield result
            if self._decided(run):
                return

    def _decided(self, run: BatchRun) -> bool:
        bound = self._job.stop_share
        decided = bound is not None and run.totals.share.decides(bound)
        if decided and run.totals.rows < run.rows:
            run.stopped = "flagged_share"
        return decided

    def _in_order(self, run: BatchRun) -> Iterator[_Ready]:
        waiting = deque[_Ready | _Task]()
        for item in self._items(run):
            waiting.append(item)
            while waiting and (isinstance(waiting[0], _Ready) or len(waiting) > self._ahead):
                yield self._finished(waiting.popleft(), run)
        while waiting:
            yield self._finished(waiting.popleft(), run)

    @property
    def _ahead(self) -> int:
        return 0 if self._engine is None else self._engine.ahead

    def _items(self, run: BatchRun) -> Iterator[_Ready | _Task]:
        """Yield a result for each row, or the task that will have it."""
        # The file may have grown since the survey, by rows whose ids are not known to be new.
        every = self._found.rows
        end = every if self._job.end is None else min(self._job.end, every)
        rows = islice(self._job.selection.rows(), self._found.done, max(end, self._found.done))
        with _opened(self._job.folder.kept) as kept:
            for _, _, row in rows:
                if isinstance(row, FaultyRow):
                    yield _ready(of_fault(row, per_claim=self._job.per_claim))
                elif (known := self._known(row, kept)) is not None:
                    run.kept -= 1
                    yield known
                elif self._submitted == self._job.limit:
                    run.stopped = "limit"
                    return
                else:
                    self._submitted += 1
                    yield _Task(self._running().submit(row))
        if end < every:
            run.stopped = "limit"

    def _known(self, row: BatchRow, kept: BinaryIO | None) -> _Ready | None:
        """Return the result of a row from an earlier run, if there is one."""
        place = None if kept is None else self._index.kept(row.id, row.digest)
        if kept is None or place is None:
            return None
        start, end = place
        kept.seek(start)
        data = kept.read(end - start)
        return _Ready(data, json.loads(data[: data.index(b"\n")]))

    def _finished(self, item: _Ready | _Task, run: BatchRun) -> _Ready:
        if isinstance(item, _Ready):
            return item
        result = self._running().result(item.task)
        run.rows_checked += 1
        run.taken += result.taken
        return _ready(result)

    def _running(self) -> BatchEngine:
        """Return the engine, which starts with the first row that needs it."""
        if self._engine is None:
            self._engine = self._new_engine()
        return self._engine


def _ready(result: RowResult) -> _Ready:
    return _Ready(encoded(result.lines), result.lines[0])


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO | None]:
    if not path.exists():
        yield None
        return
    with path.open("rb") as file:
        yield file
