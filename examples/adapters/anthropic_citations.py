"""Check what Claude says with citations against the documents that it was given.

    message = client.messages.create(..., messages=[... documents with citations enabled ...])
    answer, sources = to_check(message, documents=[text_of_the_first, text_of_the_second])
    print(veridical.check(answer, sources))

A citation says which characters of which document it rests on (`char_location`; offsets are code
points, the end exclusive). It shows that the model quoted, not that what it concluded follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offsets import with_marks

from veridical.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def to_check(message: object, documents: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the answer, with `[D1]` after what cites the first document, and the documents by id.

    `message` is a message of the SDK or its JSON. A document that was not given becomes a citation
    of no source, which veridical flags. `InputError` if a quote is not where the citation says.
    """
    answer, marks = "", []
    for block in _get(message, "content") or ():
        if _get(block, "type") != "text":
            continue
        answer += _get(block, "text")
        citations = _get(block, "citations") or ()
        marks.append((len(answer), [_cited(each, documents) for each in citations]))
    return with_marks(answer, marks), dict(_named(documents))


def _cited(citation: object, documents: Sequence[str]) -> str:
    index: int = _get(citation, "document_index")
    name = f"D{index + 1}"
    if index < len(documents) and _get(citation, "type") == "char_location":
        start, end = _get(citation, "start_char_index"), _get(citation, "end_char_index")
        if documents[index][start:end] != _get(citation, "cited_text"):
            msg = (
                f"characters {start} to {end} of document {index} are not what the citation quotes"
            )
            raise InputError(msg, hint="Pass the documents in the order and form of the request")
    return name


def _named(documents: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((f"D{number}", text) for number, text in enumerate(documents, start=1))


def _get(of: object, name: str) -> Any:  # noqa: ANN401 -- the SDK's objects and JSON alike
    return of.get(name) if isinstance(of, dict) else getattr(of, name, None)
