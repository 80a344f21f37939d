from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.measurements import Estimate
from veridical.core.policy import Policy
from veridical.core.recalibration import Recalibration, temper, tempered
from veridical.core.types import Claim, Span
from veridical.core.verdicts import Status
from veridical.evaluation.bootstrap import Resampling
from veridical.feedback import (
    ENOUGH,
    DecisionRule,
    NotEnoughFeedback,
    Observation,
    Refit,
    Unused,
    refit,
    sort_labels,
)
from veridical.feedback.fitting import fit, fit_temperature, fit_threshold
from veridical.feedback.folds import FOLDS, folds
from veridical.feedback.labels import FeedbackLabel
from veridical.feedback.points import ObservationArrays, flagged
from veridical.pipeline.judgement.status import decide_status
from veridical.testing import FAKE, fake_estimate

SHIPPED = DecisionRule(0.7, 0.5)
QUICK = Resampling(200)
probabilities = st.floats(0.0, 1.0)


def observation(p: float, supported: bool, group: str = "") -> Observation:
    return Observation(fake_estimate(p), None, supported, group)


def claims(
    size: int, *, threshold: float, temperature: float = 1.0, seed: int = 0, per_report: int = 4
) -> list[Observation]:
    """Return claims labelled by `threshold` with 10 % noise; their probabilities are tempered.

    Half of them lie above `threshold`, the best one before `temperature` is applied.
    """
    rng = np.random.default_rng(seed)
    found = []
    for number in range(size):
        p = float(rng.uniform(0, threshold) if rng.random() < 0.5 else rng.uniform(threshold, 1))
        truth = (p >= threshold) != (rng.random() < 0.1)
        found.append(observation(temper(p, temperature), bool(truth), f"r{number // per_report}"))
    return found


def honest(size: int, temperature: float, seed: int = 0) -> list[Observation]:
    """Return claims that are true as often as their probability, before `temperature`."""
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(0.02, 0.98, size)
    return [
        observation(temper(float(p), temperature), bool(rng.random() < p), f"r{number}")
        for number, p in enumerate(drawn)
    ]


# --- what is adopted -------------------------------------------------------------------------


def test_a_threshold_that_is_too_high_comes_down() -> None:
    found = refit(claims(200, threshold=0.4), SHIPPED, temperature=False, how=QUICK)
    assert isinstance(found, Refit)
    assert found.adopted
    assert found.after.support_threshold == pytest.approx(0.4, abs=0.05)
    assert found.after.temperature == 1.0
    before, after = found.figures_before, found.figures_after
    assert after.balanced_accuracy.value > before.balanced_accuracy.value + 0.1
    assert after.false_positive_rate.value < before.false_positive_rate.value
    assert found.threshold_gain is not None
    assert found.temperature_gain is None


def test_a_threshold_that_is_right_stays() -> None:
    found = refit(claims(200, threshold=0.7), SHIPPED, temperature=False, how=QUICK)
    assert isinstance(found, Refit)
    assert not found.adopted
    assert found.after == found.before == SHIPPED
    assert found.figures_after == found.figures_before


@pytest.mark.parametrize("temperature", [0.4, 2.5])
def test_a_temperature_is_found_and_moves_the_threshold_along(temperature: float) -> None:
    found = refit(honest(400, 1 / temperature), SHIPPED, threshold=False, how=QUICK)
    assert isinstance(found, Refit)
    assert found.adopted
    assert found.after.temperature == pytest.approx(temperature, rel=0.3)
    assert isclose(found.after.support_threshold, temper(0.7, found.after.temperature))
    assert found.figures_after.log_loss.value < found.figures_before.log_loss.value
    assert found.figures_after.ece.value < found.figures_before.ece.value


def test_probabilities_that_are_honest_keep_their_temperature() -> None:
    found = refit(honest(300, 1.0), SHIPPED, threshold=False, how=QUICK)
    assert isinstance(found, Refit)
    assert not found.adopted


def test_what_says_nothing_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    noise = [observation(float(p), bool(rng.random() < 0.5), str(p)) for p in rng.uniform(size=120)]
    for seed in range(3):
        found = refit(noise, DecisionRule(0.5, 0.5), temperature=False, how=Resampling(200, seed))
        assert isinstance(found, Refit)
        assert not found.adopted


def test_figures_have_their_intervals_around_them() -> None:
    found = refit(claims(120, threshold=0.4), SHIPPED, how=Resampling(500))
    assert isinstance(found, Refit)
    for figures in (found.figures_before, found.figures_after):
        for name in ("balanced_accuracy", "false_positive_rate", "recall", "log_loss"):
            figure = getattr(figures, name)
            assert figure.interval.low <= figure.value <= figure.interval.high


def test_the_order_of_marking_changes_nothing() -> None:
    marks = claims(100, threshold=0.4)
    assert refit(marks, SHIPPED, how=QUICK) == refit(marks[::-1], SHIPPED, how=QUICK)


@given(st.integers(0, 2 * ENOUGH), st.integers(0, 2 * ENOUGH))
@settings(max_examples=25)
def test_too_little_says_how_many_more_of_which_kind(supported: int, others: int) -> None:
    marks = [observation(0.9, True, f"s{n}") for n in range(supported)]
    marks += [observation(0.1, False, f"o{n}") for n in range(others)]
    found = refit(marks, SHIPPED, how=Resampling(20))
    lacking = (max(0, ENOUGH - supported), max(0, ENOUGH - others))
    if any(lacking):
        assert found == NotEnoughFeedback(*lacking)
    else:
        assert isinstance(found, Refit)


# --- the parts -------------------------------------------------------------------------------


