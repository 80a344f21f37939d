"""Text of DOCX documents, and refusals of documents that would do harm."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from veridical.errors import DocumentError, MissingExtraError
from veridical.readers import docx
from veridical.readers.documents import read_sources
from veridical.readers.formats import DocumentFormat, format_of, to_text

pytest.importorskip("mammoth")

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
RELS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Target="word/document.xml" Type="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships/officeDocument"/></Relationships>'
)


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def document(body: str, head: str = "") -> bytes:
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELS)
        whole = f'{head}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", whole)
    return data.getvalue()


def test_paragraphs_and_tables_are_lines() -> None:
    cell = "<w:tc>{}</w:tc>"
    row = "<w:tr>" + cell.format(paragraph("Lanes")) + cell.format(paragraph("8")) + "</w:tr>"
    data = document(paragraph("It opened in 1998.") + f"<w:tbl>{row}</w:tbl>")
    assert format_of("upload", data) is DocumentFormat.DOCX
    assert to_text(data, DocumentFormat.DOCX, "x").text == "It opened in 1998.\n\nLanes | 8"


def test_a_docx_is_a_source_by_its_name_and_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notice.docx").write_bytes(document(paragraph("It opened in 1998.")))
    for named in (str(tmp_path / "notice.docx"), str(tmp_path)):
        (source,) = read_sources([named]).sources
        assert (source.id, source.text) == ("notice.docx", "It opened in 1998.")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"PK\x03\x04 no archive", "damaged"),
        (document("<w:p>"), "damaged"),
        (document(""), "no readable text"),
        (document("", head='<!DOCTYPE x [<!ENTITY a "aaaa">]>'), "declares a document type"),
    ],
)
def test_a_document_without_text_or_with_tricks_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        docx.docx_to_text(data, "it")


def test_a_document_with_any_damaged_byte_is_read_or_refused_by_name() -> None:
    data = document("")
    refused = 0
    for place in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        with pytest.raises(DocumentError) as caught:  # it holds no text, damaged or not
            docx.docx_to_text(bytes(damaged), "it")
        refused += "damaged" in str(caught.value)
    assert refused > len(data) // 10


def test_a_document_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "MAX_UNPACKED_BYTES", 1024**2)
    data = document(paragraph("x" * 2 * 1024**2))
    assert len(data) < 10_000
    with pytest.raises(DocumentError, match="unpacked"):
        docx.docx_to_text(data, "it")


def test_without_the_extra_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mammoth", None)
    with pytest.raises(MissingExtraError) as caught:
        docx.docx_to_text(b"", "it")
    assert "veridical[docx]" in caught.value.hint
