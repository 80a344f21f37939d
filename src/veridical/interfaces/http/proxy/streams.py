"""Reply in pieces (server-sent events): passed on as it comes, its texts assembled aside."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from veridical.interfaces.http.proxy.options import FIELD
from veridical.interfaces.http.proxy.replies import CUT_OFF, calls_tools, dumped, has_other_content

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping

    from veridical.interfaces.http.proxy.reply_edits import ReplyEdits
    from veridical.interfaces.http.proxy.upstream import UpstreamResponse

_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_LINE = re.compile(rb"\r\n|\n|\r")
DONE = b"[DONE]"
EVERY = -1
"""Index that stands for all choices of a stream."""


class EventSplitter:
    """Splitter of bytes into events; together the events are the same bytes."""

    def __init__(self) -> None:
        self._rest = bytearray()  # grows in place: an event may come in many pieces
        self._seen = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Return the events that are whole now, each with the blank line that ends it."""
        self._rest += data
        start = 0
        while found := _END.search(self._rest, max(start, self._seen)):
            yield bytes(self._rest[start : found.end()])
            start = found.end()
        del self._rest[:start]
        self._seen = max(len(self._rest) - 3, 0)

    def rest(self) -> bytes:
        """Return the bytes left at the end."""
        rest, self._rest = bytes(self._rest), bytearray()
        return rest


def data_of(event: bytes) -> bytes:
    """Return the data of an event; b"" if it has none."""
    lines = [line for line in _LINE.split(event) if line.startswith(b"data:")]
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines)


def read_data(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that an event holds; None if it holds none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def joined(pieces: Iterable[str]) -> str:
    """Return the text of pieces; a character whose halves came in two of them is one again."""
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


class ReplyStream(Protocol):
    """State of a stream: its texts so far, and the events that end it.

    `calling` are the choices that call tools, `cut_off` the ones that ended at the model's limit on
    tokens; `failed` is true after an error event.
    """

    calling: set[int]
    cut_off: set[int]
    failed: bool

    def unreadable(self, index: int) -> bool:
        """Return whether a choice may have a content that is no text."""
        ...

    def note(self, data: bytes) -> None:
        """Note the data of an event; unreadable data may be a part of any choice."""
        ...

    def whole(self) -> dict[int, str]:
        """Return the texts by the index of their choice."""
        ...

    def ends(self, data: bytes) -> bool:
        """Return whether the data are of the event that ends the stream."""
        ...

    def shown(self, kept: Iterable[bytes], settling: ReplyEdits) -> Iterator[bytes]:
        """Return the visible ones of the events held back."""
        ...

    def closing(self, settling: ReplyEdits, end: bytes) -> bytes:
        """Return the events that end the stream: the additions, the verdict, and `end`."""
        ...


@dataclass
class ChatReplyStream:
    """A `ReplyStream` of a chat completion: texts by the index of their choice, and its head."""

    texts: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list), repr=False)
    calling: set[int] = field(default_factory=set)
    cut_off: set[int] = field(default_factory=set)
    unread: set[int] = field(default_factory=set)
    head: dict[str, Any] = field(default_factory=dict, repr=False)
    failed: bool = False

    def note(self, data: bytes) -> None:
        """Note the data of an event; unreadable data may be a part of any choice."""
        chunk = read_data(data)
        if chunk is None or not isinstance(chunk.get("choices", []), list):
            self.unread |= {EVERY} if data.strip() not in {b"", DONE} else set()
            return
        self.failed = self.failed or bool(chunk.get("error"))
        if not self.head and "id" in chunk:
            self.head = {key: chunk[key] for key in ("id", "created", "model") if key in chunk}
        for number, choice in enumerate(_choices(chunk)):
            if isinstance(choice, dict):
                self._note_choice(choice, number)

    def _note_choice(self, choice: Mapping[str, Any], number: int) -> None:
        index, delta = choice.get("index", number), choice.get("delta")
        said = delta.get("content") if isinstance(delta, dict) else None
        other = {"text", "message"} & choice.keys() if delta is None else has_other_content(delta)
        if other or not isinstance(index, int):
            self.unread.add(index if isinstance(index, int) else EVERY)
        if isinstance(index, int):
            self.texts[index] += [said] if isinstance(said, str) else []
            self.calling |= {index} if calls_tools(delta) else set()
            self.cut_off |= {index} if choice.get("finish_reason") == CUT_OFF else set()

    def unreadable(self, index: int) -> bool:
        """Return whether a choice may have a content that is no text, or none came at all."""
        return not self.texts or bool({index, EVERY} & self.unread)

    def whole(self) -> dict[int, str]:
        """Return the texts."""
        return {index: joined(parts) for index, parts in self.texts.items()}

    def ends(self, data: bytes) -> bool:
        """Return whether the data are of the event that ends the stream."""
        return data.startswith(DONE)

    def shown(self, kept: Iterable[bytes], settling: ReplyEdits) -> Iterator[bytes]:
        """Return the events without the withheld choices."""
        hidden = settling.withheld
        for event in kept:
            shown = _without(event, hidden) if hidden else event
            if shown:
                yield shown

    def closing(self, settling: ReplyEdits, end: bytes) -> bytes:
        """Return notices for choices withheld, legends for the others, the verdict, and `end`."""
        hidden = settling.withheld
        notices = self.chunk(hidden, finish="content_filter") if hidden else b""
        return notices + self.chunk(settling.legends, verdict=settling.verdict) + end

    def chunk(
        self,
        texts: Mapping[int, str],
        *,
        finish: str | None = None,
        verdict: Any = None,  # noqa: ANN401 -- JSON
    ) -> bytes:
        """Return an event of the proxy: more text for choices, and the verdict if there is one.

        With `finish` it is all that comes of these choices, and says their role. There is always a
        choice in it: clients look at the first one without asking.
        """
        role = {} if finish is None else {"role": "assistant"}
        choices = [
            {
                "index": index,
                "delta": role | ({"content": text} if text else {}),
                "logprobs": None,
                "finish_reason": finish,
            }
            for index, text in (texts or {0: ""}).items()
        ]
        body = {"object": "chat.completion.chunk", **self.head, "choices": choices}
        if verdict is not None:
            body[FIELD] = verdict
        return b"data: " + dumped(body).encode() + b"\n\n"


