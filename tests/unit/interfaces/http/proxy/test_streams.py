from __future__ import annotations

import asyncio
import json
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

import httpx2

from _upstream import Upstream
from veridical.interfaces.http.proxy import exchange
from veridical.interfaces.http.proxy.responses import ResponseTranscript
from veridical.interfaces.http.proxy.streams import (
    BufferedStream,
    ChatReplyStream,
    EventSplitter,
    data_of,
)
from veridical.interfaces.http.proxy.upstream import UpstreamResponse
from veridical.telemetry import TelemetrySpan

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.slow

ENDS = st.sampled_from([b"\n", b"\r\n"])
LINES = st.sampled_from([b'data: {"a": 1}', b"data:x", b": note", b"event: e", b"id: 7"])


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.lists(LINES, min_size=1, max_size=3), ENDS), max_size=6),
    st.lists(st.integers(0, 200), max_size=12),
)
def test_however_a_stream_is_cut_its_events_are_the_same_bytes(
    events: list[tuple[list[bytes], bytes]], cuts: list[int]
) -> None:
    written = [end.join(lines) + end + end for lines, end in events]
    whole = b"".join(written)
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    reader, found = EventSplitter(), list[bytes]()
    for start, end in pairwise(places):
        found += reader.feed(whole[start:end])
    assert b"".join(found) + reader.rest() == whole
    kept = [data_of(event) for event in found]
    assert kept == [data_of(event) for event in written]


def test_an_event_is_out_as_soon_as_it_is_whole() -> None:
    reader = EventSplitter()
    assert list(reader.feed(b"data: 1")) == []
    assert list(reader.feed(b"\n")) == []
    assert list(reader.feed(b"\ndata: 2\n\nda")) == [b"data: 1\n\n", b"data: 2\n\n"]
    assert reader.rest() == b"da"


def test_data_may_have_several_lines() -> None:
    assert data_of(b"data: a\ndata:b\n: c\n\n") == b"a\nb"


def test_texts_are_put_together_by_choice() -> None:
    heard = ChatReplyStream()
    for index, text in ((0, "A"), (1, "X"), (0, "B"), (1, None)):
        choice = {"index": index, "delta": {"content": text}}
        heard.note(json.dumps({"id": "i", "model": "m", "choices": [choice]}).encode())
    heard.note(b'{"choices": [], "usage": {}}')
    assert heard.whole() == {0: "AB", 1: "X"}
    assert heard.head == {"id": "i", "model": "m"}


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["Yes \ud83d", "\ude00."], "Yes \U0001f600."),
        (["\ud83d", "", "\ude00\ud83d", "\ude00"], "\U0001f600\U0001f600"),
        (["\ufeffYes \ude00", "\ud83d."], "\ufeffYes \ude00\ud83d."),
    ],
)
def test_the_halves_of_a_character_come_together_where_they_are_one(
    pieces: list[str], text: str
) -> None:
    chat, response = ChatReplyStream(), ResponseTranscript()
    for piece in pieces:
        choice = {"index": 0, "delta": {"content": piece}}
        chat.note(json.dumps({"choices": [choice]}).encode())
        delta = {"type": "response.output_text.delta", "item_id": "m", "delta": piece}
        response.note(json.dumps(delta).encode())
    assert chat.whole() == response.whole() == {0: text}


@settings(max_examples=50)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(st.sampled_from(["choices", "delta", "index", "content", "id"]), x)
        ),
    )
)
def test_no_chunk_breaks_it(chunk: object) -> None:
    heard = ChatReplyStream()
    heard.note(json.dumps(chunk).encode())
    heard.note(b"\xff{")
    assert all(isinstance(text, str) for text in heard.whole().values())


# --- what an upstream leaves unterminated ----------------------------------------------------

MESSAGES = [{"role": "user", "content": "The bridge opened in 1998. It carries eight lanes."}]
SAID = b'data: {"id": "c1", "choices": [{"index": 0, "delta": {"content": "It has six lanes."}}]}'
COMPLETED = (
    b'data: {"type": "response.completed", "response": {"id": "r1", "output": [{"type": "message",'
    b' "content": [{"type": "output_text", "text": "It has six lanes."}]}]}}'
)


def listened(pieces: list[bytes]) -> tuple[bytes, bytes]:
    """Return the received part of a stream, and its end."""

    async def sent() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def listen() -> tuple[bytes, bytes]:
        heard = BufferedStream()
        reply = UpstreamResponse(httpx2.Response(200, content=sent()), TelemetrySpan())
        events = [event async for event in heard.listen(reply)]
        return b"".join(events), heard.end

    return asyncio.run(listen())


