"""Footnote and link definitions: the sources of labels such as `[^1]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.pipeline.claims.blocks import parse_blocks
from veridical.pipeline.claims.citations import find_marks, looks_like_id

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from veridical.pipeline.claims.blocks import TextBlock


@dataclass(frozen=True, slots=True)
class Footnotes:
    """Mapping of labels to ids; a label that is the id of a source maps to itself."""

    targets: Mapping[str, tuple[str, ...]]

    def resolve(self, label: str) -> tuple[str, ...]:
        """Return the ids of `label`."""
        return self.targets.get(label, (label,))


def read_footnotes(text: str, known: Collection[str]) -> Footnotes:
    """Return the definitions that name nothing but sources."""
    if "]:" not in text:
        return Footnotes({})
    targets: dict[str, tuple[str, ...]] = {}
    for block in parse_blocks(text):
        if block.label and block.label not in known and (ids := _ids(text, block, known)):
            targets[block.label] = ids
    return Footnotes(targets)


def _ids(text: str, block: TextBlock, known: Collection[str]) -> tuple[str, ...]:
    content = block.span.of(text).strip("<>. ")
    if content in known or looks_like_id(content):
        return (content,)
    marks = find_marks(text, block.span, known)
    covered = sum(len(mark.span) for mark in marks)
    only_marks = covered >= len(content) - len(marks)
    return tuple(ref.id for mark in marks for ref in mark.refs) if only_marks else ()
