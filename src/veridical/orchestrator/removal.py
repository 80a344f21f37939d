"""Removal of failing claims from an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.core.types import ClaimKind, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.core.assessment import Assessment

_NO_WORDS = re.compile(r"[\W_]*(?:\d+[.)])?[\W_]*")
"""Rest of a line without a word: blanks, markup, the sign or number of a list item."""
_PAIRED = "*_~`"


def without_failing(report: Assessment) -> str:
    """Return the answer without the claims that fail, and without lines that held nothing else.

    Code stays as it is: without a line, the rest of it would do something else.
    """
    text = report.answer
    failing = (v.claim for v in report.failing if v.claim.kind is not ClaimKind.CODE)
    for span in reversed(_disjoint(claim.span for claim in failing)):
        text = _without(text, span)
    return text


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, those that overlap as one."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start < found[-1].end:
            found[-1] = Span(found[-1].start, max(span.end, found[-1].end))
        else:
            found.append(span)
    return found


def _without(text: str, span: Span) -> str:
    """Return the text without the span, and without its lines if no other word stands there."""
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    end = len(text) if end < 0 else end
    before, after = _unpaired(text[start : span.start], text[span.end : end])
    if _NO_WORDS.fullmatch(before + after):
        return _joined(text[:start], text[end + 1 :])
    if _NO_WORDS.fullmatch(before):
        return text[:start] + before + after.lstrip(" ") + text[end:]
    return text[:start] + before.rstrip(" ") + after + text[end:]


def _unpaired(before: str, after: str) -> tuple[str, str]:
    """Return both sides without the emphasis that held the removed text only."""
    while before and after and before[-1] == after[0] and after[0] in _PAIRED:
        before, after = before[:-1], after[1:]
    return before, after


def _joined(before: str, after: str) -> str:
    """Return the lines before and after a removed one, with one blank line at most between them."""
    blank = not before or before.endswith("\n\n")
    return before + (after.lstrip("\n") if blank else after)
