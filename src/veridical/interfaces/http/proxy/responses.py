"""Responses API: requests, replies, and streams.

A reply is one answer: its texts are verified as the one text that the official client shows as
`output_text`. The remarks on it are a message of their own, at the end of `output`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.interfaces.http.proxy.json_places import (
    Edit,
    JsonValue,
    edited,
    elements,
    member,
    members,
    with_last,
    with_member,
)
from veridical.interfaces.http.proxy.options import FIELD
from veridical.interfaces.http.proxy.replies import dumped, encoded
from veridical.interfaces.http.proxy.request import Turns, is_prose
from veridical.interfaces.http.proxy.streams import (
    DONE,
    EventSplitter,
    data_of,
    error_event,
    joined,
    read_data,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from veridical.interfaces.http.proxy.reply_edits import ReplyEdits

ONLY = 0
"""Index of the one answer of a reply."""

_HARMLESS = frozenset(
    {
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "message",
        "reasoning",
        "web_search_call",
    }
)
"""Items of an output after which nothing is for the client to do; any other calls a tool."""

_OPENING = frozenset({"response.created", "response.queued", "response.in_progress"})
_ENDING = frozenset({"response.completed", "response.incomplete"})
_FAILING = frozenset({"response.failed", "error"})
_OUR_ID = "msg_veridical"
_WITHHELD = error_event(
    "the answer is withheld, and the end of its stream cannot be read", "withheld"
)
"""End of a stream whose answer is withheld, and which has no place for a notice."""


# --- requests --------------------------------------------------------------------------------


def response_turns(values: Mapping[str, Any]) -> Turns:
    """Return the content of a request for a response; `instructions` count as the system's."""
    given, text = values.get("input"), values.get("text")
    messages: list[object] = [{"role": "system", "content": values.get("instructions")}]
    if isinstance(given, str):
        messages.append({"role": "user", "content": given})
    elif isinstance(given, list):
        messages += map(_message, given)
    return Turns(
        "input",
        messages if values.get("instructions") else messages[1:],
        is_prose(text.get("format") if isinstance(text, dict) else None),
        repeatable=values.get("conversation") is None,
    )


def _message(item: object) -> object:
    """Return an item of the input as a message: the output of a tool is one of the role `tool`."""
    if isinstance(item, dict) and _kind(item).endswith("_call_output"):
        return {"role": "tool", "content": item.get("output")}
    return item