def _choices(chunk: Mapping[str, Any]) -> list[Any]:
    choices = chunk.get("choices")
    return choices if isinstance(choices, list) else []


def _index(choice: object, number: int) -> int | None:
    """Return the index of a choice, its place if none is stated; None if that is no index."""
    index = choice.get("index", number) if isinstance(choice, dict) else None
    return index if isinstance(index, int) else None


def _without(event: bytes, hidden: Collection[int]) -> bytes:
    """Return an event without these choices, and without any that may be one of them.

    b"" if nothing is left, or it cannot be read. The usage is left, with an empty choice.
    """
    data = data_of(event)
    chunk = read_data(data)
    if chunk is None or not isinstance(chunk.get("choices"), list):
        return b"" if data else event
    choices = _choices(chunk)
    gone = {None, *hidden}
    left = [choice for number, choice in enumerate(choices) if _index(choice, number) not in gone]
    if len(left) == len(choices):
        return event
    if not left and chunk.get("usage") is not None:
        left = [{"index": next(iter(hidden)), "delta": {}, "logprobs": None, "finish_reason": None}]
    # Infinite log-probabilities, which are no JSON, go on as they came.
    shown = json.dumps({**chunk, "choices": left}, separators=(",", ":"))
    return b"data: " + shown.encode() + b"\n\n" if left else b""


@dataclass
class BufferedStream:
    """Stream that was read; `kept` are the events that were held back.

    `end` is the event that ends it, and anything behind that; a `loose` stream has no such event,
    and its last one is not ended by a blank line.
    """

    transcript: ReplyStream = field(default_factory=ChatReplyStream)
    kept: list[bytes] = field(default_factory=list)
    end: bytes = b""
    broke_off: bool = False
    loose: bool = False

    @property
    def unusable(self) -> bool:
        """True if it is no answer in text."""
        return self.broke_off or self.transcript.failed or bool(self.transcript.calling)

    def closing(self, settling: ReplyEdits) -> bytes:
        """Return the events that end it, apart from one that was never ended."""
        events = self.transcript.closing(settling, self.end)
        return b"\n\n" + events if self.loose and events else events

    async def listen(self, reply: UpstreamResponse) -> AsyncIterator[bytes]:
        """Return its events as they come, except for the one that ends it."""
        import httpx2

        events = EventSplitter()
        try:
            async for data in reply.aiter_bytes():
                for event in events.feed(data):
                    said = data_of(event)
                    if self.end or self.transcript.ends(said):
                        self._note_end(event)
                        continue
                    yield event
                    # Noted only now: the client does not wait for it.
                    self.transcript.note(said)
            rest = events.rest()
            if self.end or self.transcript.ends(data_of(rest)):
                self._note_end(rest)
            elif rest:
                self.loose = True
                yield rest
                self.transcript.note(data_of(rest))
        except httpx2.HTTPError:
            self.broke_off = True
            reply.span.failed("upstream_broke_off")
        finally:
            await reply.aclose()

    def _note_end(self, event: bytes) -> None:
        """Keep the event that ends the stream, or anything behind it."""
        if not self.end:
            self.transcript.note(data_of(event))
        self.end += event


def error_event(message: str, code: str) -> bytes:
    """Return an error event in the form that clients expect in a stream."""
    error = {"message": message, "type": "upstream_error", "param": None, "code": code}
    return b"data: " + dumped({"error": error}).encode() + b"\n\n"
