"""Backends that lie, hang, break off or answer badly, and the hosts that have to survive them.

A host is a function that puts one claim to a backend and returns whether the claim was measured. It
calls `let_go` as soon as it has its answer, so that the time of the answer is known, and so that a
backend that hangs ends.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import sqlite3
import tempfile
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from veridical import SyncVerifier, Verifier
from veridical.audit.auditing import audit
from veridical.batch.engines import ThreadEngine
from veridical.batch.output import OutputFolder
from veridical.batch.running import BatchJob, run_batch
from veridical.batch.survey import Selection
from veridical.core.assessment import Outcome
from veridical.core.cancellation import cancellable
from veridical.core.measurements import Unmeasured
from veridical.memory import FactState, Memory, MemoryGate
from veridical.orchestrator import Orchestrator
from veridical.pipeline.inference.wrappers import wrap
from veridical.testing import FAKE, fake_estimate
from veridical.traces import ReasoningTraces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from veridical import Report
    from veridical.core.measurements import Measurement, Query
    from veridical.orchestrator.checkpoint import Checks

CLAIM = "The bridge opened in 1998."
SOURCES = {"S1": CLAIM}
TEXT_OF_ERRORS = "SECRET"
"""Text of the exceptions, which no report may show."""

DEADLINE_S = 0.3
RESCUED_S = 30.0
"""Seconds after which a backend that hangs ends by itself: its host has failed by then."""

_GOOD = fake_estimate(0.97)
_STEP_S = 0.02


class BackendFault(StrEnum):
    """Behaviour of a backend."""

    SLOW = "slow, but in time"
    REORDERED = "answers out of order"
    RAISES = "raises an exception"
    CANCELS = "cancels itself"
    NAN = "NaN as a probability"
    ABOVE_ONE = "a probability above 1"
    INFINITE_COST = "an infinite cost"
    TEXT_AS_TOKENS = "a text as the number of tokens"
    TEXT_AS_REASON = "a failure whose reason is a text"
    TOO_FEW = "too few answers"
    TOO_MANY = "too many answers"
    ENDLESS = "answers without end"
    NOTHING = "nothing at all"
    OTHER_VALUES = "values that are no measurements"
    BREAKS_OFF = "breaks off behind the first answer"
    TRICKLES = "trickles, not done in time"
    HANGS = "hangs"
    HANGS_IN_THREAD = "hangs in a thread"
    IGNORES_CANCELLATION = "hangs, and ignores its cancellation"
    BLOCKS = "hangs, and blocks the event loop"


HARMLESS = frozenset({BackendFault.SLOW, BackendFault.REORDERED})
HANGING = (
    BackendFault.TRICKLES,
    BackendFault.HANGS,
    BackendFault.HANGS_IN_THREAD,
    BackendFault.IGNORES_CANCELLATION,
)


class FaultyBackend:
    """Backend with a fault, for one host.

    `answered_s` is the time from the first question to the answer of the host, in seconds.
    """

    info = FAKE

    def __init__(self, fault: BackendFault) -> None:
        self._fault = fault
        self._end = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event: asyncio.Event
        self._asked_at: float | None = None
        self.answered_s: float | None = None

    def let_go(self) -> None:
        """Note the time of the host's answer, and end what hangs."""
        if self.answered_s is None:
            self.answered_s = self._seconds
        self._end.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended with its host
                self._loop.call_soon_threadsafe(self._event.set)

    @property
    def rescued(self) -> bool:
        """True if its host waited until the backend ended by itself."""
        return self.answered_s is None or self.answered_s >= RESCUED_S

    async def estimate(self, queries: Sequence[Query]) -> Any:  # noqa: ANN401 -- a lie is of any type
        """Do what the fault says."""
        if self._asked_at is None:
            self._asked_at = perf_counter()
        found: list[Measurement] = [
            fake_estimate(0.97 if "1998" in q.context else 0.3) for q in queries
        ]
        if self._fault in _ANSWERS:
            await asyncio.sleep(_STEP_S)
            return _ANSWERS[self._fault](found)
        if self._fault is BackendFault.CANCELS:
            raise asyncio.CancelledError
        await self._hang()
        return found

    async def _hang(self) -> None:
        if self._fault is BackendFault.HANGS_IN_THREAD:
            await anyio.to_thread.run_sync(self._end.wait, RESCUED_S)
        elif self._fault is BackendFault.BLOCKS:
            self._end.wait(RESCUED_S)
        elif self._fault is BackendFault.IGNORES_CANCELLATION:
            while not self._ended:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(_STEP_S)
        elif self._fault is BackendFault.TRICKLES:
            while not self._ended:  # noqa: ASYNC110 -- it is busy, a little at a time
                await asyncio.sleep(_STEP_S)
        else:
            self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()
            await asyncio.wait_for(self._event.wait(), RESCUED_S)

    @property
    def _ended(self) -> bool:
        return self._end.is_set() or self._seconds > RESCUED_S

    @property
    def _seconds(self) -> float:
        return 0.0 if self._asked_at is None else perf_counter() - self._asked_at


