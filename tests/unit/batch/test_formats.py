"""Reading of row files: JSONL, CSV and Parquet give the same rows; damage is a row or an error."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from datetime import date
from pathlib import Path

import pytest

from veridical.batch import formats
from veridical.batch.formats import rows_of
from veridical.batch.inputs import find_files, read_rows
from veridical.batch.rows import AnyRow, BatchRow, FaultName, FaultyRow, parse_row
from veridical.errors import ConfigurationError, DocumentError, MissingExtraError

ROWS = [
    {"id": "a", "answer": "One.\nTwo, \u2028 three.", "sources": [{"id": "S", "text": "One."}]},
    {"id": "b", "answer": "Two.", "sources": ["One.", "Two."], "question": "Which?"},
]


def jsonl(rows: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "answer", "sources", "question"])
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"sources": json.dumps(row["sources"])})


def faults(path: Path) -> list[FaultName | None]:
    return [row.name if isinstance(row, FaultyRow) else None for row in rows_of(path)]


def texts(rows: list[AnyRow]) -> list[tuple[object, ...]]:
    assert all(isinstance(row, BatchRow) for row in rows)
    return [(row.id, row.text, row.sources, row.question) for row in rows]  # type: ignore[union-attr]


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("name", ["r.jsonl", "r.ndjson", "r.JSONL", "r.jsonl.gz"])
def test_jsonl_is_read_plain_and_gzipped(tmp_path: Path, name: str, start: bytes) -> None:
    data = start + jsonl(ROWS) + b"\n\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert list(rows_of(tmp_path / name)) == [parse_row(row) for row in ROWS]


def test_csv_holds_the_rows_of_jsonl(tmp_path: Path) -> None:
    write_csv(tmp_path / "r.csv", ROWS)
    rows = list(rows_of(tmp_path / "r.csv"))
    assert texts(rows) == texts([parse_row(row) for row in ROWS])


def test_a_cell_that_is_no_json_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("id,claim,evidence\n1,One.,One.\n2,Two.,[sic] Two.\n")
    first, second = rows_of(tmp_path / "r.csv")
    assert isinstance(first, BatchRow)
    assert isinstance(second, BatchRow)
    assert [source.text for source in (*first.sources, *second.sources)] == ["One.", "[sic] Two."]


def test_a_damaged_line_is_a_fault_among_good_rows(tmp_path: Path) -> None:
    good = jsonl(ROWS[:1])
    (tmp_path / "r.jsonl").write_bytes(
        good + b'{"id": \n\xff\xfe\n' + b"[" * 100_000 + b"\n" + b"9" * 5000 + b"\n[]\n" + good
    )
    unreadable = [FaultName.UNREADABLE] * 4
    assert faults(tmp_path / "r.jsonl") == [None, *unreadable, FaultName.NOT_A_ROW, None]


def test_a_line_that_is_too_long_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "LONGEST_LINE", 200)
    good = jsonl(ROWS[1:])
    (tmp_path / "r.jsonl").write_bytes(good + b"x" * 1000 + b"\n" + good)
    assert faults(tmp_path / "r.jsonl") == [None, FaultName.UNREADABLE, None]


def test_a_csv_row_of_another_width_or_encoding_is_a_fault(tmp_path: Path) -> None:
    rows = b"id,claim,evidence\n1,a,b\n2,a\n3,\xff,b\n4,a,b\n"
    (tmp_path / "r.csv").write_bytes(rows)
    bad = [FaultName.UNREADABLE, FaultName.BAD_TEXT]
    assert faults(tmp_path / "r.csv") == [None, *bad, None]


def test_quotes_within_a_csv_cell_are_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text('id,claim,evidence\n1,a "b" c,"d, ""e"""\n')
    (row,) = rows_of(tmp_path / "r.csv")
    assert isinstance(row, BatchRow)
    assert (row.text, row.sources[0].text) == ('a "b" c', 'd, "e"')


@pytest.mark.parametrize("last", ["", '3,"x",b\n'])
def test_a_csv_quote_that_is_not_closed_is_a_fault(tmp_path: Path, last: str) -> None:
    (tmp_path / "r.csv").write_text(f'id,claim,evidence\n0,a,b\n1,a,"b\n2,a,b\n{last}')
    assert faults(tmp_path / "r.csv") == [None, FaultName.UNREADABLE]