def _kind(value: object) -> str:
    """Return the stated type of an item, a part or an event; "" if there is none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


# --- replies ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Output:
    """The `output` of the response at `start` of a JSON text, and the texts in it."""

    text: str = field(repr=False)
    start: int
    place: JsonValue
    parts: tuple[JsonValue, ...]

    @property
    def calls_tools(self) -> bool:
        return any(map(_calls_tools, self.place.value))

    @property
    def said(self) -> str:
        return "".join(part.value["text"] for part in self.parts)

    @property
    def has_other_content(self) -> bool:
        """True if a message has a part that is neither text nor a refusal."""
        return any(map(_is_other_content, _said_parts(self.place.value)))

    def edits(self, settling: ReplyEdits, *, sent: bool) -> Iterator[Edit]:
        """Yield the edits that put marks and notices in; `sent` texts stay as they are."""
        said = None
        if ONLY in settling.withheld:
            said = settling.withheld[ONLY]
            yield Edit(self.place.start, self.place.end, dumped([spoken(said)]))
            yield self._put("status", dumped("incomplete"))
            yield self._put("incomplete_details", dumped({"reason": "content_filter"}))
        elif ONLY in settling.marked:
            if sent or not self._can_be_marked:
                said = self.said + settling.legends[ONLY]
                yield with_last(
                    self.text, dumped(spoken(settling.legends[ONLY])), start=self.place.start
                )
            else:
                said = settling.marked[ONLY]
                yield with_member(self.text, self.parts[0].start, "text", dumped(said))
        if said is not None and member(self.text, self.start, "output_text") is not None:
            yield self._put("output_text", dumped(said))  # some services say it twice
        yield self._put(FIELD, dumped(settling.verdict))

    @property
    def _can_be_marked(self) -> bool:
        """True if marks move nothing: annotations count characters of the text."""
        return len(self.parts) == 1 and not self.parts[0].value.get("annotations")

    def _put(self, key: str, value: str) -> Edit:
        return with_member(self.text, self.start, key, value)


def _read_output(text: str, start: int = 0) -> _Output | None:
    """Return the output of the response at `start`; None if there is none."""
    place = member(text, start, "output")
    if place is None or not isinstance(place.value, list):
        return None
    return _Output(text, start, place, tuple(_parts(text, place)))


def _parts(text: str, output: JsonValue) -> Iterator[JsonValue]:
    for item in elements(text, output.start):
        if _kind(item.value) != "message":
            continue
        content = member(text, item.start, "content")
        if content is not None and isinstance(content.value, list):
            yield from filter(_is_text, elements(text, content.start))


def _is_text(part: JsonValue) -> bool:
    return _holds_text(part.value)


def _holds_text(part: Any) -> bool:  # noqa: ANN401 -- JSON
    return _kind(part) == "output_text" and isinstance(part.get("text"), str)


def _is_other_content(part: object) -> bool:
    return not (_holds_text(part) or _kind(part) == "refusal")


def _said_parts(output: object) -> Iterator[Any]:
    """Return the parts of the messages of an output; None for a content that has none."""
    for item in output if isinstance(output, list) else ():
        content = item.get("content") if _kind(item) == "message" else None
        if isinstance(content, list):
            yield from content
        elif content:  # a string, for instance: what a client reads there is unknown
            yield None


def _is_cut_off(details: object) -> bool:
    return isinstance(details, dict) and details.get("reason") == "max_output_tokens"


def _calls_tools(item: object) -> bool:
    return _kind(item) not in _HARMLESS


@dataclass(frozen=True, slots=True)
class ResponseReply:
    """Reply in one piece."""

    output: _Output

    @property
    def texts(self) -> dict[int, str]:
        """Text of the answer."""
        return {ONLY: self.output.said}

    @property
    def cut_off(self) -> frozenset[int]:
        """Index of the answer, if it ended at the model's limit on tokens."""
        place = member(self.output.text, self.output.start, "incomplete_details")
        return frozenset({ONLY} if _is_cut_off(place and place.value) else ())

    @property
    def calling(self) -> frozenset[int]:
        """Index of the answer, if it calls tools."""
        return frozenset({ONLY} if self.output.calls_tools else ())

    def unreadable(self, index: int) -> bool:  # noqa: ARG002 -- there is only one
        """Return whether a part of the answer is no text."""
        return self.output.has_other_content

    def changed(self, settling: ReplyEdits) -> bytes:
        """Return the reply with marks or a notice, and with the verdict; else as it came."""
        return encoded(edited(self.output.text, self.output.edits(settling, sent=False)))


def read_response(body: bytes) -> ResponseReply | None:
    """Return a reply; None if it is none with an output."""
    try:
        text = body.decode()
        members(text, whole=True)
        output = _read_output(text)
    except (ValueError, RecursionError):
        return None
    return None if output is None else ResponseReply(output)


# --- streams ---------------------------------------------------------------------------------


