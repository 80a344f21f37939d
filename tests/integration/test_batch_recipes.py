"""The stage of a batch in other programs, as docs/batch.md prints it, where they are installed."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from veridical.batch import batch

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "batch.md"
SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
ROWS = {
    "id": ["1", "2"],
    "answer": ["It has six lanes.", "The bridge was opened in 1998."],
    "sources": [[SOURCE], [SOURCE]],
}


def names_of(marker: str) -> dict[str, Any]:
    """Run the block of the page that imports a package, and return its names."""
    if importlib.util.find_spec(marker) is None:
        pytest.skip(f"{marker} is not installed")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if re.search(rf"^import {marker}\b", block, re.MULTILINE)]
    names: dict[str, Any] = {"batch": batch, "json": json}
    exec(compile(code, marker, "exec"), names)  # noqa: S102 -- the page is ours
    return names


def test_pandas_frames_are_checked_one_by_one() -> None:
    names = names_of("pandas")
    frame = names["pd"].DataFrame(ROWS)
    found = list(names["checked"](iter([frame, frame[:1]])))
    assert [list(one["outcome"]) for one in found] == [["flagged", "grounded"], ["flagged"]]
    assert json.loads(found[0]["row"][0])["by_status"] == {"contradicted": 1}


def test_a_table_of_daft_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("daft") is None:
        pytest.skip("daft is not installed")
    import daft

    monkeypatch.chdir(tmp_path)
    daft.from_pydict(ROWS).write_parquet("answers")
    rows = names_of("daft")["table"].to_pydict()["row"]
    assert [json.loads(row)["outcome"] for row in rows] == ["flagged", "grounded"]
