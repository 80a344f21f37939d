"""Bounds of connections, on a real uvicorn with sockets that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from veridical.core.measurements import BackendInfo, Measurement, Query
from veridical.core.ports import Backend
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.connections import ConnectionLimits, bounded_protocol
from veridical.interfaces.http.server import _config
from veridical.interfaces.http.service import Service
from veridical.settings import Settings
from veridical.testing import FAKE, FakeBackend, fake_estimate

pytestmark = pytest.mark.slow

WIDE = ConnectionLimits(header_s=60, body_s=60, header_bytes=32_768, connections=100)
BRIDGE = "The bridge was opened to traffic in 1998. It carries eight lanes."
CHECK = {"answer": "It has eight lanes [S1].", "sources": {"S1": BRIDGE}}
GET = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n"


async def plain(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body, and answer with its length; wait first if the path says so."""
    if scope["type"] != "http":
        return
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    if scope["path"] == "/wait":
        await receive()
        return
    body = b"x" * 20_000_000 if scope["path"] == "/large" else str(size).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def running(config: uvicorn.Config) -> Iterator[tuple[str, int]]:
    """Run a server in a thread; yield its address."""
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as opened:
        thread = threading.Thread(target=server.run, args=([opened],))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
            yield opened.getsockname()
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def bounded(limits: ConnectionLimits, app: ASGIApp = plain, idle_s: int = 60) -> Iterator[Any]:
    config = uvicorn.Config(
        app,
        http=bounded_protocol(limits),
        log_config=None,
        timeout_keep_alive=idle_s,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )
    with running(config) as address:
        yield address


def reply_to(address: tuple[str, int], *parts: bytes, every_s: float = 0.0) -> bytes:
    """Return all that comes until the server closes the connection."""
    with socket.create_connection(address, timeout=30) as client:
        for part in parts:
            with suppress(OSError):  # closed while it was still sending
                client.sendall(part)
            threading.Event().wait(every_s)
        return all_of(client)


def all_of(client: socket.socket) -> bytes:
    received = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65_536):
            received += part
    return received


def answer_of(client: socket.socket) -> bytes:
    """Return one answer, whose body is a single digit; the connection stays open."""
    received = b""
    while not re.search(rb"\r\n\r\n.", received):
        received += client.recv(65_536)
    return received


# --- time ------------------------------------------------------------------------------------


def test_a_connection_that_says_nothing_is_closed() -> None:
    with bounded(replace(WIDE, header_s=0.2)) as address:
        assert reply_to(address) == b""


def test_a_header_that_never_ends_is_cut_off_though_bytes_keep_coming() -> None:
    with bounded(replace(WIDE, header_s=0.3)) as address:
        drops = [b"x-%d: y\r\n" % number for number in range(20)]
        assert reply_to(address, GET, *drops, every_s=0.05).startswith(b"HTTP/1.1 408 ")


def test_the_second_header_of_a_connection_has_to_end_too() -> None:
    with bounded(replace(WIDE, header_s=0.3)) as address:
        replies = reply_to(address, GET + b"\r\n", GET, every_s=0.1)
        assert re.findall(rb"HTTP/1.1 (\d+)", replies) == [b"200", b"408"]


def test_blank_lines_are_no_request() -> None:
    with bounded(replace(WIDE, header_s=0.2)) as address:
        assert reply_to(address, *[b"\r\n"] * 10, every_s=0.05) == b""


def test_a_body_that_never_ends_is_cut_off() -> None:
    with bounded(replace(WIDE, body_s=0.3)) as address:
        head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n"
        found = reply_to(address, head, *[b"x"] * 10, every_s=0.05)
        assert found.startswith(b"HTTP/1.1 408 ")
        problem = json.loads(found.partition(b"\r\n\r\n")[2])
        assert (problem["status"], problem["type"]) == (408, "urn:veridical:problem:too-slow")


def test_a_request_that_is_complete_may_take_longer_than_its_body_may() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.5)
        await plain(scope, receive, send)

    with bounded(replace(WIDE, header_s=0.2, body_s=0.2), slow) as address:
        assert httpx.post(f"http://{address[0]}:{address[1]}/", content=b"four").text == "4"


def test_an_idle_connection_is_closed() -> None:
    with bounded(WIDE, idle_s=0) as address:
        assert reply_to(address, GET + b"\r\n").startswith(b"HTTP/1.1 200 OK")


def test_an_answer_that_is_not_taken_is_given_up() -> None:
    limits = replace(WIDE, body_s=0.2)
    with bounded(limits) as address, socket.create_connection(address, timeout=30) as client:
        client.sendall(GET.replace(b"/ ", b"/large ") + b"\r\n")
        threading.Event().wait(1.0)
        assert len(all_of(client)) < 20_000_000


