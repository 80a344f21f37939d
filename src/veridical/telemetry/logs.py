"""Structured logs of events, with the id of their request. Standard library only.

One line is one JSON object: `time`, `level`, `logger`, `event`, `request_id` if there is one, and
the fields of the event. Exceptions are logged by type and place: their messages may quote texts.
At the level `debug` the places of all calls are logged, too.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from contextvars import ContextVar
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TextIO

from veridical.telemetry.events import (
    BackendAsked,
    ClaimsVerified,
    FactDecided,
    Failed,
    ProxyAnswer,
    Quoted,
    Served,
    Shed,
    Staged,
    TraceAudited,
    Waited,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.telemetry.events import Event

logger = logging.getLogger("veridical.events")

request_id: ContextVar[str | None] = ContextVar("veridical_request_id", default=None)
"""Id of the current request, a field of the logs."""

_FLAGS_LOGGED = 50
"""Flagged claims of one answer that are logged one by one; the rest is in the totals."""

_MOST_CALLS = 200
"""Calls of one failure that are logged."""

_NAMES: dict[type, tuple[int, str]] = {
    ClaimsVerified: (logging.INFO, "claims_verified"),
    Staged: (logging.DEBUG, "stage_done"),
    BackendAsked: (logging.DEBUG, "backend_asked"),
    FactDecided: (logging.INFO, "fact_decided"),
    TraceAudited: (logging.INFO, "trace_audited"),
    Quoted: (logging.INFO, "quotes_grounded"),
    Shed: (logging.WARNING, "request_shed"),
    Waited: (logging.DEBUG, "turn_waited_for"),
    ProxyAnswer: (logging.INFO, "proxy_answer"),
    Served: (logging.INFO, "request_served"),
    Failed: (logging.ERROR, "failure"),
}


class LogSink:
    """Logger of events: a line for each, and one for each flagged claim."""

    def take(self, event: Event, /) -> None:
        """Log an event."""
        level, name = _NAMES[type(event)]
        if isinstance(event, ProxyAnswer) and event.unverified:
            level = logging.WARNING
        if not logger.isEnabledFor(level):
            return
        fields = asdict(event)
        if isinstance(event, Failed):
            fields = _shown_failure(event)
        if isinstance(event, ClaimsVerified):
            flags = fields.pop("flags")
            fields |= {"claims": event.claims, "flagged": len(flags)}
            for flag in flags[:_FLAGS_LOGGED]:
                _log(logging.INFO, "hallucination_detected", {"operation": event.operation, **flag})
        _log(level, name, fields)


def _log(level: int, name: str, fields: Mapping[str, object]) -> None:
    logger.log(level, "%s", name, extra={"event": name, "fields": fields})


def failure(where: str, error: BaseException) -> Failed:
    """Return the loggable parts of an exception: its type, and its places."""
    places = _places(error)
    return Failed(where, type(error).__name__, places[-1][0] if places else "", _stack(error))


def _places(error: BaseException) -> list[tuple[str, str]]:
    """Return the place and the function of each call; never a line of code, which may have text."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(f"{os.path.basename(one.filename)}:{one.lineno}", one.name) for one in frames]  # noqa: PTH119 -- a bare name


def _stack(error: BaseException) -> tuple[str, ...]:
    """Return the calls that led to an error, those of its causes first, each with its type."""
    found: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(found) < _MOST_CALLS:
        calls = [f"{place} {name}" for place, name in _places(seen)]
        found = [*calls, type(seen).__name__, *found]
        seen = seen.__cause__ or seen.__context__
    return tuple(found)


def _shown_failure(event: Failed) -> dict[str, object]:
    """Return the fields of a failure: its calls only at the level `debug`."""
    fields = asdict(event)
    if not logger.isEnabledFor(logging.DEBUG):
        del fields["stack"]
    return fields


# --- where logs go ---------------------------------------------------------------------------


class _Handler(logging.StreamHandler[TextIO]):
    """Handler made by `set_up_logs`, recognisable by its class."""


def set_up_logs(
    style: Literal["json", "text"] = "json",
    level: Literal["info", "debug"] = "info",
    stream: TextIO | None = None,
) -> None:
    """Write the logs of the process to a stream (default: stderr), replacing earlier handlers.

    The level `debug` is for our own loggers: other libraries log whole requests there.
    """
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    handler.addFilter(_is_ours_or_news)
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("veridical").setLevel(logging.DEBUG if level == "debug" else logging.NOTSET)
    # Libraries that log requests may log addresses; ours are logged as events.
    for name in ("httpcore", "httpx", "httpx2", "openai", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # `LogSink` logs the same, and more, about flagged and unmeasured claims.
    logging.getLogger("veridical.verifier").setLevel(logging.ERROR)


def _is_ours_or_news(record: logging.LogRecord) -> bool:
    """Return whether to write a record: some libraries set their own loggers to DEBUG."""
    return record.levelno >= logging.INFO or record.name.startswith("veridical")


class JsonFormatter(logging.Formatter):
    """Formatter of a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": getattr(record, "event", None) or "log",
        }
        if (request := request_id.get()) is not None:
            line["request_id"] = request
        fields = getattr(record, "fields", None)
        if fields is None:
            line["message"] = _message(record)
        else:
            line |= {key: value for key, value in fields.items() if key not in line}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _shown_failure(failure(record.name, record.exc_info[1]))
        return json.dumps(line, ensure_ascii=True, default=_shown)


class TextFormatter(logging.Formatter):
    """Formatter of a record as a line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        fields = getattr(record, "fields", None)
        said = _message(record)
        if fields is not None:
            said = " ".join([str(getattr(record, "event", said)), *_pairs(fields)])
        if record.exc_info and record.exc_info[1] is not None:
            found = failure(record.name, record.exc_info[1])
            said = f"{said} ({found.error} at {found.place})"
        request = request_id.get()
        tail = f" [{request}]" if request else ""
        return f"{time} {record.levelname.lower():7} {said}{tail}"


def _message(record: logging.LogRecord) -> str:
    """Return the message; replaced for exceptions of other code, which may quote texts."""
    ours = record.name.startswith("veridical")
    return record.getMessage() if ours or not record.exc_info else "an exception"


def _pairs(fields: Mapping[str, object]) -> list[str]:
    shown = {key: value for key, value in fields.items() if value not in (None, {}, ())}
    return [
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in shown.items()
    ]


def _shown(value: object) -> str:
    """Return the type of a value without a JSON form: its text may be private."""
    return type(value).__name__
