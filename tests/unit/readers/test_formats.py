from __future__ import annotations

import sys
from io import BytesIO
from typing import TYPE_CHECKING

import pypdf
import pytest

from veridical.errors import DocumentError, MissingExtraError
from veridical.readers.formats import DocumentFormat, Plain, decode, format_of, to_text

if TYPE_CHECKING:
    from collections.abc import Callable


OWNER = "owner"


def encrypted(data: bytes, password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=BytesIO(data))
    writer.encrypt(password, owner_password=OWNER, algorithm="RC4-128")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.md", b"<html> in Markdown stays", DocumentFormat.TEXT),
        ("a.txt", b'{"id": 1}', DocumentFormat.TEXT),
        ("a.py", b"x = 1", DocumentFormat.TEXT),
        ("a.HTML", b"text", DocumentFormat.HTML),
        ("a.json", b"text", DocumentFormat.JSON),
        ("a.jsonl", b"text", DocumentFormat.JSONL),
        ("a.txt", b"%PDF-1.4 mislabelled", DocumentFormat.PDF),
        ("page", b"\n<!DOCTYPE html><html>", DocumentFormat.HTML),
        ("page.aspx", b"\xef\xbb\xbf<HTML lang=en>", DocumentFormat.HTML),
        ("records", b'{"id": "a",\n "text": "b"}', DocumentFormat.JSON),
        ("records", b'{"id": "a"}\n{"id": "b"}', DocumentFormat.JSONL),
        ("notes", b"[draft] a note", DocumentFormat.TEXT),
        ("notes", b"", DocumentFormat.TEXT),
    ],
)
def test_the_format_follows_content_and_suffix(
    name: str, data: bytes, kind: DocumentFormat
) -> None:
    assert format_of(name, data) is kind


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_decodes_without_its_byte_order_mark(encoding: str) -> None:
    text = "e\u0301 \u05d0\u05d1 \U0001f600\r\nend"
    assert decode(text.encode(encoding), "x") == text


def test_big_endian_utf16_decodes() -> None:
    assert decode(b"\xfe\xff\x00h\x00i", "x") == "hi"


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1252", "ISO-8859-15"])
def test_html_decodes_in_its_declared_charset(declared: str) -> None:
    page = f'<html><meta charset="{declared}"><p>caf\u00e9'.encode("latin-1")
    assert to_text(page, DocumentFormat.HTML, "x").text == "caf\u00e9"


@pytest.mark.parametrize("declared", ["windows-9999", "punycode", "rot13"])
def test_an_unknown_declared_charset_means_utf8(declared: str) -> None:
    page = f"<html><meta charset={declared}><p>caf\u00e9".encode()
    assert to_text(page, DocumentFormat.HTML, "x").text == "caf\u00e9"


def test_binary_is_named_with_the_offset_of_its_first_nul() -> None:
    with pytest.raises(DocumentError, match="x is binary: it holds a NUL at byte 3"):
        decode(b"abc\0\0", "x")


def test_a_nul_in_utf16_is_binary_too() -> None:
    with pytest.raises(DocumentError, match="NUL at character 1"):
        decode("a\0b".encode("utf-16"), "x")


@pytest.mark.parametrize("data", [b"ab\xff", b"\xff\xfe\x00\xd8"])
def test_undecodable_bytes_are_named_with_their_offset(data: bytes) -> None:
    with pytest.raises(DocumentError, match="undecodable at byte 2"):
        decode(data, "x")


@pytest.mark.parametrize("kind", [DocumentFormat.TEXT, DocumentFormat.HTML, DocumentFormat.PDF])
@pytest.mark.parametrize("data", [b"", b" \n\t"])
def test_an_empty_document_is_an_error(kind: DocumentFormat, data: bytes) -> None:
    with pytest.raises(DocumentError, match="x is empty"):
        to_text(data, kind, "x")


def test_a_page_without_readable_text_is_an_error() -> None:
    with pytest.raises(DocumentError, match="holds no readable text"):
        to_text(b"<html><script>draw()</script>", DocumentFormat.HTML, "x")


def test_control_characters_in_text_stay_where_they_are() -> None:
    assert to_text(b"a\x07\x1b[31mb\r\n", DocumentFormat.TEXT, "x") == Plain("a\x07\x1b[31mb\r\n")


def test_pdf_pages_are_joined(pdf: Callable[..., bytes]) -> None:
    plain = to_text(pdf("The first page.", "The second page."), DocumentFormat.PDF, "x")
    assert plain == Plain("The first page.\n\nThe second page.")


def test_pdf_pages_without_text_are_counted(pdf: Callable[..., bytes]) -> None:
    plain = to_text(pdf("Only this.", "", ""), DocumentFormat.PDF, "x")
    assert plain == Plain("Only this.", "2 of 3 pages hold no text")


def test_a_scanned_pdf_asks_for_ocr(pdf: Callable[..., bytes]) -> None:
    with pytest.raises(DocumentError, match=r"no text that can be extracted \(1 pages\)") as caught:
        to_text(pdf(""), DocumentFormat.PDF, "x")
    assert "OCR" in caught.value.hint


def test_an_encrypted_pdf_says_so(pdf: Callable[..., bytes]) -> None:
    with pytest.raises(DocumentError, match="x is encrypted"):
        to_text(encrypted(pdf("Secret."), "password"), DocumentFormat.PDF, "x")


def test_a_pdf_locked_only_against_changes_is_read(pdf: Callable[..., bytes]) -> None:
    assert to_text(encrypted(pdf("Open."), ""), DocumentFormat.PDF, "x") == Plain("Open.")


@pytest.mark.parametrize("cut", [20, 200, 400])
def test_a_damaged_pdf_is_a_named_error(pdf: Callable[..., bytes], cut: int) -> None:
    with pytest.raises(DocumentError, match=r"^x "):
        to_text(pdf("Gone.")[:cut], DocumentFormat.PDF, "x")


def test_a_pdf_without_the_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtraError) as caught:
        to_text(b"%PDF-1.4", DocumentFormat.PDF, "x")
    assert "pip install 'veridical[pdf]'" in caught.value.hint


def test_reading_a_pdf_logs_nothing(
    pdf: Callable[..., bytes], caplog: pytest.LogCaptureFixture
) -> None:
    to_text(pdf("Text.").replace(b"startxref\n", b"startxref\n9"), DocumentFormat.PDF, "x")
    assert not caplog.records
