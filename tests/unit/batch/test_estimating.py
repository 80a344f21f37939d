"""The expected time of a job: what the rows of its sample took."""

from __future__ import annotations

from collections import deque

import pytest

from veridical.batch import estimating
from veridical.batch.estimating import BatchEstimate, time_rows
from veridical.batch.rows import BatchRow


def estimated(
    monkeypatch: pytest.MonkeyPatch, *seconds: float, left: int, processes: int = 1
) -> tuple[BatchEstimate, list[str]]:
    """Return the estimate by a clock that each checked row moves on, and the rows checked."""
    now, remaining, checked = [0.0], deque(seconds), []
    monkeypatch.setattr(estimating, "perf_counter", lambda: now[0])

    def check(row: BatchRow) -> None:
        checked.append(row.id)
        now[0] += remaining.popleft()

    rows = [BatchRow(str(number), str(number), "It is tall.", ()) for number in range(len(seconds))]
    found = BatchEstimate(left, left, sample=rows)
    time_rows(found, check, processes)
    return found, checked


def test_the_loading_that_the_first_row_brings_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, _ = estimated(monkeypatch, 5.0, 1.0, 3.0, left=101)
    assert found.seconds == pytest.approx(5 + 2 * 100)
    found, _ = estimated(monkeypatch, 5.0, 1.0, 3.0, left=101, processes=2)
    assert found.seconds == pytest.approx(5 + 2 * 100 / 2)


def test_no_row_is_checked_twice_as_the_cache_would_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    _, checked = estimated(monkeypatch, 5.0, 1.0, left=2)
    assert checked == ["0", "1"]
    found, checked = estimated(monkeypatch, 5.0, left=1)
    assert (checked, found.seconds) == (["0"], 5.0)


def test_a_short_time_is_not_nought_and_no_row_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = estimated(monkeypatch, 0.004, 0.001, left=2)
    assert found.body()["seconds"] == 0.005
    found, _ = estimated(monkeypatch, left=0)
    assert found.body()["seconds"] == 0.0
