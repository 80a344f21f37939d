"""Engines: results in the order of the rows, and a row that ends its process is to blame alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from veridical.batch import engines
from veridical.batch.engines import ProcessEngine
from veridical.batch.rows import BatchRow, parse_row
from veridical.settings import Settings

pytestmark = pytest.mark.slow

DIES = """
import os
from veridical.batch.engines import _worker

def check(row):
    if row.id == "poison":
        os._exit(9)
    return _worker["check"](row)
"""


def rows(*ids: str) -> list[BatchRow]:
    texts = {"claim": "The bridge is long.", "evidence": "The bridge is long."}
    found = [parse_row({"id": one, **texts}) for one in ids]
    return [one for one in found if isinstance(one, BatchRow)]


def test_only_the_row_that_ends_its_process_has_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dies_on_poison.py").write_text(DIES)
    monkeypatch.syspath_prepend(tmp_path)
    from importlib import import_module

    monkeypatch.setattr(engines, "_check", import_module("dies_on_poison").check)
    engine = ProcessEngine(Settings(), processes=2, per_claim=False)
    tasks = [engine.submit(row) for row in rows("a", "b", "poison", "c", "d")]
    results = [engine.result(task) for task in tasks]
    later = engine.result(engine.submit(rows("e")[0]))
    engine.close()
    found = [(one.lines[0]["id"], one.lines[0]["error"]) for one in [*results, later]]
    assert found == [
        ("a", None),
        ("b", None),
        ("poison", "worker_died"),
        ("c", None),
        ("d", None),
        ("e", None),
    ]
    del sys.modules["dies_on_poison"]
