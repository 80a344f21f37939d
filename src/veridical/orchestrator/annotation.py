"""Annotation of an answer: marks at its uncertain claims, and a legend in its language."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from veridical.core.guidance import PIECES, quoted
from veridical.core.types import ClaimKind
from veridical.core.verdicts import Role, Status
from veridical.orchestrator.phrases import phrases_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.assessment import Assessment
    from veridical.core.verdicts import Verdict
    from veridical.orchestrator.phrases import Phrases

RULE = "\n\n---\n\n"
"""Line between an answer and remarks on it."""

_CLAIM_SHOWN = 120
_EVIDENCE_SHOWN = 200
_ROW = frozenset({ClaimKind.TABLE_ROW, ClaimKind.HEADING})
# No mark inside of inline code, links and images, tags and addresses.
_WHOLE = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`)[^`\n]+(?P=ticks)(?!`)"
    r"|!?\[[^\[\]\n]*\]\([^()\s]*\)"
    r"|<[^<>\n]*>"
    r"|https?://[^\s<>()|]+"
)
_CLOSING = re.compile(r"[*_~`\"'”’»)\]}]+")
_MARKUP = re.compile(r"[\\`<\[]")


def annotate(report: Assessment) -> str:
    """Return the answer with a mark at each flagged or critical claim, and a legend.

    The mark is `[!1]` where the verdict is sure, `[?2]` where it is not.

    No character of the answer is lost or moved to another place. Claims inside a block of code get
    no mark, only a line of the legend. Without such claims the answer is returned as it is.
    """
    text, flagged = report.answer, report.to_mark
    if not flagged:
        return text
    sure, unsure = _signs(text)
    marks = [f"[{sure if v.sure else unsure}{n}]" for n, v in enumerate(flagged, start=1)]
    whole = _whole_spans(text)
    places = [_place(text, verdict, whole) for verdict in flagged]
    marked = _insert(text, places, marks)
    phrases = phrases_for(text)
    legend = [
        _entry(mark, verdict, phrases, named=place is None)
        for mark, verdict, place in zip(marks, flagged, places, strict=True)
    ]
    title = phrases.one if len(flagged) == 1 else phrases.many.format(count=len(flagged))
    return f"{marked}{RULE}{title}\n\n" + "\n".join(legend)


def _signs(text: str) -> tuple[str, str]:
    """Return the signs in the marks of sure and of unsure verdicts; the text has none of them."""
    sure, unsure = "!", "?"
    while f"[{sure}" in text or f"[{unsure}" in text:
        sure, unsure = f"{sure}!", f"{unsure}?"
    return sure, unsure


def _insert(text: str, places: Sequence[int | None], marks: Sequence[str]) -> str:
    """Return the text with the marks in their places, from the end backwards."""
    marked = text
    for number, place in sorted(enumerate(places), key=_from_the_end):
        if place is not None:
            marked = marked[:place] + _fitted(marks[number], text, place) + marked[place:]
    return marked


def _from_the_end(numbered: tuple[int, int | None]) -> tuple[int, int]:
    number, place = numbered
    return (-1 if place is None else -place, -number)


def _place(text: str, verdict: Verdict, whole: Sequence[tuple[int, int]]) -> int | None:
    """Return where the mark of a claim goes; None if there is no place for it."""
    claim = verdict.claim
    if claim.kind is ClaimKind.CODE:
        return None
    line_end = text.find("\n", claim.span.end)
    line_end = len(text) if line_end < 0 else line_end
    row = text[claim.span.start : line_end].rstrip()
    if claim.kind in _ROW and row.endswith("|") and not row.endswith("\\|"):
        # Inside the last cell: behind its bar, a mark would be a cell of its own.
        return claim.span.start + len(row[:-1].rstrip())
    return _after_markup(text, claim.span.end, whole)


def _whole_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each markup that no mark may split, in order."""
    return [found.span() for found in _WHOLE.finditer(text)]


def _after_markup(text: str, place: int, whole: Sequence[tuple[int, int]]) -> int:
    """Return the first place from `place` on that is outside of any markup of its line."""
    closing = _CLOSING.match(text, place)
    place = closing.end() if closing else place
    # The spans do not overlap: only the last one before the place can reach beyond it.
    before = bisect_left(whole, (place,)) - 1
    return max(place, whole[before][1]) if before >= 0 else place


def _fitted(mark: str, text: str, place: int) -> str:
    """Return a mark spaced so that it joins no word before it and makes no link after it."""
    before, after = text[place - 1 : place], text[place : place + 1]
    glued = before.isalnum() or before in {"/", "\\", "!"}
    return (" " if glued else "") + mark + (" " if after and after in "([:" else "")


def _entry(mark: str, verdict: Verdict, phrases: Phrases, *, named: bool) -> str:
    unsure = f", {phrases.unsure}" if verdict.please_look else ""
    parts = [_status(verdict, phrases) + unsure]
    if named:
        parts[0] += f" (“{_literal(verdict.claim.text, _CLAIM_SHOWN)}”)"
    missing = [cite.id for cite in verdict.citations if not cite.resolved]
    if missing:
        cited = ", ".join(_literal(each, _CLAIM_SHOWN) for each in missing)
        parts.append(f"{phrases.no_source} {cited}")
    introduced = {
        Role.CONTRADICTS: phrases.says,
        Role.SUPPORTS: phrases.part,
        Role.NEAREST: phrases.nearest,
    }
    parts += [
        introduced[piece.role].format(
            source=_literal(piece.source, _CLAIM_SHOWN),
            text=_literal(piece.text, _EVIDENCE_SHOWN),
        )
        for piece in verdict.shown[:PIECES]
    ]
    return f"- {mark} " + "; ".join(parts)


def _status(verdict: Verdict, phrases: Phrases) -> str:
    """Return the status in words; for a supported claim to be corrected, the reason."""
    if verdict.status is Status.SUPPORTED:
        return phrases.carried_less
    return str(getattr(phrases, verdict.status.value, verdict.status.value))


def _literal(text: str, shown: int) -> str:
    """Return a text that Markdown takes as it is: no link, image, tag or code begins in it."""
    return _MARKUP.sub(r"\\\g<0>", quoted(text, shown))
