"""Page of proof: the rows of its suites, a checker's process, and its sentence on who is ahead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import _proof_models
from _proof_alarms import alarm_rate, at_equal_alarms, found_at, found_with_interval
from _proof_checkers import CHECKERS, HERE, Checker
from _proof_measuring import HOW, cost_a_claim, measured, quality
from _proof_page import ahead_at, behind, same_rows
from _proof_rows import answer_rows
from veridical.core.types import Source
from veridical.evaluation.rows import Row


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
    rows = answer_rows(half)
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


def test_a_checker_without_a_figure_is_named_and_not_behind() -> None:
    ours = {"checker": "veridical", "balanced_accuracy": 0.6, "auroc": 0.6}
    none = {"checker": "other", "balanced_accuracy": None, "auroc": None}
    assert behind([ours, none]) == "Ahead of veridical: none. Without a figure: other."


def test_a_peer_that_abstains_is_compared_on_its_own_rows() -> None:
    ours = {"flags": [False, True, True, False]}
    theirs = {"flags": [None, True, True, None]}
    assert same_rows(theirs, [ours, theirs], [True, True, False, False]) == ".500, 2 rows"


def test_a_checker_that_failed_has_no_figures(tmp_path: Path) -> None:
    nothing = Checker("other", "other==0", "missing", "")
    (tmp_path / "other-0").touch()
    found = measured(nothing, "dev", answer_rows("a")[:1], tmp_path)
    assert "failed" in found
    assert "auroc" not in found


def test_quality_is_that_of_the_default_decision() -> None:
    positive = np.array([True, True, False, False])
    flagged = np.array([False, True, True, True])
    found = quality(np.array([0.9, 0.4, 0.6, 0.1]), flagged, positive, "dev")
    assert found["balanced_accuracy"] == pytest.approx(0.75)
    assert found["auroc"] == pytest.approx(0.75)


POSITIVE = np.array([True, True, True, True, False, False, False, False])


def test_the_share_found_is_read_off_at_the_false_alarms() -> None:
    scores = np.array([0.3, 0.6, 0.8, 0.9, 0.1, 0.2, 0.5, 0.7])
    assert found_at(0.0, scores, POSITIVE) == pytest.approx(0.5)  # below .3
    assert found_at(0.25, scores, POSITIVE) == pytest.approx(0.75)  # below .6
    assert found_at(0.5, scores, POSITIVE) == pytest.approx(1.0)


def test_between_two_thresholds_the_decision_is_drawn_by_lot() -> None:
    yes_or_no = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    assert found_at(0.25, yes_or_no, POSITIVE) == pytest.approx(0.75)
    assert found_at(0.10, yes_or_no, POSITIVE) == pytest.approx(0.75 * 0.10 / 0.25)


@pytest.mark.parametrize("share", [0.1, 0.28, 1.0])
def test_a_constant_score_finds_as_much_as_it_raises_false_alarms(share: float) -> None:
    assert found_at(share, np.ones(8), POSITIVE) == pytest.approx(share)


def test_the_interval_holds_the_share_found() -> None:
    scores = np.array([0.3, 0.6, 0.8, 0.9, 0.1, 0.2, 0.5, 0.7])
    found = found_with_interval(0.25, scores, POSITIVE, "dev", HOW)
    assert found is not None
    value, low, high = found
    assert low < value < high
    assert found_with_interval(0.25, scores[:4], POSITIVE[:4], "dev", HOW) is None


def test_the_last_share_is_the_first_checkers_own() -> None:
    flags = [True, False, None, False, True, True, False, False]
    assert alarm_rate(flags, POSITIVE.tolist()) == pytest.approx(1 / 3)
    first = {"suite": "dev", "flags": flags, "scores": [0.2, 0.9, None, 0.8, 0.1, 0.3, 0.7, 0.6]}
    shares = at_equal_alarms([first], POSITIVE.tolist(), HOW)
    assert list(shares) == ["10 %", "28 %", "33.3 %, its default"]
    assert first["found"]["33.3 %, its default"][0] == pytest.approx(1.0)  # all below .8


def test_a_peer_that_finds_more_is_named_by_share() -> None:
    ours = {"checker": "veridical", "found": {"10 %": [0.2, 0.1, 0.3], "28 %": [0.5, 0.4, 0.6]}}
    theirs = {"checker": "other", "found": {"10 %": [0.3, 0.1, 0.4], "28 %": [0.4, 0.3, 0.5]}}
    told = ahead_at([ours, theirs], {"10 %": 0.1, "28 %": 0.28})
    assert told == "Ahead of veridical at 10 %: other. Ahead of veridical at 28 %: none."


class Counting:
    """Server that counts how often it was started; its figures grow with each reading."""

    address = "http://127.0.0.1:1"

    def __init__(self) -> None:
        self.starts = self.read = 0

    def start(self) -> None:
        self.starts += 1

    def tokens(self) -> int:
        self.read += 1
        return 100 * self.read

    def cpu_s(self) -> float:
        return self.read / 10


QUOTES = next(c for c in CHECKERS if c.adapter == "veridical_quotes")
BRIDGE = (Source("S1", "The bridge is red and was opened in 1932."),)


def quote_row(text: str) -> Row:
    return Row(text, text, BRIDGE, supported=True)


def judged_in(
    left_s: float, rows: list[Row], envs: Path, server: Counting
) -> tuple[list[dict], dict]:
    served = _proof_models.Served(server, left_s)
    return _proof_models.judged(QUOTES, Path(sys.executable), rows, envs, served)


def judged(rows: list[Row], envs: Path, server: Counting) -> tuple[list[dict], dict]:
    return judged_in(60.0, rows, envs, server)


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(sys.modules["veridical"].__file__ or "").parents[1]
    monkeypatch.setattr(_proof_models, "apart", lambda _: os.environ | {"PYTHONPATH": str(own)})


@pytest.mark.usefixtures("importable")
def test_a_killed_run_goes_on_at_the_row_it_was_at(tmp_path: Path) -> None:
    red, blue, opened = map(quote_row, ("the bridge is red", "the bridge is blue", "opened"))
    server = Counting()
    judged([red, blue], tmp_path, server)
    (kept,) = tmp_path.glob("*.rows.jsonl")
    first, *_ = kept.read_text(encoding="utf-8").splitlines()
    marked = json.dumps(json.loads(first) | {"score": 0.25})
    kept.write_text(f'{marked}\n{{"row": "torn', encoding="utf-8")

    found, cost = judged([red, blue, opened], tmp_path, server)
    assert [one["score"] for one in found] == [0.25, 0.0, 1.0]
    assert cost["timed"] == 2
    assert server.starts == 2


@pytest.mark.usefixtures("importable")
def test_kept_scores_need_no_server(tmp_path: Path) -> None:
    rows = [quote_row("the bridge is red")]
    server = Counting()
    assert judged(rows, tmp_path, server) == judged(rows, tmp_path, server)
    assert server.starts == 1


@pytest.mark.usefixtures("importable")
def test_a_run_out_of_time_keeps_its_rows_and_asks_no_more(tmp_path: Path) -> None:
    rows = [quote_row("the bridge is red"), quote_row("opened")]
    server = Counting()
    with pytest.raises(subprocess.TimeoutExpired):
        judged_in(1e-6, rows, tmp_path, server)
    (kept,) = tmp_path.glob("*.rows.jsonl")
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 1
    with pytest.raises(subprocess.TimeoutExpired):
        judged_in(0.0, rows, tmp_path, server)
    assert server.starts == 1


def test_the_cost_of_a_claim_includes_its_server() -> None:
    cost = {"cpu_s": 1.0, "timed": 2, "server_cpu_s": 8.0, "tokens": 1200}
    found = cost_a_claim(cost | {"import_s": 0.5, "peak_mb": 30.0}, rows=4)
    assert found["cpu_ms"] == pytest.approx(2500)
    assert found["tokens"] == pytest.approx(300)
