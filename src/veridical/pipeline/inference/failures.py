"""Conversion of remote failures to `Unmeasured`, without quoting the service.

Errors are told apart by their HTTP status and by the names of their classes, so that this serves
httpx and the vendors' SDKs alike and imports none of them. Bodies and messages are searched but
never repeated: a service may quote the prompt in them.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from veridical.core.measurements import Unmeasured, UnmeasuredReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)"
    r"|maximum context"
    r"|(?:prompt|input|request) is too (?:long|large)"
    r"|exceeds? (?:the )?(?:model'?s? )?(?:context|maximum (?:input|prompt))"
    r"|too many (?:input )?tokens"
    r"|must have less than \d+ (?:tokens|characters)"  # Text Embeddings Inference
    r"|longer than the maximum model length"  # vLLM
    r"|(?:max_tokens|token_limit)_exceeded",  # the whole message of Jev
    re.IGNORECASE,
)
_TIMEOUTS = frozenset({"TimeoutError", "TimeoutException", "APITimeoutError"})
_CONNECTIONS = frozenset({"ConnectionError", "TransportError", "APIConnectionError"})
_NOT_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_MALFORMED = frozenset(
    {"JSONDecodeError", "UnicodeDecodeError", "DecodingError", "ValidationError"}
    | {"APIResponseValidationError"}
)


def unmeasured_status(
    status: int,
    headers: Mapping[str, str] | None = None,
    body: str = "",
    *,
    now: datetime | None = None,
) -> Unmeasured:
    """Return the failure for a reply with an HTTP status that is not a success.

    `body` is the reply's text, in which signs of a context that is too long are searched; `now` is
    the reference time for a Retry-After that is a date (default: the clock).
    """
    detail = f"HTTP {status}"
    wait = retry_after_s(headers or {}, now=now)
    if status == 429:  # noqa: PLR2004 -- statuses of HTTP are best known by number
        return Unmeasured(UnmeasuredReason.RATE_LIMITED, detail, wait)
    if status == 408:  # noqa: PLR2004
        return Unmeasured(UnmeasuredReason.TIMEOUT, detail, wait)
    if status == 413 or (400 <= status < 500 and _TOO_LONG.search(body)):  # noqa: PLR2004
        return Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, detail)
    return Unmeasured(UnmeasuredReason.BACKEND_ERROR, detail, wait)


def unmeasured_error(error: Exception, *, now: datetime | None = None) -> Unmeasured:
    """Return the failure for an exception of httpx, a vendor's SDK or the standard library.

    Anything unknown is a backend error with the name of its class: nothing is raised.
    """
    for link in _chain(error):
        status = _status(link)
        if status is not None:
            return unmeasured_status(status, _headers(link), _body(link), now=now)
    names = {kind.__name__ for link in _chain(error) for kind in type(link).__mro__}
    detail = type(error).__name__
    if names & _TIMEOUTS:
        return Unmeasured(UnmeasuredReason.TIMEOUT, detail)
    if names & _MALFORMED:
        return malformed(detail)
    if any("complete message body" in str(link) for link in _chain(error)):
        return malformed("the reply broke off")
    if names & _CONNECTIONS:
        return Unmeasured(UnmeasuredReason.BACKEND_ERROR, f"no connection ({detail})")
    return Unmeasured(UnmeasuredReason.BACKEND_ERROR, detail)


def unbilled(error: Exception) -> bool:
    """Return whether a request was certainly not charged: refused by its status, or never sent.

    For a request that broke off it is unknown.
    """
    links = list(_chain(error))
    names = {kind.__name__ for link in links for kind in type(link).__mro__}
    return bool(names & _NOT_SENT) or any(_status(link) is not None for link in links)


def malformed(detail: str) -> Unmeasured:
    """Return a malformed reply; `detail` names a part that is missing or wrong, no text."""
    return Unmeasured(UnmeasuredReason.MALFORMED_REPLY, detail)


def retry_after_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that a service asks to wait; None if it does not say, or not clearly.

    The headers are `retry-after-ms`, and `retry-after` as seconds or as a date; the past is 0.
    """
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(lowered.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = lowered.get("retry-after", "")
    seconds = _number(text)
    if seconds is None:
        date = _date(text)
        seconds = None if date is None else (date - (now or datetime.now(UTC))).total_seconds()
    return None if seconds is None else max(0.0, seconds)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__


def _status(error: BaseException) -> int | None:
    # SDKs put the status on the error, httpx on the response.
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", getattr(response, "status_code", None))
    return status if isinstance(status, int) and status >= 400 else None  # noqa: PLR2004


def _headers(error: BaseException) -> Mapping[str, str]:
    return dict(getattr(getattr(error, "response", None), "headers", None) or {})


def _body(error: BaseException) -> str:
    body = getattr(error, "body", None)
    if body is not None:
        return body if isinstance(body, str) else json.dumps(body, default=str)
    try:
        return str(error.response.text)  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 -- a body that was not read, or is none, holds no signs
        return ""