@settings(max_examples=50)
@given(st.binary(max_size=20), st.integers(0, 60))
@example(b": trailing", 0)
@example(b"data: more\n", 0)
def test_what_comes_behind_the_end_stays_behind_it(behind: bytes, cut: int) -> None:
    end = b"data: [DONE]\n\n" + behind
    whole = SAID + b"\n\n" + end
    assert listened([whole[:cut], whole[cut:]]) == (SAID + b"\n\n", end)


def told(back: bytes) -> list[dict[str, Any]]:
    """Return the objects that a client reads out of a stream."""
    found = [data_of(event) for event in EventSplitter().feed(back)]
    return [json.loads(data) for data in found if data.startswith(b"{")]


@pytest.mark.parametrize("on_failure", ["pass", "flag", "retry", "block"])
@pytest.mark.parametrize(
    ("path", "last", "behind"),
    [
        ("chat/completions", SAID, b"data: [DONE]\n\n: trailing"),
        ("chat/completions", SAID, b"data: [DONE]\n"),
        ("responses", COMPLETED, b"data: [DONE]\n"),
        ("responses", COMPLETED, b": trailing"),
    ],
)
def test_the_verdict_comes_before_what_is_behind_the_end(
    start: Callable[..., str], path: str, last: bytes, behind: bytes, on_failure: str
) -> None:
    said = b'data: {"type": "response.output_text.delta", "delta": "It has six lanes."}\n\n'
    sent = (said if path == "responses" else b"") + last + b"\n\n" + behind
    url = start(Upstream([[sent]] * 3), on_failure=on_failure)
    body = {"messages": MESSAGES, "input": MESSAGES, "stream": True}
    back = httpx2.post(f"{url}/{path}", json=body).content
    assert back.endswith(behind)
    assert b'"veridical"' in json.dumps(told(back)).encode()


@pytest.mark.parametrize("behind", [b"", b"\n", b"\r"])
def test_the_verdict_is_apart_from_an_event_that_was_never_ended(
    start: Callable[..., str], behind: bytes
) -> None:
    url = start(Upstream([[SAID + behind]]))
    body = {"messages": MESSAGES, "stream": True}
    back = httpx2.post(f"{url}/chat/completions", json=body).content
    assert back.startswith(SAID + behind)
    assert told(back)[-1]["veridical"]["outcome"] == "flagged"


# --- while the verdict is made up ------------------------------------------------------------


class Slow:
    """Verifier that waits for a signal to go on, and records its cancellation."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.cancelled = threading.Event()

    async def check(self, *_: object, **__: object) -> None:
        self.begun.set()
        try:
            while not self.go.is_set():  # noqa: ASYNC110 -- told by another thread
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        raise RuntimeError


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    monkeypatch.setattr(exchange, "ALIVE_S", 0.02)
    return Slow()


@pytest.mark.parametrize("on_failure", ["pass", "retry", "block"])
@pytest.mark.parametrize("ended", [b"", b"\n\n", b"\n\ndata: [DONE]\n\n"])
def test_a_stream_is_not_silent_while_its_verdict_is_made_up(
    start: Callable[..., str], slow: Slow, on_failure: str, ended: bytes
) -> None:
    upstream = Upstream([[SAID + ended]])
    url = start(upstream, slow, on_failure=on_failure, on_unverified="pass")
    body, back = {"messages": MESSAGES, "stream": True}, b""
    with httpx2.stream("POST", f"{url}/chat/completions", json=body) as reply:
        for data in reply.iter_bytes():
            back += data
            if back.count(b":\n\n") > 3:
                slow.go.set()
    assert slow.go.is_set()
    said, verdict = told(back)
    assert said == json.loads(SAID.removeprefix(b"data: "))
    assert verdict["veridical"]["outcome"] == "undetermined"


def test_a_client_that_goes_away_ends_the_check(start: Callable[..., str], slow: Slow) -> None:
    url = start(Upstream([[SAID + b"\n\ndata: [DONE]\n\n"]]), slow, on_failure="block")
    body = {"messages": MESSAGES, "stream": True}
    with httpx2.stream("POST", f"{url}/chat/completions", json=body) as reply:
        received = reply.iter_bytes()  # kept: what is collected closes the connection
        assert next(received)
        assert slow.begun.wait(10)
    assert slow.cancelled.wait(10)
