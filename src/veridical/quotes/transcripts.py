"""Transcripts and their turns, and parsers for the supported formats.

`parse_transcript` returns a text and its turns; offsets of quotes count in that text. Plain text
and text with labels stay as they are. From the other formats a text with labels is made, one turn
after the other, because times and markup between two words would keep a quote of both from being
found.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from itertools import groupby, zip_longest
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from veridical.core.strict_json import strict_json
from veridical.core.types import Span
from veridical.errors import EvidenceJSONError, TextError, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence


class TranscriptKind(StrEnum):
    """Format of a transcript."""

    PLAIN = "plain"
    """No turns."""
    LABELS = "labels"
    """`Name: text` or `[name] text`; a line without a label continues the turn."""
    JSON = "json"
    """`[{"speaker": ..., "text": ...}]`, or an object with that list under `turns`."""
    VTT = "vtt"
    """WebVTT; the speaker is in `<v Name>` or a label."""
    SRT = "srt"
    """SubRip; the speaker is in a label."""
    CSV = "csv"
    """Tab separated with a head, columns `speaker` and `value` (`text`), as in DAIC-WOZ."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive words of one speaker: `span` in the text, without the label."""

    speaker: str
    span: Span


@dataclass(frozen=True, slots=True)
class Timing:
    """Time at which a part of the text is said, in seconds from the beginning of the recording."""

    span: Span
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Transcript:
    """Text and its turns, in order; without turns it is plain text.

    `timings` are those of WebVTT, SubRip and DAIC-WOZ files, in the order of the text.
    """

    text: str = field(repr=False)
    turns: tuple[Turn, ...] = ()
    kind: TranscriptKind = TranscriptKind.PLAIN
    timings: tuple[Timing, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"Transcript({self.kind}, {len(self.text)} characters, {len(self.turns)} turns)"

    def speaker_of(self, span: Span) -> str | None:
        """Return who says a part of the text; None if unknown, or if several do."""
        names = {turn.speaker for turn in overlapping(self.turns, span)}
        return names.pop() or None if len(names) == 1 else None

    def times_of(self, span: Span) -> tuple[float, float] | None:
        """Return when the entries of a part of the text begin and end, in seconds.

        None if the time of its first or its last entry is unknown.
        """
        found = overlapping(self.timings, span)
        if not found or span.start < found[0].span.start or span.end > found[-1].span.end:
            return None
        return found[0].start_s, found[-1].end_s


_Placed = TypeVar("_Placed", Turn, Timing)


def overlapping(parts: Sequence[_Placed], span: Span) -> list[_Placed]:
    """Return the turns or timings that a span overlaps; they are in order."""
    first = max(bisect_right(parts, span.start, key=lambda part: part.span.start) - 1, 0)
    found = []
    for part in map(parts.__getitem__, range(first, len(parts))):
        if part.span.start >= span.end:
            break
        if part.span.overlaps(span):
            found.append(part)
    return found


class _Said(NamedTuple):
    """Entry of a structured transcript; without a speaker if none is named."""

    speaker: str
    text: str
    times: tuple[float, float] | None = None


def parse_transcript(text: str, kind: TranscriptKind | str | None = None) -> Transcript:
    """Return the transcript in `text`; its kind is detected from its beginning, unless given.

    `TranscriptError` names the place of a syntax error, `TextError` if it is no text.
    """
    require_text(text, "a transcript", "Decode bytes first; pass a str")
    chosen = _kind(kind) if kind is not None else _detected(text)
    if chosen is TranscriptKind.PLAIN:
        return plain(text)
    if chosen is TranscriptKind.LABELS:
        return Transcript(text, _labelled_turns(text), chosen)
    said = [each for each in _READERS[chosen](text.removeprefix("\ufeff")) if each.text]
    if not said:
        msg = f"the {chosen} transcript holds no turn"
        raise TranscriptError(msg, hint="Pass kind='plain' for a text without turns")
    return _written_out(said, chosen)


def plain(text: str) -> Transcript:
    """Return a text as a transcript without turns; `TextError` if it is none."""
    require_text(text, "a source of quotes", "Decode bytes first; pass a str")
    return Transcript(text)


def require_text(text: object, what: str, hint: str) -> None:
    """Raise `TextError` unless `text` is a string; an empty one is."""
    if not isinstance(text, str):
        msg = f"{what} must be text, not {type(text).__name__}"
        raise TextError(msg, hint=hint)


def _kind(kind: str) -> TranscriptKind:
    try:
        return TranscriptKind(kind)
    except ValueError:
        pass
    msg = "there is no such kind of transcript"
    raise TranscriptError(msg, hint=f"Choose one of {', '.join(TranscriptKind)}")


# --- which format ----------------------------------------------------------------------------

_SPEAKER = r"[^\W\d_][\w.'’-]{0,24}+(?:[ ][\w.'’-]{1,24}+){0,2}"
LABEL = re.compile(
    rf"""^\ufeff?[ \t]*+(?:(?P<name>{_SPEAKER})[ ]?:(?:[ \t]++|(?=\r?$))
                  |\[(?P<bracketed>{_SPEAKER})\][ \t]++)""",
    re.VERBOSE | re.MULTILINE,
)
_TIME = r"(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_CUE = re.compile(rf"\s*({_TIME})[ \t]+-->[ \t]+({_TIME})(?:[ \t].*)?")
_STARTS = {
    TranscriptKind.VTT: re.compile(r"WEBVTT(?:[ \t\r\n]|\Z)"),
    TranscriptKind.SRT: re.compile(rf"\s*\d+[ \t]*\r?\n{_TIME}[ \t]+-->"),
    TranscriptKind.JSON: re.compile(
        r'\s*(?:\[\s*\{|\{\s*"(?:turns"\s*:|[\s\S]*?"turns"\s*:\s*\[))'
    ),
}


def _detected(text: str) -> TranscriptKind:
    start = text.removeprefix("\ufeff")
    for kind, pattern in _STARTS.items():
        if pattern.match(start):
            return kind
    if _columns(start.partition("\n")[0]):
        return TranscriptKind.CSV
    first = LABEL.match(start.lstrip())
    if first is None:
        return TranscriptKind.PLAIN
    # One label may be a heading such as "Note:"; in a conversation a speaker has two turns.
    names = [_name(label) for label in LABEL.finditer(text)]
    return TranscriptKind.LABELS if len(set(names)) < len(names) else TranscriptKind.PLAIN


# --- text with labels ------------------------------------------------------------------------


def _name(label: re.Match[str]) -> str:
    return (label["name"] or label["bracketed"]).strip()


def _labelled_turns(text: str) -> tuple[Turn, ...]:
    labels = list(LABEL.finditer(text))
    turns = []
    for label, following in zip_longest(labels, labels[1:]):
        said = text[label.end() : following.start() if following else len(text)]
        start = label.end() + len(said) - len(said.lstrip())
        turns.append(Turn(_name(label), Span(start, max(start, label.end() + len(said.rstrip())))))
    return tuple(turns)


def _written_out(said: Iterable[_Said], kind: TranscriptKind) -> Transcript:
    """Return a text with labels and its turns; consecutive entries of a speaker are one turn."""
    # Subtitles break sentences anywhere; the entries of the other formats are utterances.
    between = " " if kind in {TranscriptKind.VTT, TranscriptKind.SRT} else "\n"
    pieces, turns, timings, at = list[str](), list[Turn](), list[Timing](), 0
    for speaker, entries in groupby(said, key=lambda each: each.speaker):
        label = f"{speaker}: " if speaker else ""
        start = at = at + len(label)
        texts = []
        for entry in entries:
            if entry.times is not None:
                timings.append(Timing(Span(at, at + len(entry.text)), *entry.times))
            texts.append(entry.text)
            at += len(entry.text) + 1  # `between` and the end of a line are one character
        turns.append(Turn(speaker, Span(start, at - 1)))
        pieces.append(f"{label}{between.join(texts)}")
    return Transcript("\n".join(pieces), tuple(turns), kind, tuple(timings))


# --- JSON ------------------------------------------------------------------------------------


def _from_json(text: str) -> Iterator[_Said]:
    try:
        found = strict_json(text)
    except EvidenceJSONError as error:
        reason = error.message
    else:
        turns = found.get("turns") if isinstance(found, dict) else found
        if isinstance(turns, list):
            return (_json_turn(i, turn) for i, turn in enumerate(turns))
        reason = f"turns must be a list, not {type(turns).__name__}"
    raise TranscriptError(reason, hint='Expected: [{"speaker": "A", "text": "..."}, ...]')


def _json_turn(number: int, turn: object) -> _Said:
    if not isinstance(turn, dict):
        msg = f"turn {number} must be an object, not {type(turn).__name__}"
        raise TranscriptError(msg)
    values = [turn.get("speaker"), turn.get("text")]
    for key, value in zip(("speaker", "text"), values, strict=True):
        if not isinstance(value, str):
            msg = f"{key} of turn {number} must be text, not {type(value).__name__}"
            raise TranscriptError(msg)
    speaker, said = (str(value).strip() for value in values)
    return _Said(speaker, said)


# --- WebVTT and SubRip -----------------------------------------------------------------------

_VOICE = re.compile(r"<v(?:\.[^\s<>]*+)?[ \t]++([^<>]*+)>")
# Classes, styles, ruby, languages and times; a tag of another name is a non-verbal one.
_MARKUP = re.compile(r"</?(?:[cibuv]|ruby|rt|lang|font)(?:[. ][^<>]*)?>|<\d[\d:.]*>")
_LINE_END = re.compile(r"\r\n?|\n")
_NO_CUE = re.compile(r"WEBVTT|(?:NOTE|STYLE|REGION)\b")


def _from_cues(text: str) -> Iterator[_Said]:
    cues = [
        cue
        for number, lines in _blocks(text)
        if _times_at(lines) is not None or not _NO_CUE.match(lines[0])
        for cue in _cue(lines, number)
    ]
    labels = (LABEL.match(cue.text) for cue in cues if not cue.speaker)
    names = {_name(label).casefold() for label in labels if label}
    speaker = ""
    for cue in cues:
        for said in _parted(cue, names):
            # A cue without a speaker continues the turn.
            speaker = said.speaker or speaker
            yield said._replace(speaker=speaker)


def _blocks(text: str) -> Iterable[tuple[int, list[str]]]:
    """Return the lines between blank ones, with the number of the first.

    After a line of spaces, lines without times belong to the same cue: machine-made captions have
    such lines inside cues.
    """
    blocks: list[tuple[int, list[str]]] = []
    ended = True
    numbered = enumerate(_LINE_END.split(text), start=1)
    for blank, group in groupby(numbered, key=lambda entry: not entry[1].strip()):
        numbers, lines = zip(*group, strict=True)
        if blank:
            ended = "" in lines
        elif ended or not blocks or _times_at(lines) is not None or _NO_CUE.match(lines[0]):
            blocks.append((numbers[0], [*lines]))
        else:
            blocks[-1][1].extend(lines)
    return blocks


def _times_at(lines: Sequence[str]) -> int | None:
    """Return the index of a block's line of times: the first, or after its name."""
    return next((i for i, line in enumerate(lines[:3]) if "-->" in line), None)


def _cue(lines: list[str], number: int) -> Iterator[_Said]:
    at = _times_at(lines)
    cue = None if at is None else _CUE.fullmatch(lines[at])
    if at is None or cue is None:
        msg = f"the block from line {number} has no valid line of times"
        raise TranscriptError(msg, hint="Expected 00:00:01.000 --> 00:00:02.000")
    payload = "\n".join(line.strip() for line in lines[at + 1 :]).strip()
    pieces = _VOICE.split(payload)
    times = _seconds(cue[1]), _seconds(cue[2])
    for speaker, piece in zip(["", *pieces[1::2]], pieces[::2], strict=True):
        said = html.unescape(_MARKUP.sub("", piece)).strip()
        yield _Said(speaker.strip(), said, times)


def _parted(cue: _Said, names: Container[str]) -> Iterator[_Said]:
    """Yield what each speaker says in a cue: lines within it may have labels, too.

    Within a cue only a name counts that begins some other: "one thing: never" is no label.
    """
    labels = [
        label
        for label in ([] if cue.speaker else LABEL.finditer(cue.text))
        if not label.start() or _name(label).casefold() in names
    ]
    starts = [0, *(label.end() for label in labels)]
    ends = [*(label.start() for label in labels), len(cue.text)]
    for name, start, end in zip([cue.speaker, *map(_name, labels)], starts, ends, strict=True):
        yield cue._replace(speaker=name, text=cue.text[start:end].replace("\n", " ").strip())


def _seconds(time: str) -> float:
    """Return the seconds of a time such as 01:02:03.456 or 02:03,456."""
    parts = map(float, time.replace(",", ".").split(":"))
    return reduce(lambda total, part: 60 * total + part, parts, 0.0)


# --- CSV -------------------------------------------------------------------------------------


def _from_csv(text: str) -> Iterator[_Said]:
    # Utterances hold quotation marks of their own: nothing is quoted in this format.
    head, _, rest = text.partition("\n")
    columns, count = _columns(head), head.count("\t")
    if columns is None:
        msg = "the first line does not name the columns speaker and value"
        raise TranscriptError(msg, hint="Expected: start_time, stop_time, speaker, value; tabs")
    for number, line in enumerate(rest.split("\n"), start=2):
        if line.strip():
            cells = line.split("\t")
            if len(cells) != count + 1:
                msg = f"line {number} has {len(cells)} columns, the first has {count + 1}"
                raise TranscriptError(msg)
            texts = cells[columns.speaker].strip(), cells[columns.said].strip()
            yield _Said(*texts, _times_in(cells, columns))


class _Columns(NamedTuple):
    speaker: int
    said: int
    times: tuple[int, int] | None = None


def _times_in(cells: Sequence[str], columns: _Columns) -> tuple[float, float] | None:
    """Return the times of a line in seconds; None without them, or where they are no numbers."""
    if columns.times is None:
        return None
    with suppress(ValueError):
        start, end = (float(cells[column]) for column in columns.times)
        if 0 <= start <= end < inf:
            return start, end
    return None


def _columns(head: str) -> _Columns | None:
    """Return the columns of speaker and text in a first line; None if it has none such."""
    names = [name.strip().lower() for name in head.split("\t")]
    said = next((name for name in ("value", "text") if name in names), None)
    if said is None or "speaker" not in names:
        return None
    timed = "start_time" in names and "stop_time" in names
    times = (names.index("start_time"), names.index("stop_time")) if timed else None
    return _Columns(names.index("speaker"), names.index(said), times)


_READERS: dict[TranscriptKind, Callable[[str], Iterator[_Said]]] = {
    TranscriptKind.JSON: _from_json,
    TranscriptKind.VTT: _from_cues,
    TranscriptKind.SRT: _from_cues,
    TranscriptKind.CSV: _from_csv,
}
