from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import ConfigurationError, DocumentError
from veridical.evaluation.dataset import Dataset, read_datasets

Record = Callable[..., dict[str, Any]]
Write = Callable[..., Path]
SHARED = Path(__file__).parents[4] / "shared" / "data" / "dev"


def read(path: Path) -> Dataset:
    (dataset,) = read_datasets([path])
    return dataset


def test_plain_and_gzipped_files_are_the_same_data(write: Write, record: Record) -> None:
    rows = [record(n) for n in range(5)]
    plain, packed = read_datasets([write("a.jsonl", *rows), write("b.jsonl.gz", *rows)])
    assert (plain.rows, plain.fingerprint) == (packed.rows, packed.fingerprint)
    assert [plain.name, packed.name] == ["a.jsonl", "b.jsonl.gz"]


def test_blank_lines_and_a_byte_order_mark_are_ignored(
    tmp_path: Path, write: Write, record: Record
) -> None:
    data = write("a.jsonl", record(1), "", record(2)).read_bytes()
    (tmp_path / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert len(read(tmp_path / "b.jsonl").rows) == 2


def test_skipped_rows_are_counted_by_reason(write: Write, record: Record) -> None:
    rows = [
        record(1),
        record(2, evidence=""),
        record(3, extra={"ambiguous": True}),
        record(4, evidence=[]),
    ]
    dataset = read(write("a.jsonl", *rows))
    assert (len(dataset.rows), dict(dataset.skipped)) == (1, {"no_evidence": 2, "ambiguous": 1})


def test_every_malformed_row_of_every_file_is_named(write: Write, record: Record) -> None:
    first = write("a.jsonl", record(1), "{SECRET", record(3, label=None))
    second = write("b.jsonl.gz", record(1), record(1))
    with pytest.raises(DocumentError) as caught:
        read_datasets([first, second])
    assert caught.value.message.split("\n") == [
        "3 problems in the data",
        "a.jsonl, line 2: is not valid JSON",
        "a.jsonl, line 3: key 'label' must be 'supported' or 'not_supported'",
        "b.jsonl.gz, line 2: has the id of line 1",
    ]


def test_a_long_list_of_problems_is_cut_and_counted(write: Write) -> None:
    with pytest.raises(DocumentError, match=r"100 problems[\s\S]*and 80 more"):
        read(write("a.jsonl", *["{"] * 100))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x1f\x8b broken", "cannot read a.jsonl: "),
        (b"\x1f\x8b\x08\x00", "cannot read a.jsonl: damaged gzip"),
        (b'{"id": "\xff"}', "a.jsonl is not UTF-8 at byte 8"),
    ],
)
def test_a_damaged_file_is_a_named_error(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    with pytest.raises(DocumentError, match=message):
        read(tmp_path / "a.jsonl")


def test_a_missing_file_and_a_folder_are_named_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.jsonl", tmp_path):
        with pytest.raises(DocumentError, match="cannot read"):
            read(path)


def test_files_of_the_same_name_are_told_apart_by_their_paths(
    tmp_path: Path, write: Write, record: Record
) -> None:
    path = write("a.jsonl", record(1))
    (tmp_path / "sub").mkdir()
    other = tmp_path / "sub" / "a.jsonl"
    other.write_bytes(path.read_bytes())
    assert [d.name for d in read_datasets([path, other])] == [path.as_posix(), other.as_posix()]


def test_a_file_given_twice_is_refused(write: Write, record: Record) -> None:
    path = write("a.jsonl", record(1))
    with pytest.raises(ConfigurationError, match="more than once"):
        read_datasets([path, path.parent / "." / "a.jsonl"])


def test_a_sample_is_repeatable_in_file_order_and_part_of_a_larger_one(
    write: Write, record: Record
) -> None:
    dataset = read(write("a.jsonl", *(record(n) for n in range(50))))
    small, large = dataset.sample(10, 3), dataset.sample(20, 3)
    assert len(small.rows) == 10
    assert small.rows == dataset.sample(10, 3).rows
    assert small.rows != dataset.sample(10, 4).rows
    assert [row for row in large.rows if row in small.rows] == list(small.rows)
    assert [row for row in dataset.rows if row in small.rows] == list(small.rows)


@pytest.mark.parametrize("limit", [None, 3, 4])
def test_a_sample_of_everything_is_everything(
    write: Write, record: Record, limit: int | None
) -> None:
    dataset = read(write("a.jsonl", *(record(n) for n in range(3))))
    assert dataset.sample(limit, 0) == dataset


def test_the_procedural_set_is_read() -> None:
    path = SHARED / "procedural_dev.jsonl.gz"
    if not path.is_file() and not os.environ.get("CI"):
        pytest.skip("the shared data is not beside this clone")
    dataset = read(path)
    assert len(dataset.rows) + sum(dataset.skipped.values()) == 52
    assert any(row.cites for row in dataset.rows)