def _raising(_: object) -> None:
    raise RuntimeError(TEXT_OF_ERRORS)


def _breaking_off(found: Sequence[Measurement]) -> Iterator[Measurement]:
    yield found[0]
    raise ConnectionResetError(TEXT_OF_ERRORS)


def _each(made: Callable[[], object]) -> Callable[[Sequence[Measurement]], list[object]]:
    return lambda found: [made() for _ in found]


_ANSWERS: Mapping[BackendFault, Callable[[list[Measurement]], object]] = {
    BackendFault.SLOW: lambda found: found,
    BackendFault.REORDERED: lambda found: found[::-1],
    BackendFault.RAISES: _raising,
    BackendFault.NAN: _each(lambda: fake_estimate(math.nan)),
    BackendFault.ABOVE_ONE: _each(lambda: fake_estimate(1.5)),
    BackendFault.INFINITE_COST: _each(lambda: replace(_GOOD, cost_usd=math.inf)),
    BackendFault.TEXT_AS_TOKENS: _each(lambda: replace(_GOOD, tokens="12")),  # type: ignore[arg-type]
    BackendFault.TEXT_AS_REASON: _each(lambda: Unmeasured("busy")),  # type: ignore[arg-type]
    BackendFault.TOO_FEW: lambda found: found[:-1],
    BackendFault.TOO_MANY: lambda found: [*found, found[0]],
    BackendFault.ENDLESS: lambda found: itertools.repeat(found[0]),
    BackendFault.NOTHING: lambda _: None,
    BackendFault.OTHER_VALUES: _each(lambda: {"supported": 0.97}),
    BackendFault.BREAKS_OFF: _breaking_off,
}


# --- hosts -----------------------------------------------------------------------------------


def library(backend: FaultyBackend) -> bool:
    """Check an answer, with the deadline of the settings around the backend."""
    verifier = Verifier(wrap(backend, deadline_s=DEADLINE_S))
    return _grounded(anyio.run(_checked, backend, verifier))


def library_in_time(backend: FaultyBackend) -> bool:
    """Check an answer, with a deadline around the check."""
    with cancellable(DEADLINE_S):
        report = anyio.run(_checked, backend, Verifier(backend))
    return _grounded(report)


async def _checked(backend: FaultyBackend, verifier: Verifier) -> Report:
    report = await verifier.check(CLAIM, SOURCES)
    backend.let_go()
    return report


def _grounded(report: Report) -> bool:
    _ensure_clean(report.to_dict())
    return report.summary.outcome is Outcome.GROUNDED


def blocking_library(backend: FaultyBackend) -> bool:
    """Check an answer without an event loop."""
    with SyncVerifier(Verifier(wrap(backend, deadline_s=DEADLINE_S))) as verifier:
        report = verifier.check(CLAIM, SOURCES)
        backend.let_go()
    return _grounded(report)


def orchestrator(backend: FaultyBackend) -> bool:
    """Verify an answer that is generated."""
    return anyio.run(_processed, backend, Verifier(backend))


def orchestrator_apart(backend: FaultyBackend) -> bool:
    """Verify an answer that is generated, with the backend away from the event loop."""
    with SyncVerifier(Verifier(backend)) as verifier:
        return anyio.run(_processed, backend, verifier)


async def _processed(backend: FaultyBackend, verifier: Checks) -> bool:
    made = Orchestrator(lambda _, /, *, context: context["S1"], verifier, deadline_s=DEADLINE_S)
    answer = await made.process("When did it open?", SOURCES)
    backend.let_go()
    _ensure(answer.text == CLAIM, "the answer is given")
    report = answer.best.report
    return report is not None and report.summary.outcome is Outcome.GROUNDED


@contextmanager
def _database() -> Iterator[str]:
    """Yield the URL of an empty database."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kept.db").write_bytes(_empty_database())
        yield f"sqlite:///{folder}/kept.db"


@cache
def _empty_database() -> bytes:
    """Make one with its tables, once for all hosts and faults: that takes a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kept.db")
        with Memory(f"sqlite:///{path}") as facts:
            facts.facts()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.read_bytes()


def memory_gate(backend: FaultyBackend) -> bool:
    """Decide about a fact."""
    gate = MemoryGate(Verifier(backend), backend, timeout_s=DEADLINE_S)
    decision = gate.check(CLAIM, SOURCES).decision
    backend.let_go()
    gate.close()
    _ensure(decision.refusal is None, "a fact is not refused for the backend's fault")
    return decision.state is FactState.VERIFIED


