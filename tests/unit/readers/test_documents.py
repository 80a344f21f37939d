from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.errors import DocumentError, InputError, SourceError, VeridicalError
from veridical.readers import documents
from veridical.readers.documents import (
    ensure_one_stdin,
    read_answer,
    read_sources,
    read_text,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NO_RECORDS = "is a JSON object, but neither a record nor a mapping of ids to texts"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, content: str | bytes) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())


def pipe_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


# --- ids -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_a_file_is_cited_by_its_name_or_by_the_id_it_is_given() -> None:
    write("sub/doc.md", "# One")
    sources = read_sources(["sub/doc.md", "S1=sub/doc.md"]).sources
    assert [(s.id, s.text, s.path) for s in sources] == [
        ("doc.md", "# One", "sub/doc.md"),
        ("S1", "# One", "sub/doc.md"),
    ]


@pytest.mark.usefixtures("folder")
def test_a_path_that_exists_may_hold_an_equals_sign() -> None:
    write("a=b.txt", "text")
    assert [s.id for s in read_sources(["a=b.txt", "X=a=b.txt"]).sources] == ["a=b.txt", "X"]


@pytest.mark.parametrize("argument", ["=doc.md", "S1=", " =doc.md"])
@pytest.mark.usefixtures("folder")
def test_half_an_argument_is_no_source(argument: str) -> None:
    with pytest.raises(SourceError, match="is not a source"):
        read_sources([argument])


@pytest.mark.usefixtures("folder")
def test_duplicate_ids_are_named_with_both_places() -> None:
    write("a/doc.md", "one")
    write("b/doc.md", "two")
    write("c.json", '[{"id": "x", "text": "1"}, {"id": "x", "text": "2"}]')
    with pytest.raises(SourceError) as caught:
        read_sources(["a/doc.md", "b/doc.md", "c.json"])
    assert "doc.md (a/doc.md and b/doc.md)" in caught.value.message
    assert "x (c.json, row 1 and c.json, row 2)" in caught.value.message


@pytest.mark.usefixtures("folder")
def test_records_have_ids_of_their_own() -> None:
    write("c.json", '{"x": "1"}')
    with pytest.raises(SourceError, match="ids of their own"):
        read_sources(["S1=c.json"])


def test_no_sources_is_an_error() -> None:
    with pytest.raises(SourceError, match="there are no sources"):
        read_sources([])


# --- folders ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_a_folder_gives_all_its_documents_in_order(pdf: Callable[..., bytes]) -> None:
    write("docs/b.md", "b")
    write("docs/a/z.html", "<p>z")
    write("docs/c.pdf", pdf("c"))
    write("docs/d.jsonl", '{"id": "d1", "text": "d"}')
    write("docs/.hidden.md", "no")
    write("docs/.git/config", "no")
    found = read_sources(["docs"])
    assert [(s.id, s.text) for s in found.sources] == [
        ("b.md", "b"),
        ("c.pdf", "c"),
        ("d1", "d"),
        ("a/z.html", "z"),
    ]
    assert not found.notices


@pytest.mark.usefixtures("folder")
def test_what_a_folder_holds_besides_documents_is_reported(pdf: Callable[..., bytes]) -> None:
    write("docs/a.md", "a")
    write("docs/image.png", b"\x89PNG\0\0")
    write("docs/latin.txt", b"caf\xe9")
    write("docs/package.json", '{"version": 1}')
    write("docs/void.py", "")
    write("docs/scan.pdf", pdf("x", ""))
    os.mkfifo("docs/pipe")
    found = read_sources(["docs"])
    assert [s.id for s in found.sources] == ["a.md", "scan.pdf"]
    assert sorted(map(str, found.notices)) == [
        "docs/image.png: skipped, not UTF-8 text",
        "docs/latin.txt: skipped, not UTF-8 text",
        f"docs/package.json: skipped, {NO_RECORDS}",
        "docs/pipe: skipped, not a regular file",
        "docs/scan.pdf: 1 of 2 pages hold no text",
        "docs/void.py: skipped, empty",
    ]


@pytest.mark.usefixtures("folder")
def test_a_folder_without_documents_is_an_error() -> None:
    write("docs/image.png", b"\0")
    with pytest.raises(DocumentError, match="holds no document"):
        read_sources(["docs"])


@pytest.mark.usefixtures("folder")
def test_a_damaged_document_in_a_folder_is_an_error() -> None:
    write("docs/a.md", "a")
    write("docs/b.pdf", b"%PDF-1.4 cut off")
    with pytest.raises(DocumentError, match=r"b\.pdf"):
        read_sources(["docs"])


def test_an_id_names_one_document_not_a_folder(folder: Path) -> None:
    with pytest.raises(SourceError, match="is a folder, and an id names one document"):
        read_sources([f"S1={folder}"])


# --- standard input --------------------------------------------------------------------------


def test_the_answer_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, "\ufeffAn answer.\n".encode())
    assert read_answer("-") == "An answer.\n"


