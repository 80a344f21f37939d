"""Jobs as documents: states, progress, and the lines of results."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "veridical.job/1"


class JobState(StrEnum):
    """State of a job."""

    WAITING = "waiting"
    """No check has begun."""
    RUNNING = "running"
    """Some checks are under way, or done."""
    DONE = "done"
    """Every check has a result, which may be an error."""


def state_of(row: Mapping[str, Any]) -> JobState:
    """Return the state of a stored job."""
    if row["finished"] is not None:
        return JobState.DONE
    return JobState.RUNNING if row["claimed"] or row["done"] else JobState.WAITING


def job_document(row: Mapping[str, Any], kept_s: float) -> dict[str, Any]:
    """Return a stored job without any text; it is removed `kept_s` seconds after its end."""
    end = row["finished"]
    webhook = {"state": row["webhook_state"], "attempts": row["webhook_attempts"]}
    return {
        "schema": SCHEMA,
        "id": row["id"],
        "state": state_of(row).value,
        "progress": {name: row[name] for name in ("total", "done", "failed")},
        "created": _moment(row["created"]),
        "finished": None if end is None else _moment(end),
        "expires": None if end is None else _moment(end + kept_s),
        "webhook": None if row["webhook_state"] is None else webhook,
    }


def dumped(document: object) -> bytes:
    """Return JSON of ASCII in one line: half a surrogate pair, which has no UTF-8, is escaped."""
    return json.dumps(document, allow_nan=False, separators=(",", ":"), default=str).encode()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
