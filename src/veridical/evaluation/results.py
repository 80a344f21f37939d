"""Metrics per file from outcomes and labels, and their mean over files."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Status
from veridical.evaluation import metrics
from veridical.evaluation.baselines import BASELINES, BaselineResult
from veridical.evaluation.bootstrap import (
    INTERVAL_METRICS,
    Resampling,
    interval,
    mean_replicates,
    replicates,
)
from veridical.evaluation.rows import Label3

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.core.measurements import BackendInfo
    from veridical.core.policy import Policy
    from veridical.core.verdicts import Interval
    from veridical.evaluation.harness import Measured
    from veridical.evaluation.metrics import Flags, Floats
    from veridical.evaluation.outcomes import RowOutcome
    from veridical.evaluation.rows import Row

Intervals = dict[str, "Interval | None"]
DECIDED_BY_RULE = {status for status, row in STATUS_TABLE.items() if not row.by_probability}
DECIDED_BY_RULE -= {Status.UNDETERMINED}
PREDICTED = {Status.SUPPORTED: Label3.SUPPORTED, Status.CONTRADICTED: Label3.CONTRADICTED}


@dataclass(frozen=True, slots=True)
class Scores:
    """Metrics of a file, or their means; None where they cannot be computed."""

    auroc: float | None
    balanced_accuracy: float | None
    false_positive_rate: float | None
    recall: float | None
    ece: float | None
    brier: float | None
    macro_f1_3way: float | None
    ms_per_claim_p50: float | None
    claims_per_second: float | None


@dataclass(frozen=True, slots=True)
class Points:
    """Decided rows as arrays, the input of metrics and plots.

    `score` ranks claims for the AUROC: P(supported), or 0 where a rule decided without the model.
    `by_model` marks the rows whose P(supported) counts for calibration.
    """

    score: Floats
    flagged: Flags
    supported: Flags
    by_model: Flags


@dataclass(frozen=True, slots=True)
class FileResult:
    """Figures of a data set: n + undetermined + skipped is the number of its sampled rows."""

    name: str
    n: int
    undetermined: int
    skipped: Mapping[str, int]
    scores: Scores
    intervals: Intervals
    baselines: Mapping[str, BaselineResult]
    points: Points = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class MeanResult:
    """Unweighted means over the files that have the metric; the counts are sums."""

    files: int
    n: int
    undetermined: int
    skipped: Mapping[str, int]
    scores: Scores
    intervals: Intervals
    baselines: Mapping[str, BaselineResult]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results of an evaluation, with backend and policy; the policy is resolved."""

    backend: BackendInfo
    policy: Policy
    files: tuple[FileResult, ...]
    mean: MeanResult
    resampling: Resampling
    limit: int | None = None

    @property
    def threshold(self) -> float | None:
        """Support threshold in force: shipped or configured, never tuned on the data."""
        return self.policy.support_threshold


def evaluate(
    measured: Sequence[Measured],
    backend: BackendInfo,
    policy: Policy,
    resampling: Resampling,
    limit: int | None = None,
) -> Evaluation:
    """Return the metrics of the measured data sets."""
    found = [_file(one, resampling) for one in measured]
    files = tuple(file for file, _ in found)
    mean = _mean(files, [drawn for _, drawn in found])
    return Evaluation(backend, policy.resolved(backend), files, mean, resampling, limit)


def _file(measured: Measured, how: Resampling) -> tuple[FileResult, Mapping[str, Floats]]:
    pairs = list(zip(measured.dataset.rows, measured.outcomes, strict=True))
    decided = [pair for pair in pairs if pair[1].status is not Status.UNDETERMINED]
    rows, outcomes = [row for row, _ in decided], [outcome for _, outcome in decided]
    points = _points(rows, outcomes)
    key = measured.dataset.fingerprint
    drawn = replicates(points.score, points.flagged, points.supported, key, how)
    result = FileResult(
        name=measured.dataset.name,
        n=len(decided),
        undetermined=len(pairs) - len(decided),
        skipped={reason.value: n for reason, n in sorted(measured.dataset.skipped.items())},
        scores=_scores(rows, outcomes, points),
        intervals={name: interval(drawn[name]) for name in INTERVAL_METRICS},
        baselines={name: one.measure(rows, points.supported) for name, one in BASELINES.items()},
        points=points,
    )
    return result, drawn


def _points(rows: Sequence[Row], outcomes: Sequence[RowOutcome]) -> Points:
    by_model = [outcome.status not in DECIDED_BY_RULE for outcome in outcomes]
    scores = [
        (outcome.supported or 0.0) if model else 0.0
        for outcome, model in zip(outcomes, by_model, strict=True)
    ]
    return Points(
        score=np.array(scores, dtype=np.float64),
        flagged=np.array([o.status is not Status.SUPPORTED for o in outcomes], dtype=np.bool_),
        supported=np.array([row.supported for row in rows], dtype=np.bool_),
        by_model=np.array(by_model, dtype=np.bool_),
    )


def _scores(rows: Sequence[Row], outcomes: Sequence[RowOutcome], points: Points) -> Scores:
    supported, flagged = points.supported, points.flagged
    probability, truth = points.score[points.by_model], supported[points.by_model]
    times = [outcome.ms for outcome in outcomes]
    return Scores(
        auroc=metrics.auroc(points.score, supported),
        balanced_accuracy=metrics.balanced_accuracy(~flagged, supported),
        false_positive_rate=metrics.share(flagged[supported]),
        recall=metrics.share(flagged[~supported]),
        ece=metrics.expected_calibration_error(probability, truth),
        brier=metrics.brier(probability, truth),
        macro_f1_3way=_macro_f1(rows, outcomes),
        ms_per_claim_p50=median(times) if times else None,
        claims_per_second=1000 * len(times) / sum(times) if sum(times) > 0 else None,
    )


def _macro_f1(rows: Sequence[Row], outcomes: Sequence[RowOutcome]) -> float | None:
    labelled = [
        (PREDICTED.get(outcome.status, Label3.NOT_IN_CONTEXT), row.label3)
        for row, outcome in zip(rows, outcomes, strict=True)
        if row.label3 is not None
    ]
    return metrics.macro_f1([guess for guess, _ in labelled], [truth for _, truth in labelled])


# --- the mean --------------------------------------------------------------------------------


def _mean(files: Sequence[FileResult], drawn: Sequence[Mapping[str, Floats]]) -> MeanResult:
    names = [one.name for one in fields(Scores)]
    means = {name: _known_mean(getattr(f.scores, name) for f in files) for name in names}
    return MeanResult(
        files=len(files),
        n=sum(file.n for file in files),
        undetermined=sum(file.undetermined for file in files),
        skipped=_summed(file.skipped for file in files),
        scores=Scores(**means),
        intervals={m: interval(mean_replicates(drawn, m)) for m in INTERVAL_METRICS},
        baselines={name: _mean_baseline(files, name) for name in BASELINES},
    )


def _known_mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for reason, n in count.items():
            total[reason] = total.get(reason, 0) + n
    return dict(sorted(total.items()))


def _mean_baseline(files: Sequence[FileResult], name: str) -> BaselineResult:
    found = [file.baselines[name] for file in files]
    return BaselineResult(
        _known_mean(one.auroc for one in found),
        _known_mean(one.balanced_accuracy for one in found),
        BASELINES[name].threshold,
    )
