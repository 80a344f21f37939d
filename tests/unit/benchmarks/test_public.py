"""Public benchmarks: their files as they are distributed, their metrics, and a run that resumes."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import public
from public import Example, Outcomes, WrongFileError, read_aggrefact, read_ragtruth
from veridical import Policy
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.testing import FakeBackend, fake_estimate

ROWS: list[dict[str, Any]] = [
    {"dataset": "A", "doc": "The bridge is red.", "claim": "The bridge is red.", "label": 1},
    {"dataset": "A", "doc": "The bridge is red.", "claim": "The bridge is blue.", "label": 0},
    {"dataset": "B", "doc": "It rained.", "claim": "It rained.", "label": 1},
    {"dataset": "B", "doc": "It rained.", "claim": "It snowed.", "label": 0},
]
SOURCES: list[dict[str, Any]] = [
    {"source_id": "1", "task_type": "Summary", "source_info": "The bridge is red."},
    {
        "source_id": "2",
        "task_type": "QA",
        "source_info": {"question": "What colour is it?", "passages": "passage 1:It is red."},
    },
    {"source_id": "3", "task_type": "Data2txt", "source_info": {"name": "Café", "stars": 3.0}},
]
SPAN = {"start": 0, "end": 3, "text": "The", "label_type": "Evident Conflict"}
RESPONSES: list[dict[str, Any]] = [
    {"id": "11", "source_id": "1", "labels": [], "split": "test", "response": "It is red."},
    {"id": "12", "source_id": "2", "labels": [SPAN], "split": "test", "response": "It is blue."},
    {"id": "13", "source_id": "3", "labels": [SPAN], "split": "train", "response": "It is good."},
]


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def aggrefact(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "test.jsonl", ROWS)


@pytest.fixture
def ragtruth(tmp_path: Path) -> Path:
    jsonl(tmp_path / "source_info.jsonl", SOURCES)
    jsonl(tmp_path / "response.jsonl", RESPONSES)
    return tmp_path


# --- the files -------------------------------------------------------------------------------


def test_a_csv_file_reads_like_the_jsonl_file(aggrefact: Path) -> None:
    path = aggrefact.with_suffix(".csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, public.COLUMNS)
        writer.writeheader()
        writer.writerows(ROWS)
    assert read_aggrefact(path) == read_aggrefact(aggrefact)
    assert [one.supported for one in read_aggrefact(path)] == [True, False, True, False]


def test_a_csv_cell_may_be_longer_than_the_module_allows_by_default(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text(f"dataset,doc,claim,label\nA,{'x' * 200_000},It is.,1\n", encoding="utf-8")
    (found,) = read_aggrefact(path)
    assert len(found.evidence) == 200_000


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(WrongFileError, match="pip install pyarrow"):
        read_aggrefact(tmp_path / "test.parquet")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"claim": ""}, "row 1: no claim"),
        ({"label": 2}, "row 1: the label is neither 0 nor 1"),
        ({"label": None}, "row 1: no label"),
    ],
)
def test_a_malformed_row_is_named_without_its_text(
    tmp_path: Path, row: dict[str, Any], says: str
) -> None:
    path = jsonl(tmp_path / "test.jsonl", [ROWS[0] | row])
    with pytest.raises(WrongFileError, match=says) as raised:
        read_aggrefact(path)
    assert "bridge" not in str(raised.value)


def test_evidence_and_question_come_from_the_three_forms_of_source_info(ragtruth: Path) -> None:
    summary, answer = read_ragtruth(ragtruth, "test")
    assert (summary.evidence, summary.question) == ("The bridge is red.", None)
    assert (answer.evidence, answer.question) == ("passage 1:It is red.", "What colour is it?")
    assert (summary.supported, answer.supported) == (True, False)
    (data,) = read_ragtruth(ragtruth, "train")
    assert json.loads(data.evidence) == {"name": "Café", "stars": 3.0}
    assert "Café" in data.evidence


def test_a_response_without_its_source_is_named(ragtruth: Path) -> None:
    jsonl(ragtruth / "source_info.jsonl", SOURCES[:1])
    with pytest.raises(WrongFileError, match="row 2: a key is missing, or its source is"):
        read_ragtruth(ragtruth, "test")


def test_a_larger_limit_holds_the_examples_of_a_smaller_one(aggrefact: Path) -> None:
    examples = read_aggrefact(aggrefact)
    one, two = public.drawn(examples, 1), public.drawn(examples, 2)
    assert [example.file for example in one] == ["A", "B"]
    assert set(one) < set(two) == set(examples)
    assert public.drawn(reversed(examples), 1) == one


# --- metrics ---------------------------------------------------------------------------------


def example(*, supported: bool) -> Example:
    return Example("A", "1", "It is.", "It is.", supported)


def test_the_metrics_are_those_of_their_definitions() -> None:
    examples = [example(supported=True)] * 4 + [example(supported=False)] * 5
    called = [True, True, True, False, True, True, False, False, False]
    cells = Outcomes.of(examples, called).cells
    assert public.balanced_accuracy(cells)[0] == pytest.approx((3 / 4 + 3 / 5) / 2)
    assert public.precision(cells)[0] == pytest.approx(3 / 4)
    assert public.recall(cells)[0] == pytest.approx(3 / 5)
    assert public.f1(cells)[0] == pytest.approx(2 * 0.75 * 0.6 / 1.35)


def test_one_class_alone_has_no_balanced_accuracy() -> None:
    cells = Outcomes.of([example(supported=True)] * 3, [True, True, False]).cells
    assert np.isnan(public.balanced_accuracy(cells)[0])


def test_drawing_counts_spreads_like_drawing_examples() -> None:
    found = Outcomes(passed=60, false_alarms=20, missed=40, caught=80)
    flags = np.repeat([0, 1, 2, 3], list(vars(found).values()))
    rng = np.random.default_rng(1)
    drawn = np.array([np.bincount(rng.choice(flags, 200), minlength=4) for _ in range(2000)])
    one, other = public.f1(found.replicates("A")), public.f1(drawn.T.astype(np.float64))
    assert one.mean() == pytest.approx(other.mean(), abs=0.005)
    assert one.std() == pytest.approx(other.std(), rel=0.1)


# --- a run -----------------------------------------------------------------------------------


class Exact(FakeBackend):
    """Finds a claim in its context, or does not; fails where it is told to."""

    def __init__(self) -> None:
        super().__init__(self._found)
        self.fails = False

    def _found(self, query: Query) -> Measurement:
        if self.fails:
            return Unmeasured(UnmeasuredReason.TIMEOUT)
        return fake_estimate(0.9 if query.claim in query.context else 0.1)


def test_a_run_goes_on_where_it_stopped(aggrefact: Path, tmp_path: Path) -> None:
    backend = Exact()
    how = public.method(backend, Policy())
    examples = public.drawn(read_aggrefact(aggrefact), None)
    public.scored(tmp_path / "cache", how, examples[:3])
    asked = len(backend.queries)
    scores = public.scored(tmp_path / "cache", how, examples)
    assert [score.supported for score in scores] == [one.supported for one in examples]
    assert 0 < len(backend.queries) - asked < asked
    kept = "".join(path.read_text() for path in (tmp_path / "cache").iterdir())
    assert "bridge" not in kept


def test_an_example_without_an_estimate_is_unsupported_and_asked_again(
    aggrefact: Path, tmp_path: Path
) -> None:
    backend = Exact()
    how = public.method(backend, Policy())
    examples = public.drawn(read_aggrefact(aggrefact), None)
    backend.fails = True
    scores = public.scored(tmp_path / "cache", how, examples)
    page = "\n".join(public.lines(public.AGGREFACT, examples, scores, 0.7))
    assert "4 without an estimate" in page
    assert "| mean | 4 | .500 (.500–.500) | .500 (.500–.500) |" in page
    backend.fails = False
    again = public.scored(tmp_path / "cache", how, examples)
    assert all(score.score is not None for score in again)


def test_the_command_prints_both_benchmarks(
    aggrefact: Path,
    ragtruth: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = ["--aggrefact", str(aggrefact), "--ragtruth", str(ragtruth)]
    kept = ["--cache", str(aggrefact.parent / "cache"), "--backend", "embedded"]
    monkeypatch.setattr(sys, "argv", ["public.py", *named, *kept])
    with pytest.raises(SystemExit) as ended:
        public.main()
    assert not ended.value.code
    page = capsys.readouterr().out
    assert "## LLM-AggreFact\n\n4 examples, 2 of them supported; 0 without an estimate." in page
    assert "## RAGTruth\n\n2 examples, 1 of them supported; 0 without an estimate." in page
    assert "| all | verdict | 2 |" in page
