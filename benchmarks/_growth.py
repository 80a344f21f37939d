"""Text stages, adversarial texts for them, and how their time grows with the length of a text."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from time import process_time
from typing import TYPE_CHECKING

from veridical.audit.agent_logs import read_trace
from veridical.core.differences import differences
from veridical.core.strict_json import parse_evidence_json
from veridical.core.text import normalise
from veridical.errors import VeridicalError
from veridical.interfaces.http.proxy.streams import EventSplitter
from veridical.pipeline.claims import extract_claims, split_sentences
from veridical.pipeline.reports.escaping import visible
from veridical.quotes.matching import ground_quotes
from veridical.quotes.transcripts import parse_transcript
from veridical.readers.documents import read_upload
from veridical.readers.html import html_to_text

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_GROWTH = 2.3
"""Times as long that a stage may take for twice the text."""


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def _numbered(unit: str) -> Callable[[int], str]:
    return lambda size: "".join(unit.format(n) for n in range(size // (len(unit) + 3)))


_UNITS = (
    *(
        "a",
        " ",
        "\n",
        "\r\n",
        "\t",
        ".",
        "... ",
        "1,",
        "-",
        '"',
        "'",
        "“",
        "[",
        "[1]",
        "[S1] ",
        "(",
    ),
    *("**a", "`", "```\n", "# a\n", "#", "| a | b |\n", "> a\n", "- a\n", "\\", "![a](", "[a](  "),
    *("a: b\n", "A: b\nB: c\n", "{", '[{"a":', '{"a": "b"}\n', "not ", "He said that ", "Mr. "),
    *(
        "\u200b",
        "a\u0301",
        "👩\u200d🚀",
        "。",
        "؟",
        "?!",
        "1998-",
        "http://a.b/",
        "$1 ",
        "hundred ",
    ),
    *(
        "<div>",
        "<b>",
        "<p>a",
        "<ul><li>",
        "<table><tr><td>",
        "<a",
        "<!--",
        "<v A>b ",
        "<v.",
        "&amp;",
    ),
    *(
        "<select><option>",
        "<b><i></b></i>",
        "<div></b>",
        "00:01.000 --> 00:02.000\na\n\n",
        "Is it? ",
    ),
)
TEXTS: dict[str, Callable[[int], str]] = {repr(unit): _repeated(unit) for unit in _UNITS} | {
    "attributes": lambda size: f"<a {_numbered('x{}=1 ')(size)}>",
    "options": lambda size: f"<select>{_repeated('<option>a')(size)}",
    "formatting": lambda size: _numbered("<b id={}>")(size // 2) + _repeated("<p>x")(size // 2),
    "fence": lambda size: f"```{' ' * size}x",
    "words": _numbered("word{} "),
    "citations": _numbered("It has {0} lanes [S1:{0}]. "),
    "lists in lists": lambda size: "".join(
        " " * n + "- a\n" for n in range(int((2 * size) ** 0.5))
    ),
}


def _quotes(text: str) -> object:
    quotes = ["the bridge opened in 1998", text[:60], text[-60:], f"{text[:30]} ... {text[-30:]}"]
    return ground_quotes(quotes, text, mode="fuzzy", allow_ellipsis=True)


def _events(text: str) -> None:
    splitter, data = EventSplitter(), text.encode()
    for start in range(0, len(data), 64):
        list(splitter.feed(data[start : start + 64]))


def _upload(name: str) -> Callable[[str], object]:
    return lambda text: read_upload(text.encode(), name)


STAGES: dict[str, Callable[[str], object]] = {
    "HTML": html_to_text,
    "claims": lambda text: extract_claims(text, known_ids=["S1"]),
    "Markdown and sentences": split_sentences,
    "transcripts": parse_transcript,
    "transcripts with labels": lambda text: parse_transcript(text, "labels"),
    "subtitles": lambda text: parse_transcript(f"00:01.000 --> 00:02.000\n{text}", "vtt"),
    "quotes": _quotes,
    "normal form": normalise,
    "differences": lambda text: differences(text, text[len(text) // 3 :]),
    "JSON evidence": parse_evidence_json,
    "JSON sources": _upload("a.json"),
    "JSON lines": _upload("a.jsonl"),
    "documents": _upload("a"),
    "agent logs": lambda text: read_trace(text, "log"),
    "text of reports": visible,
    "server-sent events": _events,
}


def growth(stage: Callable[[str], object], text: Callable[[int], str], size: int) -> float:
    """Return how many times as long a stage takes for twice the text: the root of four times it.

    Where that is much, longer texts have to confirm it: a stage may only have reached its unit of
    work. 0.0 for times too short to tell.
    """
    times = [min(seconds(stage, text(each)) for _ in range(2)) for each in (size, 4 * size)]
    if times[1] < _TELLING_S:
        return 0.0
    found = (times[1] / max(times[0], _CLOCK_S)) ** 0.5
    if found <= MOST_GROWTH:
        return found
    longer = seconds(stage, text(16 * size))
    return min(found, (longer / times[1]) ** 0.5)


_TELLING_S, _CLOCK_S = 0.02, 1e-4


def seconds(stage: Callable[[str], object], text: str) -> float:
    """Return the processor time of a stage, at the machine's usual speed; a text may be refused.

    What runs beside it slows a processor down: a loop of known work is timed before and after.
    """
    before = _calibration()
    started = process_time()
    with suppress(VeridicalError):
        stage(text)
    took = process_time() - started
    return took * _usual() / min(before, _calibration())


def _calibration() -> float:
    """Return the processor time of work that is always the same."""
    started = process_time()
    for _ in _LOOP:
        _WORDS.replace("a", "b").split()
    return process_time() - started


_LOOP, _WORDS = range(20), "a word " * 2_000


@cache
def _usual() -> float:
    return min(_calibration() for _ in range(20))
