"""Engines of a batch on one machine: threads that share a verifier, or a process for each."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import connection, get_context, parent_process
from typing import TYPE_CHECKING, Any, Protocol

from veridical.batch.results import WORKER_DIED, RowResult, of_error

if TYPE_CHECKING:
    from veridical.batch.rows import BatchRow
    from veridical.settings import Settings
    from veridical.verification.sync import SyncVerifier

ROWS_AHEAD = 4
"""Rows for each worker that are under way or finished before their turn."""

_THREADS_OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class BatchEngine(Protocol):
    """Worker pool; `ahead` bounds the rows given to it and not yet taken back."""

    ahead: int

    def submit(self, row: BatchRow) -> Any:  # noqa: ANN401 -- what `result` takes
        """Begin the check of a row."""
        ...

    def result(self, task: Any) -> RowResult:  # noqa: ANN401 -- what `submit` returned
        """Return the result of a row that was submitted."""
        ...

    def close(self) -> None:
        """End the workers, and drop what is under way."""
        ...


class ThreadEngine:
    """`workers` rows at once in this process, for services, and for one row after the other."""

    def __init__(self, verifier: SyncVerifier, *, workers: int = 1, per_claim: bool) -> None:
        from veridical.batch.stage import checked

        self.ahead = ROWS_AHEAD * workers
        self._verifier = verifier.__enter__()
        self._check = partial(checked, verifier=self._verifier, per_claim=per_claim)
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, row: BatchRow) -> Future[RowResult]:
        """Begin the check of a row."""
        return self._pool.submit(self._check, row)

    def result(self, task: Future[RowResult]) -> RowResult:
        """Return the result of a row."""
        return task.result()

    def close(self) -> None:
        """Wait for the rows under way."""
        self._pool.shutdown(cancel_futures=True)
        self._verifier.__exit__(None, None, None)


class ProcessEngine:
    """Processes with a verifier and one thread each, for backends that compute here."""

    def __init__(self, settings: Settings, *, processes: int, per_claim: bool) -> None:
        self.ahead = ROWS_AHEAD * processes
        self._per_claim = per_claim
        one_thread = settings.model_copy(update={"threads": 1})
        self._new_pool = partial(
            ProcessPoolExecutor,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(one_thread, per_claim),
        )
        self._processes = processes
        self._pool = self._new_pool(processes)

    def submit(self, row: BatchRow) -> tuple[BatchRow, Future[RowResult]]:
        """Begin the check of a row."""
        try:
            return row, self._pool.submit(_check, row)
        except BrokenProcessPool:
            self._pool = self._new_pool(self._processes)
            return row, self._pool.submit(_check, row)

    def result(self, task: tuple[BatchRow, Future[RowResult]]) -> RowResult:
        """Return the result of a row; one that ends its process twice has an error."""
        row, future = task
        try:
            return future.result()
        except BrokenProcessPool:
            return self._alone(row)

    def _alone(self, row: BatchRow) -> RowResult:
        # All rows under way were lost with one worker: only the row that ends it again is to blame.
        with self._new_pool(1) as pool:
            try:
                return pool.submit(_check, row).result()
            except BrokenProcessPool:
                detail = "the process that checked it ended"
                return of_error(row, WORKER_DIED, detail, per_claim=self._per_claim)

    def close(self) -> None:
        """Wait for the rows under way."""
        self._pool.shutdown(cancel_futures=True)


# --- in a worker process ---------------------------------------------------------------------

_worker: dict[str, Any] = {}


def _begin(settings: Settings, per_claim: bool) -> None:  # noqa: FBT001 -- arguments of an initializer are positional
    """Prepare a worker: one thread, no interrupts, and an end with its parent."""
    os.environ.update(dict.fromkeys(_THREADS_OF_LIBRARIES, "1"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from veridical.batch.stage import checked
    from veridical.verification.sync import SyncVerifier

    verifier = SyncVerifier.from_settings(settings).__enter__()
    _worker["check"] = partial(checked, verifier=verifier, per_claim=per_claim)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _check(row: BatchRow) -> RowResult:
    result: RowResult = _worker["check"](row)
    return result
