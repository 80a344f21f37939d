"""Figures of a checker on a suite: quality at its default and over all thresholds, and cost."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import _proof_models
import _proof_processes
from _common import timed_anew
from _proof_processes import environment, megabytes
from _texts import long_source
from veridical import SyncVerifier, Verifier
from veridical.evaluation.baselines import BASELINES
from veridical.evaluation.bootstrap import Resampling, interval, replicates
from veridical.evaluation.metrics import auroc, balanced_accuracy
from veridical.pipeline.inference.embedded import EmbeddedVerifier

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from _proof_checkers import Checker
    from _proof_models import Served
    from veridical.evaluation.metrics import Flags, Floats
    from veridical.evaluation.rows import Row

HOW = Resampling(replicates=2000, seed=0)
SIZES = {"1 kB": 1_000, "10 kB": 10_000, "100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
CLAIM = "The bridge was opened in 1932."
FAILURES = {subprocess.TimeoutExpired: "not finished in its time"}
TRIVIAL = {"word overlap": "word_overlap", "length": "length", "always yes": "constant"}


def measured(  # noqa: PLR0913 -- the last two have defaults
    checker: Checker,
    suite: str,
    rows: Sequence[Row],
    envs: Path,
    *,
    served: Served | None = None,
    first: int | None = None,
) -> dict[str, object]:
    """Return the figures of a checker on the first rows of a suite, or why there are none.

    A checker with a language model is asked about those rows alone, any other about all of them.
    """
    kept = rows[:first]
    head = {"checker": checker.name, "suite": suite, "rows": len(kept)}
    try:
        python = environment(checker, envs)
        if served is not None and checker.model:
            judgements, cost = _proof_models.judged(checker, python, kept, envs, served)
        else:
            judgements, cost = _proof_processes.judged(checker, python, rows, envs)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        return head | {"failed": FAILURES.get(type(error), type(error).__name__)}
    costs = cost_a_claim(cost, len(kept)) | {"install_mb": megabytes(python.parents[1])}
    return head | figures_of(judgements[: len(kept)], kept, suite) | costs


def figures_of(judgements: Sequence[dict], rows: Sequence[Row], suite: str) -> dict[str, object]:
    """Return the quality of judgements on the rows that they determine."""
    known = [i for i, one in enumerate(judgements) if one["score"] is not None]
    scores = np.array([judgements[i]["score"] for i in known], dtype=np.float64)
    flagged = np.array([judgements[i]["flagged"] for i in known], dtype=bool)
    positive = np.array([rows[i].supported for i in known], dtype=bool)
    return quality(scores, flagged, positive, suite) | {
        "undetermined": len(rows) - len(known),
        "flags": [one["flagged"] for one in judgements],
        "scores": [one["score"] for one in judgements],
    }


def cost_a_claim(cost: dict[str, float], rows: int) -> dict[str, float]:
    """Return the cost of a claim, that of the language model's server included."""
    own = cost["cpu_s"] / cost["timed"] if cost["timed"] else 0.0
    return {
        "cpu_ms": 1000 * (own + cost.get("server_cpu_s", 0) / rows),
        "tokens": cost.get("tokens", 0) / rows,
        "import_s": cost["import_s"],
        "peak_mb": cost["peak_mb"],
    }


def trivial(name: str, suite: str, rows: Sequence[Row]) -> dict[str, object]:
    """Return the figures of a baseline."""
    baseline = BASELINES[TRIVIAL[name]]
    judgements = [
        {"score": float(score), "flagged": bool(score < baseline.threshold)}
        for score in baseline.score(rows)
    ]
    head = {"checker": name, "suite": suite, "rows": len(rows)}
    return head | figures_of(judgements, rows, suite)


def quality(scores: Floats, flagged: Flags, positive: Flags, key: str) -> dict[str, object]:
    """Return balanced accuracy at the default and AUROC, each with its interval."""
    drawn = replicates(scores, flagged, positive, key, HOW)
    values = {
        "balanced_accuracy": balanced_accuracy(~flagged, positive),
        "auroc": auroc(scores, positive),
    }
    found: dict[str, object] = {}
    for metric, value in values.items():
        ends = interval(drawn[metric])
        found[metric] = value
        found[f"{metric}_interval"] = ends and [ends.low, ends.high]
    return found


def length_seconds() -> dict[str, float]:
    """Return the processor seconds of one claim on a new source of each size."""
    with SyncVerifier(Verifier(EmbeddedVerifier())) as verifier:
        return {
            name: timed_anew(
                verifier, partial(verifier.verify, CLAIM, {"S1": long_source(size)})
            ).cpu
            for name, size in SIZES.items()
        }
