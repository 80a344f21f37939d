"""Estimate of a job before it runs: rows left, queries, tokens, time and money.

It is made from a few rows. A backend that computes here checks them; a service is asked nothing.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING

from veridical.batch.index import RowIndex
from veridical.batch.rows import FaultyRow
from veridical.batch.survey import behind, survey
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.printing import number, usd
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from veridical.batch.rows import BatchRow
    from veridical.batch.running import BatchJob
    from veridical.core.measurements import BackendInfo, Measurement, Query
    from veridical.core.policy import Policy
    from veridical.core.printing import Document

SCHEMA = "veridical.batch-estimate/1"
SAMPLE = 10
CHARACTERS_OF_TOKEN = 4
_NOT_ASKED = Unmeasured(UnmeasuredReason.DISABLED, "only counted")


@dataclass(slots=True)
class QueryCounter:
    """Backend that counts queries and their characters in place of another, and measures none."""

    info: BackendInfo
    queries: int = 0
    characters: int = 0

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return no estimate for each query."""
        self.queries += len(queries)
        self.characters += sum(len(q.claim) + len(q.whole or q.context) for q in queries)
        return [_NOT_ASKED] * len(queries)


@dataclass(slots=True)
class BatchEstimate:
    """Rows of a job, those left to check, and what these are expected to take; None if unknown."""

    rows: int
    rows_left: int = 0
    faulty: int = 0
    sample: list[BatchRow] = field(default_factory=list)
    queries: float = 0.0
    tokens: float = 0.0
    seconds: float | None = None
    cost_usd: float | None = None

    def body(self) -> Document:
        """Return the estimate `veridical.batch-estimate/1`."""
        return {
            "schema": SCHEMA,
            "rows": {"total": self.rows, "left": self.rows_left, "faulty": self.faulty},
            "sample": len(self.sample),
            "queries": round(self.queries),
            "tokens": round(self.tokens),
            "seconds": number(self.seconds, 3),
            "cost_usd": usd(self.cost_usd),
        }


def estimate_job(job: BatchJob) -> BatchEstimate:
    """Return the number of rows and of those left, with a sample of them; nothing is written."""
    job.folder.ensure_of(job.identity)
    with RowIndex() as index:
        known = survey(job.selection, job.folder, index)
        for block in behind(job.folder, known):
            if block.settled:
                index.keep(block)
        found = BatchEstimate(known.rows)
        drawn = heapq.nsmallest(SAMPLE, _left(job, known.done, index, found), key=_rank)
    found.rows_left = min(found.rows_left, job.limit or found.rows_left)
    found.sample = drawn
    return found


def count_queries(found: BatchEstimate, info: BackendInfo, policy: Policy) -> None:
    """Add the queries and tokens that the rows left are expected to take.

    Second looks are not among them, nor are the instructions of a prompt.
    """
    counter = QueryCounter(info)
    with SyncVerifier(Verifier(counter, policy=policy)) as verifier:
        for row in found.sample:
            _look(verifier, row)
    scale = found.rows_left / max(len(found.sample), 1)
    found.queries = counter.queries * scale
    found.tokens = counter.characters / CHARACTERS_OF_TOKEN * scale


def time_rows(found: BatchEstimate, check: Callable[[BatchRow], object], processes: int) -> None:
    """Add the seconds that the rows left are expected to take.

    The first row takes the weights' loading with it and is counted once; a repeated row would be
    answered by the cache, so each is checked once.
    """
    taken = []
    for row in found.sample:
        started = perf_counter()
        check(row)
        taken.append(perf_counter() - started)
    loading, rest = taken[:1], taken[1:]
    mean = fmean(rest or taken or [0.0])
    found.seconds = sum(loading) + mean * max(found.rows_left - 1, 0) / processes


def _left(job: BatchJob, done: int, index: RowIndex, found: BatchEstimate) -> Iterator[BatchRow]:
    """Yield the rows that a run would check, and count them."""
    for number_of, (_, _, row) in enumerate(job.selection.rows()):
        if isinstance(row, FaultyRow):
            found.faulty += 1
        elif number_of >= done and index.kept(row.id, row.digest) is None:
            found.rows_left += 1
            yield row


def _rank(row: BatchRow) -> str:
    return row.digest


def _look(verifier: SyncVerifier, row: BatchRow) -> None:
    if row.whole:
        verifier.check(row.text, row.sources, row.question)
    else:
        verifier.verify(row.text, row.sources, row.question)