def test_an_answer_that_is_taken_slowly_arrives() -> None:
    limits = replace(WIDE, body_s=0.4)
    with bounded(limits) as address, socket.create_connection(address, timeout=30) as client:
        client.sendall(GET.replace(b"/ ", b"/large ") + b"connection: close\r\n\r\n")
        size = 0
        while part := client.recv(2_000_000):
            size += len(part)
            threading.Event().wait(0.05)
        assert size > 20_000_000


# --- size and number -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        [GET + b"x: " + b"y" * 3000 + b"\r\n\r\n"],
        [GET + b"x: ", *[b"y" * 500] * 6],
        [b"GET /" + b"y" * 3000 + b" HTTP/1.1\r\nhost: a\r\n\r\n"],
        [GET, *[b"x-%d: %d\r\n" % (number, number) for number in range(300)]],
    ],
)
def test_a_header_that_is_too_large_is_refused(parts: list[bytes]) -> None:
    with bounded(replace(WIDE, header_bytes=2000)) as address:
        assert reply_to(address, *parts).startswith(b"HTTP/1.1 431 ")
        assert httpx.get(f"http://{address[0]}:{address[1]}/").status_code == 200


def test_a_connection_that_is_free_makes_room_for_a_new_one() -> None:
    with bounded(replace(WIDE, connections=2)) as address:
        free = [socket.create_connection(address, timeout=30) for _ in range(2)]
        for client in free:
            client.sendall(GET + b"\r\n")
            assert answer_of(client).startswith(b"HTTP/1.1 200")
        assert reply_to(address, GET + b"connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
        assert free[0].recv(1000) == b""  # it was free for longest
        free[1].sendall(GET + b"\r\n")
        assert answer_of(free[1]).startswith(b"HTTP/1.1 200")
        for client in free:
            client.close()


def test_more_connections_than_are_allowed_are_refused_while_all_are_busy() -> None:
    with bounded(replace(WIDE, connections=2)) as address:
        busy = [socket.create_connection(address, timeout=30) for _ in range(2)]
        for client in busy:
            client.sendall(b"GET /wait HTTP/1.1\r\nhost: a\r\n\r\n")
        threading.Event().wait(0.2)
        assert reply_to(address).startswith(b"HTTP/1.1 503 ")
        busy[0].close()
        threading.Event().wait(0.2)
        assert reply_to(address, GET + b"connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
        busy[1].close()


def test_broken_requests_are_answered_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with bounded(WIDE) as address, caplog.at_level(logging.WARNING):
        for _ in range(20):
            assert reply_to(address, b"\x16\x03\x01 nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert caplog.records == []


@pytest.mark.parametrize(
    "request_",
    [
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        b"content-length: +5\r\n\r\nabcde",
        b"transfer-encoding: chunked\r\n\r\n-5\r\nabcde\r\n0\r\n\r\n",
        b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n",
        b"a: b\nc: d\r\n\r\n",
        b"a : b\r\n\r\n",
        b"a: b\r\n folded: c\r\n\r\n",
        b"a: b\x00c\r\n\r\n",
    ],
)
def test_what_could_smuggle_a_request_is_refused(request_: bytes) -> None:
    """Two readings of where a body ends would be two requests to a server in front of this one."""
    with bounded(replace(WIDE, header_s=1, body_s=1)) as address:
        found = reply_to(address, b"POST / HTTP/1.1\r\nhost: a\r\n" + request_ + GET + b"\r\n")
        assert found.startswith(b"HTTP/1.1 400 ")
        assert found.count(b"HTTP/1.1 ") == 1


# --- the service -----------------------------------------------------------------------------


class Endless:
    """Backend that answers never, and notes that it was asked and given up."""

    info: BackendInfo = FAKE

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.cancelled = threading.Event()

    async def estimate(self, _queries: list[Query]) -> list[Measurement]:
        self.asked.set()
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        raise AssertionError


@contextmanager
def serving(backend: Backend, **overrides: object) -> Iterator[tuple[str, int, Service]]:
    settings = Settings.load(**overrides)
    app = create_app(settings, backend=backend)
    with running(_config(app, settings)) as (host, port):
        yield host, port, app.state.service


def posted(path: str, body: object) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/check", CHECK),
        ("/v1/check/stream", CHECK),
        ("/v1/verify_claim", {"claim": "It has eight lanes.", "sources": CHECK["sources"]}),
        ("/v1/audit", {"steps": ["It has eight lanes."], "sources": CHECK["sources"]}),
    ],
)
def test_a_client_that_leaves_ends_its_check(path: str, body: object) -> None:
    backend = Endless()
    with serving(backend) as (host, port, service):
        with socket.create_connection((host, port)) as client:
            client.sendall(posted(path, body))
            assert backend.asked.wait(30)
        assert backend.cancelled.wait(30)
        ask = f"http://{host}:{port}/metrics"
        while "veridical_requests_running 0.0" not in (text := httpx.get(ask).text):
            assert service.admission.running <= 1
        assert f'route="{path}",status="499"' in text or path.endswith("stream")


def test_a_client_that_leaves_the_queue_gives_its_turn_to_the_next() -> None:
    backend = Endless()
    with serving(backend, server={"running": 1}) as (host, port, service):
        first = socket.create_connection((host, port))
        first.sendall(posted("/v1/check", CHECK))
        assert backend.asked.wait(30)
        with socket.create_connection((host, port)) as waiting:
            waiting.sendall(posted("/v1/check", CHECK))
            while service.admission.waiting != 1:
                assert service.admission.running == 1
        while service.admission.waiting:
            assert service.admission.running == 1
        first.close()
        assert backend.cancelled.wait(30)


def test_a_client_that_leaves_ends_its_request_to_the_upstream() -> None:
    asked, left = threading.Event(), threading.Event()

    async def upstream(scope: Scope, receive: Receive, _send: Send) -> None:
        if scope["type"] != "http":
            return
        await receive()
        asked.set()
        assert (await receive())["type"] == "http.disconnect"
        left.set()

    with bounded(WIDE, upstream) as (host, port):
        url = f"http://{host}:{port}/v1"
        with serving(FakeBackend(_any), proxy={"upstream_url": url}) as served:
            with socket.create_connection(served[:2]) as client:
                question = [{"role": "user", "content": "How many lanes?"}]
                client.sendall(posted("/v1/chat/completions", {"messages": question}))
                assert asked.wait(30)
            assert left.wait(30)


def _any(_query: object) -> Measurement:
    return fake_estimate(0.9)


# --- compressed bodies -----------------------------------------------------------------------

JSON = {"content-type": "application/json"}
GZIP = JSON | {"content-encoding": "gzip"}
Asked = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    """Return a function that posts a body to a service with a limit of 100,000 bytes."""
    limit = {"max_request_bytes": 100_000}
    with (
        serving(FakeBackend(_any), server=limit) as (host, port, _),
        httpx.Client(base_url=f"http://{host}:{port}") as client,
    ):
        yield lambda content, headers=GZIP: client.post(
            "/v1/check", content=content, headers=headers
        )


def test_a_compressed_body_is_read(asked: Asked) -> None:
    body = json.dumps(CHECK).encode()
    half = len(body) // 2
    for content in (gzip.compress(body), gzip.compress(body[:half]) + gzip.compress(body[half:])):
        reply = asked(content)
        assert reply.status_code == 200, reply.text
        assert reply.json()["summary"]["claims_checked"] == 1


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (gzip.compress(b" " * 100_001), 413),
        (gzip.compress(b" " * 200_000_000, 9), 413),
        (gzip.compress(gzip.compress(json.dumps(CHECK).encode())), 400),
        (gzip.compress(json.dumps(CHECK).encode())[:-5], 400),
        (zlib.compress(json.dumps(CHECK).encode()), 400),
        (json.dumps(CHECK).encode(), 400),
        (b"", 400),
    ],
    ids=["too-large", "bomb", "twice", "cut-off", "deflate", "plain", "empty"],
)
def test_a_compressed_body_that_is_none_or_too_large_is_refused(
    asked: Asked, content: bytes, status: int
) -> None:
    reply = asked(content)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip"])
def test_other_encodings_are_refused_with_the_one_that_is_known(
    asked: Asked, encoding: str
) -> None:
    reply = asked(b"x", JSON | {"content-encoding": encoding})
    assert (reply.status_code, reply.headers["accept-encoding"]) == (415, "gzip")


def test_large_answers_are_compressed_for_clients_that_take_it(asked: Asked) -> None:
    long = " ".join(f"It has {number} lanes [S1]." for number in range(50))
    body = json.dumps({**CHECK, "answer": long}).encode()
    compressed = asked(body, JSON)
    plain_ = asked(body, JSON | {"accept-encoding": "identity"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain_.headers
    assert "Accept-Encoding" in compressed.headers["vary"]
    assert compressed.json()["claims"] == plain_.json()["claims"]
    assert int(compressed.headers["content-length"]) * 3 < len(plain_.content)


def test_a_stream_of_events_is_not_compressed() -> None:
    with serving(FakeBackend(_any)) as (host, port, _):
        reply = httpx.post(f"http://{host}:{port}/v1/check/stream", json=CHECK)
        assert "content-encoding" not in reply.headers
        assert reply.text.startswith("event: ")
