from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from veridical.core.verdicts import Status
from veridical.evaluation.document import to_document, to_json
from veridical.evaluation.harness import Measured
from veridical.evaluation.results import Evaluation
from veridical.evaluation.rows import Label3

Make = Callable[..., Measured]
Evaluate = Callable[..., Evaluation]
INTERFACE = {
    "file", "n", "undetermined", "auroc", "balanced_accuracy", "threshold", "false_positive_rate",
    "recall", "ece", "brier", "macro_f1_3way", "ms_per_claim_p50", "claims_per_second",
}  # fmt: skip
YES = (True, Status.SUPPORTED, 0.9)
NO = (False, Status.UNSUPPORTED, 0.2)
WRONG = (True, Status.UNSUPPORTED, 0.3)
MISSED = (False, Status.SUPPORTED, 0.8)
LOST = (True, Status.UNDETERMINED, None)
PHANTOM = (False, Status.PHANTOM_CITATION, 0.95)


def test_the_figures_of_a_hand_computed_file(measured: Make, evaluation: Evaluate) -> None:
    result = evaluation(measured("a", YES, YES, YES, WRONG, NO, MISSED)).files[0]
    scores = result.scores
    assert (result.n, result.undetermined) == (6, 0)
    assert scores.auroc == pytest.approx((3 * 2 + 1) / 8)  # WRONG beats NO only
    assert scores.false_positive_rate == pytest.approx(1 / 4)
    assert scores.recall == pytest.approx(1 / 2)
    assert scores.balanced_accuracy == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert scores.brier == pytest.approx((3 * 0.01 + 0.49 + 0.04 + 0.64) / 6)
    assert scores.ece == pytest.approx((3 * 0.1 + 0.7 + 0.2 + 0.8) / 6)
    assert (scores.ms_per_claim_p50, scores.claims_per_second) == (10.0, pytest.approx(100))


def test_undetermined_claims_are_in_no_metric(measured: Make, evaluation: Evaluate) -> None:
    without = evaluation(measured("a", YES, NO, WRONG)).files[0]
    with_lost = evaluation(measured("a", YES, NO, WRONG, LOST, LOST)).files[0]
    assert (with_lost.n, with_lost.undetermined) == (3, 2)
    assert with_lost.scores == without.scores


def test_a_phantom_citation_scores_0_and_is_not_calibrated(
    measured: Make, evaluation: Evaluate
) -> None:
    plain = evaluation(measured("a", YES, WRONG, NO)).files[0].scores
    scores = evaluation(measured("a", YES, WRONG, NO, PHANTOM)).files[0].scores
    assert (scores.auroc, scores.recall) == (1.0, 1.0)
    assert (scores.ece, scores.brier) == (plain.ece, plain.brier)


def test_the_three_way_prediction_comes_from_the_status(
    measured: Make, evaluation: Evaluate
) -> None:
    rows = ((False, Status.CONTRADICTED, 0.1), NO, MISSED, PHANTOM)
    scores = evaluation(measured("a", *rows, label3=Label3.NOT_IN_CONTEXT)).files[0].scores
    assert scores.macro_f1_3way == pytest.approx((2 * 2 / (2 + 4) + 0 + 0) / 3)
    assert evaluation(measured("a", *rows)).files[0].scores.macro_f1_3way is None


def test_one_class_has_no_auroc_but_its_own_rate(measured: Make, evaluation: Evaluate) -> None:
    result = evaluation(measured("a", YES, WRONG)).files[0]
    assert (result.scores.auroc, result.scores.recall) == (None, None)
    assert result.scores.false_positive_rate == pytest.approx(0.5)
    assert result.intervals["auroc"] is None
    assert result.intervals["false_positive_rate"] is not None
    assert result.baselines["constant"].auroc is None


def test_the_mean_weighs_files_alike_and_leaves_out_what_is_null(
    measured: Make, evaluation: Evaluate
) -> None:
    found = evaluation(
        measured("a", YES, YES, YES, NO), measured("b", WRONG, NO, MISSED, LOST), measured("c", YES)
    )
    mean = found.mean
    assert (mean.files, mean.n, mean.undetermined) == (3, 8, 1)
    assert mean.scores.auroc == pytest.approx((1.0 + 0.5) / 2)
    assert mean.scores.false_positive_rate == pytest.approx((0 + 1 + 0) / 3)
    interval = mean.intervals["auroc"]
    assert interval is not None
    assert 0 <= interval.low <= interval.high <= 1


def test_nothing_measured_is_null_throughout(measured: Make, evaluation: Evaluate) -> None:
    document = to_document(evaluation(measured("a", LOST), measured("b")))
    for part in (*document["files"], document["mean"]):
        assert part["n"] == 0
        assert {part[name] for name in INTERFACE - {"file", "n", "undetermined", "threshold"}} == {
            None
        }


def test_the_document_has_the_keys_of_the_interface(measured: Make, evaluation: Evaluate) -> None:
    document = json.loads(to_json(evaluation(measured("a", YES, NO), measured("b", NO, MISSED))))
    more = {"skipped", "intervals", "baselines"}
    assert document["schema"] == "veridical.eval/1"
    assert document.keys() == {
        "schema", "backend", "policy", "sample", "bootstrap", "files", "mean"
    }  # fmt: skip
    for file in document["files"]:
        assert file.keys() == INTERFACE | more
    assert document["mean"].keys() == (INTERFACE - {"file"}) | more | {"files"}
    assert document["files"][0]["threshold"] == document["policy"]["support_threshold"] == 0.7
    assert document["files"][1]["auroc"] is None


def test_the_same_outcomes_give_the_same_document(measured: Make, evaluation: Evaluate) -> None:
    def make() -> Any:  # noqa: ANN401
        return to_json(evaluation(measured("a", YES, NO, WRONG, MISSED)))

    assert make() == make()
