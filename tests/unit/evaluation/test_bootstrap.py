from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.evaluation import bootstrap, metrics
from veridical.evaluation.bootstrap import Resampling, interval, mean_replicates, replicates

RNG = np.random.default_rng(7)
LABELS = RNG.random(60) < 0.5
SCORES = np.round(np.clip(RNG.normal(0.4 + 0.2 * LABELS, 0.2), 0, 1), 1)
FLAGGED = SCORES < 0.5


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 0.9]), st.booleans(), st.booleans()), min_size=1)
)
def test_each_replicate_has_the_metrics_of_its_rows(
    rows: list[tuple[float, bool, bool]],
) -> None:
    scores = np.array([row[0] for row in rows])
    flagged, labels = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    how = Resampling(3, seed=1)
    found = replicates(scores, flagged, labels, "key", how)
    (drawn,) = bootstrap._draws(len(rows), "key", how)
    for number, counts in enumerate(drawn):
        again = np.repeat(np.arange(len(rows)), counts.astype(int))
        assert len(again) == len(rows)
        s, f, y = scores[again], flagged[again], labels[again]
        for name, value in {
            "auroc": metrics.auroc(s, y),
            "balanced_accuracy": metrics.balanced_accuracy(~f, y),
            "false_positive_rate": metrics.share(f[y]),
            "recall": metrics.share(f[~y]),
        }.items():
            expected = np.nan if value is None else value
            assert found[name][number] == pytest.approx(expected, nan_ok=True)


def test_the_same_seed_draws_the_same_rows() -> None:
    first, again = (replicates(SCORES, FLAGGED, LABELS, "a", Resampling(200)) for _ in range(2))
    for name in bootstrap.INTERVAL_METRICS:
        assert np.array_equal(first[name], again[name])


@pytest.mark.parametrize(("key", "seed"), [("b", 0), ("a", 1)])
def test_another_file_or_seed_draws_other_rows(key: str, seed: int) -> None:
    first = replicates(SCORES, FLAGGED, LABELS, "a", Resampling(200))
    other = replicates(SCORES, FLAGGED, LABELS, key, Resampling(200, seed))
    assert not np.array_equal(first["auroc"], other["auroc"])


def test_large_files_are_drawn_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "CELLS", 60 * 7)
    found = replicates(SCORES, FLAGGED, LABELS, "a", Resampling(50))
    assert found["recall"].shape == (50,)


def test_the_interval_holds_the_figure_and_is_near_the_normal_one() -> None:
    value = metrics.share(FLAGGED[LABELS])
    assert value is not None
    found = interval(
        replicates(SCORES, FLAGGED, LABELS, "a", Resampling(2000))["false_positive_rate"]
    )
    assert found is not None
    half = 1.96 * np.sqrt(value * (1 - value) / LABELS.sum())
    assert found.low == pytest.approx(value - half, abs=0.04)
    assert found.high == pytest.approx(value + half, abs=0.04)


def test_the_mean_is_taken_over_the_files_that_have_a_value() -> None:
    files = [{"recall": np.array([0.2, np.nan, np.nan])}, {"recall": np.array([0.4, 0.6, np.nan])}]
    found = mean_replicates(files, "recall")
    assert found[:2] == pytest.approx([0.3, 0.6])
    assert np.isnan(found[2])


def test_without_replicates_or_rows_there_is_no_interval() -> None:
    none = np.array([], dtype=np.float64)
    assert interval(replicates(SCORES, FLAGGED, LABELS, "a", Resampling(0))["auroc"]) is None
    empty = replicates(none, none > 0, none > 0, "a", Resampling(5))
    assert interval(empty["auroc"]) is None
