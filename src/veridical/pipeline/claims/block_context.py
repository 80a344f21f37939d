"""Surroundings of a block: the lead-in above a bullet, the list of sources around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.core.types import ClaimKind
from veridical.pipeline.claims.blocks import parse_blocks
from veridical.pipeline.claims.strip_markup import mend, without_markup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veridical.pipeline.claims.blocks import TextBlock

_SOURCES = re.compile(
    r"(?:sources?|references?|citations?|bibliography|works cited|footnotes?|further reading"
    r"|sources cited)\W*$",
    re.IGNORECASE,
)
_LAST_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MAX_LEAD_IN = 200


@dataclass(frozen=True, slots=True)
class BlockContext:
    """Block, the lead-in it continues ("The symptoms are:") and whether it lists a source."""

    block: TextBlock
    lead_in: str = field(default="", repr=False)
    in_sources: bool = False


@dataclass(frozen=True, slots=True)
class _LeadIn:
    text: str = field(repr=False)
    depth: int


def places(text: str) -> Iterator[BlockContext]:
    """Yield the blocks of `text`, each with its surroundings."""
    open_: list[_LeadIn] = []
    in_sources = False
    for block in parse_blocks(text):
        while open_ and (open_[-1].depth >= block.depth or block.kind is not ClaimKind.BULLET):
            open_.pop()
        content = block.span.of(text)[-_MAX_LEAD_IN:]
        if block.kind is ClaimKind.HEADING or _SOURCES.match(content.strip("*_: ")):
            in_sources = bool(_SOURCES.match(content.strip("*_: ")))
        yield BlockContext(block, open_[-1].text if open_ else "", in_sources)
        if content.rstrip("*_").endswith(":"):
            lead_in = mend(without_markup(_LAST_SENTENCE.split(content)[-1]))
            open_.append(_LeadIn(lead_in, block.depth))
