"""Natural pairs: questions become statements where a rule fits; nothing of other data is met."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "training"))

from natural import gathered
from overlap import Known
from sources.statements import statement
from sources.tables import box, grid


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("What was the cause?", "A broken pump", "The cause was a broken pump."),
        ("How many countries have agreed to it?", "140", "140 countries have agreed to it."),
        ("How many games did the team win?", "4", "The team won 4 games."),
        ("When was the bridge opened?", "1998", "The bridge was opened in 1998."),
        ("Who warns the terrorists?", "Marshall", "Marshall warns the terrorists."),
        ("British Telecom purchased which business?", "MCI", "British Telecom purchased MCI."),
        ("What is missing from it?", "A tighter rule", "A tighter rule is missing from it."),
        (
            "According to the passage, why did they leave?",
            "Because it rained",
            "They left because it rained.",
        ),
        (
            "What does the author say about journalists?",
            "They have no self-respect",
            "What the author says about journalists is that they have no self-respect.",
        ),
    ],
)
def test_a_question_with_its_answer_becomes_a_statement(
    question: str, answer: str, said: str
) -> None:
    assert statement(question, answer) == said


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which of the following is false?", "The sky is green"),
        ("Who does Tarzan vilify?", "White men"),
        ("What was the cause?", "None of these"),
        ("Would the work be respected?", "Yes"),
        ("How did it end?", "badly"),
    ],
)
def test_what_no_rule_fits_is_left_out(question: str, answer: str) -> None:
    assert statement(question, answer) is None


def test_a_shared_claim_or_nine_shared_words_are_met() -> None:
    text = "one two three four five six seven eight nine ten"
    known = Known([(text, "The mill was sold in 1912.")])
    assert known.shares("other words", "the mill was sold in 1912")
    assert known.shares("zero One, two three four five six seven eight NINE eleven", "x")
    assert not known.shares("one two three four five six seven eight, then nine", "x")
    assert not known.shares("nothing of it", "The mill was sold in 1913.")


def test_tables_are_shown_as_lines_or_not_at_all() -> None:
    rng = random.Random(0)  # noqa: S311
    assert "Length: 96 minutes" in box({"title": ["Film"], "Length": ["96 minutes"]}, rng)
    shown = grid("Cup", [["team", "points"], ["Ajax", "7"]], rng)
    assert shown.startswith("Cup\n")
    assert "Ajax" in shown
    assert "7" in shown
    assert grid("Cup", [["team", "points"], ["Ajax"]], rng) == ""


def test_a_bare_clone_is_read(tmp_path: Path) -> None:
    work, bare = tmp_path / "work", tmp_path / "mirrors" / "infotabs+infotabs" / "repo"
    (work / "data/maindata").mkdir(parents=True)
    (work / "data/tables/json").mkdir(parents=True)
    head = "annotater_id\ttable_id\thypothesis\tlabel\n"
    row = "A\tT1\tThe film lasts 96 minutes.\tE\n"
    (work / "data/maindata/infotabs_train.tsv").write_text(head + row)
    (work / "data/maindata/infotabs_dev.tsv").write_text(head)
    (work / "data/tables/json/T1.json").write_text('{"title": ["Film"], "Length": ["96 minutes"]}')
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*name, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    (pair,) = gathered(tmp_path / "mirrors", ["infotabs"], seed=0)
    assert (pair.claim, pair.label) == ("The film lasts 96 minutes.", "supported")
    assert "96 minutes" in pair.evidence
