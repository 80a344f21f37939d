"""Worker for the memory's queue beside the requests, in a thread of its own."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING

from veridical.core.projects import within_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.memory import GateDecision, Memory

EVERY_S = 5.0
"""Seconds between two looks at a queue in which nothing is due."""

LONGEST_S = 300.0
"""Maximum seconds between two looks after failures; each failure doubles the wait."""

_FACT_S = 30.0
_LEAVE_S = 5.0


class QueueWorker:
    """Verifier of queued facts, one at a time; requests come first.

    `busy` returns true if requests wait: then facts do, too. `settled` is called for each fact with
    the outcome, the reason, and the seconds; `failed` with an error, after which it goes on.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        busy: Callable[[], bool],
        settled: Callable[[str, GateDecision, float], object],
        failed: Callable[[str, BaseException], object],
        every_s: float = EVERY_S,
    ) -> None:
        self._memory = memory
        self._busy = busy
        self._settled = settled
        self._failed = failed
        self._every_s = every_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="veridical queue", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Take no further fact; the one under way is left to a later worker."""
        self._stopped.set()
        if self._memory.gate is not None:
            self._memory.gate.close()
        if self._thread.is_alive():
            self._thread.join(_LEAVE_S)

    def _run(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            try:
                idle = self._busy() or not self._work()
                failures = 0
            except Exception as error:  # noqa: BLE001 -- the next look may find the database again
                self._failed("memory_queue", error)
                idle, failures = True, failures + 1
            if idle:
                self._stopped.wait(pause_s(self._every_s, failures))

    def _work(self) -> bool:
        """Verify the first fact that is due of each project; return whether there was one."""
        begun, found = 0.0, list[str]()

        def watch(name: str, decision: GateDecision) -> None:
            found.append(name)
            self._settled(name, decision, perf_counter() - begun)

        for project in self._memory.queued_by_project():
            begun = perf_counter()
            with within_project(project):
                memory = self._memory.of(project)
                memory.verify_pending(limit=1, timeout_s=_FACT_S, watch=watch)
        return bool(found)


def pause_s(every_s: float, failures: int) -> float:
    """Return the seconds until the next look, after so many that failed in a row."""
    return min(every_s * 2.0 ** min(failures, 32), max(every_s, LONGEST_S))
