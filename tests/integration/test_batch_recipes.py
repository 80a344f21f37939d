"""The stage of a batch in other programs, as docs/batch.md prints it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from veridical.batch import batch

pytestmark = pytest.mark.recipes

PAGE = Path(__file__).parents[2] / "docs" / "batch.md"
SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
ROWS = {
    "id": ["1", "2"],
    "answer": ["It has six lanes.", "The bridge was opened in 1998."],
    "sources": [[SOURCE], [SOURCE]],
}


def names_of(function: str) -> dict[str, Any]:
    """Run the block of the page that defines a function, and return its names."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if f"def {function}(" in block]
    names: dict[str, Any] = {"batch": batch, "json": json}
    exec(compile(code, function, "exec"), names)  # noqa: S102 -- the page is ours
    return names


def test_pandas_frames_are_checked_one_by_one() -> None:
    checked = names_of("on_spark")["checked"]
    import pyarrow as pa

    frame = pa.table(ROWS).to_pandas()  # as Spark makes them: a list is an array of NumPy
    found = list(checked(iter([frame, frame[:1]])))
    assert [list(one["outcome"]) for one in found] == [["flagged", "grounded"], ["flagged"]]
    assert json.loads(found[0]["row"][0])["by_status"] == {"contradicted": 1}


# Py4J leaves its socket to the garbage collector; Spark warns of the pandas locked here.
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_a_table_of_spark_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_spark = names_of("on_spark")["on_spark"]
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    several = {name: column * 500 for name, column in ROWS.items()}
    several["id"] = [str(n) for n in range(1000)]
    pq.write_table(pa.table(several), tmp_path / "answers.parquet")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    local = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with local.getOrCreate() as spark:
        rows = on_spark(spark, str(tmp_path)).collect()
    assert Counter(row["outcome"] for row in rows) == {"flagged": 500, "grounded": 500}
    assert {row["id"] for row in rows} == set(several["id"])


def test_a_table_of_daft_is_checked(tmp_path: Path) -> None:
    on_daft = names_of("on_daft")["on_daft"]
    import daft

    daft.from_pydict(ROWS).write_parquet(str(tmp_path))
    rows = on_daft(f"{tmp_path}/*.parquet").to_pydict()["row"]
    assert [json.loads(row)["outcome"] for row in rows] == ["flagged", "grounded"]
