"""Reading in a process of its own: the same text, and an end to what takes too much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from veridical.core.types import Source
from veridical.errors import DocumentError
from veridical.readers.documents import Documents
from veridical.readers.isolated import ReadingLimits, read_isolated

LIMITS = ReadingLimits()


def read(data: bytes, name: str, limits: ReadingLimits = LIMITS) -> Documents:
    return read_isolated(data, name, limits)


def test_a_pdf_is_read_with_its_name(pdf: Callable[..., bytes]) -> None:
    found = read(pdf("Eight lanes.", ""), "notice.pdf")
    assert found.sources == (Source("notice.pdf", "Eight lanes.", "notice.pdf"),)
    assert [notice.reason for notice in found.notices] == ["1 of 2 pages hold no text"]


def test_records_keep_their_ids() -> None:
    found = read(b'[{"id": "a", "text": "One."}, {"id": "b", "text": "Two."}]', "all.json")
    assert [source.id for source in found.sources] == ["a", "b"]


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (replace(LIMITS, seconds=0.01), "longer than 0.01 seconds"),
        (replace(LIMITS, memory_bytes=32 * 1024**2), "more memory"),
        (replace(LIMITS, characters=3), "more than 3 characters"),
    ],
)
def test_what_takes_too_much_is_refused(limits: ReadingLimits, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        read(b"Some text. " * 1_000_000, "secret.txt", limits)


def test_an_error_has_its_words_and_not_the_name() -> None:
    with pytest.raises(DocumentError, match="binary") as caught:
        read(b"a\0b", "secret.txt")
    assert "secret" not in str(caught.value)
