"""Reading of a document in a process of its own, with limits on time and memory.

A document from outside can be made to keep its reader busy for hours: a thread cannot be stopped,
a process can. `python -m veridical.readers.isolated NAME` reads one from standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from veridical.core.types import Source
from veridical.errors import DocumentError, InputError, MissingExtraError
from veridical.readers.documents import Documents, Notice, read_upload

_SMALLER = "Split the document, or paste its text"


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Limits of the process: seconds, bytes of memory, characters of all texts together."""

    seconds: float = 20.0
    memory_bytes: int = 1024**3
    characters: int = 8_000_000


def read_isolated(data: bytes, name: str, limits: ReadingLimits) -> Documents:
    """Read a document; `DocumentError` if it is none, or takes more than the limits."""
    command = [sys.executable, "-m", __name__, name, str(limits.memory_bytes)]
    try:
        done = subprocess.run(  # noqa: S603 -- this interpreter and this module
            command, input=data, capture_output=True, timeout=limits.seconds, check=False
        )
    except subprocess.TimeoutExpired:
        msg = f"the document takes longer than {limits.seconds:g} seconds to read"
        raise DocumentError(msg, hint=_SMALLER) from None
    if done.returncode:
        msg = "the document takes more memory than it may, or breaks its reader"
        raise DocumentError(msg, hint=_SMALLER)
    found = _documents(json.loads(done.stdout))
    if sum(len(source.text) for source in found.sources) > limits.characters:
        msg = f"the document has more than {limits.characters:,} characters"
        raise DocumentError(msg, hint=_SMALLER)
    return found


def _documents(answer: dict[str, Any]) -> Documents:
    if kind := answer.get("error"):
        made = MissingExtraError if kind == MissingExtraError.__name__ else DocumentError
        raise made(answer["message"], hint=answer["hint"])
    sources = tuple(Source(one["id"], one["text"], one["path"]) for one in answer["sources"])
    return Documents(sources, tuple(Notice(*each) for each in answer["notices"]))


def _answer(data: bytes, name: str) -> dict[str, Any]:
    try:
        found = read_upload(data, name)
    except (InputError, MissingExtraError) as error:
        return {"error": type(error).__name__, "message": error.message, "hint": error.hint}
    return {
        "sources": [{"id": s.id, "text": s.text, "path": s.path} for s in found.sources],
        "notices": [[notice.path, notice.reason] for notice in found.notices],
    }


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none of it: there the time is the only limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _main() -> None:
    name, most = sys.argv[1], int(sys.argv[2])
    _limit_memory(most)
    sys.stdout.write(json.dumps(_answer(sys.stdin.buffer.read(), name)))


if __name__ == "__main__":
    _main()
