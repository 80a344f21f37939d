"""Check what Gemini says with grounding against the passages that it was grounded in.

    response = client.models.generate_content(...)  # with a retrieval or search tool
    answer, sources = to_check(response.to_json_dict(), texts={uri: text_of_the_page})
    print(veridical.check(answer, sources))

Supports name a segment of the answer, in bytes of UTF-8, and the chunks that it rests on. Chunks of
a search hold an address and no text: fetch the pages, and pass their texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offsets import from_utf8, with_marks

from veridical.errors import InputError, SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


def to_check(response: Json, texts: Mapping[str, str] | None = None) -> tuple[str, dict[str, str]]:
    """Return the answer of the first candidate, with `[G1]` after what cites the first chunk.

    Keys may be in camel or in snake case. `texts` are texts by address. `SourceError` if a chunk
    that is cited has no text, `InputError` if a segment is not where the support says.
    """
    candidate = _get(response, "candidates")[0]
    parts = _get(_get(candidate, "content"), "parts") or ()
    said = [_get(part, "text") or "" for part in parts]
    starts = [sum(map(len, said[:number])) for number in range(len(said))]
    metadata = _get(candidate, "groundingMetadata") or {}
    chunks = _get(metadata, "groundingChunks") or []
    marks, cited = [], set()
    for support in _get(metadata, "groundingSupports") or ():
        segment = _get(support, "segment")
        part = _get(segment, "partIndex") or 0
        indices = _get(support, "groundingChunkIndices") or []
        marks.append((starts[part] + _end(segment, said[part]), [f"G{n + 1}" for n in indices]))
        cited.update(indices)
    sources = {
        f"G{n + 1}": _text(chunks[n], n, texts or {}) for n in sorted(cited) if n < len(chunks)
    }
    return with_marks("".join(said), marks), sources


def _end(segment: Json, text: str) -> int:
    """Return where a segment ends, in code points of its part."""
    start = from_utf8(text, _get(segment, "startIndex") or 0)
    end = from_utf8(text, _get(segment, "endIndex"))
    quoted = _get(segment, "text")
    if quoted is not None and text[start:end] != quoted:
        msg = f"characters {start} to {end} of the answer are not the segment that a support names"
        raise InputError(msg, hint="Pass the response as it came: offsets are bytes of UTF-8")
    return end


def _text(chunk: Json, number: int, texts: Mapping[str, str]) -> str:
    context = _get(chunk, "retrievedContext") or _get(chunk, "web") or {}
    found: str | None = texts.get(_get(context, "uri") or "") or _get(context, "text")
    if not found:
        msg = f"grounding chunk {number} has no text"
        raise SourceError(msg, hint="Fetch its page, and pass texts={uri: text}")
    return found


def _get(of: Json, name: str) -> Any:  # noqa: ANN401 -- JSON
    snake = "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)
    return of.get(name, of.get(snake))
