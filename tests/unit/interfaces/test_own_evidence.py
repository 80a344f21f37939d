"""The checked file and reports on it are no evidence for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from veridical.errors import DocumentError, SourceError
from veridical.interfaces.cli.app import app
from veridical.readers.documents import read_sources

if TYPE_CHECKING:
    from click.testing import Result

SOURCE = "The bridge was opened to traffic in 1998."
UNTRUE = "The harbour was closed in 1907."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with an answer beside its source, and no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_THREADS", "1")
    (tmp_path / "doc.md").write_text(SOURCE)
    (tmp_path / "answer.md").write_text(UNTRUE)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_an_answer_in_a_folder_of_sources_is_skipped() -> None:
    result = run("check", "answer.md", "-s", ".")
    assert result.exit_code == 1, result.output
    assert "note: answer.md: skipped, it is what is checked" in result.stderr


def test_a_report_in_a_folder_of_sources_is_skipped_the_next_time() -> None:
    arguments = ("check", "answer.md", "-s", ".", "--html", "report.html")
    first, second = run(*arguments), run(*arguments)
    assert (first.exit_code, second.exit_code) == (1, 1)
    assert "note: report.html: skipped, the report is written there" in second.stderr


def test_a_trace_in_a_folder_of_sources_is_skipped() -> None:
    Path("answer.md").unlink()
    Path("trace.json").write_text(json.dumps([UNTRUE]))
    result = run("audit", "trace.json", "-s", ".")
    assert result.exit_code == 1, result.output
    assert "note: trace.json: skipped, it is what is checked" in result.stderr


def test_a_folder_with_the_answer_alone_holds_no_document() -> None:
    Path("doc.md").unlink()
    with pytest.raises(DocumentError, match="holds no document"):
        read_sources(["."], checked="answer.md")


@pytest.mark.parametrize("source", ["answer.md", "S1=./answer.md", "link.md", "other.md"])
def test_the_answer_is_refused_as_a_source_by_every_name(source: str) -> None:
    Path("link.md").symlink_to("answer.md")
    os.link("answer.md", "other.md")
    with pytest.raises(SourceError, match="is no source: it is what is checked"):
        read_sources([source], checked="answer.md")
    assert "answer.md" not in {each.id for each in read_sources(["."], checked="link.md").sources}


def test_a_file_that_standard_input_comes_from_is_no_evidence_for_itself() -> None:
    with Path("answer.md").open("rb") as answer:
        done = subprocess.run(
            [sys.executable, "-m", "veridical", "check", "-", "-s", "."],
            stdin=answer,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 1, done.stderr
    assert b"answer.md: skipped, it is what is checked" in done.stderr


def test_an_empty_path_is_no_source() -> None:
    result = run("check", "answer.md", "-s", "")
    assert result.exit_code == 2
    assert "error: a source has no path" in result.stderr
