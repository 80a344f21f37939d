"""Parser of a line of a labelled data set: a row, a reason to skip it, or its problems.

Problems name keys and types, never text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from veridical.core.types import Source, ensure_text
from veridical.errors import VeridicalError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Label3(StrEnum):
    """Relation of the evidence to a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_IN_CONTEXT = "not_in_context"


class SkipReason(StrEnum):
    """Reason why a well-formed row is not measured."""

    AMBIGUOUS = "ambiguous"
    NO_EVIDENCE = "no_evidence"
    CITED_EVIDENCE_EMPTY = "cited_evidence_empty"


@dataclass(frozen=True, slots=True)
class Row:
    """Labelled claim with its evidence; `cites` are the ids it cites, existing or not."""

    id: str
    claim: str = field(repr=False)
    sources: tuple[Source, ...]
    supported: bool
    label3: Label3 | None = None
    cites: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[Source, ...]:
        """Evidence that counts: cited existing sources, or all if nothing is cited."""
        if not self.cites:
            return self.sources
        return tuple(source for source in self.sources if source.id in self.cites)


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """Row that is left out, with the reason."""

    id: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Malformed:
    """All problems of a line."""

    problems: tuple[str, ...]


Parsed: TypeAlias = Row | SkippedRow | Malformed
LABELS = {"supported": True, "not_supported": False}
TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def parse(line: str) -> Parsed:
    """Return the row in one line of JSON."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return Malformed(("is not valid JSON",))
    if not isinstance(value, dict):
        return Malformed((f"must be an object, not {TYPE_NAMES[type(value)]}",))
    fields = _Fields(value)
    parsed = _row(fields)
    return Malformed(tuple(fields.problems)) if fields.problems else parsed


def _row(fields: _Fields) -> Row | SkippedRow:
    row_id, claim = fields.text("id"), fields.text("claim")
    sources = fields.evidence()
    supported, label3, cites = fields.label(), fields.label3(), fields.cites()
    if fields.extra().get("ambiguous"):
        return SkippedRow(row_id, SkipReason.AMBIGUOUS)
    if not any(sources.values()):
        return SkippedRow(row_id, SkipReason.NO_EVIDENCE)
    kept = tuple(cited for cited in cites if cited not in sources or sources[cited])
    if cites and not kept:
        return SkippedRow(row_id, SkipReason.CITED_EVIDENCE_EMPTY)
    filled = tuple(Source(key, text) for key, text in sources.items() if text)
    return Row(row_id, claim, filled, supported, label3, kept)


class _Fields:
    """Keys of one row; notes problems and returns a harmless value in place of a bad one."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row
        self.problems: list[str] = []

    def text(self, key: str) -> str:
        value = self._row.get(key)
        try:
            ensure_text(value, f"key {key!r}")
        except VeridicalError as error:
            self.problems.append(error.message)
            return ""
        return str(value)

    def extra(self) -> Mapping[str, Any]:
        extra = self._row.get("extra") or {}
        if isinstance(extra, dict):
            return extra
        self.problems.append(f"key 'extra' must be an object, not {TYPE_NAMES[type(extra)]}")
        return {}

    def label(self) -> bool:
        label = self._row.get("label")
        if isinstance(label, str) and label in LABELS:
            return LABELS[label]
        self.problems.append("key 'label' must be 'supported' or 'not_supported'")
        return False

    def label3(self) -> Label3 | None:
        value = self._row.get("label3")
        if value is None:
            return None
        if not isinstance(value, str) or value not in set(Label3):
            self.problems.append(f"key 'label3' must be null or one of {', '.join(Label3)}")
            return None
        if (value == Label3.SUPPORTED) != (self._row.get("label") == "supported"):
            self.problems.append("keys 'label' and 'label3' say different things")
        return Label3(value)

    def cites(self) -> tuple[str, ...]:
        cites = self._row.get("cites")
        cites = self.extra().get("cites") if cites is None else cites
        if cites is None:
            return ()
        if isinstance(cites, list) and all(isinstance(c, str) and c.strip() for c in cites):
            return tuple(dict.fromkeys(cites))
        self.problems.append("key 'cites' must be a list of evidence ids")
        return ()

    def evidence(self) -> dict[str, str]:
        """Return texts by id; an empty one stays as "", so that citing it is no phantom."""
        evidence = self._row.get("evidence")
        items = evidence if isinstance(evidence, list) else [evidence]
        found: dict[str, str] = {}
        for number, item in enumerate(items, start=1):
            self._add(found, number, item)
        return found

    def _add(self, found: dict[str, str], number: int, item: object) -> None:
        record = {"id": str(number), "text": item} if isinstance(item, str) else item
        if not isinstance(record, dict) or not _is_record(record):
            self.problems.append(f"evidence {number} must be text or {{'id', 'text'}}")
            return
        key, text = record["id"], record["text"] if record["text"].strip() else ""
        if found.setdefault(key, text) != text:
            self.problems.append(f"evidence {number} has the id of another one")
        elif text and not _is_source(key, text):
            found[key] = ""
            self.problems.append(f"evidence {number} holds a lone surrogate")


def _is_record(item: Mapping[str, object]) -> bool:
    key, text = item.get("id"), item.get("text")
    return isinstance(key, str) and bool(key.strip()) and isinstance(text, str)


def _is_source(key: str, text: str) -> bool:
    try:
        Source(key, text)
    except VeridicalError:
        return False
    return True
