"""Conversion of document bytes to text, by suffix and content."""

from __future__ import annotations

import codecs
import json
import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING

from veridical.errors import DocumentError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdf import PdfReader

SUFFIXES = {
    ".docx": "docx",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".markdown": "text",
    ".md": "text",
    ".ndjson": "jsonl",
    ".pdf": "pdf",
    ".txt": "text",
    ".xhtml": "html",
}
# Longest first: the UTF-32 mark begins with the UTF-16 one.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Families of charsets that pages declare; codecs of Python that are none (punycode) stay out.
DECLARED_CHARSET = re.compile(
    rb"""<meta[^>]{1,200}?charset\s*+=\s*+["']?+\s*+"""
    rb"""((?:ascii|big5|cp125|euc-|gb|iso-8859-|koi8-|latin|shift_jis|us-ascii|utf-8|windows-)[\w-]{0,9})""",
    re.IGNORECASE,
)
# Meaning of these two in every browser.
WEB_CHARSETS = dict.fromkeys(("iso-8859-1", "latin1", "us-ascii", "ascii"), "windows-1252")
HTML_START = re.compile(
    rb"\s*(<\?xml[^>]*>\s*)?(<!--.{0,2000}?-->\s*)?<(!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)


class DocumentFormat(StrEnum):
    """Format of a document."""

    TEXT = "text"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    JSON = "json"
    JSONL = "jsonl"


@dataclass(frozen=True, slots=True)
class Plain:
    """Text of a document; `remark` describes unreadable parts, if any."""

    text: str = field(repr=False)
    remark: str = ""


def is_pdf(data: bytes) -> bool:
    """Return whether a document begins as a PDF does."""
    return data[:1024].lstrip().startswith(b"%PDF-")


def format_of(name: str, data: bytes) -> DocumentFormat:
    """Return the format detected from the content, else the one of the suffix of `name`."""
    if is_pdf(data):
        return DocumentFormat.PDF
    if data.startswith(b"PK\x03\x04") and b"word/document.xml" in data:
        return DocumentFormat.DOCX
    suffix = PurePath(name).suffix.lower()
    if suffix in SUFFIXES:
        return DocumentFormat(SUFFIXES[suffix])
    if HTML_START.match(data[:4096].removeprefix(codecs.BOM_UTF8)):
        return DocumentFormat.HTML
    return DocumentFormat.TEXT if suffix else _sniff_json(data)


def to_text(data: bytes, kind: DocumentFormat, place: str, *, main_text: bool = False) -> Plain:
    """Convert one document to text; raise `DocumentError` that names `place` if it holds none.

    With `main_text` the text of an HTML page is that of its article.
    """
    if not data.strip():
        msg = f"{place} is empty"
        raise DocumentError(msg, hint="Give it some text; an empty source can be left out")
    if kind is DocumentFormat.PDF:
        return _pdf_to_text(data, place)
    if kind is DocumentFormat.DOCX:
        from veridical.readers.docx import docx_to_text

        return docx_to_text(data, place)
    text = decode(data, place, html=kind is DocumentFormat.HTML)
    if kind is DocumentFormat.HTML and main_text:
        from veridical.readers.article import article_to_text

        text = article_to_text(text, place)
    elif kind is DocumentFormat.HTML:
        from veridical.readers.html import html_to_text

        text = html_to_text(text)
    if not text.strip():
        msg = f"{place} holds no readable text"
        raise DocumentError(msg, hint="If a script draws the page, save it from a browser as text")
    return Plain(text)


def decode(data: bytes, place: str, *, html: bool = False) -> str:
    """Decode UTF-8, anything with a byte-order mark, and HTML in the charset that it declares."""
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "")
    if not encoding:
        if b"\0" in data:
            raise _binary(place, f"at byte {data.index(0)}")
        encoding = (html and _declared_charset(data)) or "utf-8"
    text = _text_or_position(data, encoding)
    if isinstance(text, int):
        msg = f"{place} is not valid {encoding} text: undecodable at byte {text}"
        hint = "Save it as UTF-8; if it is no text file, convert it to text, HTML or PDF first"
        raise DocumentError(msg, hint=hint)
    if "\0" in text:
        raise _binary(place, f"at character {text.index(chr(0))}")
    return text


def _text_or_position(data: bytes, encoding: str) -> str | int:
    """Return the text, or the position of the first byte that cannot be decoded."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # Not raised from here: the exception carries all of the data into error trackers.
        return error.start


def _binary(place: str, where: str) -> DocumentError:
    msg = f"{place} is binary: it holds a NUL {where}"
    return DocumentError(msg, hint="Convert it to text, Markdown, HTML, DOCX or PDF first")


def _declared_charset(data: bytes) -> str:
    found = DECLARED_CHARSET.search(data[:2048])
    if not found:
        return ""
    name = found.group(1).decode("ascii").lower()
    name = WEB_CHARSETS.get(name, name)
    try:
        "".encode(name)
    except LookupError:
        return ""
    return name


def _sniff_json(data: bytes) -> DocumentFormat:
    if data.lstrip()[:1] not in {b"{", b"["}:
        return DocumentFormat.TEXT
    first_line = data.strip().split(b"\n", 1)[0]
    for kind, content in ((DocumentFormat.JSON, data), (DocumentFormat.JSONL, first_line)):
        try:
            json.loads(content)
        except (ValueError, RecursionError):
            continue
        return kind
    return DocumentFormat.TEXT


# --- PDF -------------------------------------------------------------------------------------


def _pdf_to_text(data: bytes, place: str) -> Plain:
    try:
        import pypdf
    except ImportError:
        msg = f"{place} is a PDF, and the extra that reads those is not installed"
        raise MissingExtraError(msg, hint="Run: pip install 'veridical[pdf]'") from None
    try:
        with silent("pypdf"):
            reader = pypdf.PdfReader(BytesIO(data))
            _unlock(reader, place)
            pages = [_well_formed(page.extract_text()) for page in reader.pages]
    except DocumentError:
        raise
    except Exception as error:  # noqa: BLE001 -- a damaged file raises almost anything in pypdf
        msg = f"{place} is damaged and cannot be read as PDF ({type(error).__name__})"
        raise DocumentError(msg, hint="Open it in a viewer and print it to a new PDF") from None
    return _joined(pages, place)


def _unlock(reader: PdfReader, place: str) -> None:
    # Many encrypted files open with an empty password: only changing them is locked.
    if reader.is_encrypted and not reader.decrypt(""):
        msg = f"{place} is encrypted"
        raise DocumentError(msg, hint="Save a copy without the password")


def _joined(pages: list[str], place: str) -> Plain:
    blank = [number for number, page in enumerate(pages, start=1) if not page.strip()]
    if len(blank) == len(pages):
        msg = f"{place} holds no text that can be extracted ({len(pages)} pages)"
        raise DocumentError(msg, hint="It may be scanned: run OCR on it first, e.g. ocrmypdf")
    text = "\n\n".join(page for page in pages if page.strip())
    return Plain(text, f"{len(blank)} of {len(pages)} pages hold no text" if blank else "")


def _well_formed(text: str) -> str:
    # Broken font tables yield lone surrogates and NULs, which no later stage can encode.
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


@contextmanager
def silent(logger_name: str) -> Iterator[None]:
    """Keep a library's warnings, which may quote the document, out of the log."""
    logger = logging.getLogger(logger_name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
