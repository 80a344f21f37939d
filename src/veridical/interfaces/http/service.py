"""Service behind the routes: one verifier for all requests, with its limits."""

from __future__ import annotations

import asyncio
import math
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from veridical.core.cancellation import Cancellation, cancellable, remaining
from veridical.core.measurements import Query
from veridical.errors import VeridicalError
from veridical.interfaces.http.audit_log import AuditSink
from veridical.interfaces.http.authentication import Authentication
from veridical.interfaces.http.batching import Batching, Deadlined, Observed
from veridical.interfaces.http.job_worker import JobWorker, WorkerLimits
from veridical.interfaces.http.limits import (
    Kind,
    OverloadedError,
    RequestQueue,
    rate_limiter,
)
from veridical.interfaces.http.memory_release import MemoryRelease
from veridical.interfaces.http.output_verifier import OutputVerifier
from veridical.interfaces.http.report_cache import report_cache
from veridical.interfaces.http.usage import usage_sink
from veridical.interfaces.http.worker import QueueWorker
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.inference.vectors import packaged_vectors
from veridical.telemetry import (
    FactDecided,
    LogSink,
    Shed,
    Telemetry,
    Waited,
    checked,
    fact_decided,
    failure,
    verified,
)
from veridical.telemetry.prometheus import PrometheusSink
from veridical.verification.worker_threads import in_worker_thread
from veridical.wiring.build import backend_of, build_verifier, is_instant
from veridical.wiring.runtime import Runtime, load_gate_model

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from veridical.core.policy import Policy
    from veridical.core.ports import Backend, TextModel
    from veridical.core.sources import Sources
    from veridical.core.verdicts import Verdict
    from veridical.memory import GateDecision, Memory
    from veridical.memory import RememberResult as Decided
    from veridical.pipeline.reports import Report
    from veridical.settings import Settings
    from veridical.store import JobTables, Store
    from veridical.telemetry import Sink
    from veridical.verification.check_events import CheckWatcher
    from veridical.verification.scoring import Progress

T = TypeVar("T")


