"""Evaluation harness: verification of every row, one at a time, with its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from veridical.core.measurements import supported_probability
from veridical.evaluation.dataset import total_rows
from veridical.evaluation.outcomes import RowOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Source
    from veridical.core.verdicts import Verdict
    from veridical.evaluation.dataset import Dataset
    from veridical.evaluation.ledger import Ledger
    from veridical.evaluation.rows import Row


class ClaimVerifier(Protocol):
    """Verifier under test; `SyncVerifier` is one."""

    def verify(
        self,
        claim: str,
        sources: Sequence[Source],
        *,
        cites: Sequence[str],
        policy: Policy | None,
    ) -> Verdict:
        """Return the verdict on one claim."""
        ...


@dataclass(frozen=True, slots=True)
class Measured:
    """Rows of a data set, and the outcome of each in the same order."""

    dataset: Dataset
    outcomes: tuple[RowOutcome, ...]


def measure(
    datasets: Sequence[Dataset],
    verifier: ClaimVerifier,
    *,
    policy: Policy | None = None,
    ledger: Ledger | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Measured, ...]:
    """Return the outcomes; rows in the ledger are not verified again."""
    done, total = 0, total_rows(datasets)
    found = []
    for dataset in datasets:
        outcomes = []
        for row in dataset.rows:
            outcomes.append(_outcome(dataset, row, verifier, policy, ledger))
            done += 1
            if progress is not None:
                progress(done, total)
        found.append(Measured(dataset, tuple(outcomes)))
    return tuple(found)


def _outcome(
    dataset: Dataset,
    row: Row,
    verifier: ClaimVerifier,
    policy: Policy | None,
    ledger: Ledger | None,
) -> RowOutcome:
    known = ledger.get(dataset.fingerprint, row.id) if ledger is not None else None
    if known is not None:
        return known
    started = perf_counter()
    verdict = verifier.verify(row.claim, row.sources, cites=row.cites, policy=policy)
    outcome = _kept(verdict, (perf_counter() - started) * 1000)
    if ledger is not None:
        ledger.add(dataset.fingerprint, row.id, outcome)
    return outcome


def _kept(verdict: Verdict, ms: float) -> RowOutcome:
    return RowOutcome(verdict.status, supported_probability(verdict.p1), ms)
