"""Audit log: who did what, when, with which outcome, as JSON lines. Names and numbers, no text."""

from __future__ import annotations

import logging
import os
from http import HTTPStatus
from logging.handlers import WatchedFileHandler
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError
from veridical.interfaces.http.callers import caller
from veridical.telemetry import Served
from veridical.telemetry.logs import JsonFormatter

if TYPE_CHECKING:
    from io import TextIOWrapper

    from veridical.telemetry import Event

logger = logging.getLogger("veridical.audit")

_REFUSED = frozenset({401, 403, 429})


class AuditSink:
    """Logger of requests under `/v1`, of tool calls, and of requests refused for their key.

    Lines go to a file of their own, else to the log. The file is opened again once it was moved
    away, so that the host may rotate it. `ConfigurationError` if it cannot be written.
    """

    def __init__(self, path: str | None) -> None:
        self._file = None if path is None else _opened(path)

    def take(self, event: Event, /) -> None:
        """Log a request that was answered."""
        if not isinstance(event, Served):
            return
        if event.route.startswith("/v1/") or event.status in _REFUSED:
            operation = f"{event.method} {event.route}"
            outcome = _outcome(event.status)
            self._write(_line(operation, outcome, event.seconds) | {"status": event.status})

    def tool_called(self, name: str, outcome: str, seconds: float) -> None:
        """Log a call of a tool for agents."""
        self._write(_line(f"MCP {name}", outcome, seconds))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _write(self, fields: dict[str, object]) -> None:
        extra = {"event": "audit", "fields": fields}
        if self._file is None:
            logger.info("%s", "audit", extra=extra)
            return
        made = logger.makeRecord(logger.name, logging.INFO, "", 0, "audit", (), None, extra=extra)
        self._file.handle(made)


def _line(operation: str, outcome: str, seconds: float) -> dict[str, object]:
    key = caller()
    return {
        "key": None if key is None else key.name,
        "project": None if key is None else key.project,
        "operation": operation,
        "outcome": outcome,
        "seconds": round(seconds, 4),
    }


def _outcome(status: int) -> str:
    """Return the outcome of a status; 0 is a request that ended before its answer began."""
    if status in _REFUSED:
        return "refused"
    if not status or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "failed"
    return "invalid" if status >= HTTPStatus.BAD_REQUEST else "done"


class _PrivateFile(WatchedFileHandler):
    """File that only its owner can read, also once it was moved away and made again."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _opened(path: str) -> WatchedFileHandler:
    try:
        handler = _PrivateFile(path, encoding="utf-8")
    except OSError as error:
        msg = f"the audit log {path} cannot be written: {error.strerror}"
        raise ConfigurationError(msg, hint="Check its folder and permissions") from None
    handler.setFormatter(JsonFormatter())
    return handler
