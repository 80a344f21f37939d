"""Page of proof: the rows of its suites, a checker's process, and its sentence on who is ahead."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import proof
from proof import CHECKERS, HERE, behind, quality, same_rows


def asked(adapter: str, *rows: dict[str, object]) -> list[dict[str, object]]:
    command = [sys.executable, "-P", str(HERE / "_peer.py"), adapter]
    lines = "\n".join(map(json.dumps, rows))
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_process_answers_each_row_and_ends_with_its_cost() -> None:
    sources = [["S1", "The bridge is red and was opened in 1932."]]
    quotes = ("the bridge is red", "the bridge is blue")
    rows = [{"claim": quote, "sources": sources} for quote in quotes]
    there, absent, cost = asked("veridical_quotes", *rows)
    assert there == {"score": 1.0, "flagged": False}
    assert absent == {"score": 0.0, "flagged": True}
    assert cost.keys() == {"import_s", "cpu_s", "peak_mb"}


def test_a_row_at_which_a_checker_fails_is_undetermined() -> None:
    row = {"claim": "it rained", "sources": [["S1", "It rained."], ["S2", "It snowed."]]}
    failed, _ = asked("veridical_quotes", row)
    assert failed == {"score": None, "flagged": None}


def test_every_checker_has_an_adapter() -> None:
    assert {path.stem for path in (HERE / "peers").glob("*.py")} == {c.adapter for c in CHECKERS}


@pytest.mark.parametrize("half", ["a", "b"])
def test_answers_give_a_row_for_each_claim(half: str) -> None:
    rows = proof.answer_rows(half)
    assert len({row.id for row in rows}) == len(rows)
    assert {row.supported for row in rows} == {True, False}


def test_a_peer_with_a_higher_figure_is_named() -> None:
    ours = {"checker": "veridical", "balanced_accuracy": 0.7, "auroc": 0.8}
    theirs = {"checker": "other", "balanced_accuracy": 0.6, "auroc": 0.9}
    assert behind([ours, theirs]) == "Ahead of veridical: other (AUROC)."


def test_a_tie_is_no_lead() -> None:
    ours = {"checker": "veridical", "balanced_accuracy": 0.7, "auroc": 0.8}
    theirs = {"checker": "other", "balanced_accuracy": 0.7, "auroc": 0.6}
    told = behind([ours, theirs])
    assert told == "Ahead of veridical: none. Level with it: other (balanced accuracy)."


def test_a_peer_that_abstains_is_compared_on_its_own_rows() -> None:
    ours = {"flags": [False, True, True, False]}
    theirs = {"flags": [None, True, True, None]}
    assert same_rows(theirs, [ours, theirs], [True, True, False, False]) == ".500, 2 rows"


def test_a_checker_that_failed_has_no_figures(tmp_path: Path) -> None:
    nothing = proof.Checker("other", "other==0", "missing", "")
    (tmp_path / "other-0").touch()
    found = proof.measured(nothing, "dev", proof.answer_rows("a")[:1], tmp_path)
    assert "failed" in found
    assert "auroc" not in found


def test_quality_is_that_of_the_default_decision() -> None:
    positive = np.array([True, True, False, False])
    flagged = np.array([False, True, True, True])
    found = quality(np.array([0.9, 0.4, 0.6, 0.1]), flagged, positive, "dev")
    assert found["balanced_accuracy"] == pytest.approx(0.75)
    assert found["auroc"] == pytest.approx(0.75)
