"""Rounds of a job whose requests are sent in batches at their provider.

A round checks the rows with the replies known by then, sends the requests that lack one, and waits
for their batches. The job is done when no request lacks a reply.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from veridical.batch.engines import ThreadEngine
from veridical.batch.provider_ledger import ProviderLedger
from veridical.batch.results import RowResult, of_error
from veridical.batch.running import run_batch
from veridical.core.measurements import NOTHING, Taken
from veridical.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from types import TracebackType

    from veridical.batch.provider_ledger import SentBatch
    from veridical.batch.rows import BatchRow
    from veridical.batch.running import BatchJob, BatchRun
    from veridical.core.request_batches import BatchEndpoint, ProviderBatch
    from veridical.verification.sync import SyncVerifier

WAITING = "waiting"
"""Name of the error of a row whose requests are at the provider."""

PRICE_SHARE = 0.5
"""Share of its price that a request costs in a batch."""

LEDGER = "requests.sqlite"
ROWS_AT_ONCE = 8
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60.0


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits of one batch: its requests, the bytes of its file, and attempts at a request."""

    requests: int = 50_000
    size: int = 200_000_000
    attempts: int = 3


class ProviderJob:
    """Job whose requests are sent in batches; a context manager.

    `ledger` answers the requests of the backend. `tell` is called with each line of progress.
    """

    def __init__(
        self, job: BatchJob, tell: Callable[[str], None], limits: BatchLimits | None = None
    ) -> None:
        with job.folder.opened(job.identity):
            self.ledger = ProviderLedger(job.folder.path / LEDGER)
        self._job = job
        self._tell = tell
        self._limits = limits or BatchLimits()
        self._packed_now: set[int] = set()
        self._shown: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            left = sum(batch.remote is not None for batch in self.ledger.open_batches())
            self._tell(
                f"batches that go on at the provider: {left}; the same command again takes over"
            )
        self.ledger.__exit__(kind, error, traceback)

    def run(self, verifier: Callable[[], SyncVerifier], endpoint: BatchEndpoint) -> BatchRun:
        """Check what is left of the job, in as many rounds as it takes.

        `BackendError` if the provider refuses a batch, or cannot be reached.
        """
        started, checked, job = time.monotonic(), dict[str, Taken](), self._job
        while True:
            self._wait(endpoint)
            with self.ledger.gathering():
                run = run_batch(job, lambda: self._engine(verifier(), checked))
            if not self.ledger.unsent:
                break
            if run.stopped == "limit":
                # Rows that have their result by the next round make no room for others.
                job = replace(job, limit=None, end=run.totals.rows)
            self._pack(endpoint)
        run.rows_checked, run.taken = len(checked), sum(checked.values(), NOTHING)
        run.seconds = time.monotonic() - started
        self.ledger.remove()
        return run

    def _engine(self, verifier: SyncVerifier, checked: dict[str, Taken]) -> ReplayEngine:
        return ReplayEngine(verifier, self.ledger, checked, per_claim=self._job.per_claim)

    def _pack(self, endpoint: BatchEndpoint) -> None:
        unsent, limits = self.ledger.unsent, self._limits
        self.ledger.pack(endpoint.url, requests=limits.requests, size=limits.size)
        packed = {batch.number for batch in self.ledger.open_batches()}
        self._packed_now |= packed
        self._tell(f"requests to send: {unsent:,}, batches: {len(packed)}")

    def _wait(self, endpoint: BatchEndpoint) -> None:
        """Send the batches that are not yet at the provider, and wait for the end of all."""
        wait_s, kept, refused = FIRST_WAIT_S, 0, list[str]()
        while batches := self.ledger.open_batches():
            for batch in batches:
                remote = batch.remote or self._send(batch, endpoint)
                state = endpoint.state(remote)
                self._show(batch, remote, state)
                if state.ended:
                    kept += self._end(batch, state, endpoint)
                    refused += _refusal(state)
            if self.ledger.open_batches():
                time.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        # A batch may be refused until there is room for it: others that ended make room.
        if refused and (not kept or "cancelled" in refused):
            msg = f"the provider ended batches without their replies: {', '.join(sorted(refused))}"
            hint = "See them in the provider's console; the same command again sends what is left"
            raise BackendError(msg, hint=hint)

    def _send(self, batch: SentBatch, endpoint: BatchEndpoint) -> str:
        """Upload a batch and create it, but for what a run that was killed has already done."""
        name = f"veridical-{batch.mark}.jsonl"
        earlier = batch.number not in self._packed_now
        remote = endpoint.find_batch(batch.mark) if earlier else None
        if remote is None:
            file = endpoint.find_file(name) if earlier else None
            remote = endpoint.create(file or self._upload(name, batch, endpoint), batch.mark)
        self.ledger.created(batch, remote)
        return remote

    def _upload(self, name: str, batch: SentBatch, endpoint: BatchEndpoint) -> str:
        with tempfile.TemporaryFile(dir=self._job.folder.path) as content:
            content.writelines(self.ledger.lines(batch, endpoint.url))
            content.seek(0)
            return endpoint.upload(name, content)

    def _end(self, batch: SentBatch, state: ProviderBatch, endpoint: BatchEndpoint) -> int:
        replies = (line for file in state.files for line in endpoint.lines(file))
        attempts = None if _refusal(state) else self._limits.attempts
        return self.ledger.end(batch, replies, attempts=attempts)

    def _show(self, batch: SentBatch, remote: str, state: ProviderBatch) -> None:
        counts = f"{state.answered:,} of {state.total:,} answered, {state.failed:,} failed"
        text = f"{remote}: {state.status}, {counts}"
        if self._shown.get(batch.number) != text:
            self._shown[batch.number] = text
            self._tell(text)


class ReplayEngine(ThreadEngine):
    """Checks with the replies of a ledger; a row that lacks one has the error `waiting`."""

    def __init__(
        self,
        verifier: SyncVerifier,
        ledger: ProviderLedger,
        checked: dict[str, Taken],
        *,
        per_claim: bool,
    ) -> None:
        super().__init__(verifier, workers=ROWS_AT_ONCE, per_claim=per_claim)
        self._ledger = ledger
        self._checked = checked
        self._per_claim = per_claim

    def submit(self, row: BatchRow) -> Future[RowResult]:
        """Begin the check of a row."""
        return self._pool.submit(self._replayed, row)

    def _replayed(self, row: BatchRow) -> RowResult:
        with self._ledger.requests_of(row) as requests:
            result = self._check(row)
        if requests.waiting:
            detail = f"requests without a reply: {requests.waiting}"
            return of_error(row, WAITING, detail, per_claim=self._per_claim)
        cost = result.taken.cost_usd
        taken = Taken(result.taken.tokens, None if cost is None else cost * PRICE_SHARE)
        # A row with an error is checked in each round.
        self._checked[row.id] = taken
        return RowResult(result.lines, taken)


def _refusal(state: ProviderBatch) -> list[str]:
    """Return why a batch ended before its time: its errors, or its status; empty if it did not."""
    if state.status not in {"failed", "cancelled"}:
        return []
    return list(state.codes) or [state.status]
