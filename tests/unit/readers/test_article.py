"""Main text of HTML pages, as an option of reading sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from veridical.errors import DocumentError, MissingExtraError
from veridical.readers.article import article_to_text
from veridical.readers.documents import read_sources

pytest.importorskip("trafilatura")

STORY = (
    "The bridge over the river was opened in June 1998 after five years of work.",
    "It carries eight lanes, and some sixty thousand cars cross it on a working day.",
)
PAGE = f"""<!doctype html><html><head><title>Bridge</title></head><body>
<div class="menu"><a href="/">Home</a> <a href="/shop">Shop for hats</a></div>
<article><h1>The bridge</h1><p>{STORY[0]}</p><p>{STORY[1]}</p></article>
<footer>All rights reserved. Accept our cookies.</footer></body></html>"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "note.txt").write_text("Shop for hats")
    return tmp_path


def test_only_the_article_of_a_page_is_kept() -> None:
    (source,) = read_sources(["page.html"], main_text=True).sources
    assert all(sentence in source.text for sentence in STORY)
    assert "hats" not in source.text
    assert "cookies" not in source.text


def test_the_whole_page_is_read_by_default() -> None:
    (source,) = read_sources(["page.html"]).sources
    assert "Shop for hats" in source.text
    assert "cookies" in source.text


def test_other_formats_of_a_folder_stay_as_they_are() -> None:
    found = {source.id: source.text for source in read_sources(["."], main_text=True).sources}
    assert found["note.txt"] == "Shop for hats"
    assert "hats" not in found["page.html"]


@pytest.mark.parametrize("page", ["<html><body></body></html>", "<p>", "<html><div>\x00</div>"])
def test_a_page_without_an_article_is_refused(page: str) -> None:
    with pytest.raises(DocumentError, match=r"page\.html"):
        article_to_text(page, "page.html")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(MissingExtraError, match=r"veridical\[web\]"):
        read_sources(["page.html"], main_text=True)
