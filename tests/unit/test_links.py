"""Links between the project's own Markdown files, and the headings that they name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (".github", "benchmarks", "docs", "examples", "training")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^\s)>]+)>?(?: \"[^\"]*\")?\)")
HEADING = re.compile(r"^ {0,3}#{1,6} +(.*?)#* *$", re.MULTILINE)


def documents() -> list[Path]:
    """Return the project's Markdown files."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")]
    return sorted([*ROOT.glob("*.md"), *found])


def links(text: str) -> list[str]:
    """Return the targets of a document's links, without its code and what leads elsewhere."""
    prose = re.sub(r"`[^`\n]*`", "code", FENCE.sub("", text))
    return [target for target in LINK.findall(prose) if not re.match(r"[a-z]+:", target)]


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of a document; of headings alike, the later ones are numbered."""
    found: list[str] = []
    for heading in HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        name, again = anchor(heading), 1
        while name in found:
            name, again = f"{anchor(heading)}-{again}", again + 1
        found.append(name)
    return frozenset(found)


def broken(path: Path, target: str) -> bool:
    """Return whether a link of a document leads to no file, or to no heading of it."""
    name, _, fragment = unquote(target).partition("#")
    file = (path.parent / name).resolve() if name else path
    if not file.exists():
        return True
    return bool(fragment) and file.suffix == ".md" and fragment not in anchors(file)


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    targets = links(path.read_text(encoding="utf-8"))
    assert [target for target in targets if broken(path, target)] == []


def test_links_are_found_and_code_is_not() -> None:
    assert sum(len(links(path.read_text(encoding="utf-8"))) for path in documents()) > 100
    text = "[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n[g `h`](i.md#j) [k](https://l.example)"
    assert links(text) == ["b.md", "i.md#j"]


def test_a_link_to_no_file_or_no_heading_is_broken(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `two`: three\n\n## Again\n\n## Again\n", encoding="utf-8")
    wrong = ["other.md", "#four", "page.md#again-2"]
    right = ["page.md", "#one-two-three", "page.md#again", "#again-1", "./"]
    assert [target for target in [*wrong, *right] if broken(page, target)] == wrong
