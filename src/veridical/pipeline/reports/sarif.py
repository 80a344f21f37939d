"""The flagged and undetermined claims as a SARIF 2.1.0 log, for code scanning and editors.

A verdict that is not sure has the level `note`, whatever its status: code scanning shows that, and
does not fail because of it. Offsets and columns are Unicode code points.

OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", 2020.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from veridical.core.assessment import Outcome
from veridical.core.cancellation import checkpoint, in_pieces
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import row_of
from veridical.pipeline.reports import phrases
from veridical.pipeline.reports.document import to_summary
from veridical.pipeline.reports.escaping import one_line
from veridical.pipeline.reports.positions import Lines, SourceLines

if TYPE_CHECKING:
    from veridical.core.assessment import Assessment
    from veridical.core.status_table import Level, Status
    from veridical.core.types import Span
    from veridical.core.verdicts import EvidenceSpan, Verdict

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Status, Level] = {
    status: row.level for status, row in STATUS_TABLE.items() if row.level is not None
}
_RULE_INDEX = {status: index for index, status in enumerate(_LEVELS)}
_Node = dict[str, Any]


def to_sarif(assessment: Assessment, *, answer_uri: str = "answer.txt") -> str:
    """Return the SARIF log as JSON text; `answer_uri` is the path or URI of the answer."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_Run(assessment, answer_uri).node()]}
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2)
    return in_pieces(encoder.iterencode(log))


class _Run:
    """One assessment as one SARIF run."""

    def __init__(self, assessment: Assessment, answer_uri: str) -> None:
        self._assessment = assessment
        self._answer_uri = as_uri(answer_uri)
        # A report read back from its document may lack the text of the answer.
        self._answer_lines = Lines(assessment.answer) if assessment.answer else None
        self._source_lines = SourceLines()

    def node(self) -> _Node:
        return {
            "tool": {"driver": _driver()},
            "columnKind": "unicodeCodePoints",
            "invocations": [self._invocation()],
            "artifacts": self._artifacts(),
            "results": [self._result(v) for v in self._assessment.claims if _reported(v)],
            "properties": {"summary": to_summary(self._assessment)},
        }

    def _invocation(self) -> _Node:
        # A log without results must not look like a clean bill when nothing was checked.
        node: _Node = {"executionSuccessful": True}
        summary = self._assessment.summary
        if summary.outcome is Outcome.NOTHING_TO_CHECK or summary.mostly_hedged:
            text = phrases.headline(self._assessment)
            node["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
        return node

    def _artifacts(self) -> list[_Node]:
        uris = [self._answer_uri, *map(self._source_uri, self._assessment.sources)]
        return [{"location": {"uri": uri}} for uri in dict.fromkeys(uris)]

    def _result(self, verdict: Verdict) -> _Node:
        checkpoint()
        span = verdict.claim.span
        region = _region(span, self._answer_lines)
        if self._answer_lines is not None:
            region["snippet"] = {"text": span.of(self._assessment.answer)}
        return {
            "ruleId": verdict.status.value,
            "ruleIndex": _RULE_INDEX[verdict.status],
            "level": "note" if verdict.please_look else _LEVELS[verdict.status],
            "message": {"text": _message(verdict)},
            "locations": [_location(self._answer_uri, region)],
            "relatedLocations": [
                self._related(evidence, index) for index, evidence in enumerate(verdict.shown)
            ],
            "partialFingerprints": {"veridicalClaim/v1": _fingerprint(verdict)},
            "properties": {
                "claim": verdict.claim.id,
                "rule": verdict.rule,
                "certainty": verdict.certainty.value,
            },
        }

    def _related(self, evidence: EvidenceSpan, index: int) -> _Node:
        source = self._assessment.sources.get(evidence.source)
        text = _literal(f"{evidence.role.value}: {one_line(evidence.text)}")
        lines = None if source is None else self._source_lines.of(source)
        region = _region(evidence.span, lines)
        location = _location(self._source_uri(evidence.source), region)
        return {"id": index, "message": {"text": text}, **location}

    def _source_uri(self, source_id: str) -> str:
        source = self._assessment.sources.get(source_id)
        return as_uri(source.path if source and source.path else source_id)


def as_uri(path: str) -> str:
    """Return a path, or an id that serves as one, as a percent-encoded URI reference."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path):
        return _quoted(path, safe="%/:?#[]@!$&'()*+,;=~")
    path = path.replace("\\", "/")
    if re.match(r"[A-Za-z]:/", path):
        return f"file:///{path[:2]}{_quoted(path[2:])}"
    return f"file://{_quoted(path)}" if path.startswith("/") else _quoted(path)


def _quoted(path: str, safe: str = "/") -> str:
    # The bytes of a file name that is no UTF-8 reach us as lone surrogates.
    return quote(path, safe=safe, errors="surrogateescape")


def _reported(verdict: Verdict) -> bool:
    return verdict.checked and verdict.status in _LEVELS


def _driver() -> _Node:
    driver: _Node = {"name": "veridical", "rules": [_rule(status) for status in _LEVELS]}
    try:
        driver["version"] = version("veridical")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return driver
    return driver


def _rule(status: Status) -> _Node:
    row = STATUS_TABLE[status]
    return {
        "id": status.value,
        "name": row.label.title().replace(" ", ""),
        "shortDescription": {"text": row.meaning},
        "help": {"text": f"{row.meaning} {row.suggested_action}."},
        "defaultConfiguration": {"level": _LEVELS[status]},
    }


def _message(verdict: Verdict) -> str:
    label = phrases.LOOKS[phrases.tone(verdict)].label.capitalize()
    parts = [f"{label}: “{one_line(verdict.claim.text)}”.", phrases.reason(verdict)]
    if action := row_of(verdict).suggested_action:
        parts.append(f"{action}.")
    return _literal(one_line(" ".join(parts)))


def _literal(text: str) -> str:
    """Escape the special syntax of a SARIF message: placeholders `{0}`, links `[text](1)`."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _region(span: Span, lines: Lines | None) -> _Node:
    offsets = {"charOffset": span.start, "charLength": len(span)}
    if lines is None:
        return offsets
    start, end = lines.at(span.start), lines.at(span.end)
    return {
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        **offsets,
    }


def _location(uri: str, region: _Node) -> _Node:
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _fingerprint(verdict: Verdict) -> str:
    identity = f"{verdict.status.value}\0{' '.join(verdict.claim.text.split())}"
    return sha256(identity.encode("utf-8", "replace")).hexdigest()
