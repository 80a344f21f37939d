"""Targets of fuzzing: inputs of each text stage, and what must hold of its result.

A target takes a text. Bytes are code points up to 255; where a stage takes several texts, they are
separated by `SEPARATOR`. An input is refused by a `VeridicalError` or its result is right.
"""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from html import escape
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from mcp.shared.message import SessionMessage

from veridical import SyncVerifier, Verifier
from veridical.audit.agent_logs import read_trace
from veridical.core.differences import differences
from veridical.core.strict_json import parse_evidence_json
from veridical.core.text import normal_form
from veridical.core.types import Span
from veridical.errors import VeridicalError
from veridical.interfaces.http.proxy.streams import ChatReplyStream, EventSplitter, data_of
from veridical.interfaces.mcp.line_repair import repair_line
from veridical.pipeline.claims import extract_claims, split_sentences
from veridical.pipeline.claims.citations import find_marks
from veridical.pipeline.reports.formats import FORMATS
from veridical.pipeline.reports.parsing import from_document
from veridical.quotes.matching import MOST_SPANS, ground_quotes
from veridical.quotes.schema import validate_evidence_schema
from veridical.quotes.transcripts import TranscriptKind, parse_transcript
from veridical.readers.documents import read_upload
from veridical.readers.html import html_to_text
from veridical.settings.layers import Settings
from veridical.testing import FakeBackend, fake_estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jsonschema.protocols import Validator

    from veridical.pipeline.reports import Report

SEPARATOR = "\x1f"
ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "tests" / "corpus"
"""Inputs that failed once, one file for each target."""
IDS = ("S1", "S2")


@dataclass(frozen=True)
class FuzzTarget:
    """Stage with its inputs; `check` raises `AssertionError` if the result is wrong."""

    name: str
    inputs: st.SearchStrategy[str] = field(repr=False)
    check: Callable[[str], None]
    examples: int = 20
    """Number of texts in the tests."""

    @property
    def corpus(self) -> Path:
        """Return the file of the inputs that failed once."""
        return CORPUS / f"{self.name.replace(' ', '_')}.json"

    def replayed(self) -> list[str]:
        """Return the inputs that failed once."""
        return json.loads(self.corpus.read_text()) if self.corpus.exists() else []

    def keep(self, text: str) -> None:
        """Add an input that failed to the corpus."""
        kept = [*self.replayed(), text]
        self.corpus.write_text(json.dumps(sorted(set(kept)), indent=1) + "\n")


