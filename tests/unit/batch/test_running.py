"""Runs of a batch: what they write, and that an interruption changes nothing of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from veridical import SyncVerifier, Verifier
from veridical.batch.engines import BatchEngine, ThreadEngine
from veridical.batch.output import OutputFolder
from veridical.batch.running import BatchJob, BatchRun, run_batch
from veridical.batch.survey import Selection
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError, DocumentError
from veridical.testing import FakeBackend, fake_estimate

Row = dict[str, Any]


def row(number: int, *, flagged: bool = False) -> Row:
    says = "wrong" if flagged else "right"
    text = f"The item {number} is {says}."
    return {"id": f"r{number}", "answer": text, "sources": {"S": f"The item {number} is right."}}


@dataclass
class Desk:
    """Files of a job, and the claims that a service is asked for and does not answer."""

    folder: Path
    fails: Callable[[str], bool] = lambda _: False
    asked: list[str] = field(default_factory=list)

    def write(self, rows: Iterable[Row], name: str = "rows.jsonl") -> None:
        text = "".join(json.dumps(one) + "\n" for one in rows)
        (self.folder / name).write_text(text, encoding="utf-8")

    def answer(self, query: Query) -> Measurement:
        if query.claim not in self.asked[-1:]:
            self.asked.append(query.claim)
        if self.fails(query.claim):
            return Unmeasured(UnmeasuredReason.RATE_LIMITED, "the queue is too long")
        return fake_estimate(0.05 if "wrong" in query.claim else 0.95)

    def engine(self, *, per_claim: bool = False) -> BatchEngine:
        verifier = SyncVerifier(Verifier(FakeBackend(self.answer)))
        return ThreadEngine(verifier, per_claim=per_claim)

    def run(
        self,
        output: str = "out",
        progress: Callable[[BatchRun], None] | None = None,
        *,
        sample: float | None = None,
        identity: Row | None = None,
        **more: Any,  # noqa: ANN401 -- what a job takes
    ) -> BatchRun:
        files = tuple(sorted(self.folder.glob("*.jsonl")))
        folder = OutputFolder(self.folder / output)
        job = BatchJob(Selection(files, sample), folder, identity or {"version": 1}, **more)
        return run_batch(job, lambda: self.engine(per_claim=job.per_claim), progress)

    def output(self, output: str = "out") -> bytes:
        return (self.folder / output / "rows.jsonl").read_bytes()

    def results(self, output: str = "out") -> list[Row]:
        lines = self.output(output).split(b"\n")
        return [json.loads(line) for line in lines[:-1]]  # behind the last break, a part of one


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


class RunEndedError(Exception):
    """Stands for the end of the process."""


def after(rows: int) -> Callable[[BatchRun], None]:
    """Return a callback that ends a run after so many rows."""
    written = count(1)

    def progress(_: BatchRun) -> None:
        if next(written) > rows:
            raise RunEndedError

    return progress


def kinds(rows: list[Row]) -> list[str]:
    return [one["error"] or one["outcome"] for one in rows]


def test_one_row_for_each_answer_in_input_order(desk: Desk) -> None:
    desk.write([row(1), row(2, flagged=True), {"id": "r3"}, row(4)])
    run = desk.run()
    results = desk.results()
    assert [one["id"] for one in results] == ["r1", "r2", "r3", "r4"]
    assert kinds(results) == ["grounded", "flagged", "not_a_row", "grounded"]
    assert (run.rows_checked, run.complete, run.totals.errors) == (3, False, {"not_a_row": 1})
    assert run.totals.share.body() | {"low": 0, "high": 1} == {
        "flagged": 1,
        "of": 3,
        "share": 0.333333,
        "low": 0,
        "high": 1,
    }


def test_per_claim_has_a_row_for_each_claim(desk: Desk) -> None:
    both = row(1) | {"answer": "The item 1 is right. The item 1 is wrong."}
    desk.write([both, row(2) | {"answer": "Hello!"}, row(3)])
    desk.run(per_claim=True)
    shown = [(r["id"], r["line"], r["lines"], r["claim"], r["status"]) for r in desk.results()]
    assert shown[:2] == [("r1", 1, 2, "c1", "supported"), ("r1", 2, 2, "c2", "unsupported")]
    assert shown[2][:3] == ("r2", 1, 1)
    assert desk.results()[2]["outcome"] == "nothing_to_check"
    assert desk.results()[3]["text"] == "The item 3 is right."


def test_a_finished_job_is_not_done_again(desk: Desk) -> None:
    desk.write([row(1), row(2)])
    desk.run()
    before, asked = desk.output(), len(desk.asked)
    run = desk.run()
    assert (desk.output(), len(desk.asked), run.rows_checked) == (before, asked, 0)
    assert run.complete


def test_rows_with_an_error_are_tried_again_and_good_ones_are_not(desk: Desk) -> None:
    desk.write([row(n) for n in range(6)])
    desk.fails = lambda claim: "item 2" in claim or "item 4" in claim
    first = desk.run()
    assert kinds(desk.results()).count("rate_limited") == 2
    assert (first.totals.share.of, first.complete) == (4, False)
    desk.asked.clear()
    desk.fails = lambda _: False
    second = desk.run()
    assert desk.asked == ["The item 2 is right.", "The item 4 is right."]
    assert (second.rows_checked, second.complete) == (2, True)
    assert kinds(desk.results()) == ["grounded"] * 6
    assert [one["id"] for one in desk.results()] == [f"r{n}" for n in range(6)]
    assert not (desk.folder / "out" / "kept.jsonl").exists()


def test_a_row_whose_claim_could_not_be_read_again_for_a_rule_is_tried_again(desk: Desk) -> None:
    texts = {"answer": "It has six lanes.", "sources": {"S": "It has eight lanes."}}
    desk.write([row(1) | texts])
    desk.fails = lambda claim: "eight" in claim
    assert not desk.run().complete
    assert kinds(desk.results()) == ["rate_limited"]
    desk.fails = lambda _: False
    assert desk.run().complete
    assert (kinds(desk.results()), desk.results()[0]["by_status"]) == (
        ["flagged"],
        {"contradicted": 1},
    )


def test_the_input_may_grow_anywhere_and_change(desk: Desk) -> None:
    desk.write([row(1), row(3), row(4)])
    desk.run()
    desk.asked.clear()
    desk.write([row(0), row(1), row(2), row(3, flagged=True), row(4), row(5)])
    desk.run()
    assert [claim.split()[2] for claim in desk.asked] == ["0", "2", "3", "5"]
    grown = desk.output()
    desk.run("new")
    assert desk.output("new") == grown


def test_results_of_rows_that_are_no_longer_in_the_input_are_not_thrown_away(desk: Desk) -> None:
    desk.write([row(1), row(2), row(3)])
    desk.run()
    before = desk.output()
    desk.write([row(2)])
    with pytest.raises(ConfigurationError, match="2 results in "):
        desk.run()
    assert desk.output() == before


def test_ids_that_come_twice_are_found_before_anything_is_checked(desk: Desk) -> None:
    desk.write([row(1), row(2), row(1)], "a.jsonl")
    desk.write([row(2)], "b.jsonl")
    with pytest.raises(DocumentError, match="an earlier one: 2") as raised:
        desk.run()
    assert "row 3: has the id of" in raised.value.message
    assert desk.asked == []


@pytest.mark.parametrize("name", ["backend", "policy", "version"])
def test_the_folder_of_another_job_is_refused(desk: Desk, name: str) -> None:
    desk.write([row(1)])
    desk.run(identity={"backend": 1, "policy": 1, "version": 1})
    with pytest.raises(ConfigurationError, match=f"another job: {name} differ"):
        desk.run(identity={"backend": 1, "policy": 1, "version": 1, name: 2})


def test_a_folder_of_something_else_is_refused(desk: Desk) -> None:
    desk.write([row(1)])
    (desk.folder / "out").mkdir()
    (desk.folder / "out" / "mine.txt").write_text("")
    with pytest.raises(ConfigurationError, match="not the folder of a batch"):
        desk.run()
    (desk.folder / "file").write_text("")
    with pytest.raises(ConfigurationError, match="not the folder of a batch"):
        desk.run("file")


@pytest.mark.parametrize("manifest", ["", "{}", "[]", '{"schema": "x", "job": {}}'])
def test_a_damaged_manifest_is_refused(desk: Desk, manifest: str) -> None:
    desk.write([row(1)])
    (desk.folder / "out").mkdir()
    (desk.folder / "out" / "manifest.json").write_text(manifest)
    with pytest.raises(ConfigurationError, match="not the manifest of a batch"):
        desk.run()


def test_a_second_run_at_the_same_time_is_refused(desk: Desk) -> None:
    desk.write([row(1), row(2)])

    def second(_: BatchRun) -> None:
        with pytest.raises(ConfigurationError, match="another run writes"):
            desk.run()

    assert desk.run(progress=second).complete


def test_a_line_that_is_no_result_is_an_error_and_not_thrown_away(desk: Desk) -> None:
    desk.write([row(1), row(2)])
    desk.run()
    path = desk.folder / "out" / "rows.jsonl"
    path.write_bytes(b"{}\n" + path.read_bytes())
    with pytest.raises(ConfigurationError, match="not a result, at byte 0"):
        desk.run()


def test_the_limit_ends_a_run_and_the_next_goes_on(desk: Desk) -> None:
    desk.write([row(n) for n in range(5)])
    first = desk.run(limit=2)
    assert (first.rows_checked, first.stopped, first.complete) == (2, "limit", False)
    assert len(desk.results()) == 2
    assert desk.run(limit=3).complete
    assert len(desk.results()) == 5


def test_a_sample_is_the_same_rows_each_time_and_in_a_larger_one(desk: Desk) -> None:
    desk.write([row(n) for n in range(40)])
    desk.run("small", sample=0.2)
    desk.run("large", sample=0.5)
    small, large = ([one["id"] for one in desk.results(name)] for name in ("small", "large"))
    assert 0 < len(small) < len(large) < 40
    assert set(small) < set(large)


def test_a_run_stops_once_the_flagged_share_is_decided(desk: Desk) -> None:
    desk.write([row(n, flagged=True) for n in range(40)])
    run = desk.run(stop_share=0.1)
    assert (run.stopped, run.complete) == ("flagged_share", True)
    written = len(desk.results())
    assert written < 20
    desk.asked.clear()
    assert desk.run(stop_share=0.1).complete
    assert (desk.asked, len(desk.results())) == ([], written)
    assert desk.run().totals.rows == 40


def test_rows_are_readable_while_the_run_goes_on(desk: Desk) -> None:
    desk.write([row(n) for n in range(5)])
    seen: list[int] = []
    desk.run(progress=lambda _: seen.append(len(desk.results())))
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.slow
@settings(max_examples=10, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # runs are slow
@given(data=st.data())
def test_an_interrupted_run_ends_in_the_bytes_of_an_uninterrupted_one(data: st.DataObject) -> None:
    per_claim = data.draw(st.booleans())
    rows = [row(n, flagged=data.draw(st.booleans())) for n in range(8)]
    rows[3] = {"id": "r3"}
    rows[5]["answer"] += " It is wrong. It is right."
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        desk.write(rows)
        desk.run("whole", per_claim=per_claim)
        for _ in range(data.draw(st.integers(1, 4))):
            bad = data.draw(st.sets(st.integers(0, 7)))
            desk.fails = lambda claim, bad=bad: any(f"item {n} " in claim for n in bad)  # type: ignore[misc]
            try:
                desk.run(progress=after(data.draw(st.integers(0, 8))), per_claim=per_claim)
            except RunEndedError:
                _tear(desk, data)
        desk.fails = lambda _: False
        good = {one["id"] for one in desk.results() if one["error"] is None}
        desk.asked.clear()
        desk.run(per_claim=per_claim)
        assert desk.output() == desk.output("whole")
        if not per_claim:
            again = {f"r{claim.split()[2]}" for claim in desk.asked if claim.startswith("The item")}
            assert not good & again


def _tear(desk: Desk, data: st.DataObject) -> None:
    """Leave a part of a line at the end, as a process does that ends while it writes."""
    path = desk.folder / "out" / "rows.jsonl"
    part = data.draw(st.sampled_from([b"", b"{", b'{"id": "r', b'{"id": "r7"}']))
    path.write_bytes(path.read_bytes() + part)
    if data.draw(st.booleans()):
        kept = desk.folder / "out" / "kept.jsonl"
        kept.write_bytes((kept.read_bytes() if kept.exists() else b"") + part)


def test_the_summary_names_its_denominators(desk: Desk) -> None:
    desk.write([row(1), row(2, flagged=True), {"id": "r3"}])
    desk.fails = lambda claim: "item 1" in claim
    summary = desk.run().body()
    assert summary["rows"] == {"total": 3, "written": 3, "not_written": 0, "errors": 2}
    assert summary["errors"] == {"not_a_row": 1, "rate_limited": 1}
    assert (summary["flagged_share"]["flagged"], summary["flagged_share"]["of"]) == (1, 1)
    assert json.loads(json.dumps(summary)) == summary