@st.composite
def estimates(draw: st.DrawFn, *, two: bool) -> Estimate:
    supported = draw(probabilities)
    contradicted = None if two else draw(st.floats(0, 1)) * (1 - supported)
    found = fake_estimate(supported, contradicted, low=supported * draw(probabilities))
    return replace(found, high=supported + (1 - supported) * draw(probabilities))


@given(st.data(), st.booleans(), probabilities, probabilities, st.floats(0.2, 5.0))
def test_a_claim_is_flagged_as_the_verifier_does(
    data: st.DataObject,
    two: bool,
    support: float,
    contradiction: float,
    temperature: float,
) -> None:
    p1, p0 = data.draw(estimates(two=two)), data.draw(estimates(two=two))
    reading = DecisionRule(support, contradiction, temperature)
    (found,) = flagged(ObservationArrays.of([Observation(p1, p0, True, "")]), reading)
    read1, read0 = tempered(p1, temperature), tempered(p0, temperature)
    policy = Policy(support_threshold=support, contradiction_threshold=contradiction)
    decision = decide_status(Claim("c1", "text", Span(0, 4), 0), (), read1, read0, policy)
    near = [read1.supported - support, read1.supported - (1 - support)]
    near += [(read1.contradicted or 0.0) - contradiction, p1.high - p0.low]
    if all(abs(distance) > 1e-9 for distance in near):  # rounding differs on the edge
        assert found == (decision.status is not Status.SUPPORTED)


@given(st.lists(st.tuples(probabilities, st.booleans()), min_size=2, max_size=30))
def test_no_threshold_is_better_than_the_one_that_is_found(
    marks: list[tuple[float, bool]],
) -> None:
    points = ObservationArrays.of([observation(p, truth) for p, truth in marks])
    if points.truth.all() or not points.truth.any():
        return
    found = fit_threshold(points, SHIPPED)

    def accuracy(threshold: float) -> float:
        flags = flagged(points, DecisionRule(threshold, 0.5))
        return float(((~flags)[points.truth].mean() + flags[~points.truth].mean()) / 2)

    best = max(accuracy(float(p)) for p in points.supported)
    assert accuracy(found) >= min(best, accuracy(found)) >= accuracy(0.7) - 1e-12
    assert 0 <= found <= 1


def test_the_temperature_has_the_least_log_loss() -> None:
    points = ObservationArrays.of(honest(500, 0.5))
    assert fit_temperature(points) == pytest.approx(2.0, rel=0.25)


def test_a_temperature_alone_tells_the_same_claims_apart() -> None:
    points = ObservationArrays.of(honest(300, 0.5))
    after = fit(points, SHIPPED, threshold=False, temperature=True)
    assert after.temperature != 1.0
    np.testing.assert_array_equal(flagged(points, after), flagged(points, SHIPPED))


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=40, max_size=80))
def test_every_fold_leaves_both_kinds_to_fit_to(marks: list[tuple[int, bool]]) -> None:
    truths = [*([True, False] * ENOUGH), *(truth for _, truth in marks)]
    groups = [*range(2 * ENOUGH), *(group for group, _ in marks)]
    points = ObservationArrays.of(
        [observation(0.5, truth, f"r{g}") for truth, g in zip(truths, groups, strict=True)]
    )
    fold, grouped = folds(points)
    assert set(fold) == set(range(FOLDS))
    for one in range(FOLDS):
        left = points.truth[np.array(fold) != one]
        assert left.any()
        assert not left.all()
    if grouped:
        assert len({*zip(points.group, fold, strict=True)}) == len(set(points.group))


def test_few_reports_are_held_out_claim_by_claim() -> None:
    points = ObservationArrays.of([observation(0.5, bool(n % 2), "one report") for n in range(40)])
    fold, grouped = folds(points)
    assert not grouped
    assert len(set(fold)) == FOLDS


# --- marks -----------------------------------------------------------------------------------

MARK = FeedbackLabel(
    id=1,
    created=datetime(2026, 1, 1, tzinfo=UTC),
    report_id="r",
    claim_id="c1",
    claim_hash="h",
    backend="fake",
    model="fake",
    estimator="decision",
    fingerprint="fake",
    p1=fake_estimate(0.8),
    p0=fake_estimate(0.3),
    status=Status.SUPPORTED,
    support_threshold=0.7,
    contradiction_threshold=0.5,
    right=False,
)


def test_a_mark_of_the_backend_is_an_observation() -> None:
    found = sort_labels([MARK], FAKE)
    assert found.observations == (
        Observation(fake_estimate(0.8), fake_estimate(0.3), supported=False, group="r"),
    )
    assert not found.unused


def test_other_marks_are_counted_by_reason() -> None:
    marks = [
        replace(MARK, backend="openai"),
        replace(MARK, model="other"),
        replace(MARK, fingerprint="older"),
        replace(MARK, fingerprint=None),
        replace(MARK, status=Status.PHANTOM_CITATION),
        replace(MARK, status=Status.UNDETERMINED, p1=None),
    ]
    found = sort_labels(marks, FAKE)
    assert found.observations == ()
    assert found.unused == {
        Unused.OTHER_BACKEND: 2,
        Unused.OTHER_VERSION: 2,
        Unused.NOT_BY_PROBABILITY: 2,
    }


@given(st.floats(0.01, 0.99), st.floats(0.3, 3.0))
def test_what_was_read_at_a_temperature_is_taken_back(p: float, temperature: float) -> None:
    in_force = Recalibration("fake", "fake", "fake", 0.5, temperature)
    mark = replace(
        MARK,
        p1=in_force.measured(fake_estimate(p)),
        fingerprint=in_force.applied_fingerprint,
    )
    (found,) = sort_labels([mark], FAKE, in_force).observations
    assert found.p1.supported == pytest.approx(p, abs=1e-6)