def _ensure(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _in_order(spans: Iterable[Span], text: str) -> None:
    end = 0
    for span in spans:
        _ensure(end <= span.start <= span.end <= len(text), "spans lie in the text, in order")
        end = span.end


# --- inputs ----------------------------------------------------------------------------------


def _inputs(seeds: Sequence[str], pieces: str, *, own: bool = True) -> st.SearchStrategy[str]:
    """Return texts of pieces, changed seeds, and, with `own`, any text."""
    joined = st.lists(st.sampled_from([*pieces.split("¦"), *seeds]), max_size=30).map("".join)
    changed = st.builds(_changed, st.sampled_from(seeds), st.integers(0), st.integers(0), joined)
    return joined | changed | st.text(max_size=200) if own else joined | changed


def _changed(seed: str, start: int, length: int, instead: str) -> str:
    """Return a seed with a stretch of it replaced."""
    start %= len(seed) + 1
    return seed[:start] + instead + seed[start + length % 40 :]


def _several(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    clean = [part.map(lambda text: text.replace(SEPARATOR, "")) for part in parts]
    return st.tuples(*clean).map(SEPARATOR.join)


def _parts(text: str, count: int) -> list[str]:
    """Return the texts of an input, so many whatever it holds."""
    return (text.split(SEPARATOR, count - 1) + [""] * count)[:count]


PROSE = (
    "The bridge opened in 1998 [S1], and it has six lanes [S2:1-2]. It is not old (see [9]).\n",
    "# Title\n\n- One [S1]\n  - Two, e.g. 3.5 mg\n\n| a | b |\n|---|---|\n| 1 | “x” |\n",
    "```py\na\n```\n",
    "> “I don't sleep,” she said... 2,737 m; مرحبا، 世界。 👩\u200d🚀\n\nReferences\n[1]: http://a.b/c\n",
)
MARKS = (
    "[S1]¦[S1, S2]¦[^1]¦(S1)¦[¦]¦(¦)¦**¦_¦`¦```\n¦~~~¦#  ¦\n¦\n\n¦\r\n¦\r¦- ¦1. ¦"
    "> ¦|¦ |\n¦---¦:¦. ¦? ¦"
    "! ¦…¦ ... ¦“¦”¦\"¦'¦’¦not ¦n't ¦three ¦3,000 ¦1/2 ¦½¦%¦$¦The ¦bridge ¦He said that ¦ and ¦, ¦"
    "\0¦\x1b[31m¦\u200b¦\u202e¦\u2028¦\ufeff¦\u0301¦é¦。¦界¦ﬁ¦İ¦ß¦\ud800¦<b>¦&amp;¦\\¦\t¦\xa0"
)
prose = _inputs(PROSE, MARKS)
TALK = (
    "A: How do you sleep?\nB: Not well. I wake at 3.\nA: Do you eat?\nB: No.\n",
    "WEBVTT\n\n1\n00:01.000 --> 00:02.000\n<v Ann>Hello &amp; <i>you</i>\n\nNOTE x\n",
    "1\n00:00:01,000 --> 00:00:02,000\nAnn: Hello\n\n",
    '[{"speaker": "A", "text": "Hello"}, {"speaker": "B", "text": "No"}]',
    "start_time\tstop_time\tspeaker\tvalue\n1\t2\tA\tHello\n",
)
talk = _inputs(
    TALK, "A: ¦B: ¦[C] ¦<v A>¦<v.x A>¦</v>¦<i>¦-->¦00:01.000 --> 00:02.000\n¦\t¦speaker¦" + MARKS
)
HTML = (
    "<!doctype html><html><head><title>t</title></head><body><h1>A</h1><p>b<br>c</p></body></html>",
    "<table><tr><th>a<td>b<tr><td><ul><li>c<li>d</ul></table><pre>\n e</pre><p hidden>f",
    "<select><option>a<option>b</select>c",
)
html = _inputs(
    HTML,
    "<div>¦</div>¦<p>¦</p>¦<b a=1>¦</b>¦<i>¦</i>¦<table>¦<td>¦</table>¦<li>¦<ul>¦<!--¦"
    "<script>¦</script>¦-->¦<svg>¦<a href='¦\">¦<template>¦<object>¦&lt;¦&#0;¦"
    "&#xD800;¦<¦>¦</¦<plaintext>¦" + MARKS,
)
JSONS = (
    '{"PHQ8_Sleep": ["I wake at 3"], "PHQ8_Tired": []}',
    '[{"id": "a", "text": "b"}, {"id": "c", "text": "d"}]',
    '{"a": "b"}\n{"id": "c", "text": "d"}\n',
    '{"evidence": {"x": null, "y": [1, true, "z", {"a": 1e999}]}}',
    '```json\n{"a": ["b"]}\n```',
)
TOKENS = (
    '{¦}¦[¦]¦:¦,¦"a"¦"id"¦"text"¦null¦true¦NaN¦-0¦1e999¦"\\ud800"¦"\\u0000"¦"¦\n¦ ¦```json\n¦```¦'
    '"a": ¦"steps": ¦"role": "user"¦"content": ¦"type": "text"¦"claim": ¦99999999999999999999¦[[[[¦'
)
jsons = _inputs(JSONS, TOKENS + MARKS)
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT = [
    {"role": "user", "content": "When?"},
    {"role": "assistant", "content": "In 1998.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "It opened."},
]
LOGS = (
    json.dumps(CHAT),
    '{"steps": [{"claim": "It opened in 1998.", "cites": ["S1"], "context": []}]}',
    '{"messages": [{"type": "human", "content": [{"type": "text", "text": "a"}]}]}',
    '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat", "attributes": []}]}]}]}',
    '["One is 1.", "Two is 2."]',
)
logs = _inputs(LOGS, TOKENS + MARKS)
YAML = (
    "backend: embedded\npolicy:\n  windows: 1\n  claim_threshold: 0.5\n",
    "threads: 2\nserver:\n  deadline: 15s\n",
)
yaml = _inputs(
    YAML, "a: ¦- ¦&a ¦*a ¦<<: ¦!!python/object ¦{¦}¦[¦]¦|¦\n  ¦\n¦2001-01-01¦.inf¦~¦? ¦" + MARKS
)
EVENTS = (
    'data: {"id": "x", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n',
    "event: e\r\nid: 7\r\ndata: a\r\ndata: b\r\n\r\n: note\n\n",
)
events = _inputs(EVENTS, "data: ¦data:¦\n¦\r\n¦\r¦\n\n¦[DONE]¦event: ¦: ¦" + TOKENS)
LINES = (
    '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "check"}}',
    '{"jsonrpc": "2.0", "id": 7, "result": {}}',
)
lines = _inputs(LINES, '"jsonrpc": "2.0"¦"id": ¦"method": ¦' + TOKENS)


# --- checks ----------------------------------------------------------------------------------


def _claims(text: str) -> None:
    found = extract_claims(text, known_ids=IDS).claims
    for claim in found:
        _ensure(claim.text.strip(), "a claim has a text")
        _in_order([claim.span], text)
        for citation in claim.citations:
            _ensure(claim.span.start <= citation.span.start, "a citation lies in its claim")
            _ensure(citation.span.end <= claim.span.end, "a citation lies in its claim")
    _ensure(found == extract_claims(text, known_ids=IDS).claims, "claims are the same twice")


def _sentences(text: str) -> None:
    spans = split_sentences(text)
    _in_order(spans, text)
    _ensure(all(span.of(text) == span.of(text).strip() != "" for span in spans), "stripped")


def _citations(text: str) -> None:
    marks = find_marks(text, Span(0, len(text)), IDS)
    _in_order([mark.span for mark in marks], text)
    _ensure(all(mark.words in mark.span.of(text) for mark in marks), "words are in the mark")


def _quotes(text: str) -> None:
    source, other, start, length = _parts(text, 4)
    at = len(start) % (len(source) + 1)
    for quote in (source[at : at + len(length) + 8], other):
        for mode in ("substring", "fuzzy"):
            (match,) = ground_quotes([quote], source, mode=mode, speaker="*", allow_ellipsis=True)
            _ensure(len(match.spans) <= MOST_SPANS <= max(match.count, MOST_SPANS), "counted")
            for span in (*match.spans, *match.parts):
                _ensure(0 <= span.start < span.end <= len(source), "a place is in the source")
            _ensure(not match.accepted or match.start is not None, "what is accepted has a place")
            if match.accepted and match.score == 1 and match.grade != "fuzzy" and not match.parts:
                there = normal_form(source[match.start : match.end])
                _ensure(there in normal_form(quote) or normal_form(quote) in there, "is the quote")


def _transcripts(text: str) -> None:
    for kind in (None, *TranscriptKind):
        with suppress(VeridicalError):
            found = parse_transcript(text, kind)
            _in_order([turn.span for turn in found.turns], found.text)
            _ensure(
                found.kind not in {TranscriptKind.PLAIN, TranscriptKind.LABELS}
                or found.text == text,
                "a text with labels stays as it is",
            )


def _html(text: str) -> None:
    html_to_text(text).encode()
    shown = re.sub(r"[\0\r\ud800-\udfff]", "", text)
    page = html_to_text(f"<div><p>{escape(shown)}</p></div>")
    _ensure(_squeezed(page) == _squeezed(shown), "a page shows all of its text")


def _squeezed(text: str) -> str:
    return re.sub(r"[ \t\n\f]+", " ", text).strip(" ")


def _documents(text: str) -> None:
    name, content = _parts(text, 2)
    data = content.encode("latin-1", "ignore") if name in {"a.pdf", "a.docx"} else _bytes(content)
    with suppress(VeridicalError):
        for source in read_upload(data, name).sources:
            _ensure(source.text.strip() and "\0" not in source.text, "a source has text")
            source.text.encode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _evidence(text: str) -> None:
    with suppress(VeridicalError):
        found = validate_evidence_schema(parse_evidence_json(text).obj)
        for quotes in found.values():
            _ensure(all(quote == quote.strip() != "" for quote in quotes), "quotes are stripped")
        _ensure(validate_evidence_schema(found) == found, "validating twice changes nothing")


def _configuration(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "veridical.yaml"
        path.write_bytes(_bytes(text))
        with suppress(VeridicalError):
            Settings.load(path)


def _agent_logs(text: str) -> None:
    with suppress(VeridicalError):
        trace = read_trace(text, "log")
        _ensure(trace.steps, "a trace has steps")
        _ensure(all(step.claim.strip() for step in trace.steps), "a step has a text")


def _differences(text: str) -> None:
    claim, evidence = _parts(text, 2)
    found = differences(claim, evidence)
    _in_order(found.claim, claim)
    _in_order(found.evidence, evidence)


def _checked(answer: str, source: str) -> Report:
    backend = FakeBackend(lambda query: fake_estimate(len(query.claim) % 10 / 10))
    with SyncVerifier(Verifier(backend)) as verifier:
        return verifier.check(answer, {"S1": source, "S2": "It has six lanes."})


SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {"driver": {"required": ["name"]}},
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "message": {
                                    "required": ["text"],
                                    "properties": {"text": {"type": "string", "minLength": 1}},
                                },
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "rank": {"type": "number", "minimum": -1, "maximum": 100},
                            },
                        },
                    },
                },
            },
        },
    },
}
"""Rules of SARIF 2.1.0 for the objects that a report writes."""


