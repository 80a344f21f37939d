"""What the adapters share: offsets of others in code points, and marks where citations stand.

Python counts code points, and so does veridical. Google counts bytes of UTF-8, JavaScript and Java
count units of UTF-16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOSING = ".!?…:;,"


def from_utf8(text: str, offset: int) -> int:
    """Return the code point that a byte of UTF-8 belongs to: `from_utf8("é!", 2) == 1`."""
    return len(text.encode()[:offset].decode(errors="ignore"))


def from_utf16(text: str, offset: int) -> int:
    """Return the code point that a unit of UTF-16 belongs to: `from_utf16("🙂!", 2) == 1`."""
    return len(text.encode("utf-16-le")[: 2 * offset].decode("utf-16-le", errors="ignore"))


def with_marks(answer: str, marks: Iterable[tuple[int, list[str]]]) -> str:
    """Return the answer with `[id]` put in at code points, before the full stop if there is one.

    `with_marks("It opened.", [(10, ["S1"])]) == "It opened [S1]."`
    """
    places: dict[int, dict[str, None]] = {}
    for offset, ids in marks:
        end = len(answer[:offset].rstrip())
        while end > 0 and answer[end - 1] in _CLOSING:
            end -= 1
        places.setdefault(end, {}).update(dict.fromkeys(ids))
    for end, ids_there in sorted(places.items(), reverse=True):
        if ids_there:
            answer = f"{answer[:end]} [{', '.join(ids_there)}]{answer[end:]}"
    return answer
