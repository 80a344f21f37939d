"""Readable text of an HTML page as displayed, one block element per line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from veridical.readers.markup import bounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


UNSEEN = _tags(
    "area audio canvas datalist embed head iframe link map meta nav noscript object script select "
    "source style svg template textarea track video"
)
PARAGRAPHS = _tags(
    "article aside blockquote details dl figure footer form h1 h2 h3 h4 h5 h6 header hr main "
    "ol p pre section table ul"
)
LINES = _tags(
    "address body br caption dd div dt fieldset figcaption hgroup legend li optgroup option "
    "summary tbody tfoot thead tr"
)
CELLS = frozenset({"td", "th"})
# White space in the sense of HTML: a no-break space is not among it.
SPACES = re.compile(r"[ \t\r\n\f]+")
HIDING = re.compile(r"display:none|visibility:hidden")
POWER = re.compile(r"\s*[\d+−-]+\s*")
RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
"""Digits of `sup`: as plain ones they would make another number of the one before."""


def html_to_text(html: str) -> str:
    """Return the text of a page as displayed to its reader."""
    root = LexborHTMLParser(bounded(html)).root
    return "" if root is None else _Walk().text_of(root)


@dataclass(slots=True)
class _Writer:
    """Collector of text; breaks, spaces and list markers wait until text follows."""

    out: list[str] = field(default_factory=list, repr=False)
    breaks: int = 0
    space: bool = False
    marker: str = ""

    def break_(self, count: int) -> None:
        self.breaks = max(self.breaks, count)

    def words(self, text: str) -> None:
        """Write text whose white space collapses."""
        squeezed = SPACES.sub(" ", text)
        self.space |= squeezed.startswith(" ")
        if stripped := squeezed.strip(" "):
            self.verbatim(stripped)
            self.space = squeezed.endswith(" ")

    def verbatim(self, text: str) -> None:
        """Write text as it is, after pending breaks and spaces."""
        if self.breaks and self.out:
            self.out.append("\n" * self.breaks)
        elif self.space and self.out:
            self.out.append(" ")
        self.out += [self.marker, text]
        self.breaks, self.space, self.marker = 0, False, ""

    def drop_last_newline(self) -> None:
        if self.out:
            self.out[-1] = self.out[-1].removesuffix("\n")


@dataclass(slots=True)
class _Walk:
    """Tree walk with a stack of its own: pages nest deeper than Python's recursion goes."""

    writer: _Writer = field(default_factory=_Writer)
    stack: list[LexborNode | Callable[[], None]] = field(default_factory=list)
    lists: int = 0
    pre: int = 0
    sup: int = 0
    cell: int = 0
    first_cell: bool = True

    def text_of(self, root: LexborNode) -> str:
        self.stack.append(root)
        while self.stack:
            item = self.stack.pop()
            if callable(item):
                item()
            elif item.is_text_node:
                self._text(item.text_content or "")
            elif item.is_element_node and not _hidden(item):
                self._element(item)
        return "".join(self.writer.out)

    def _text(self, text: str) -> None:
        if self.sup and POWER.fullmatch(text):
            text = text.translate(RAISED)
        if self.pre and not self.cell:
            self.writer.verbatim(text)
        else:
            self.writer.words(text)

    def _element(self, node: LexborNode) -> None:
        tag = node.tag or ""
        self._open(tag, node)
        self.stack.append(lambda: self._close(tag))
        self.stack.extend(reversed(list(node.iter(include_text=True))))

    def _open(self, tag: str, node: LexborNode) -> None:
        self._break(tag)
        if tag in {"ul", "ol"}:
            self.lists += 1
        elif tag == "li":
            self.writer.marker = "  " * max(self.lists - 1, 0) + "- "
        elif tag == "pre":
            self.pre += 1
        elif tag == "sup":
            self.sup += 1
        elif tag == "tr":
            self.first_cell = True
        elif tag in CELLS:
            self._open_cell(node)

    def _open_cell(self, node: LexborNode) -> None:
        # A table inside a cell means that the outer one is layout: its rows stay apart.
        if node.css_first("table") is not None:
            self.stack.append(self._next_cell_is_first)
            return
        if not self.first_cell:
            self.writer.space = True
            self.writer.verbatim("|")
            self.writer.space = True
        self.first_cell = False
        self.cell += 1
        self.stack.append(self._close_cell)

    def _close_cell(self) -> None:
        self.cell -= 1

    def _next_cell_is_first(self) -> None:
        self.first_cell = True
        self.writer.break_(1)

    def _close(self, tag: str) -> None:
        self._break(tag)
        if tag in {"ul", "ol"}:
            self.lists -= 1
        elif tag == "pre":
            self.pre -= 1
            self.writer.drop_last_newline()
        elif tag == "sup":
            self.sup -= 1
        elif tag == "li":
            self.writer.marker = ""

    def _break(self, tag: str) -> None:
        if self.cell:
            self.writer.space |= tag in PARAGRAPHS or tag in LINES
        elif tag in PARAGRAPHS:
            self.writer.break_(1 if self.lists and tag in {"ul", "ol"} else 2)
        elif tag in LINES:
            self.writer.break_(1)


def _hidden(node: LexborNode) -> bool:
    if node.tag in UNSEEN:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    style = (attributes.get("style") or "").lower().replace(" ", "")
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or HIDING.search(style) is not None
    )
