"""`veridical show`: reports rendered again out of their documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import veridical
from veridical.core.measurements import Measurement, Query
from veridical.core.types import Source
from veridical.interfaces.cli.app import app
from veridical.pipeline.reports import Report
from veridical.pipeline.reports.formats import FORMATS
from veridical.testing import FakeBackend, fake_estimate

if TYPE_CHECKING:
    from click.testing import Result

ANSWER = "The bridge opened in 1998 [S1]. SECRET has six lanes [S1].\n"
SOURCE = "The bridge was opened in 1998.\nIt has eight lanes.\n"


def judged(query: Query) -> Measurement:
    return fake_estimate(0.02, 0.95) if "six" in query.claim else fake_estimate(0.97)


def made(answer: str = ANSWER) -> Report:
    source = Source("S1", SOURCE, "source.txt")
    return veridical.check(answer, [source], backend=FakeBackend(judged))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with a report and its texts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answer.md").write_text(ANSWER)
    (tmp_path / "source.txt").write_text(SOURCE)
    (tmp_path / "report.json").write_text(made().to_json())
    return tmp_path


def show(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["show", *arguments], input=stdin)


TEXTS = ("--answer", "answer.md", "--source", "S1=source.txt")
FILES = [form for form in FORMATS.values() if not form.printed]


def test_a_report_with_its_texts_is_that_of_the_check() -> None:
    files = [word for form in FILES for word in (f"--{form.name}", f"out.{form.suffix}")]
    result = show("report.json", *TEXTS, *files)
    assert (result.exit_code, result.stderr) == (1, "")
    assert "SECRET has six lanes [S1]. ✗c2" in result.stdout
    assert "S1, line 2" in result.stdout
    told = made()
    for form in FILES:
        written = Path(f"out.{form.suffix}").read_text()
        expected = told.render(form.name, answer_uri="answer.md")
        assert without_time(written) == without_time(expected), form.name


def without_time(text: str) -> str:
    """Return a report without the figures that differ from one run to the next."""
    return re.sub(r'time="[\d.]+"|[\d,]+ ms|"?latency_ms"?[^,\n<]*', "", text)


@pytest.mark.parametrize(
    "sources", [[{"id": "S1", "text": SOURCE, "name": "source.txt"}], {"S1": SOURCE}]
)
def test_a_report_saved_with_its_texts_shows_them(sources: object) -> None:
    document = json.loads(Path("report.json").read_text())
    saved = {"schema": "veridical.page/1", "question": "Which?", "answer": ANSWER, "marks": {}}
    saved |= {"sources": sources, "report": document}
    Path("check.json").write_text(json.dumps(saved))
    result = show("check.json", "--html", "page.html")
    assert "SECRET has six lanes [S1]. ✗c2" in result.stdout
    assert "S1, line 2" in result.stdout
    page = Path("page.html").read_text()
    assert "Which?" in page
    assert ("source.txt" in page) is isinstance(sources, list)


@pytest.mark.parametrize(
    "sources", [3, "x", [], None, {"S1": 3}, [[]], [{"name": "a"}], {"S1": "Other."}]
)
def test_malformed_texts_beside_a_report_are_left_out_or_named(sources: object) -> None:
    document = json.loads(Path("report.json").read_text())
    Path("check.json").write_text(json.dumps({"report": document, "sources": sources}))
    result = show("check.json")
    assert "internal error" not in result.stderr
    assert result.exit_code == 1 or "error: " in result.stderr


def test_json_prints_the_document_itself() -> None:
    assert json.loads(show("report.json", "--json").stdout) == json.loads(
        Path("report.json").read_text()
    )


def test_a_report_without_its_texts_has_offsets_and_no_empty_answer() -> None:
    result = show("report.json", "--html", "page.html")
    assert result.exit_code == 1
    assert "\nAnswer\n" not in result.stdout
    assert "S1, characters 31-50" in result.stdout
    assert "read back without its answer" in Path("page.html").read_text()


def test_a_report_comes_from_a_pipe() -> None:
    result = show("-", "--quiet", stdin=Path("report.json").read_text())
    assert (result.exit_code, result.output) == (1, "")


@pytest.mark.parametrize(
    ("answer", "code"), [("It opened in 1998 [S1].", 0), ("Is it blue?", 3), (ANSWER, 1)]
)
def test_the_exit_code_is_that_of_the_check(answer: str, code: int) -> None:
    Path("report.json").write_text(made(answer).to_json())
    assert show("report.json", "--quiet").exit_code == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report.json", "--answer", "source.txt"), "is not the one that the report is about"),
        (("report.json", "--source", "S1=answer.md"), "is not the one that the report is about"),
        (("report.json", "--answer", "gone.md"), "there is no file gone.md"),
        (("gone.json",), "there is no file gone.json"),
        (("-", "--answer", "-"), "standard input is asked for 2 times"),
        (("report.json", "--html", "report.json"), "is read as an input or written twice"),
    ],
)
def test_wrong_use_is_named(arguments: tuple[str, ...], message: str) -> None:
    Path("source.txt").write_text("It is.")
    result = show(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "SECRET" not in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "The committee met in March, and SECRET things were said about the new budget there.",
        "It was the day that it has been said of that six of them had it all and has none",
        ANSWER.replace("SECRET has six lanes [S1]", "Nobody knew where they went"),
    ],
)
def test_another_answer_is_refused(text: str) -> None:
    Path("answer.md").write_text(text)
    result = show("report.json", *TEXTS)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"a text of {len(text)} characters is not the one" in result.stderr


@pytest.mark.parametrize(
    "answer",
    [
        "I am 90% sure that the bridge opened in 1998.",
        "| year | lanes of the bridge |\n|---|---|\n| 1998 | 6 |\n| 2001 | 8 |\n",
        "Four values of a row are never changed by it:\n\n- policy\n- digest\n- model\n- id\n",
        "**The** bridge <b>op</b>ened\u00a0in 1998; it has 5\u2009km of “ﬁne” lanes.",
        "桥于1998年通车。它有六条车道。",
    ],
)
def test_an_answer_whose_claims_are_other_words_is_the_reports(answer: str) -> None:
    Path("report.json").write_text(made(answer).to_json())
    Path("answer.md").write_text(answer)
    assert show("report.json", *TEXTS, "--quiet").stderr == ""


def test_sources_are_refused_if_the_report_names_none_of_them() -> None:
    result = show("report.json", "--source", "S7=source.txt")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the report names other sources" in result.stderr
    Path("other.txt").write_text("It was not read.")
    more = show("report.json", *TEXTS, "--source", "S7=other.txt", "--quiet")
    assert (more.exit_code, more.stderr) == (1, "")


@pytest.mark.parametrize("content", [" ", "{", "[]", "null", '{"schema": "other/1"}', "[" * 99999])
def test_any_other_file_is_a_named_error(content: str) -> None:
    Path("report.json").write_text(content)
    ensure_named(show("report.json"))


def ensure_named(result: Result) -> None:
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert "\nhint: " in result.stderr
    assert "Traceback" not in result.stderr


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 -- JSON
    """Return the path to every value in a document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [
        path
        for key, one in pairs
        for path in [(*place, key), *(places(one, (*place, key)) if holds(one) else [])]
    ]


def holds(value: object) -> bool:
    return isinstance(value, dict | list)


DOCUMENT: dict[str, Any] = json.loads(made().to_json())


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(places(DOCUMENT)), st.sampled_from([None, -1, 1e99, "x", [], {}, True]))
def test_a_damaged_report_is_shown_or_named_and_never_a_crash(
    place: tuple[Any, ...], value: object
) -> None:
    document = json.loads(json.dumps(DOCUMENT))
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    Path("report.json").write_text(json.dumps(document))
    result = show("report.json", *TEXTS, "--verbose")
    assert "internal error" not in result.stderr
    if result.exit_code == 2:
        ensure_named(result)
