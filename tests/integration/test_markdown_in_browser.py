"""The page's reader of Markdown, in a browser, beside markdown-it-py on the same texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from _upstream import serving

if TYPE_CHECKING:
    from markdown_it.token import Token
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

LINES = (
    "# Title", "## Part #", "Plain with **bold** and *emphasis* [S1].", "- item one",
    "- item **two**", "  goes on", "  - nested", "1. first", "2. second", "10) tenth", "   more",
    "> quoted *text*", "> - in a quote", "```python", "x = 1 * 2", "```", "", "", "", "---", "***",
    "| a | b |", "|---|:-:|", "| 1 | `x|y` |", "| **c** | d\\|e |", "snake_case_name, 2*3*4",
    "***bold emphasis*** __strong__ _em_", "`code *plain*` after", "`` a ` b ``", "**unclosed",
    '[text](http://x.example "t") and [S2]', "![picture](img.png)", "<b>raw</b> & <https://a.b/c>",
    "~~gone~~ kept", "a\\*b\\* c", "**Bold:** rest", "* star", "+ plus", "Ends with spaces  ",
    "5 < 6 > 2", "    indented", "*a **b** c*", "**a *b* c**", "_a_b_ c", '"**quoted**", he said',
    "**한국어**는", "a**b**c", "👩‍🚀 **up**",
)  # fmt: skip

READ = """async (texts) => {
  const { blocks } = await import("/page/markdown.js");
  const leaves = (block) => block.leaves ?? block.children.flatMap(leaves);
  const flat = (text, all) => all.flatMap((block) => {
    if (block.children) {
      const inner = flat(text, block.children);
      return ["list", "quote", "table"].includes(block.kind) ? [[block.kind, []], ...inner] : inner;
    }
    const runs = block.leaves.map(({ start, end, styles }) => [
      text.slice(start, end), [...styles].sort().join()]);
    return [[block.kind, runs]];
  });
  return texts.map((text) => {
    const found = blocks(text);
    const places = found.flatMap(leaves).map(({ start, end }) => [start, end]);
    return { places, length: text.length, blocks: flat(text, found) };
  });
}"""

STYLES = {"strong": "strong", "em": "em", "s": "struck", "link": "link"}
CONTAINERS = {
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
}
LEAVES = {"heading_open": "heading", "paragraph_open": "paragraph", "th_open": "head"}


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    from fastapi import FastAPI

    from veridical.interfaces.http.page import build_page_router

    app = FastAPI()
    app.include_router(build_page_router())
    with serving(app) as url:
        opened = browser.new_page()
        opened.goto(url)
        yield opened
        opened.close()


def expected(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the blocks that markdown-it-py finds, each with its visible characters and styles."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # An entity stays as it is written, a reference is a citation, and markup of HTML is text.
    reader.disable(["entity", "html_inline", "html_block", "reference"])
    found: list[tuple[str, list[tuple[str, str]]]] = []
    kind = ""
    for token in reader.parse(text):
        if token.type in CONTAINERS:
            found.append((CONTAINERS[token.type], []))
        elif token.type in {"fence", "code_block"}:
            found.append(("code", characters([(token.content, "")])))
        elif token.type == "hr":
            found.append(("rule", []))
        elif token.type == "inline":
            found.append((kind, characters(runs(token.children or []))))
        elif token.type.endswith("_open"):
            kind = LEAVES.get(token.type, "cell")
    return found


def runs(tokens: list[Token], *around: str) -> list[tuple[str, str]]:
    styles, found = list(around), []
    for token in tokens:
        name, _, end = token.type.rpartition("_")
        if name in STYLES and end == "open":
            styles.append(STYLES[name])
        elif name in STYLES and end == "close":
            styles.pop()
        elif token.type == "image":
            found += runs(token.children or [], *styles, "link")
        else:
            own = [*styles, "code"] if token.type == "code_inline" else styles
            found.append((token.content, ",".join(sorted(set(own)))))
    return found


def characters(found: list[Any]) -> list[tuple[str, str]]:
    return [(one, styles) for text, styles in found for one in text if not one.isspace()]


def test_blocks_and_styles_are_those_of_another_reader(page: Page) -> None:
    chosen = random.Random(7)  # noqa: S311 -- texts for a test, the same each time
    texts = ["\n".join(chosen.choices(LINES, k=chosen.randint(1, 9))) for _ in range(400)]
    for text, read in zip(texts, page.evaluate(READ, texts), strict=True):
        ours = [(kind, characters(found)) for kind, found in read["blocks"]]
        theirs = expected(text)
        shown = [block for block in ours if block[1] or block[0] in {"list", "quote", "table"}]
        other = [block for block in theirs if block[1] or block[0] in {"list", "quote", "table"}]
        assert shown == other, text


def test_every_character_shown_has_its_place(page: Page) -> None:
    texts = ["\n".join(LINES), "\r\n".join(LINES), "*" * 5000, "> " * 500 + "deep", "`" * 999, ""]
    for text, read in zip(texts, page.evaluate(READ, texts), strict=True):
        at = 0
        for start, end in read["places"]:
            assert at <= start < end <= read["length"], text[:40]
            at = end


def test_reading_takes_linear_time_on_texts_made_to_be_slow(page: Page) -> None:
    timed = """async (texts) => {
      const { blocks } = await import("/page/markdown.js");
      return texts.map((text) => {
        const start = performance.now();
        blocks(text);
        return performance.now() - start;
      });
    }"""
    for part in ("*a ", "a* ", "[", "`a``", "> ", "- ", "| a ", "_a__b ", "![a](", "\\"):
        page.evaluate(timed, [part * 1000])
        small, large = page.evaluate(timed, [part * 4000, part * 32_000])
        assert large < 8 * 6 * max(small, 5), part
