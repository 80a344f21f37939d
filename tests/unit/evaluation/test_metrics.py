from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.evaluation import metrics

LABELLED = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.1 + 1e-12, 0.5, 0.9, 1.0]), st.booleans()), max_size=30
)


def arrays(pairs: list[tuple[float, bool]]) -> tuple[metrics.Floats, metrics.Flags]:
    scores = np.array([score for score, _ in pairs], dtype=np.float64)
    return scores, np.array([label for _, label in pairs], dtype=np.bool_)


@given(LABELLED)
def test_the_auroc_is_the_share_of_pairs_in_the_right_order(
    pairs: list[tuple[float, bool]],
) -> None:
    good = [score for score, label in pairs if label]
    bad = [score for score, label in pairs if not label]
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in product(good, bad)]
    found = metrics.auroc(*arrays(pairs))
    assert found == (pytest.approx(sum(wins) / len(wins)) if wins else None)


@given(LABELLED)
def test_turning_the_scores_around_mirrors_the_auroc(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = arrays(pairs)
    found = metrics.auroc(scores, labels)
    turned = metrics.auroc(-scores, labels)
    assert turned == (None if found is None else pytest.approx(1 - found))


@given(LABELLED)
def test_calibration_errors_are_shares(pairs: list[tuple[float, bool]]) -> None:
    for metric in (metrics.brier, metrics.expected_calibration_error):
        found = metric(*arrays(pairs))
        assert (found is None) == (not pairs)
        assert found is None or 0 <= found <= 1


def test_the_brier_score_of_a_hand_computed_case() -> None:
    # (.8-1)^2 + (.4-0)^2 + (1-1)^2 + (.3-1)^2 = .04 + .16 + 0 + .49 = .69
    scores, labels = arrays([(0.8, True), (0.4, False), (1.0, True), (0.3, True)])
    assert metrics.brier(scores, labels) == pytest.approx(0.69 / 4)


def test_the_calibration_error_of_a_hand_computed_case() -> None:
    # Bin .8: mean .85, two of two supported: .15. Bin 0: mean .05, one of two: .45.
    scores, labels = arrays([(0.8, True), (0.9 - 1e-9, True), (0.0, False), (0.099999999, True)])
    found = metrics.expected_calibration_error(scores, labels)
    assert found == pytest.approx(0.5 * 0.15 + 0.5 * 0.45)


def test_the_last_bin_holds_certainty() -> None:
    bins = metrics.reliability(*arrays([(1.0, True), (0.95, False), (0.0, False)]))
    assert len(bins) == 10
    assert (bins[-1].count, bins[-1].mean, bins[-1].supported) == (2, pytest.approx(0.975), 0.5)
    assert (bins[0].count, bins[1].count, bins[1].mean, bins[1].supported) == (1, 0, None, None)


def test_the_macro_f1_of_a_hand_computed_case() -> None:
    actual = ["s", "s", "c", "n", "n"]
    predicted = ["s", "n", "c", "n", "c"]
    # One hit each, of 1 + 2, 2 + 1 and 2 + 2 named or meant.
    assert metrics.macro_f1(predicted, actual) == pytest.approx((2 / 3 + 2 / 3 + 1 / 2) / 3)


def test_a_class_that_is_only_predicted_counts_in_the_macro_f1() -> None:
    assert metrics.macro_f1(["s", "c"], ["s", "s"]) == pytest.approx((2 / 3 + 0) / 2)


def test_balanced_accuracy_is_the_mean_of_both_recalls() -> None:
    called = np.array([True, True, False, True])
    labels = np.array([True, True, True, False])
    assert metrics.balanced_accuracy(called, labels) == pytest.approx((2 / 3 + 0) / 2)


@pytest.mark.parametrize("label", [True, False])
def test_what_one_class_cannot_tell_is_null(label: bool) -> None:
    scores, labels = arrays([(0.2, label), (0.7, label)])
    assert metrics.auroc(scores, labels) is None
    assert metrics.balanced_accuracy(scores > 0.5, labels) is None


def test_nothing_has_no_metrics() -> None:
    scores, labels = arrays([])
    assert metrics.auroc(scores, labels) is None
    assert metrics.brier(scores, labels) is None
    assert metrics.expected_calibration_error(scores, labels) is None
    assert metrics.macro_f1([], []) is None
    assert metrics.share(labels) is None
