"""Regular expressions of the package, and texts on which each may take more than linear time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache
from re import _constants as op  # type: ignore[attr-defined] -- the parser is not public
from re import _parser  # type: ignore[attr-defined] -- see above
from time import process_time
from typing import TYPE_CHECKING, Any

import veridical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UNITS = (
    *(
        "a",
        "A",
        "1",
        " ",
        "\n",
        "\t",
        "\r\n",
        ".",
        ",",
        "-",
        "'",
        '"',
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
    ),
    *("*", "_", "`", "#", "|", "\\", "/", ":", "=", "&", "%", "$", "é", "。", "\u200b", "\u0301"),
    *(
        "a ",
        "A ",
        "1 ",
        "1,",
        "1.",
        "a.",
        "a-",
        "a'",
        "[1",
        "[1]",
        "<a",
        "</a>",
        "&#",
        "\n ",
        "\n\n",
    ),
    *("- a\n", "> a\n", "| a ", "and ", "not ", "http://a", "a@", '{"', "00:", "```\n", "e.g. "),
)
"""Parts of attacks on any expression: each is repeated."""
LENGTH = 700
BOUNDED = {
    "veridical.core.quantity_parsing._LAST": "the 32 characters before a number",
    "veridical.core.quantity_parsing._PAIR": "the place behind a number",
    "veridical.interfaces.cli.diagnosis._REQUIREMENT": "requirements of installed packages",
    "veridical.pipeline.claims.citations._ID": "marks of at most 500 characters",
    "veridical.pipeline.claims.literals._INDEXED": "a few characters before a mark",
    "veridical.pipeline.claims.lead_ins._TAG": "the last 60 characters of a sentence",
    "veridical.quotes.transcripts._STARTS[1]": "the start of a transcript, at one place",
    "veridical.quotes.transcripts._STARTS[2]": "the start of a transcript, at one place",
}
"""Expressions that would be steep, and the short texts or the one place they are matched with."""
_SAMPLES = "a1 .-'\"[(<\n\tA,:_é"


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return the compiled expressions of all modules by the first name that each has."""
    found: dict[str, re.Pattern[Any]] = {}
    for info in pkgutil.walk_packages(veridical.__path__, "veridical."):
        if info.name.endswith("__main__") or ".migrations." in info.name:
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for number, each in enumerate(_compiled(value)):
                if each not in found.values():
                    found[f"{info.name}.{name}" + (f"[{number}]" if number else "")] = each
    return found


def _compiled(value: object, depth: int = 2) -> Iterator[re.Pattern[Any]]:
    """Yield the expressions in a value of a module."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from _compiled(each, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for each in value:
            yield from _compiled(each, depth - 1)


def attacks(pattern: re.Pattern[Any], length: int) -> Iterator[str]:
    """Yield texts of a length made of what the expression repeats, and of parts of any text."""
    for before, unit in {*_repeats(pattern), *(("", unit) for unit in UNITS)}:
        yield (before + unit * (length // len(unit)))[:length] + "\0"
        if before:
            yield ((before + unit) * (length // len(before + unit)))[:length] + "\0"


def _repeats(pattern: re.Pattern[Any]) -> set[tuple[str, str]]:
    """Return what each repetition of the expression repeats, with a sample of what is before."""
    source = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    found: set[tuple[str, str]] = set()
    _walk(_parser.parse(source, flags & ~re.DEBUG), "", found)
    return found


def _walk(items: Iterable[Any], before: str, found: set[tuple[str, str]]) -> str:
    """Note the repetitions of a part of an expression; return a sample of what it matches."""
    start = len(before)
    for kind, value in items:
        if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            least, most, body = value
            sample = _walk(body, before, found)
            if most > 16 and sample:  # noqa: PLR2004 -- shorter ones cost a constant
                found.add((before[-60:], sample))
            before += sample * max(least, 1 if most else 0)
        elif kind is op.SUBPATTERN:
            before += _walk(value[-1], before, found)
        elif kind is op.ATOMIC_GROUP:
            before += _walk(value, before, found)
        elif kind is op.BRANCH:
            before += next(_walk(each, before, found) for each in value[1])
        else:
            before += _sample(kind, value)
    return before[start:]


def _sample(kind: Any, value: Any) -> str:  # noqa: ANN401 -- opcodes of the parser
    """Return a character that a single element matches; none for an assertion."""
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is op.ANY:
        return "a"
    return _member(value) if kind is op.IN else ""


def _member(items: list[Any]) -> str:
    """Return a character of a class."""
    kind, value = items[0]
    if kind is op.NEGATE:
        return next(char for char in _SAMPLES if not _is_in(char, items[1:]))
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.RANGE:
        return chr(value[0])
    named = {op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a"}
    return named.get(value, "-")


def _is_in(char: str, items: Iterable[Any]) -> bool:
    for kind, value in items:
        if kind is op.LITERAL and ord(char) == value:
            return True
        if kind is op.RANGE and value[0] <= ord(char) <= value[1]:
            return True
        if kind is op.CATEGORY:
            name = str(value).rpartition("_")[2].lower()
            holds = {
                "digit": char.isdigit(),
                "space": char.isspace(),
                "word": char.isalnum() or char == "_",
            }[name]
            if holds != ("NOT" in str(value)):
                return True
    return False


def steep(name: str, pattern: re.Pattern[Any], length: int = LENGTH) -> str:
    """Return an attack that takes far more than four times as long at four times the length."""
    for short, long in zip(attacks(pattern, length), attacks(pattern, 4 * length), strict=True):
        most = _seconds(name, pattern, long)
        if most > _TELLING_S:
            most = min(most, _seconds(name, pattern, long))
            least = min(_seconds(name, pattern, short) for _ in range(3))
            if most > max(_TELLING_S, _MOST_TIMES * least):
                return repr(short[:40])
    return ""


_TELLING_S, _MOST_TIMES = 0.006, 9


def _seconds(name: str, pattern: re.Pattern[Any], text: str) -> float:
    """Return the processor time of all matches in a text, or of the first where one is sought."""
    given = text.encode() if isinstance(pattern.pattern, bytes) else text
    started = process_time()
    if used := _methods_at_one_place(name):
        for method in used:
            getattr(pattern, method)(given)
    else:
        for _ in pattern.finditer(given):
            pass
    return process_time() - started


@cache
def _methods_at_one_place(name: str) -> frozenset[str]:
    """Return how the module matches an expression at one place; none if it searches, too."""
    module, _, variable = name.partition("[")[0].rpartition(".")
    used = set(_uses_of(variable).findall(inspect.getsource(importlib.import_module(module))))
    return frozenset(used) if used <= {"match", "fullmatch"} else frozenset()


def _uses_of(variable: str) -> re.Pattern[str]:
    return re.compile(rf"\b{variable}\.(match|fullmatch|search|finditer|findall|subn?|split)\b")
