"""Tables of the figures as strings, shared by terminal, Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.evaluation import metrics
from veridical.evaluation.baselines import BASELINES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.core.verdicts import Interval
    from veridical.evaluation.baselines import BaselineResult
    from veridical.evaluation.results import Evaluation, FileResult, MeanResult, Scores

NONE = "–"
MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Table:
    """Title, column heads and rows; the first column is text, the others figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(evaluation: Evaluation) -> tuple[Table, ...]:
    """Return every table of the report."""
    return (
        detection(evaluation),
        baselines(evaluation),
        calibration(evaluation),
        coverage(evaluation),
        reliability(evaluation),
    )


def detection(evaluation: Evaluation) -> Table:
    """Return the detection metrics with intervals."""
    columns = ("file", "n", "AUROC", "balanced accuracy", "false positives", "recall", "macro-F1")
    return Table("Detection", columns, tuple(_detection(*named) for named in _named(evaluation)))


def _detection(name: str, result: FileResult | MeanResult) -> tuple[str, ...]:
    scores, intervals = result.scores, result.intervals
    return (
        name,
        str(result.n),
        with_interval(scores.auroc, intervals["auroc"]),
        with_interval(scores.balanced_accuracy, intervals["balanced_accuracy"]),
        with_interval(scores.false_positive_rate, intervals["false_positive_rate"]),
        with_interval(scores.recall, intervals["recall"]),
        ratio(scores.macro_f1_3way),
    )


def baselines(evaluation: Evaluation) -> Table:
    """Return AUROC and balanced accuracy of the verifier beside those of the baselines."""
    columns = ("file", "verifier", *(name.replace("_", " ") for name in BASELINES))
    return Table(
        "Against trivial baselines (AUROC/balanced accuracy)",
        columns,
        tuple(_beside(*named) for named in _named(evaluation)),
    )


def _beside(name: str, result: FileResult | MeanResult) -> tuple[str, ...]:
    found: list[Scores | BaselineResult] = [result.scores, *result.baselines.values()]
    return (name, *(f"{ratio(one.auroc)}/{ratio(one.balanced_accuracy)}" for one in found))


def calibration(evaluation: Evaluation) -> Table:
    """Return calibration errors and speed."""
    columns = ("file", "ECE", "Brier", "ms per claim (median)", "claims per second")
    rows = tuple(
        (
            name,
            ratio(result.scores.ece),
            ratio(result.scores.brier),
            number(result.scores.ms_per_claim_p50),
            number(result.scores.claims_per_second),
        )
        for name, result in _named(evaluation)
    )
    return Table("Calibration and speed", columns, rows)


def coverage(evaluation: Evaluation) -> Table:
    """Return the numbers of measured and of skipped rows."""
    rows = tuple(
        (name, str(result.n), str(result.undetermined), _skipped(result))
        for name, result in _named(evaluation)
    )
    return Table("Rows", ("file", "measured", "undetermined", "skipped"), rows)


def _skipped(result: FileResult | MeanResult) -> str:
    reasons = [f"{n} {reason.replace('_', ' ')}" for reason, n in result.skipped.items()]
    return ", ".join(reasons) or "0"


def reliability(evaluation: Evaluation) -> Table:
    """Return the bins of the reliability diagram, all files together."""
    probabilities, supported = pooled(evaluation)
    rows = tuple(
        (
            f"{one.low:.1f} to {one.high:.1f}",
            str(one.count),
            ratio(one.mean),
            ratio(one.supported),
        )
        for one in metrics.reliability(probabilities, supported)
    )
    columns = ("P(supported)", "claims", "mean P", "share supported")
    return Table("Reliability, all files together", columns, rows)


def pooled(evaluation: Evaluation) -> tuple[metrics.Floats, metrics.Flags]:
    """Return P(supported) and label of every claim that the model decided, over all files."""
    points = [file.points for file in evaluation.files]
    return (
        np.concatenate([one.score[one.by_model] for one in points]),
        np.concatenate([one.supported[one.by_model] for one in points]),
    )


def _named(evaluation: Evaluation) -> Iterable[tuple[str, FileResult | MeanResult]]:
    for file in evaluation.files:
        yield short(file.name), file
    # A mean over one file would repeat it.
    if len(evaluation.files) > 1:
        yield MEAN, evaluation.mean


def short(name: str) -> str:
    """Return a file name as tables show it."""
    return printable(name.removesuffix(".gz").removesuffix(".jsonl"))


def printable(text: str) -> str:
    """Return a name without characters that steer a terminal or turn the text around."""
    return text if text.isprintable() else ascii(text)[1:-1]


def number(value: float | None) -> str:
    """Return a figure with one decimal."""
    return NONE if value is None else f"{value:.1f}"


def ratio(value: float | None) -> str:
    """Return a figure from 0 to 1 with three decimals, and without a leading zero."""
    return NONE if value is None else f"{value:.3f}".removeprefix("0")


def with_interval(value: float | None, interval: Interval | None) -> str:
    """Return a figure from 0 to 1 with its interval, if it has one."""
    if value is None or interval is None:
        return ratio(value)
    # Without a space inside, so that a narrow terminal keeps the interval on one line.
    return f"{ratio(value)} ({ratio(interval.low)}–{ratio(interval.high)})"