@pytest.mark.parametrize("quote", ["", '"'], ids=["bare", "quoted"])
def test_a_csv_line_that_is_too_long_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quote: str
) -> None:
    monkeypatch.setattr(formats, "LONGEST_LINE", 200)
    long = f"1,a,{quote}{'x' * 1000}{quote}\n"
    (tmp_path / "r.csv").write_text(f'id,claim,evidence\n0,a,b\n{long}2,a,b\n3,"a,b\n')
    _, found, _, broken = rows_of(tmp_path / "r.csv")
    assert isinstance(found, FaultyRow)
    assert isinstance(broken, FaultyRow)
    assert found.detail == "line 3: the line has more than 200 bytes"
    assert broken.detail.startswith("line 5: ")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("r.csv", b"claim\nx\n", "names no column 'id'"),
        ("r.csv", b"id,claim,evidence,claim\n1,a,b,c\n", "the column 'claim' more than once"),
        ("r.csv", b"id,claim,evidence\r1,a,b\r", "lines end in LF or CR LF"),
        ("r.jsonl", gzip.compress(jsonl(ROWS))[:-20], "damaged gzip"),
        ("r.txt", b"", "no known suffix"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, data: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DocumentError, match=says):
        list(read_rows(find_files([str(tmp_path / name)], tmp_path / "out")))


def test_files_folders_and_globs_are_read_in_order_without_the_output(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/1.jsonl", "b/x.txt", "b/.h/3.jsonl", "b/out/rows.jsonl", "a.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("id,claim\n" if name.endswith("csv") else "")
    given = [f"{tmp_path}/b", f"{tmp_path}/*.csv"]
    found = find_files(given, tmp_path / "b" / "out")
    assert [path.relative_to(tmp_path).as_posix() for path in found] == [
        "b/1.jsonl",
        "b/2.jsonl",
        "a.csv",
    ]
    assert find_files([*given, f"{tmp_path}/b/out"], tmp_path / "b" / "out") == found
    with pytest.raises(DocumentError, match="no file of rows"):
        find_files([f"{tmp_path}/nothing*"], tmp_path / "out")
    with pytest.raises(ConfigurationError, match="more than once"):
        find_files([f"{tmp_path}/a.csv", f"{tmp_path}/*.csv"], tmp_path / "out")


def test_parquet_without_its_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match="pyarrow") as raised:
        find_files([str(tmp_path / "r.parquet")], tmp_path / "out")
    assert "veridical[parquet]" in raised.value.hint


def test_parquet_holds_the_rows_of_jsonl(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"id": "a", "claim": "One.", "evidence": [("S", "One.")], "other": 1},
        {"id": "b", "claim": "Two.", "evidence": [("1", "One."), ("2", "Two.")], "other": 2},
    ]
    kind = pyarrow.map_(pyarrow.string(), pyarrow.string())
    columns = [("id", pyarrow.string()), ("claim", pyarrow.string()), ("evidence", kind)]
    schema = pyarrow.schema([*columns, ("other", pyarrow.int64())])
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema), tmp_path / "r.parquet")
    found = list(rows_of(tmp_path / "r.parquet"))
    wanted = [{**row, "evidence": dict(row["evidence"])} for row in rows]  # type: ignore[arg-type]
    assert texts(found) == texts([parse_row(row) for row in wanted])
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    with pytest.raises(DocumentError, match="not a Parquet file"):
        list(rows_of(tmp_path / "r.parquet"))


def test_parquet_structs_have_only_the_sources_of_their_row(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"id": "a", "answer": "One.", "sources": {"S1": "One."}},
        {"id": "b", "answer": "Two.", "sources": {"S2": "Two."}},
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "r.parquet")
    assert list(rows_of(tmp_path / "r.parquet")) == [parse_row(row) for row in rows]


def test_parquet_keys_that_are_no_texts_become_texts(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    kind = pyarrow.map_(pyarrow.date32(), pyarrow.string())
    columns: dict[str, object] = {"id": ["a"], "claim": ["One."], "evidence": ["One."]}
    columns["meta"] = pyarrow.array([[(date(2020, 1, 1), "x")]], type=kind)
    parquet.write_table(pyarrow.table(columns), tmp_path / "r.parquet")
    (found,) = rows_of(tmp_path / "r.parquet")
    assert found.meta == {"2020-01-01": "x"}
