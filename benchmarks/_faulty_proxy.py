"""Fault-injecting proxy on loopback, with a record of the injected faults.

The fault of a request depends only on the plan, the request and its number of earlier attempts, so
that a run can be repeated independently of the order of requests.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass
from email.utils import formatdate
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import nan
from random import Random
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_UPSTREAM_TIMEOUT_S = 300.0
_PIECES = 20
_NUMBERS = frozenset({"logprob", "probability"})
_TABLES = frozenset({"logprobs", "probabilities"})
_ALTERNATIVES = frozenset({"top_logprobs", "probabilities"})


class Fault(StrEnum):
    """Fault of a request."""

    NONE = "none"
    SLOW = "slow, but in time"
    LATE = "no reply in time"
    DRIP = "drips, not done in time"
    RATE_SECONDS = "429, Retry-After in seconds"
    RATE_DATE = "429, Retry-After as a date"
    ERROR = "500"
    UNAVAILABLE = "503, Retry-After in seconds"
    NOT_JSON = "200, not JSON"
    EMPTY = "200, empty"
    NAN = "200, numbers are NaN"
    TOO_LARGE = "200, probabilities above 1"
    NO_NUMBERS = "200, no probabilities"
    NO_ALTERNATIVES = "200, no alternatives"
    TRUNCATED = "200, body cut short"
    DROPPED_BEFORE = "dropped before the reply"
    DROPPED_WITHIN = "dropped within the reply"


HARMLESS = frozenset({Fault.NONE, Fault.SLOW})
FAULTS = tuple(fault for fault in Fault if fault not in HARMLESS)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: what SLOW, LATE and DRIP take, and what Retry-After asks for, a whole number.

    As a date, which has no fractions, it is `retry_after_s` to `retry_after_s` + 1 from now.
    """

    slow_s: float = 0.2
    late_s: float = 4.0
    retry_after_s: int = 1


@dataclass(frozen=True, slots=True)
class Served:
    """Fault of a request with this body, its time, and the earliest time of a retry."""

    fault: Fault
    body: str
    at: float
    again_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that is about to be sent."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def always(fault: Fault) -> Callable[[str, int], Fault]:
    """Return the plan that does the same to every request."""
    return lambda _body, _times: fault


def at_first(fault: Fault) -> Callable[[str, int], Fault]:
    """Return the plan that spoils a request when it comes first, and never again."""
    return lambda _body, times: Fault.NONE if times else fault


def seeded(seed: int, share: float) -> Callable[[str, int], Fault]:
    """Return a plan that spoils this share of the requests, each in one of all ways."""

    def choose(body: str, times: int) -> Fault:
        random = Random(f"{seed} {times} {body}")  # noqa: S311 -- repeatable, not secret
        if random.random() < share:
            return random.choice(FAULTS)
        return random.choice((Fault.NONE, Fault.NONE, Fault.SLOW))

    return choose


class Upstream:
    """The server behind proxies; `keep` its good replies, so that it computes each but once."""

    def __init__(self, address: str, *, keep: bool = True) -> None:
        self._host = urlsplit(address).netloc
        self._keep = keep
        self._kept: dict[tuple[str, bytes], Reply] = {}
        self._lock = threading.Lock()

    def ask(self, path: str, body: bytes) -> Reply:
        """Return what the server replies; 502 if it does not."""
        with self._lock:
            kept = self._kept.get((path, body))
        if kept is not None:
            return kept
        connection = HTTPConnection(self._host, timeout=_UPSTREAM_TIMEOUT_S)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            reply = Reply(response.status, response.read(), {})
        except (OSError, HTTPException):
            return Reply(HTTPStatus.BAD_GATEWAY, b"{}", {})
        finally:
            connection.close()
        if self._keep and reply.status == HTTPStatus.OK:
            with self._lock:
                self._kept[path, body] = reply
        return reply