def memory(backend: FaultyBackend) -> bool:
    """Remember a fact."""
    with _database() as url:
        gate = MemoryGate(Verifier(backend), backend, timeout_s=DEADLINE_S)
        with Memory(url, gate) as facts:
            facts.facts()  # opens it, which takes no time of the gate
            done = facts.remember(CLAIM, SOURCES)
            backend.let_go()
            (fact,) = facts.facts(everything=True)
            _ensure(done.fact is not None and done.fact.id == fact.id, "the fact is kept")
            _ensure(
                (fact.state is FactState.VERIFIED) != bool(facts.pending()), "it waits, or is done"
            )
    return fact.state is FactState.VERIFIED


def trace_audit(backend: FaultyBackend) -> bool:
    """Audit a step of reasoning."""

    async def run() -> bool:
        verifier = Verifier(wrap(backend, deadline_s=DEADLINE_S))
        found = await audit([CLAIM], verifier, sources=SOURCES)
        backend.let_go()
        return found.steps[0].label == "ENTAILED"

    return anyio.run(run)


def traces(backend: FaultyBackend) -> bool:
    """Verify a claim of a trace in the store."""
    verifier = Verifier(wrap(backend, deadline_s=DEADLINE_S))
    with _database() as url, ReasoningTraces(url, verifier) as kept:
        goal = kept.add_goal("Say when it opened")
        kept.add_evidence(goal, "S1", CLAIM)
        kept.verify_claim(kept.add_claim(goal, CLAIM, ["S1"]))
        backend.let_go()
        (claim,) = kept.claims(goal)
    return claim.state == "supported"


def batch(backend: FaultyBackend) -> bool:
    """Check a row of a data set."""
    verifier = SyncVerifier(Verifier(wrap(backend, deadline_s=DEADLINE_S)))
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.jsonl")
        rows.write_text(json.dumps({"id": "r1", "answer": CLAIM, "sources": SOURCES}) + "\n")
        output = OutputFolder(Path(folder, "out"))
        job = BatchJob(Selection((rows,), None), output, {"version": 1})
        run_batch(job, lambda: ThreadEngine(verifier, per_claim=False), lambda _: backend.let_go())
        (line,) = output.rows.read_text().splitlines()
    _ensure_clean(line)
    return json.loads(line)["outcome"] == Outcome.GROUNDED.value


def proxy(backend: FaultyBackend) -> bool:
    """Verify the reply of a model on its way through the proxy."""
    import httpx2
    from fastapi import FastAPI

    from _upstream import Upstream, serving
    from veridical.interfaces.http.proxy import build_proxy_router
    from veridical.settings.service_blocks import ProxySettings

    message = {"role": "assistant", "content": CLAIM}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    said = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    asked = [
        {"role": "system", "content": f"[S1] {CLAIM}"},
        {"role": "user", "content": "When did it open?"},
    ]
    app = FastAPI()
    with serving(Upstream([json.dumps(said).encode()]).app()) as upstream:
        settings = ProxySettings(upstream_url=f"{upstream}/v1", deadline_s=DEADLINE_S)
        app.include_router(build_proxy_router(Verifier(backend), settings))
        with serving(app) as address:
            body = {"model": "m", "messages": asked}
            reply = httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=2 * RESCUED_S)
            backend.let_go()
    found = reply.json()
    _ensure(found["choices"][0]["message"]["content"].startswith(CLAIM), "the reply goes out")
    _ensure_clean(found)
    return bool(found["veridical"]["outcome"] == Outcome.GROUNDED.value)


HOSTS: Mapping[str, Callable[[FaultyBackend], bool]] = {
    "library, deadline of the backend": library,
    "library, deadline of the check": library_in_time,
    "library, blocking": blocking_library,
    "orchestrator": orchestrator,
    "orchestrator, blocking verifier": orchestrator_apart,
    "memory gate": memory_gate,
    "memory": memory,
    "audit": trace_audit,
    "traces": traces,
    "batch": batch,
    "proxy": proxy,
}
APART = frozenset({"orchestrator, blocking verifier", "memory gate", "memory"})
"""Hosts whose backend has a thread of its own: only these survive one that blocks its thread."""


def cases() -> list[tuple[str, BackendFault]]:
    """Return every host with every fault that it has to survive."""
    pairs = itertools.product(HOSTS, BackendFault)
    return [pair for pair in pairs if pair[1] is not BackendFault.BLOCKS or pair[0] in APART]


def _ensure_clean(document: object) -> None:
    text = document if isinstance(document, str) else json.dumps(document, allow_nan=False)
    _ensure(TEXT_OF_ERRORS not in text, "the text of an error is not shown")


def _ensure(holds: bool, what: str) -> None:  # noqa: FBT001 -- an assertion reads like this
    if not holds:
        msg = f"broken: {what}"
        raise AssertionError(msg)
