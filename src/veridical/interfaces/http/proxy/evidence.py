"""Evidence in the messages of a request, and their question."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_KINDS = {"developer": "system", "function": "tool"}
_MARK = re.compile(
    r"^[ \t]*(?:\[([^\[\]\s]{1,64})\](?!\()|(?:Source|Document)[ \t]+([^\s:]{1,64}):)[ \t:]*",
    re.MULTILINE,
)
"""A line that begins with `[ID]`, `Source ID:` or `Document ID:` begins a source of that id."""


def sources_of(messages: Sequence[object], roles: Collection[str]) -> dict[str, str]:
    """Return the texts of the messages in these roles by id; blank ones are left out.

    A text is a source of its own (`system-1`, `tool-1`, `user-1`, ...), except for parts marked
    with an id in it, and for JSON objects of `id` and `text`. Parts with the same id are joined.
    """
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for message in messages:
        role = _role(message)
        if role not in roles:
            continue
        counts[role] += 1
        for name, text in _pieces(text_of(message), f"{role}-{counts[role]}"):
            if text.strip():
                found[name] = f"{found[name]}\n\n{text}" if name in found else text
    return found


def question_of(messages: Sequence[object]) -> str | None:
    """Return the last text of the user; None if it is empty."""
    texts = [text_of(message) for message in messages if _role(message) == "user"]
    return texts[-1] if texts and texts[-1].strip() else None


def text_of(message: object) -> str:
    """Return the text of a message; its images and other parts are left out."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _role(message: object) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return _KINDS.get(role, role) if isinstance(role, str) else ""


def _pieces(text: str, name: str) -> Iterator[tuple[str, str]]:
    documents = _documents(text)
    if documents:
        yield from documents
        return
    marks = list(_MARK.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)]
    yield name, text[: ends[0]]
    for mark, end in zip(marks, ends[1:], strict=True):
        yield mark[1] or mark[2], text[mark.end() : end]


def _documents(text: str) -> list[tuple[str, str]]:
    """Return the documents of a JSON text that holds nothing else."""
    if text.lstrip()[:1] not in {"[", "{"}:
        return []
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    items = value if isinstance(value, list) else [value]
    return [(one["id"], one["text"]) for one in items] if all(map(_is_document, items)) else []


def _is_document(item: object) -> bool:
    if not isinstance(item, dict):
        return False
    pair: Mapping[str, object] = item
    name, text = pair.get("id"), pair.get("text")
    return isinstance(text, str) and isinstance(name, str) and bool(name.strip())