class FaultyProxy:
    """Serves on `address` what `upstream` replies, spoiled as `plan` says.

    `served` is the record. A plan is given the text of a request and how often the same has come
    before; it may be changed between requests.
    """

    def __init__(
        self,
        upstream: Upstream,
        plan: Callable[[str, int], Fault],
        pace: Pace | None = None,
    ) -> None:
        self.plan = plan
        self.served: list[Served] = []
        self._lock = threading.Lock()
        handler = partial(_Handler, self, upstream, pace or Pace())
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.closing = threading.Event()
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def note(self, body: str, pace: Pace) -> Served:
        """Choose what to do to a request, and put it on record."""
        with self._lock:
            times = sum(served.body == body for served in self.served)
            fault, now = self.plan(body, times), time.time()
            served = Served(fault, body, now, _again_at(fault, now, pace))
            self.served.append(served)
        return served

    def __enter__(self) -> Self:
        threading.Thread(target=partial(self._http.serve_forever, 0.01), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()  # ends all waits
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(
        self,
        proxy: FaultyProxy,
        upstream: Upstream,
        pace: Pace,
        *arguments: Any,  # noqa: ANN401
    ) -> None:
        self._proxy = proxy
        self._upstream = upstream
        self._pace = pace
        super().__init__(*arguments)

    def do_POST(self) -> None:
        try:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            served = self._proxy.note(body.decode(), self._pace)
            self._answer(served, body)
        except OSError:  # the client has gone
            self.close_connection = True

    def _answer(self, served: Served, body: bytes) -> None:
        fault, pace = served.fault, self._pace
        if fault is Fault.DROPPED_BEFORE:
            self._reset()
            return
        refused = _refusal(served)
        if refused is not None:
            self._send(refused)
            return
        reply = self._upstream.ask(self.path, body)
        if fault is Fault.LATE:
            self._proxy.closing.wait(pace.late_s)
        whole = _spoiled(reply, fault)
        if fault in {Fault.TRUNCATED, Fault.DROPPED_WITHIN}:
            self._send(whole, whole.body[: len(whole.body) // 2])
            self.close_connection = True
            if fault is Fault.DROPPED_WITHIN:
                self._reset()
        elif fault in {Fault.SLOW, Fault.DRIP}:
            self._drip(whole, pace.slow_s if fault is Fault.SLOW else pace.late_s)
        else:
            self._send(whole)

    def _send(self, reply: Reply, sent: bytes | None = None) -> None:
        """Send a reply; of its body only `sent`, if that is given."""
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body if sent is None else sent)

    def _drip(self, reply: Reply, seconds: float) -> None:
        self._send(reply, b"")
        size = -(-len(reply.body) // _PIECES)
        for start in range(0, len(reply.body), size):
            self._proxy.closing.wait(seconds / _PIECES)
            self.wfile.write(reply.body[start : start + size])

    def _reset(self) -> None:
        """Break the connection, not close it: what is on its way is lost."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def _again_at(fault: Fault, now: float, pace: Pace) -> float:
    if fault in {Fault.RATE_SECONDS, Fault.UNAVAILABLE}:
        return now + pace.retry_after_s
    return int(now) + pace.retry_after_s + 1 if fault is Fault.RATE_DATE else 0.0


def _refusal(served: Served) -> Reply | None:
    """Return a reply that is an error and quotes the request; None if it is to be none."""
    body = json.dumps({"error": {"message": served.body}}).encode()
    seconds = {"Retry-After": f"{served.again_at - served.at:.0f}"}
    match served.fault:
        case Fault.RATE_SECONDS:
            return Reply(HTTPStatus.TOO_MANY_REQUESTS, body, seconds)
        case Fault.RATE_DATE:
            date = {"Retry-After": formatdate(served.again_at, usegmt=True)}
            return Reply(HTTPStatus.TOO_MANY_REQUESTS, body, date)
        case Fault.ERROR:
            return Reply(HTTPStatus.INTERNAL_SERVER_ERROR, body, {})
        case Fault.UNAVAILABLE:
            return Reply(HTTPStatus.SERVICE_UNAVAILABLE, body, seconds)
    return None


def _spoiled(reply: Reply, fault: Fault) -> Reply:
    """Return a reply whose body is not what it should be."""
    match fault:
        case Fault.NOT_JSON:
            return Reply(reply.status, reply.body.replace(b":", b"=", 1), {})
        case Fault.EMPTY:
            return Reply(reply.status, b"", {})
        case Fault.NAN | Fault.TOO_LARGE | Fault.NO_NUMBERS | Fault.NO_ALTERNATIVES:
            return Reply(
                reply.status, json.dumps(_nonsense(json.loads(reply.body), fault)).encode(), {}
            )
    return reply


def _nonsense(value: Any, fault: Fault, key: str = "", table: str = "") -> Any:  # noqa: ANN401
    """Return JSON of the same shape that no model can have meant.

    `key` is where the value stands, `table` the key of the object around it.
    """
    if fault is Fault.NO_NUMBERS and key in _TABLES:
        return None
    if fault is Fault.NO_ALTERNATIVES and key in _ALTERNATIVES:
        return type(value)()
    if isinstance(value, dict):
        return {inner: _nonsense(v, fault, inner, key) for inner, v in value.items()}
    if isinstance(value, list):
        return [_nonsense(v, fault, key, table) for v in value]
    if isinstance(value, int | float) and (key in _NUMBERS or table in _TABLES):
        return {Fault.NAN: nan, Fault.TOO_LARGE: 5.0}.get(fault, value)
    return value