@dataclass
class ResponseTranscript:
    """A `ReplyStream` of a response; the event that ends it brings the response as a whole.

    The verdict is put into that event, so that a client meets no event that it does not know.
    """

    texts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list), repr=False)
    calling: set[int] = field(default_factory=set)
    cut_off: set[int] = field(default_factory=set)
    failed: bool = False
    other_content: bool = False

    def note(self, data: bytes) -> None:
        """Note the data of an event; unreadable data may be a part of the answer."""
        event = read_data(data)
        if event is None:
            self.other_content = self.other_content or data.strip() not in {b"", DONE}
            return
        kind = _kind(event)
        self.failed = self.failed or kind in _FAILING or bool(event.get("error"))
        if kind == "response.output_item.added" and _calls_tools(event.get("item")):
            self.calling.add(ONLY)
        response = event.get("response")
        if isinstance(response, dict):
            self._note_response(response, ended=kind in _ENDING)
        # Some services leave the indices out; parts come one after the other.
        place = f"{event.get('item_id')} {event.get('content_index', 0)}"
        if kind == "response.output_text.delta" and isinstance(event.get("delta"), str):
            self.texts[place].append(event["delta"])
        elif kind == "response.output_text.done" and isinstance(event.get("text"), str):
            self.texts[place] = [event["text"]]
        elif kind == "response.content_part.done" and _kind(event.get("part")) != "reasoning_text":
            self._note_part(place, event.get("part"))
        elif kind == "response.output_item.done":
            for number, part in enumerate(_said_parts([event.get("item")])):
                self._note_part(f"{event['item'].get('id')} {number}", part)

    def _note_part(self, place: str, part: Any) -> None:  # noqa: ANN401 -- JSON
        """Note a part that is done: some services send no pieces of it before."""
        self.other_content = self.other_content or _is_other_content(part)
        # Known by its text, not by its place, which not all events of a service name alike.
        if _holds_text(part) and part["text"] not in self.whole().get(ONLY, ""):
            self.texts[place] = [part["text"]]

    def _note_response(self, response: Mapping[str, Any], *, ended: bool) -> None:
        """Note the response as a whole: clients read the text from the last one."""
        if _is_cut_off(response.get("incomplete_details")):
            self.cut_off.add(ONLY)
        parts = list(_said_parts(response.get("output"))) if ended else []
        self.other_content = self.other_content or any(map(_is_other_content, parts))
        said = [part["text"] for part in parts if _holds_text(part)]
        if said:
            self.texts = defaultdict(list, {"": said})

    def unreadable(self, index: int) -> bool:  # noqa: ARG002 -- there is only one
        """Return whether a part of the answer is no text."""
        return self.other_content

    def whole(self) -> dict[int, str]:
        """Return the text of the answer, if there is one."""
        texts = ("".join(parts) for parts in self.texts.values())
        return {ONLY: joined(texts)} if self.texts else {}

    def ends(self, data: bytes) -> bool:
        """Return whether the data are of the event that ends the stream."""
        if b'"response.completed"' not in data and b'"response.incomplete"' not in data:
            return False  # each event is looked at before it goes on
        return _kind(read_data(data)) in _ENDING

    def shown(self, kept: Iterable[bytes], settling: ReplyEdits) -> Iterator[bytes]:
        """Return the events; of an answer that is withheld, those before its start."""
        for event in kept:
            if not settling.withheld or _kind(read_data(data_of(event))) in _OPENING:
                yield event

    def closing(self, settling: ReplyEdits, end: bytes) -> bytes:
        """Return the remarks as a message of its own, then `end` with the verdict in it."""
        events = EventSplitter()
        first, *rest = [*events.feed(end), events.rest()]
        try:
            return _closing(first, settling) + b"".join(rest)
        except (ValueError, RecursionError, TypeError):
            # Nothing that a verdict could be put into.
            return _WITHHELD if settling.withheld else end


def _closing(event: bytes, settling: ReplyEdits) -> bytes:
    text = data_of(event).decode()
    response = member(text, 0, "response")
    output = None if response is None else _read_output(text, response.start)
    if output is None:
        return _WITHHELD if settling.withheld else event
    edits = list(output.edits(settling, sent=True))
    withheld = ONLY in settling.withheld
    said = settling.withheld.get(ONLY) or settling.legends.get(ONLY)
    events: list[dict[str, Any]] = []
    if said:
        number = member(text, 0, "sequence_number")
        since = number.value if number is not None and isinstance(number.value, int) else 0
        events = list(_speaking(said, 0 if withheld else len(output.place.value), since))
        if number is not None:
            edits.append(Edit(number.start, number.end, str(since + len(events))))
    kind = json.loads(text)["type"]
    if withheld:
        kind = "response.incomplete"
        edits.append(with_member(text, 0, "type", dumped(kind)))
    spoken_events = b"".join(_written(one["type"], dumped(one).encode()) for one in events)
    return spoken_events + _written(kind, encoded(edited(text, edits)))


def _speaking(said: str, index: int, since: int) -> Iterator[dict[str, Any]]:
    """Yield the events that add a message at a place of the output."""
    item, part = spoken(said), _part(said)
    where = {"item_id": _OUR_ID, "output_index": index, "content_index": 0}
    steps: list[tuple[str, dict[str, Any]]] = [
        (
            "output_item.added",
            {"output_index": index, "item": {**item, "status": "in_progress", "content": []}},
        ),
        ("content_part.added", {**where, "part": _part("")}),
        ("output_text.delta", {**where, "delta": said, "logprobs": []}),
        ("output_text.done", {**where, "text": said, "logprobs": []}),
        ("content_part.done", {**where, "part": part}),
        ("output_item.done", {"output_index": index, "item": item}),
    ]
    for number, (kind, more) in enumerate(steps, since):
        yield {"type": f"response.{kind}", "sequence_number": number, **more}


def spoken(text: str) -> dict[str, Any]:
    """Return a message of the proxy as an item of the output."""
    return {
        "type": "message",
        "id": _OUR_ID,
        "status": "completed",
        "role": "assistant",
        "content": [_part(text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _written(kind: str, data: bytes) -> bytes:
    lines = data.replace(b"\r", b"").replace(b"\n", b"")  # between values of JSON only
    return f"event: {kind}\n".encode() + b"data: " + lines + b"\n\n"