@cache
def _sarif_schema() -> Validator:
    """Return the rules above, or the schema of OASIS where `SARIF_SCHEMA` names its file."""
    path = os.environ.get("SARIF_SCHEMA")
    schema = json.loads(Path(path).read_bytes()) if path else SARIF
    return validator_for(schema, Draft202012Validator)(schema)


@cache
def _report_schema() -> Draft202012Validator:
    path = ROOT / "docs" / "schemas" / "report-1.schema.json"
    return Draft202012Validator(json.loads(path.read_text()))


def _reports(text: str) -> None:
    answer, source = _parts(text, 2)
    with suppress(VeridicalError):
        report = _checked(answer, source or answer)
        document = json.loads(report.to_json())
        _report_schema().validate(document)
        again = from_document(document, report.answer, report.sources)
        _ensure(again.to_json() == report.to_json(), "a report comes back from its document")
        _sarif_schema().validate(json.loads(report.to_sarif()))
        ET.fromstring(report.to_junit())  # noqa: S314 -- written by the package itself
        for form in FORMATS:
            report.render(form).encode()


def _event_stream(text: str) -> None:
    data, size = _bytes(text), len(text) % 7 + 1
    splitter, heard, found = EventSplitter(), ChatReplyStream(), list[bytes]()
    for start in range(0, len(data), size):
        found += splitter.feed(data[start : start + size])
    _ensure(b"".join(found) + splitter.rest() == data, "no byte is lost")
    for event in found:
        heard.note(data_of(event))
    _ensure(all(isinstance(said, str) for said in heard.whole().values()), "texts are text")


