"""Notes on the conditions of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.evaluation.baselines import (
    CLAIM_ONLY_THRESHOLD,
    LENGTH_THRESHOLD,
    OVERLAP_THRESHOLD,
)
from veridical.evaluation.bootstrap import LEVEL
from veridical.evaluation.folds import FOLDS
from veridical.evaluation.metrics import BINS
from veridical.evaluation.tables import printable

if TYPE_CHECKING:
    from veridical.evaluation.results import Evaluation


def notes(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the notes: backend, thresholds and sample."""
    info, policy = evaluation.backend, evaluation.policy
    who = (
        f"Backend {printable(info.name)}, model {printable(info.model)}; supported from "
        f"{policy.support_threshold}, contradicted from {policy.contradiction_threshold}; "
        f"windows {policy.windows}. No threshold was tuned on these files."
    )
    return (who, _sample(evaluation))


def _sample(evaluation: Evaluation) -> str:
    how = evaluation.resampling
    rows = f"at most {evaluation.limit} rows of each file" if evaluation.limit else "All rows"
    intervals = (
        f"intervals: {LEVEL:.0%} percentile bootstrap, {how.replicates} replicates"
        if how.replicates
        else "no intervals"
    )
    return f"{rows[0].upper()}{rows[1:]}; {intervals}; seed {how.seed}."


DEFINITIONS = f"""\
Flagged: any status other than supported. False positives: the share of supported claims that are \
flagged. Recall: the share of the other claims that are flagged. Balanced accuracy: the mean of \
recall and of one minus false positives.
AUROC: how often a supported claim has a higher P(supported) than another one; ties count half, a \
phantom citation counts as 0. Undetermined claims are in no metric.
ECE: expected calibration error of P(supported), {BINS} equal-width bins. Brier: its mean squared \
error. Macro-F1: of supported, contradicted and not in context.
Baselines, fixed in advance: length says supported up to {-LENGTH_THRESHOLD:.0f} words; word \
overlap from {OVERLAP_THRESHOLD:.0%} of the claim's content words on; claim only is naive Bayes \
over the claim's words without the evidence, {FOLDS}-fold, from {CLAIM_ONLY_THRESHOLD} on; \
constant says the same of every claim.
The mean weighs every file alike, and counts only files that have the figure.
""".splitlines()
"""Meaning of each column, one paragraph an item."""
