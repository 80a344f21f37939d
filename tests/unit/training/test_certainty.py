"""Sure verdicts are chosen on labels: enough of them are right, or none is sure."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from veridical.core.certainty import VerdictKind, from_document, logistic

SCRIPT = Path(__file__).resolve().parents[3] / "training" / "certainty.py"
PRECISION = 0.95


@pytest.fixture(scope="module")
def script(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(SCRIPT)


def verdicts(script: ModuleType, slope: float, *, answers: bool = True, n: int = 3000) -> list[Any]:
    """Return verdicts of every kind that are right with P = logistic(slope x score)."""
    chance = random.Random(7)  # noqa: S311 -- labels for a test
    found = []
    for number in range(n):
        kind = list(VerdictKind)[number % 3]
        score = chance.uniform(0, 6)
        right = chance.random() < logistic(slope * score)
        features = {
            "score": score,
            "coverage": chance.random(),
            "length": chance.uniform(2, 6),
            "sentences": 1.0,
        }
        supported = right == (kind is VerdictKind.SUPPORTED)
        name = f"answer {number // 6}" if answers else ""
        found.append(script.Seen(f"file {number % 9}", name, kind, "by score", supported, features))
    return found


def test_the_fit_finds_what_the_labels_follow(script: ModuleType) -> None:
    document = script.fitted(verdicts(script, 0.9), PRECISION)
    model = from_document(json.loads(json.dumps(document)))
    for kind in VerdictKind:
        weights = dict(model.of(kind).weights)
        assert weights["score"] == pytest.approx(0.9, abs=0.25)
        assert weights["coverage"] == pytest.approx(0.0, abs=0.6)


def test_of_what_is_sure_enough_is_right(script: ModuleType) -> None:
    document = script.fitted(verdicts(script, 0.9), PRECISION)
    for kind in VerdictKind:
        counted = document["data"]["whole answers"][kind.value]
        assert counted["sure"] > 100
        assert counted["sure_right"] >= PRECISION
        assert counted["right"] < PRECISION


def test_labels_that_the_score_says_nothing_of_make_nothing_sure(script: ModuleType) -> None:
    document = script.fitted(verdicts(script, 0.0), PRECISION)
    assert [document[kind.value]["sure_from"] for kind in VerdictKind] == [None, None, None]
    assert from_document(document).band() == (None, None)


def test_a_score_that_misleads_is_left_out(script: ModuleType) -> None:
    document = script.fitted(verdicts(script, -0.5), PRECISION)
    for kind in VerdictKind:
        assert document[kind.value]["weights"]["score"] == 0.0


def test_thresholds_are_chosen_on_whole_answers_where_there_are_some(script: ModuleType) -> None:
    rows = verdicts(script, 0.9, answers=False)
    assert script.fitted(rows, PRECISION)["supported"]["sure_from"] is not None
    mixed = rows + verdicts(script, 0.0)
    assert script.fitted(mixed, PRECISION)["supported"]["sure_from"] is None


def test_claims_that_err_together_make_the_exponent_small(script: ModuleType) -> None:
    alone = verdicts(script, 0.9, n=1200)
    together = [
        script.Seen(f"file {i % 9}", f"answer {i}", one.kind, one.rule, one.supported, one.features)
        for i, one in enumerate(alone)
        for _ in range(5)
    ]
    assert script.fitted(together, PRECISION)["exponent"] < 0.6


@pytest.mark.parametrize(("wrong", "sure"), [(1, 0.976), (20, None)])
def test_a_rule_is_sure_if_it_is_right_often_enough(
    script: ModuleType, wrong: int, sure: float | None
) -> None:
    found = verdicts(script, 0.9, n=300)
    known = {"score": 1.0, "coverage": 1.0, "length": 3.0, "sentences": 1.0}
    found += [
        script.Seen("file 1", "a", VerdictKind.CONTRADICTED, "quantity_differs", i < wrong, known)
        for i in range(80)
    ]
    rules = script.fitted(found, PRECISION)["rules"]
    assert rules.get("quantity_differs") == sure
    assert rules["cited_id_does_not_exist"] == 1.0
