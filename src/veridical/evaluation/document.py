"""JSON document `veridical.eval/1` of an evaluation."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from veridical.evaluation.bootstrap import LEVEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.measurements import BackendInfo
    from veridical.core.printing import Document
    from veridical.core.verdicts import Interval
    from veridical.evaluation.baselines import BaselineResult
    from veridical.evaluation.results import Evaluation, FileResult, MeanResult

SCHEMA = "veridical.eval/1"
DECIMALS = 6


def to_document(evaluation: Evaluation) -> Document:
    """Return the evaluation as a JSON object; figures that could not be computed are null."""
    threshold = evaluation.threshold
    return {
        "schema": SCHEMA,
        "backend": backend_document(evaluation.backend),
        "policy": asdict(evaluation.policy),
        "sample": {"limit": evaluation.limit, "seed": evaluation.resampling.seed},
        "bootstrap": {"replicates": evaluation.resampling.replicates, "level": LEVEL},
        "files": [{"file": f.name, **_figures(f, threshold)} for f in evaluation.files],
        "mean": {"files": evaluation.mean.files, **_figures(evaluation.mean, threshold)},
    }


def to_json(evaluation: Evaluation) -> str:
    """Return the document as JSON text; the same outcomes give the same text."""
    return json.dumps(to_document(evaluation), ensure_ascii=False, allow_nan=False, indent=2)


def backend_document(info: BackendInfo) -> Document:
    """Return the identifying fields of a backend."""
    return {
        "name": info.name,
        "model": info.model,
        "estimator": info.estimator.value,
        "fingerprint": info.fingerprint,
    }


def _figures(result: FileResult | MeanResult, threshold: float | None) -> Document:
    return {
        "n": result.n,
        "undetermined": result.undetermined,
        "skipped": dict(result.skipped),
        "threshold": threshold,
        **{name: rounded(value) for name, value in asdict(result.scores).items()},
        "intervals": {name: rounded_interval(one) for name, one in result.intervals.items()},
        "baselines": _baselines(result.baselines),
    }


def _baselines(baselines: Mapping[str, BaselineResult]) -> Document:
    return {
        name: {key: rounded(value) for key, value in asdict(one).items()}
        for name, one in baselines.items()
    }


def rounded_interval(interval: Interval | None) -> Document | None:
    """Return an interval as an object; None stays null."""
    if interval is None:
        return None
    return {"low": rounded(interval.low), "high": rounded(interval.high)}


def rounded(value: float | None) -> float | None:
    """Return a figure with the decimals of the document; None stays null."""
    return None if value is None else round(value, DECIMALS)