class Service:
    """Parts of a running service; `start` before the first request, `stop` after the last."""

    def __init__(
        self, settings: Settings, *, backend: Backend | None = None, sinks: Sequence[Sink] = ()
    ) -> None:
        server = settings.server
        self.settings = settings
        self.authentication = Authentication(server, settings.store.project)
        self.keyring = self.authentication.keyring
        passing = settings.proxy.max_requests
        self.admission = RequestQueue(server.running, server.waiting, passing)
        self.shelf = report_cache(server, lambda: self.store, self.failed)
        self.metrics = PrometheusSink()
        self.usage = usage_sink(server, lambda: self.store, self.failed)
        self._audit = AuditSink(server.audit_log)
        own = (LogSink(), self.metrics, self.usage, self._audit)
        self.telemetry = Telemetry([*own, *sinks])
        self._hash_key = settings.telemetry.key_of_hashes
        self.rates = rate_limiter(settings.store.url, lambda: self.store, self.failed)
        self.ready = False
        self.draining = False
        self._memory = MemoryRelease()
        self._work, self._answers = Cancellation(), Cancellation()
        self.limits = server.limits
        self.failure: VeridicalError | None = None
        self._worker: QueueWorker | None = None
        self.job_worker = self._new_job_worker()
        self._opening = anyio.Lock()
        self._writing: asyncio.Task[None] | None = None
        self._parts = Runtime(backend, settings=settings)
        self._parts.take_over(backend)
        self.backend = self._shared(self._parts.backend)
        self.verifier = build_verifier(settings, backend=self.backend, limits=self.limits)
        self._batching = self._batched(self.backend)
        self._output_parts = self._parts_for_output(given=backend is not None)
        self._backends, self.output_verifier = [self.backend], self.verifier
        if self._output_parts is not None:
            self._backends.append(self._shared(self._output_parts.backend))
            self.output_verifier = build_verifier(
                settings, backend=self._backends[-1], limits=self.limits
            )
        self._gauges()

    def _parts_for_output(self, *, given: bool) -> Runtime | None:
        """Return the parts for answers on their way to a user; None if checks use them, too."""
        named = backend_of(self.settings, "output")
        if given or named == self.settings.backend or not self.settings.proxy.upstream_url:
            return None
        return Runtime(named, settings=self.settings, operation="output")

    def _shared(self, backend: Backend) -> Deadlined:
        observed: Backend = Observed(backend, self.telemetry)
        if is_instant(backend):
            observed = Batching(observed, self.settings.server.batch)
        return Deadlined(observed)

    @staticmethod
    def _batched(shared: Deadlined) -> Batching | None:
        inner = shared.wrapped
        return inner if isinstance(inner, Batching) else None

    def _new_job_worker(self) -> JobWorker:
        from veridical.interfaces.http.batch_checks import job_check
        from veridical.interfaces.http.job_routes import webhook_rules
        from veridical.interfaces.http.webhook_delivery import WebhookSender

        jobs = self.settings.jobs
        secret = jobs.webhook_secret
        rules = webhook_rules(self)
        return JobWorker(
            lambda: self.job_tables if self.store.exists else None,
            job_check(self),
            WorkerLimits(jobs.running, jobs.kept_s),
            busy=lambda: self.draining or self.admission.waiting > 0,
            failed=self.failed,
            sender=None if secret is None else WebhookSender(secret.get_secret_value(), rules),
        )

    def _gauges(self) -> None:
        watch, admission = self.metrics.watch, self.admission
        watch("queue_depth", "Requests that wait for their turn.", lambda: admission.waiting)
        watch("requests_running", "Requests under way.", lambda: admission.running)
        watch("requests_passing", "Requests under way to the upstream.", lambda: admission.passing)
        batching = self._batching
        watch(
            "queries_waiting",
            "Queries that are in no batch yet.",
            lambda: 0 if batching is None else batching.waiting,
        )
        watch("job_checks", "Checks of jobs under way.", lambda: self.job_worker.running)
        watch("facts_waiting", "Facts that wait in the memory's queue.", self._waiting)
        watch("telemetry_errors", "Events that a sink failed at.", lambda: self.telemetry.errors)
        info = self.backend.info
        self.metrics.build(version=version("veridical"), backend=info.name, model=info.model)

    def _waiting(self) -> float:
        """Return the number of facts in the queue; NaN if there is no memory, or no reading it."""
        if not (self._parts.made("memory") or self._parts.made("gated_memory")):
            return math.nan
        try:
            return sum(self.memory.queued_by_project().values())
        except VeridicalError:
            return math.nan

    # --- parts that are made when they are needed --------------------------------------------

    @property
    def store(self) -> Store:
        """Database of the service."""
        return self._parts.store

    @property
    def memory(self) -> Memory:
        """Memory of facts; its gate is on unless the settings switch it off."""
        block = self.settings.hallucination
        gated = block.enabled is not False and block.memory_gate.enabled is not False
        return self._parts.gated_memory if gated else self._parts.memory

    @property
    def job_tables(self) -> JobTables:
        """Jobs in the database."""
        from veridical.store import JobTables

        return JobTables(self.store)

    @property
    def text_model(self) -> TextModel | None:
        """Text model, if one is configured."""
        return self._parts.model

    # --- from start to end -------------------------------------------------------------------

    async def start(self) -> None:
        """Load the model, so that the first request need not wait for it.

        An error at the start is raised, and kept as `failure`.
        """
        await self.rates.open()
        await anyio.to_thread.run_sync(_warm)
        for backend in self._backends:
            if not is_instant(backend):
                continue
            try:
                await backend.estimate([Query("It is warm.", "It is warm.")])
            except VeridicalError as error:
                self.failure = error
                raise
        if self.settings.hallucination.enabled:
            await self.open_memory()
        self._writing = asyncio.create_task(self.usage.keep_writing())
        self.job_worker.start()
        self.ready = True

    async def open_memory(self) -> Memory:
        """Return the memory, with its gate's model loaded; the first call takes a while."""
        async with self._opening:
            if self._worker is None:
                await anyio.to_thread.run_sync(self._open_gate)
        return self.memory

    def _open_gate(self) -> None:
        """Load the gate's model, and begin to process its queue."""
        if self.memory.gate is None:
            return
        load_gate_model(self.memory)
        self._worker = QueueWorker(
            self.memory,
            busy=lambda: self.draining or self.admission.waiting > 0,
            settled=self._settled,
            failed=self.failed,
        )
        self._worker.start()

    def _settled(self, name: str, decision: GateDecision, seconds: float) -> None:
        refusal = None if decision.refusal is None else str(decision.refusal)
        event = FactDecided(f"queue_{name}", decision.reason, refusal, seconds, decision.queue)
        self.telemetry.take(event)

    def drain(self, seconds: float) -> None:
        """Say that the service ends, and let accepted requests end in so many seconds."""
        self.draining = True
        self.job_worker.halt()
        self._work.hasten(max(0.1, seconds))
        self._answers.hasten(seconds + self.settings.server.reserve_s)
        for backend in self._backends:
            backend.hasten(max(0.1, seconds))

    async def stop(self) -> None:
        """Close everything that is open."""
        if self._writing is not None:
            self._writing.cancel()
        with anyio.move_on_after(self.settings.server.reserve_s):
            await anyio.to_thread.run_sync(self.usage.write, abandon_on_cancel=True)
            self._memory.stop()
            await self._stop_workers()
        for parts in (self._parts, self._output_parts):
            if parts is not None:
                with suppress(Exception):
                    parts.close()
        self._audit.close()

    async def _stop_workers(self) -> None:
        """End the work beside the requests; what is left claimed is free a little later."""
        with suppress(Exception):
            await self.job_worker.stop()
        if self._worker is not None:
            await anyio.to_thread.run_sync(self._worker.stop, abandon_on_cancel=True)

    # --- work --------------------------------------------------------------------------------

    def policy(self, given: dict[str, Any] | None) -> Policy:
        """Return the configured policy, with the changes of a request."""
        return replace(self.settings.to_policy(), **(given or {}))

    async def admitted(
        self, operation: str, work: Callable[[], Awaitable[T]], kind: Kind = Kind.CHECK
    ) -> T:
        """Do work in its turn and within the deadline; `OverloadedError` if there is no room."""
        started = perf_counter()
        with self.deadline(), self.shedding(operation):
            async with self.admission.slot(kind, wait_s=remaining()):
                self.telemetry.take(Waited(operation, perf_counter() - started))
                return await work()

    def deadline(self) -> AbstractContextManager[Cancellation]:
        """Limit the work of a block to the deadline of a request, and to that of a shutdown."""
        return cancellable(self.settings.server.deadline_s, parent=self._work)

    async def rendered(self, render: Callable[[], T]) -> T:
        """Return what `render` makes of a result, in a thread; for work after the deadline."""
        with cancellable(self.settings.server.deadline_s, parent=self._answers):
            return await in_worker_thread(render)

    @contextmanager
    def shedding(self, operation: str) -> Iterator[None]:
        """Report requests that are turned away in this block to telemetry."""
        try:
            yield
        except OverloadedError:
            self.telemetry.take(Shed(operation, "overload"))
            raise

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Hold a request that is passed on; `OverloadedError` if there are too many of them."""
        with self.shedding("proxy"), self.admission.beside():
            yield

    async def check(  # noqa: PLR0913 -- those of Verifier.check
        self,
        answer: str,
        sources: Sources,
        question: str | None = None,
        *,
        policy: Policy | None = None,
        progress: Progress | None = None,
        watcher: CheckWatcher | None = None,
        operation: str = "check",
    ) -> Report:
        """Check an answer, and report to telemetry; for work that is admitted."""
        verifier = self.output_verifier if operation == "output" else self.verifier
        with self.telemetry.span(f"veridical.{operation}"):
            report = await verifier.check(
                answer,
                sources,
                question,
                policy=policy,
                progress=progress,
                watcher=watcher or self.telemetry,
            )
            self.telemetry.take(checked(report, operation, self._hash_key))
        self._memory.checked(report)
        return report

    async def verify(
        self,
        claim: str,
        sources: Sources,
        question: str | None,
        *,
        cites: Sequence[str],
        policy: Policy,
    ) -> Verdict:
        """Verify a claim, and report to telemetry; for work that is admitted."""
        started = perf_counter()
        with self.telemetry.span("veridical.verify_claim"):
            verdict = await self.verifier.verify(
                claim, sources, question, cites=cites, policy=policy
            )
            seconds = perf_counter() - started
            info = self.backend.info
            self.telemetry.take(verified(verdict, info, seconds, hash_key=self._hash_key))
        return verdict

    async def remember(
        self,
        project: str,
        text: str,
        sources: Sources | None,
        **about: Any,  # noqa: ANN401 -- those of Memory.remember
    ) -> Decided:
        """Remember a fact, and report to telemetry; gates are never turned away."""
        memory = (await self.open_memory()).of(project)
        started = perf_counter()
        done = await memory.aremember(text, sources, **about)
        self.telemetry.take(fact_decided(done, perf_counter() - started))
        return done

    def failed(self, where: str, error: BaseException) -> None:
        """Report an internal failure to telemetry."""
        self.telemetry.take(failure(where, error))

    @property
    def output(self) -> OutputVerifier:
        """Verifier of answers on their way to a user, such as the proxy's."""
        return OutputVerifier(self)


def _warm() -> None:
    """Load what claims and evidence are read with, so that no request has to."""
    split_sentences("It is warm. It is read.")
    packaged_vectors()
