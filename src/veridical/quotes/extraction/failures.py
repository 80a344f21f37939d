"""Failures of an extraction run, for audits: kinds, counts and hashes, never a text.

Each failure is logged as it is recorded, and `failures_<run id>.json` holds them all.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError, InputError
from veridical.quotes.grounding import log_event

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = "veridical.failures/1"

logger = logging.getLogger(__name__)


class FailureCategory(StrEnum):
    """Category of a failure."""

    TEXT_MODEL = "text_model"
    """The text model gave no readable answer."""
    EVIDENCE_JSON = "evidence_json"
    """The answer is not one strict JSON value."""
    EVIDENCE_SCHEMA = "evidence_schema"
    """The JSON violates the schema."""
    EVIDENCE_HALLUCINATION = "evidence_hallucination"
    """Quotes are not in the transcript."""


class FailureSeverity(StrEnum):
    """Severity of a failure, by whether there is a result all the same."""

    WARNING = "warning"
    """There is a result, without the rejected quotes, or from the second answer."""
    ERROR = "error"
    """There is no result, or none of its quotes was accepted."""


_EVENTS = {
    FailureCategory.TEXT_MODEL: "evidence_extraction_failed",
    FailureCategory.EVIDENCE_JSON: "evidence_schema_validation_failed",
    FailureCategory.EVIDENCE_SCHEMA: "evidence_schema_validation_failed",
    FailureCategory.EVIDENCE_HALLUCINATION: "evidence_hallucination",
}
_LEVELS = {FailureSeverity.WARNING: logging.WARNING, FailureSeverity.ERROR: logging.ERROR}
_ID = re.compile(r"[\w.-]{1,64}")


@dataclass(frozen=True, slots=True)
class ExtractionFailure:
    """One failure; `details` are words, hashes and violations, without any text."""

    category: FailureCategory
    severity: FailureSeverity
    message: str
    stage: str = "evidence_extraction"
    participant_id: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)


class FailureRegistry:
    """The failures of one run, in order."""

    def __init__(self, run_id: str | None = None) -> None:
        now = datetime.now(UTC)
        self.run_id = checked_id(run_id or f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}", "a run")
        self.started_at = now.isoformat(timespec="seconds")
        self.failures: list[ExtractionFailure] = []

    def record(self, failure: ExtractionFailure, *, log: bool = True) -> None:
        """Record a failure, and log it."""
        self.failures.append(failure)
        if log:
            fields = asdict(failure) | {"run_id": self.run_id}
            log_event(logger, _LEVELS[failure.severity], _EVENTS[failure.category], fields)

    def to_json(self) -> str:
        """Return the document of the run."""
        categories = [failure.category for failure in self.failures]
        document = {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "started_at": self.started_at,
            "by_category": {kind: categories.count(kind) for kind in FailureCategory},
            "failures": [asdict(failure) for failure in self.failures],
        }
        return json.dumps(document, indent=2) + "\n"

    def write(self, folder: Path) -> Path:
        """Write `failures_<run id>.json` into a folder, whole or not at all, and return its path.

        The folder is made if need be; `ConfigurationError` if that or the file fails.
        """
        path = folder / f"failures_{self.run_id}.json"
        draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(3)}.tmp")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                draft.write_text(self.to_json(), encoding="utf-8")
                draft.replace(path)
            finally:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
        except OSError as error:
            msg = f"the file of failures cannot be written ({type(error).__name__})"
            hint = "extraction.failures names a folder that can be written"
            raise ConfigurationError(msg, hint=hint) from None
        return path


def checked_id(value: str | int, what: str) -> str:
    """Return an id as text; `InputError` for anything that may be a text instead."""
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, str | int) or not _ID.fullmatch(text):
        msg = f"the id of {what} must be 1 to 64 letters, digits, dots, dashes or underscores"
        raise InputError(msg, hint="It is written to logs and files: use no name and no text")
    return text
