"""Readable text of a DOCX document, one paragraph per line.

A DOCX is an archive of XML: its size unpacked is bounded, and a document type declaration, with
which XML can be made to grow without end, is refused.
"""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

from veridical.errors import DocumentError, MissingExtraError
from veridical.readers.formats import Plain, silent
from veridical.readers.html import html_to_text

MAX_UNPACKED_BYTES = 128 * 1024 * 1024

_XML = (".xml", ".rels")
_DECLARATION = b"<!DOCTYPE"


def docx_to_text(data: bytes, place: str) -> Plain:
    """Return the text of a document; `DocumentError` that names `place` if it holds none."""
    try:
        import mammoth
    except ImportError:
        msg = f"{place} is a DOCX, and the extra that reads those is not installed"
        raise MissingExtraError(msg, hint="Run: pip install 'veridical[docx]'") from None
    _ensure_harmless(data, place)
    try:
        with silent("mammoth"):
            html = mammoth.convert_to_html(BytesIO(data), convert_image=_no_image).value
    except Exception as error:  # noqa: BLE001 -- a damaged file raises almost anything in mammoth
        raise _damaged(place, error) from None
    text = html_to_text(html)
    if not text.strip():
        msg = f"{place} holds no readable text"
        raise DocumentError(msg, hint="Text in pictures is not read: run OCR on them first")
    return Plain(text)


def _no_image(_image: object) -> list[object]:
    return []


def _ensure_harmless(data: bytes, place: str) -> None:
    try:
        with ZipFile(BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
            declares = size <= MAX_UNPACKED_BYTES and _declares_type(archive)
    except Exception as error:  # noqa: BLE001 -- a damaged archive raises almost anything, too
        raise _damaged(place, error) from None
    if size > MAX_UNPACKED_BYTES:
        msg = f"{place} is larger than {MAX_UNPACKED_BYTES // 1024**2} MB unpacked"
        raise DocumentError(msg, hint="Split it, and keep what the answer is about")
    if declares:
        msg = f"{place} declares a document type, which no DOCX does"
        raise DocumentError(msg, hint="Open it in a word processor and save it again")


def _declares_type(archive: ZipFile) -> bool:
    parts = [name for name in archive.namelist() if name.lower().endswith(_XML)]
    return any(_DECLARATION in archive.read(name) for name in parts)


def _damaged(place: str, error: Exception) -> DocumentError:
    msg = f"{place} is damaged and cannot be read as DOCX ({type(error).__name__})"
    return DocumentError(msg, hint="Open it in a word processor and save it again")
