"""Splitting of blocks into sentences: nupunkt within a block, with its known errors corrected.

nupunkt reads a copy of the same length in which citation marks and overlong tokens are masked, so
that a mark after a full stop stays with the sentence it follows. Its boundaries inside quotation
marks and parentheses are dropped; boundaries of scripts it does not know are added.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.core.cancellation import checkpoint
from veridical.core.types import ClaimKind, Span
from veridical.pipeline.claims.blocks import parse_blocks
from veridical.pipeline.claims.citations import find_marks
from veridical.pipeline.claims.endings import missed_ends
from veridical.pipeline.claims.lexicon import FINITE, PREPOSITIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from veridical.pipeline.claims.blocks import TextBlock
    from veridical.pipeline.claims.citations import CitationMark

# nupunkt's time grows with the square of a token's or a window's length.
_WINDOW = 8192
# A pattern holds up all other threads until it has read its text.
_STRETCH = 65_536
_STOP = re.compile(r"(?<=[^\W\d_][.!?])\s+(?=[A-Z])|[。！？]")
_LONG_TOKEN = re.compile(r"\S{120,}")
# Longer quotations are split like any text: evidence is searched sentence by sentence.
_MAX_QUOTE = 200

_ENDER = re.compile(r"[.!?…](?![^\W⁰¹²³⁴-⁹])|[。！？｡؟۔।॥]")
_QUOTE_MARK = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_SPACE = re.compile(r"\s")
_CONFIDENCE = re.compile(r"[(\[]\s*confidence\b[^()\[\]]{0,40}[)\]]", re.IGNORECASE)
_AFTER_END = re.compile(r"[.!?…。！？][\"'”’»)*_]{0,3}\s*$")
_SPEECH_END = re.compile(r"[!?….,][\"”’»』」]$")
# "Yahoo!" is a name if the sentence goes on with its verb or a preposition.
_NAME_END = re.compile(r"(?<!\w)[A-Z]\w*!$")
_LOWER_WORD = re.compile(r"[a-z]+\b")
_GOES_ON = FINITE | PREPOSITIONS
_OPENING = {"“": "”", "«": "»", "「": "」", "『": "』", "„": "“", "(": ")", "（": "）"}
_DELIMITER = re.compile('["“”«»「」『』„()（）]')


def split_sentences(text: str) -> list[Span]:
    """Return the sentences of any text: in order, disjoint, without surrounding white space.

    Fenced code yields one span per line, tables one per row. Rules, fences and list marks belong to
    no sentence.
    """
    return [span for block in parse_blocks(text) for span in _block_sentences(text, block)]


def _block_sentences(text: str, block: TextBlock) -> Iterator[Span]:
    if block.kind is ClaimKind.CODE:
        yield from _code_lines(text, block)
    elif block.kind in {ClaimKind.TABLE_ROW, ClaimKind.HEADING}:
        yield from _stripped(text, block.span)
    else:
        yield from sentences_of(text, block)


def sentences_of(text: str, block: TextBlock, known: Collection[str] = ()) -> list[Span]:
    """Return the sentences of a block of prose."""
    stretches = _stretches(text, block.span)
    return [found for span in stretches for found in _sentences(text, span, block, known)]


def _stretches(text: str, span: Span) -> Iterator[Span]:
    """Yield a block whole, or one without end in stretches of whole sentences: units of work."""
    start = span.start
    while span.end - start > _STRETCH:
        checkpoint()
        middle, latest = start + _STRETCH // 2, start + _STRETCH
        stops = [match.end() for match in _STOP.finditer(text, middle, latest)]
        end = stops[-1] if stops else max(text.rfind(" ", middle, latest), middle)
        yield from _stripped(text, Span(start, end))
        start = end
    yield from _stripped(text, Span(start, span.end))


def _stripped(text: str, span: Span) -> Iterator[Span]:
    piece = span.of(text)
    content = piece.strip()
    if content:
        start = span.start + len(piece) - len(piece.lstrip())
        yield Span(start, start + len(content))


def _sentences(text: str, span: Span, block: TextBlock, known: Collection[str]) -> list[Span]:
    if not _ENDER.search(text, span.start, span.end - 1):
        return [span]
    prose = mask_quote_marks(text[span.start : span.end], quoted=block.quoted)
    prose = _SPACE.sub(" ", prose)
    masked = _mask_marks(prose, known)
    masked = _LONG_TOKEN.sub(lambda match: "x" * len(match[0]), masked)
    return _spans(prose, _boundaries(masked), span.start)


def mask_quote_marks(prose: str, *, quoted: bool) -> str:
    """Blank the `>` marks of a block quote's further lines."""
    if not quoted:
        return prose
    return _QUOTE_MARK.sub(lambda match: " " * len(match[0]), prose)


