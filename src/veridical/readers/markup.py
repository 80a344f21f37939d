"""Bounds of the markup of a page: open elements, open formatting elements, options, attributes.

A parser of HTML takes quadratic time for elements nested without end, for formatting elements that
every paragraph opens anew, for the options of a list, and for the attributes of a tag. Browsers
bound the depth, too.
Tags beyond the bounds are left out, each with its end tag; no text is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_OPEN = 512
MOST_FORMATTING = 16
MOST_OPTIONS = 2000
MOST_ATTRIBUTES = 1000
FORMATTING = frozenset("a b big code em font i nobr s small strike strong tt u".split())  # noqa: SIM905 -- a paragraph of words
_PHRASES = FORMATTING | frozenset("abbr cite kbd label mark q span sub sup".split())  # noqa: SIM905 -- see above
# Elements without content, and those that the next of their kind ends.
_NEVER_NESTED = frozenset(
    """area base body br col dd dt embed head hr html img input li link meta option p param source
    td th tr track wbr""".split()  # noqa: SIM905 -- a paragraph of words
)
_RAW = frozenset("iframe noembed noframes script style textarea title xmp".split())  # noqa: SIM905 -- see above
# Ends at the end of the text at the latest, so that no character is read for two tags.
_TAG = re.compile(
    r"""<!--
      | <(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)
        (?P<rest>(?:[^>=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?)*+)(?:>|\Z)""",
    re.VERBOSE,
)
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
_BETWEEN = re.compile(r"[\s/]+")


def bounded(html: str) -> str:
    """Return a page without the tags that are beyond the bounds."""
    pieces, at = list[str](), 0
    for start, end, instead in _Tags(html).beyond():
        pieces += [html[at:start], instead]
        at = end
    return "".join([*pieces, html[at:]])


@dataclass(slots=True)
class _Tags:
    """Tags of a page in order, with the elements that are open: name, and whether it is kept."""

    html: str = field(repr=False)
    open: list[tuple[str, bool]] = field(default_factory=list)
    kept: int = 0
    formatting: int = 0
    options: int = 0

    def beyond(self) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and substitute of each tag that is beyond a bound."""
        at = 0
        while tag := _TAG.search(self.html, at):
            at, name = tag.end(), (tag["name"] or "").lower()
            if not name:
                at = self._after("-->", tag.start() + 2)
            elif not (self._ends(name) if tag["end"] else self._starts(name)):
                yield tag.start(), at, ""
            elif _has_too_many(tag["rest"]):
                yield tag.start(), at, f"<{tag['end']}{tag['name']}>"
            if name in _RAW and not tag["end"]:
                at = self._end_of_raw(name, at)

    def _starts(self, name: str) -> bool:
        """Note a start tag; return whether it is kept."""
        if name in _NEVER_NESTED:
            self.options += name == "option"
            return name != "option" or self.options <= MOST_OPTIONS
        formats = name in FORMATTING
        kept = self.kept < MOST_OPEN and not (formats and self.formatting >= MOST_FORMATTING)
        self.open.append((name, kept))
        self.kept += kept
        self.formatting += kept and formats
        return kept

    def _ends(self, name: str) -> bool:
        """Note an end tag; return whether it is kept, as all are that end nothing here.

        Only phrases may be open within what it ends: anything else may keep it from ending.
        """
        for at in range(len(self.open) - 1, max(len(self.open) - MOST_FORMATTING, 0) - 1, -1):
            if self.open[at][0] == name:
                return self._end(at)
            if self.open[at][0] not in _PHRASES:
                break
        return True

    def _end(self, at: int) -> bool:
        """End an element; formatting elements within it are opened anew behind it."""
        ended, *within = self.open[at:]
        self.open[at:] = [each for each in within if each[0] in FORMATTING]
        for name, kept in (ended, *(each for each in within if each[0] not in FORMATTING)):
            self.kept -= kept
            self.formatting -= kept and name in FORMATTING
        return ended[1]

    def _end_of_raw(self, name: str, at: int) -> int:
        """Return the place of the end tag of an element whose content is no markup."""
        found = re.compile(f"</{name}", re.IGNORECASE).search(self.html, at)
        return found.start() if found else len(self.html)

    def _after(self, mark: str, at: int) -> int:
        found = self.html.find(mark, at)
        return len(self.html) if found < 0 else found + len(mark)


def _has_too_many(attributes: str) -> bool:
    """Return whether a tag has more attributes than the bound, at a guess."""
    if len(attributes) < MOST_ATTRIBUTES:
        return False
    names = _QUOTED.sub(" ", attributes)
    return max(names.count("="), len(_BETWEEN.findall(names))) > MOST_ATTRIBUTES
