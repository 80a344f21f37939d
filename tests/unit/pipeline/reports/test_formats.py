"""The table of report formats, and what reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

import veridical
from veridical.errors import InputError
from veridical.pipeline.reports import Report
from veridical.pipeline.reports.formats import FORMATS
from veridical.testing import FakeBackend, fake_estimate


@pytest.fixture(scope="module")
def report() -> Report:
    backend = FakeBackend(lambda _query: fake_estimate(0.1))
    return veridical.check("It is red [S1].", {"S1": "It is blue."}, backend=backend)


def test_the_named_methods_of_a_report_render_its_formats(report: Report) -> None:
    assert report.to_json() == report.render("json")
    assert report.to_html() == report.render("html")
    assert report.to_junit() == report.render("junit")
    assert str(report) == report.render("text")
    assert report.to_sarif() == report.render("sarif")
    assert report.to_sarif(answer_uri="a.md") == report.render("sarif", answer_uri="a.md")


def test_an_unknown_format_is_refused_with_the_known_ones(report: Report) -> None:
    with pytest.raises(InputError, match="no such report format") as caught:
        report.render("docx")
    assert all(name in caught.value.hint for name in FORMATS)


def test_names_and_suffixes_identify_a_format() -> None:
    assert len({form.suffix for form in FORMATS.values()}) == len(FORMATS)
    assert [form.name for form in FORMATS.values()] == list(FORMATS)


def test_every_format_is_documented_with_its_option() -> None:
    page = (Path(__file__).parents[4] / "docs" / "cli.md").read_text(encoding="utf-8")
    for form in FORMATS.values():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{form.name}` |")]
        assert row.endswith(f"| `{form.media_type}` |")
        assert form.printed or f"`--{form.name} OUT`" in row