@pytest.mark.parametrize(("argument", "source_id"), [("-", "stdin"), ("S1=-", "S1")])
def test_a_source_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, argument: str, source_id: str
) -> None:
    pipe_in(monkeypatch, b"A source.")
    (source,) = read_sources([argument]).sources
    assert (source.id, source.text) == (source_id, "A source.")


def test_records_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, b'{"id": "a", "text": "1"}\n{"id": "b", "text": "2"}\n')
    assert [s.id for s in read_sources(["-"]).sources] == ["a", "b"]


@pytest.mark.parametrize(("answer", "sources"), [("-", ["S1=-"]), ("a.md", ["-", "S1=-"])])
def test_standard_input_is_read_once(answer: str, sources: list[str]) -> None:
    with pytest.raises(DocumentError, match="asked for 2 times"):
        ensure_one_stdin(answer, sources)


def test_closed_standard_input_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DocumentError, match="standard input is closed"):
        read_answer("-")


def test_a_pipe_with_a_name_is_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(b"Through a pipe.",))
    writer.start()
    assert read_answer("pipe") == "Through a pipe."
    writer.join()


# --- what cannot be read ---------------------------------------------------------------------


@pytest.mark.parametrize("read", [read_answer, lambda path: read_sources([path])])
@pytest.mark.usefixtures("folder")
def test_every_unreadable_file_is_a_named_error_with_a_hint(
    read: Callable[[str], object],
) -> None:
    write("empty.md", "")
    write("blank.md", " \n")
    write("junk.bin", b"\x7fELF\0\0")
    write("latin.txt", b"caf\xe9")
    for path in ("empty.md", "blank.md", "junk.bin", "latin.txt", "missing.md"):
        with pytest.raises(DocumentError, match=path) as caught:
            read(path)
        assert caught.value.hint


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.usefixtures("folder")
def test_an_empty_answer_is_not_to_be_left_out(text: str) -> None:
    write("empty.md", text)
    with pytest.raises(InputError) as caught:
        read_answer("empty.md")
    assert (caught.value.hint or "").startswith("Give it some text")


def test_a_folder_is_no_answer(folder: Path) -> None:
    with pytest.raises(DocumentError, match="is a folder"):
        read_answer(str(folder))


@pytest.mark.usefixtures("folder")
def test_an_unreadable_file_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    write("locked.md", "text")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DocumentError, match=r"cannot read locked\.md: Permission denied"):
        read_answer("locked.md")


@pytest.mark.parametrize("argument", ["a.txt", "-"])
@pytest.mark.usefixtures("folder")
def test_a_file_beyond_the_limit_is_a_named_error(
    monkeypatch: pytest.MonkeyPatch, argument: str
) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 4)
    pipe_in(monkeypatch, b"12345")
    write("a.txt", "12345")
    with pytest.raises(DocumentError, match="is larger than"):
        read_answer(argument)


def test_text_in_place_of_a_path_is_not_repeated() -> None:
    with pytest.raises(DocumentError) as caught:
        read_answer("The sky is blue. " * 50)
    assert "sky" not in str(caught.value)


def test_an_address_is_not_fetched_and_the_hint_says_so() -> None:
    with pytest.raises(DocumentError) as caught:
        read_sources(["https://example.org/page.html"])
    assert caught.value.hint == "Nothing is fetched: save the page, and name that file"


def test_paths_are_shown_without_control_characters() -> None:
    assert shown("a\x1b[31m.md") == "'a\\x1b[31m.md'"
    assert shown("caf\u00e9 \U0001f600.md") == "caf\u00e9 \U0001f600.md"


# --- answers ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_an_answer_may_be_json_and_stays_as_it_is() -> None:
    write("answer.json", '{"name": "x"}')
    assert read_answer("answer.json") == '{"name": "x"}'


@pytest.mark.usefixtures("folder")
def test_a_pdf_is_no_plain_text(pdf: Callable[..., bytes]) -> None:
    write("talk.txt", pdf("It rains."))
    with pytest.raises(DocumentError, match="is a PDF, but the transcript has to be text"):
        read_text("talk.txt", "the transcript")


@pytest.mark.usefixtures("folder")
def test_an_answer_may_be_html() -> None:
    write("answer.html", "<p>One.</p><p>Two.</p>")
    assert read_answer("answer.html") == "One.\n\nTwo."


# --- any bytes at all ------------------------------------------------------------------------

SUFFIXES = ["", ".txt", ".md", ".html", ".pdf", ".json", ".jsonl", ".bin"]
STARTS = [b"", b"%PDF-1.4\n", b"\xef\xbb\xbf", b"\xff\xfe", b"<html>", b'{"id":', b"[{", b"\0"]


@given(st.sampled_from(SUFFIXES), st.sampled_from(STARTS), st.binary(max_size=200))
@example(".json", b"", b"1" * 5000)
@example(".json", b"", b'{"id": "\\ud800", "text": "x"}')
@example(".json", b"", b'{"id": "a", "text": "\\ud800"}')
def test_arbitrary_bytes_are_read_or_refused_by_name(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, start: bytes, rest: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(start + rest)
    for read in (read_answer, lambda name: read_sources([name])):
        try:
            assert read(str(path))
        except VeridicalError as error:
            assert error.hint  # noqa: PT017 -- either outcome is right
