"""Whole answers with labelled claims: their rows, and the reader of their files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from veridical.core.types import Source, Span
from veridical.errors import VeridicalError
from veridical.evaluation.dataset import (
    file_content,
    file_names,
    numbered_lines,
    raise_for_problems,
)
from veridical.evaluation.rows import Label3

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROW_SHAPE = (
    'A row is {"id", "kind"?, "question"?, "sources": [{"id", "text"}], "answer", "claims": '
    '[{"text": part of the answer, "label": "supported" | "contradicted" | "not_in_context", '
    '"error"?, "deciding"?: [{"source", "text"}]}]}'
)


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """Stretch of an answer and its label.

    `error` names the kind of error of a claim that is not supported; `deciding` are the deciding
    places in the sources, as pairs of source id and span.
    """

    span: Span
    label: Label3
    error: str | None = None
    deciding: tuple[tuple[str, Span], ...] = field(default=(), repr=False)

    @property
    def supported(self) -> bool:
        """True if the sources support the claim."""
        return self.label is Label3.SUPPORTED


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """Answer with its sources and the labels of its claims, in the order of the answer."""

    id: str
    answer: str = field(repr=False)
    sources: tuple[Source, ...]
    claims: tuple[LabelledClaim, ...]
    question: str | None = field(default=None, repr=False)
    kind: str = "answers"

    @property
    def sound(self) -> bool:
        """True if every labelled claim is supported."""
        return all(claim.supported for claim in self.claims)


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """Answers of one file; `fingerprint` is the SHA-256 of its content."""

    name: str
    fingerprint: str
    answers: tuple[LabelledAnswer, ...]


def read_answers(paths: Sequence[Path]) -> tuple[AnswerSet, ...]:
    """Return the answers of each file, in the order given.

    `DocumentError` names every malformed row of every file by file and line, never by its text.
    """
    problems: list[str] = []
    names = file_names(paths)
    found = [_read(path, name, problems) for path, name in zip(paths, names, strict=True)]
    raise_for_problems(problems, ROW_SHAPE)
    return tuple(found)


def sampled(sets: Sequence[AnswerSet], limit: int | None, seed: int) -> tuple[AnswerSet, ...]:
    """Return `limit` answers of each file, by chance, in the order of the file."""
    return tuple(_sample(one, limit, seed) for one in sets)


def _sample(one: AnswerSet, limit: int | None, seed: int) -> AnswerSet:
    def rank(answer: LabelledAnswer) -> bytes:
        return sha256(f"{seed}\0{answer.id}".encode()).digest()

    chosen = {answer.id for answer in sorted(one.answers, key=rank)[:limit]}
    kept = tuple(answer for answer in one.answers if answer.id in chosen)
    return AnswerSet(one.name, one.fingerprint, kept)


def _read(path: Path, name: str, problems: list[str]) -> AnswerSet:
    data = file_content(path, name)
    answers: dict[str, LabelledAnswer] = {}
    for number, line in numbered_lines(data, name):
        try:
            answer = parse_answer(line)
        except _MalformedError as error:
            problems += [f"{name}, line {number}: {problem}" for problem in error.problems]
            continue
        if answer.id in answers:
            problems.append(f"{name}, line {number}: has the id of another line")
        answers.setdefault(answer.id, answer)
    return AnswerSet(name, sha256(data).hexdigest(), tuple(answers.values()))


# --- one row ---------------------------------------------------------------------------------


class _MalformedError(ValueError):
    """Raised for an unreadable row; holds all of its problems."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


_Text = Annotated[str, StringConstraints(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", hide_input_in_errors=True)


class _Place(_Strict):
    source: _Text
    text: _Text


class _Claim(_Strict):
    text: _Text
    label: Literal["supported", "contradicted", "not_in_context"]
    error: str | None = None
    deciding: list[_Place] = Field(default_factory=list)


class _Source(_Strict):
    id: _Text
    text: _Text


class _Row(_Strict):
    id: _Text
    answer: _Text
    sources: Annotated[list[_Source], Field(min_length=1)]
    claims: Annotated[list[_Claim], Field(min_length=1)]
    question: str | None = None
    kind: _Text = "answers"


def parse_answer(line: str) -> LabelledAnswer:
    """Return the answer in one line of JSON; `ValueError` lists all problems without text."""
    try:
        row = _Row.model_validate(json.loads(line))
    except ValidationError as error:
        raise _MalformedError([_problem(one) for one in error.errors()]) from None
    except (ValueError, RecursionError):
        raise _MalformedError(["is not valid JSON"]) from None
    problems: list[str] = []
    sources = _sources(row, problems)
    claims = [_claim(row, number, sources, problems) for number in range(len(row.claims))]
    if problems:
        raise _MalformedError(problems)
    ordered = tuple(sorted(claims, key=lambda claim: claim.span.start))
    return LabelledAnswer(
        row.id, row.answer, tuple(sources.values()), ordered, row.question, row.kind
    )


def _problem(error: Any) -> str:  # noqa: ANN401 -- pydantic's own dictionary of details
    place = ".".join(str(part) for part in error["loc"]) or "the row"
    return f"{place}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _sources(row: _Row, problems: list[str]) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for number, source in enumerate(row.sources):
        if source.id in found:
            problems.append(f"sources.{number}: has the id of another source")
        try:
            found[source.id] = Source(source.id, source.text)
        except VeridicalError as error:
            problems.append(f"sources.{number}: {error.message}")
    return found


def _claim(
    row: _Row, number: int, sources: dict[str, Source], problems: list[str]
) -> LabelledClaim:
    claim = row.claims[number]
    span = _only_place(claim.text, row.answer, f"claims.{number}.text", problems)
    places = []
    for index, place in enumerate(claim.deciding):
        name = f"claims.{number}.deciding.{index}"
        source = sources.get(place.source)
        at = source.text.find(place.text) if source is not None else -1
        if at < 0:
            problems.append(f"{name}: does not stand in that source")
        places.append((place.source, Span(max(at, 0), max(at, 0) + len(place.text))))
    return LabelledClaim(span, Label3(claim.label), claim.error, tuple(places))


def _only_place(text: str, answer: str, name: str, problems: list[str]) -> Span:
    count = answer.count(text)
    if count != 1:
        problems.append(f"{name}: stands {count} times in the answer, not once")
    start = max(answer.find(text), 0)
    return Span(start, start + len(text))
