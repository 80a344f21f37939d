"""Limits that the page of latency states, and its verdicts on them.

Whether the limits are kept is measured in `tests/integration/test_budgets.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
ROW = re.compile(r"^\| (\d+) \| \d+ \| \d+ \| (\d+) \| \d+ \| (\d+) \|", re.MULTILINE)
REQUIRED = re.compile(
    r"^\| SPEC-08\.3(?:6, one claim|7, (\d+) claims): p95 within (\d+) ms \| (\d+) ms \| (\S+) \|$",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def record() -> str:
    return (RESULTS / "latency.md").read_text(encoding="utf-8")


def limit_ms(claims: int) -> int:
    """Return the limit that the specification sets."""
    return 500 if claims == 1 else 500 + 100 * claims


def test_the_limits_are_those_of_the_specification(record: str) -> None:
    budgets = {int(claims): int(budget) for claims, _, budget in ROW.findall(record)}
    assert {1, 10} <= budgets.keys()
    assert budgets == {claims: limit_ms(claims) for claims in budgets}


def test_the_record_calls_met_what_is_within_the_limit_and_nothing_else(record: str) -> None:
    rows = {int(claims): int(p95) for claims, p95, _ in ROW.findall(record)}
    required = REQUIRED.findall(record)
    assert len(required) == len(rows)
    for claims, limit, measured, word in required:
        number = int(claims or 1)
        assert (int(limit), int(measured)) == (limit_ms(number), rows[number])
        assert word == ("met" if rows[number] <= limit_ms(number) else "**missed**")
