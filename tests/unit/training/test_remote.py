"""The entry for a lent machine: layers are chosen, results measured, the plan holds together."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[3] / "training"
sys.path.insert(0, str(FOLDER))

import recipe  # noqa: E402
import remote  # noqa: E402


def test_chosen_layers_are_numbered_anew_and_the_rest_stays() -> None:
    weights = {f"mpnet.encoder.layer.{n}.output.dense.bias": n for n in range(12)}
    weights["classifier.dense.bias"] = 99
    found = remote.chosen(weights, [0, 4, 11])
    layers = [found[f"mpnet.encoder.layer.{n}.output.dense.bias"] for n in range(3)]
    assert layers == [0, 4, 11]
    assert found["classifier.dense.bias"] == 99
    assert len(found) == 4


def test_words_that_do_not_occur_are_zeros() -> None:
    base = {
        "size": np.asarray([5]),
        "met": np.asarray([1, 3]),
        "words": np.asarray([[127, 0], [0, -127]], np.int8),
        "scale": np.asarray([[0.5], [2.0]], np.float32) / 127,
    }
    words = remote.full_base(base)["mpnet.embeddings.word_embeddings.weight"]
    assert np.allclose(words, [[0, 0], [0.5, 0], [0, 0], [0, -2.0], [0, 0]])


def test_figures_count_either_negative_label_as_right_for_a_two_way_row() -> None:
    found = np.asarray([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    assert remote.figures(found, np.asarray([0, 3, 3, 2])) == {
        "rows": 4,
        "right": 0.75,
        "auroc": 1.0,
    }


def test_the_plan_begins_with_the_base_and_each_step_goes_on_from_an_earlier_one() -> None:
    met = {"base"}
    for step in recipe.PLAN["steps"]:
        assert step["from"] in met
        assert step.get("taught_by", "base") in met
        met.add(step["name"])


def test_the_plan_ends_within_the_half_hour_however_slow_the_machine_is() -> None:
    assert sum(step["seconds"] for step in recipe.PLAN["steps"]) <= 1200
