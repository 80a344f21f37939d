"""The flagged share and its interval, which may be looked at after every row."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.batch.totals import FlaggedShare, Totals

COUNTS = st.integers(1, 5000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


def test_nothing_is_decided_without_rows() -> None:
    assert FlaggedShare(0, 0).interval == (0.0, 1.0)
    assert not FlaggedShare(0, 0).decides(0.5)
    assert FlaggedShare(0, 0).body()["share"] is None


@given(COUNTS, st.floats(0, 1))
def test_the_interval_holds_the_share_and_decides_what_is_outside(
    counts: tuple[int, int], bound: float
) -> None:
    share = FlaggedShare(*counts)
    low, high = share.interval
    assert 0 <= low <= share.flagged / share.of <= high <= 1
    margin = 1e-9
    if low + margin < bound < high - margin:
        assert not share.decides(bound)
    elif bound < low - margin or bound > high + margin:
        assert share.decides(bound)


@pytest.mark.parametrize(("flagged", "of"), [(5, 10), (50, 100), (500, 1000)])
def test_more_rows_make_it_narrower(flagged: int, of: int) -> None:
    low, high = FlaggedShare(flagged, of).interval
    wider_low, wider_high = FlaggedShare(flagged // 5, of // 5).interval
    assert wider_low < low < high < wider_high


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_it_misses_the_share_at_any_time_in_few_of_many_runs(share: float) -> None:
    draw = random.Random(5)  # noqa: S311 -- a reproducible simulation
    missed = 0
    for _ in range(300):
        flagged = 0
        for of in range(1, 301):
            flagged += draw.random() < share
            if FlaggedShare(flagged, of).decides(share):
                missed += 1
                break
    assert missed / 300 < 0.05


def test_rows_with_an_error_are_no_part_of_the_share() -> None:
    totals = Totals()
    for outcome, error in (
        ("flagged", None),
        ("grounded", None),
        ("undetermined", None),
        ("nothing_to_check", None),
        (None, "rate_limited"),
    ):
        totals.add({"outcome": outcome, "error": error})
    assert totals.share == FlaggedShare(1, 2)
    assert (totals.rows, totals.errors) == (5, {"rate_limited": 1})
