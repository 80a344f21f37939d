"""Conversion of callers' sources into one mapping by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from veridical.core.types import Source
from veridical.errors import InputError, SourceError

SourceLike: TypeAlias = Source | str | Mapping[str, Any]
Sources: TypeAlias = Mapping[str, str] | Iterable[SourceLike]

_SHAPES = "Pass {id: text}, or a list of Source, of {'id': ..., 'text': ...} or of texts"


def as_sources(sources: Sources) -> Mapping[str, Source]:
    """Return the sources by id, in order; plain texts in a list are numbered from 1.

    `SourceError` if there are none, an id comes twice or the shape is unknown; `TextError` if a
    text is empty or not text.
    """
    found: dict[str, Source] = {}
    for number, source in enumerate(_each(sources), start=1):
        if source.id in found:
            msg = f"two sources have the id {source.id!r}"
            error = SourceError(msg, hint="Give every source an id of its own")
            first = list(found).index(source.id) + 1
            error.unquoted = f"sources {first} and {number} have the same id"
            raise error
        found[source.id] = source
    if not found:
        msg = "there are no sources"
        raise SourceError(msg, hint="Pass at least one text to check against")
    return found  # a plain dict, for a report has to survive pickling


def _each(sources: Sources) -> Iterable[Source]:
    if isinstance(sources, Mapping):
        pairs = enumerate(sources.items(), start=1)
        return (new_source(number, key, text) for number, (key, text) in pairs)
    if isinstance(sources, str | bytes | Source) or not isinstance(sources, Iterable):
        msg = f"sources cannot be a single {type(sources).__name__}"
        raise SourceError(msg, hint=_SHAPES)
    return (_source(item, number) for number, item in enumerate(sources, start=1))


def _source(item: object, number: int) -> Source:
    if isinstance(item, Source):
        return item
    if isinstance(item, str):
        return new_source(number, str(number), item)
    if not isinstance(item, Mapping):
        msg = f"source {number} has an unknown shape ({type(item).__name__})"
        raise SourceError(msg, hint=_SHAPES)
    if missing := [key for key in ("id", "text") if key not in item]:
        msg = f"source {number} has no {' and no '.join(map(repr, missing))}"
        raise SourceError(msg, hint=_SHAPES)
    return new_source(number, item["id"], item["text"])


def new_source(number: int, source_id: str, text: str, path: str | None = None) -> Source:
    """Return a source; the `unquoted` message of an error has its number, counted from 1."""
    with placed(f"source {number}"):
        return Source(source_id, text, path)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Put a place in front of the `unquoted` message of an error."""
    try:
        yield
    except InputError as error:
        error.unquoted = f"{place}: {error.unquoted}"
        raise
