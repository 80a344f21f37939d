from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veridical.core.policy import Policy
from veridical.core.types import Source
from veridical.core.verdicts import Status
from veridical.evaluation.bootstrap import Resampling
from veridical.evaluation.dataset import Dataset
from veridical.evaluation.harness import Measured
from veridical.evaluation.outcomes import RowOutcome
from veridical.evaluation.results import Evaluation, evaluate
from veridical.evaluation.rows import Label3, Row
from veridical.testing import FAKE


def record(number: int, **changes: object) -> dict[str, Any]:
    """Return a row of a data file; every third one is not supported."""
    good = number % 3 != 0
    return {
        "id": f"r{number}",
        "evidence": f"SECRET {number} is here.",
        "claim": f"SECRET {number} is {'here' if good else 'gone'}.",
        "label": "supported" if good else "not_supported",
        **changes,
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write rows to a JSONL file: objects, or lines as they are."""

    def write(name: str, *rows: object) -> Path:
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        data = "".join(f"{line}\n" for line in lines).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def measured(
    name: str, *points: tuple[bool, Status, float | None], label3: Label3 | None = None
) -> Measured:
    """Return a data set by label, status and P(supported) of its rows."""
    rows = tuple(
        Row(f"r{n}", f"Claim {n}.", (Source("1", "Text."),), good, label3)
        for n, (good, _, _) in enumerate(points)
    )
    outcomes = tuple(RowOutcome(status, p, 10.0) for _, status, p in points)
    return Measured(Dataset(name, f"fingerprint of {name}", rows, {}), outcomes)


def evaluation(*sets: Measured, replicates: int = 50) -> Evaluation:
    return evaluate(sets, FAKE, Policy(), Resampling(replicates))


@pytest.fixture(name="record")
def record_fixture() -> Callable[..., dict[str, Any]]:
    return record


@pytest.fixture(name="measured")
def measured_fixture() -> Callable[..., Measured]:
    return measured


@pytest.fixture(name="evaluation")
def evaluation_fixture() -> Callable[..., Evaluation]:
    return evaluation