def _mcp_lines(text: str) -> None:
    found = repair_line(text)
    if isinstance(found, SessionMessage):
        found.message.model_dump_json().encode()
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        _ensure(found is None, "what is no JSON is no message")


def _pdf(text: str) -> str:
    content = f"BT /F1 12 Tf 10 10 Td ({text}) Tj ET"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    body = "".join(f"{n} 0 obj{each}endobj\n" for n, each in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R/Size 6>>\n%%EOF"


def _docx(text: str) -> str:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body>"
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{space}">{body}</w:document>')
    return stream.getvalue().decode("latin-1")


PDF_PIECES = (
    "obj¦endobj¦stream\n¦endstream¦<<¦>>¦/Kids[3 0 R]¦/Length -1¦/Filter/FlateDecode¦"
    "(¦)¦2 0 R¦\0¦\xff"
)
pdf = _inputs([_pdf("It is warm.")], PDF_PIECES, own=False)
docx = _inputs([_docx("It is warm.")], "PK\x03\x04¦<w:p>¦</w:p>¦<w:tbl>¦&amp;¦&¦\0¦\xff", own=False)
documents = (
    _several(st.just("a.pdf"), pdf)
    | _several(st.just("a.docx"), docx)
    | _several(st.sampled_from(["a.json", "a.jsonl", "a"]), jsons)
    | _several(st.sampled_from(["a.html", "a"]), html)
    | _several(st.sampled_from(["a.txt", "a.md"]), prose)
)

TARGETS = (
    FuzzTarget("claims", prose, _claims),
    FuzzTarget("Markdown and sentences", prose, _sentences),
    FuzzTarget("citations", prose, _citations),
    FuzzTarget("quotes", _several(talk | prose, prose, st.text("x"), st.text("x")), _quotes),
    FuzzTarget("transcripts", talk, _transcripts),
    FuzzTarget("HTML", html, _html),
    FuzzTarget("documents", documents, _documents),
    FuzzTarget("JSON evidence", jsons, _evidence),
    FuzzTarget("configuration", yaml, _configuration, 6),
    FuzzTarget("agent logs", logs, _agent_logs),
    FuzzTarget("differences", _several(prose, prose), _differences),
    FuzzTarget("reports", _several(prose, prose), _reports, 6),
    FuzzTarget("server-sent events", events, _event_stream),
    FuzzTarget("MCP lines", lines, _mcp_lines),
)
