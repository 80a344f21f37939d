"""A hook of MkDocs: what pages link to outside of `docs/` comes into the site, with the links.

On disk a page links to `../benchmarks/results/quotes.md`. In the site that page is at
`benchmarks/results/quotes.md`. A folder is its README, if it has one; otherwise the link goes, and
its text stays.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add what pages link to, and what that links to in turn."""
    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        for path in _linked(waiting.pop()):
            if not path.startswith("docs/") and files.get_file_from_path(path) is None:
                files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
                waiting += [path] if path.endswith(".md") else []


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Have the links of a page lead to where things are in the site."""

    def led(link: re.Match[str]) -> str:
        path = _target(page.file.src_uri, link["path"])
        if path is None:  # a folder without a page; or nothing, of which MkDocs complains
            return link["text"] if _place(page.file.src_uri, link["path"]).is_dir() else link[0]
        to = relpath(path.removeprefix("docs/"), dirname(page.file.src_uri) or ".")
        return f"[{link['text']}]({to}{link['anchor'] or ''})"

    return LINK.sub(led, markdown)


def _linked(uri: str) -> Iterator[str]:
    text = (ROOT / _on_disk(uri)).read_text(encoding="utf-8")
    yield from filter(None, (_target(uri, link["path"]) for link in LINK.finditer(text)))


def _target(uri: str, link: str) -> str | None:
    """Return the file that a link of a page means, from the root; None if there is none."""
    place = _place(uri, link)
    if place.is_dir():
        place /= "README.md"
    return place.relative_to(ROOT).as_posix() if place.is_file() else None


def _place(uri: str, link: str) -> Path:
    return ROOT / normpath(join(dirname(_on_disk(uri)), link))


def _on_disk(uri: str) -> str:
    """Return where a page of the site is in the repository."""
    return f"docs/{uri}" if (ROOT / "docs" / uri).is_file() else uri
