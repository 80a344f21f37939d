"""The instruments of the durability table: they notice what is lost, and what was never true."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest

from _crashes import begin, end_all, ended
from _faulty_backends import BackendFault, FaultyBackend, cases, library
from _killed_parts import (
    Remains,
    label,
    look_at_cache,
    look_at_feedback,
    look_at_jobs,
    look_at_traces,
    say,
)
from veridical.store import CacheTable, FeedbackTable, JobTables, NewJob, Store


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/kept.db"


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (look_at_feedback, ["r", "c1"]),
        (look_at_traces, ["claim", "goal-1", "claim-1"]),
        (look_at_traces, ["verified", "goal-1", "claim-1"]),
        (look_at_cache, ["key"]),
        (look_at_jobs, ["job", "j1"]),
        (look_at_jobs, ["result", "j1", 0]),
    ],
)
def test_what_was_told_and_is_not_there_is_lost(url: str, look: Any, said: Sequence[Any]) -> None:  # noqa: ANN401 -- one of the looks
    found: Remains = look(url, [said])
    assert found.lost >= 1
    assert not found.good


def test_what_is_there_and_was_never_true_is_wrong(url: str) -> None:
    store = Store(url)
    FeedbackTable(store).put(label("r", "c1") | {"claim": "c2"})
    assert look_at_feedback(url, [["r", "c2"]]) == Remains(1, 0, 1)
    put = partial(CacheTable(store, max_entries=9).put, {b"key": b"another"}, ttl_s=60.0)
    anyio.run(put)
    assert look_at_cache(url, [["key"]]) == Remains(1, 0, 1)
    tables = JobTables(store)
    tables.create(NewJob("j1", "default"), [b"j1 0"], most_open=9)
    claimed = tables.claim("w", 60.0)
    assert claimed
    tables.settle("w", claimed.place, b"another")
    assert look_at_jobs(url, [["job", "j1"], ["result", "j1", 0]]).lost == 1
    store.close()


def test_a_killed_process_is_heard_up_to_its_last_line() -> None:
    def work(out: TextIO) -> None:
        say(out, "begun")
        out.write(json.dumps(["half"])[:3])
        out.flush()
        time.sleep(60)

    assert end_all([begin(work)], [0.1]) == [["begun"]]


def test_a_process_that_fails_is_no_result(capfd: pytest.CaptureFixture[str]) -> None:
    def work(out: TextIO) -> None:
        raise OSError(out.name)

    with pytest.raises(ChildProcessError):
        ended([begin(work)])
    assert "OSError" in capfd.readouterr().err


def test_every_host_is_tried_with_every_fault_that_it_can_survive() -> None:
    faults = {fault for _, fault in cases()}
    assert faults == set(BackendFault)


def test_a_backend_without_a_fault_that_hangs_answers_before_it_is_rescued() -> None:
    backend = FaultyBackend(BackendFault.SLOW)
    assert library(backend)
    assert not backend.rescued