def _code_lines(text: str, block: TextBlock) -> Iterator[Span]:
    start = block.span.start
    for line in text[start : block.span.end].splitlines(keepends=True):
        if content := line.strip():
            left = start + len(line) - len(line.lstrip())
            yield Span(left, left + len(content))
        start += len(line)


def _mask_marks(prose: str, known: Collection[str]) -> str:
    """Blank a mark that follows an end of sentence; make any other one word."""
    pieces: list[str] = []
    done, before = 0, ""
    for span in _mark_spans(prose, known):
        if span.start < done:
            continue
        gap = prose[done : span.start]
        before = gap if gap.strip(" ,;") else before
        mask = _mask(prose, span, before)
        before = before if mask.isspace() else mask
        between = mask.isspace() and not gap.strip(" ,;")
        pieces += [" " * len(gap) if between else gap, mask]
        done = span.end
    pieces.append(prose[done:])
    return "".join(pieces)


def _mark_spans(prose: str, known: Collection[str]) -> list[Span]:
    marks = find_marks(prose, Span(0, len(prose)), known)
    spans = [span for mark in marks for span in _unread(prose, mark)]
    spans.extend(Span(*match.span()) for match in _CONFIDENCE.finditer(prose))
    return sorted(spans)


def _unread(prose: str, mark: CitationMark) -> list[Span]:
    """Return the stretches not read as prose: the mark, a link's target, an image's `!` too."""
    span = mark.span
    if not mark.words:
        return [span]
    words_end = prose.index(mark.words, span.start) + len(mark.words)
    image = [Span(span.start, span.start + 1)] if prose[span.start] == "!" else []
    return [*image, Span(words_end, span.end)]


def _mask(prose: str, span: Span, before: str) -> str:
    after = prose[span.end : span.end + 80].lstrip()
    ended = _AFTER_END.search(before[-8:]) and prose[span.start] != "]"
    if prose[span.start] == "!" or (ended and not after[:1].islower()):
        return " " * len(span)
    return "X" + "x" * (len(span) - 1)


def _boundaries(masked: str) -> list[int]:
    cuts = {*_punkt_cuts(masked), *missed_ends(masked)}
    protected = _protected(masked) if cuts else []
    kept: list[int] = []
    index = 0
    for cut in sorted(cuts):
        while index < len(protected) and protected[index].end <= cut:
            index += 1
        inside = index < len(protected) and protected[index].start < cut
        if not inside and not _goes_on(masked, cut):
            kept.append(cut)
    return kept


def _punkt_cuts(masked: str) -> Iterator[int]:
    """Yield nupunkt's boundaries, window by window."""
    from nupunkt import sent_spans

    start = 0
    while start < len(masked):
        checkpoint()
        window = masked[start : start + _WINDOW]
        cuts = [start + end for _, end in sent_spans(window)[:-1]]
        yield from cuts
        if start + _WINDOW >= len(masked):
            return
        # The last sentence of a window may go on: read it again, unless it fills the window.
        start = cuts[-1] if cuts else start + max(window.rfind(" "), _WINDOW // 2)


def _protected(masked: str) -> list[Span]:
    """Return the outermost quotations and parentheses that are closed within reach."""
    spans: list[Span] = []
    closer, start = "", 0
    for match in _DELIMITER.finditer(masked):
        mark, at = match[0], match.start()
        if closer and at - start > _MAX_QUOTE:
            closer = ""
        if closer:
            if mark == closer:
                spans.append(Span(start, at + 1))
                closer = ""
        elif _opens(masked, at, mark):
            closer, start = _OPENING.get(mark, mark), at
    return spans


def _opens(masked: str, at: int, mark: str) -> bool:
    if mark in _OPENING:
        return True
    before, after = masked[at - 1 : at], masked[at + 1 : at + 2]
    return mark == '"' and not (before.isalnum() or before in ".,!?") and not after.isspace()


def _goes_on(masked: str, cut: int) -> bool:
    """Return whether `"Really?" he asked`, `"Go." — Ann` or `Yahoo! was founded` goes on."""
    before = masked[max(0, cut - 40) : cut].rstrip()
    after = masked[cut : cut + 40].lstrip()
    word = _LOWER_WORD.match(after)
    if word and word[0] in _GOES_ON and _NAME_END.search(before):
        return True
    continues = after[:1].islower() or after[:1] in {"—", "–"}
    return continues and bool(_SPEECH_END.search(before))


def _spans(prose: str, cuts: list[int], offset: int) -> list[Span]:
    """Turn boundaries into stripped spans; one without a letter or digit joins the last."""
    spans: list[Span] = []
    start = 0
    for cut in [*cuts, len(prose)]:
        piece = prose[start:cut]
        content = piece.strip()
        left = offset + start + len(piece) - len(piece.lstrip())
        start = cut
        if not content:
            continue
        span = Span(left, left + len(content))
        if spans and not any(character.isalnum() for character in content):
            span = Span(spans.pop().start, span.end)
        spans.append(span)
    return spans
