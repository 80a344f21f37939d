"""Reply in one piece: the texts of its choices, and the verdict put into it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.interfaces.http.proxy.json_places import (
    Edit,
    JsonValue,
    edited,
    elements,
    member,
    members,
    with_last,
    without,
)
from veridical.interfaces.http.proxy.options import FIELD

if TYPE_CHECKING:
    from veridical.interfaces.http.proxy.reply_edits import ReplyEdits


CUT_OFF = "length"
"""The `finish_reason` of a text that ended at the model's limit on tokens."""


@dataclass(frozen=True, slots=True)
class ReplyChoice:
    """One of several answers: its text ("" for tool calls alone), and the place of that.

    `unread` is true if it has a content that is no text.
    """

    index: int
    text: str = field(repr=False)
    place: JsonValue
    content: JsonValue | None
    calls_tools: bool
    cut_off: bool = False
    unread: bool = False


@dataclass(frozen=True, slots=True)
class UpstreamReply:
    """Reply as it came, and its choices."""

    text: str = field(repr=False)
    choices: tuple[ReplyChoice, ...]

    @property
    def calling(self) -> frozenset[int]:
        """Choices that call tools."""
        return frozenset(choice.index for choice in self.choices if choice.calls_tools)

    @property
    def cut_off(self) -> frozenset[int]:
        """Choices that ended at the model's limit on tokens."""
        return frozenset(choice.index for choice in self.choices if choice.cut_off)

    @property
    def texts(self) -> dict[int, str]:
        """Texts by the index of their choice."""
        return {choice.index: choice.text for choice in self.choices}

    def unreadable(self, index: int) -> bool:
        """Return whether a choice has a content that is no text."""
        return any(choice.unread for choice in self.choices if choice.index == index)

    def changed(self, settling: ReplyEdits) -> bytes:
        """Return the reply with marks, with notices for choices withheld, and with the verdict.

        Everything else is as it came.
        """
        marked, withheld = settling.marked, settling.withheld
        edits = []
        for choice in self.choices:
            if choice.index in withheld:
                notice = _withheld(choice.index, withheld[choice.index])
                edits.append(Edit(choice.place.start, choice.place.end, notice))
            elif choice.index in marked and choice.content is not None:
                written = json.dumps(marked[choice.index], ensure_ascii=False)
                edits.append(Edit(choice.content.start, choice.content.end, written))
        edits.append(with_last(self.text, dumped(settling.verdict), key=FIELD))
        return encoded(edited(self.text, edits))


def read_reply(body: bytes) -> UpstreamReply | None:
    """Return a reply; None if it is none with choices, each with an index of its own."""
    try:
        text = body.decode()
        places = members(text, whole=True)
        for ours in [place for place in places if place.key == FIELD]:
            # A proxy behind this one: its verdict gives way to ours.
            text = without(text, places, ours)
            places = members(text, whole=True)
        choices = member(text, 0, "choices")
        if choices is None:
            return None
        found = [_choice(text, place, n) for n, place in enumerate(elements(text, choices.start))]
    except (ValueError, RecursionError):
        return None
    apart = len({choice.index for choice in found}) == len(found)
    return UpstreamReply(text, tuple(found)) if found and apart else None


def _choice(text: str, place: JsonValue, number: int) -> ReplyChoice:
    message = member(text, place.start, "message")
    content = None if message is None else member(text, message.start, "content")
    said = None if content is None else content.value
    index = place.value.get("index", number)
    return ReplyChoice(
        index if isinstance(index, int) else number,
        said if isinstance(said, str) else "",
        place,
        content,
        calls_tools=message is not None and calls_tools(message.value),
        cut_off=place.value.get("finish_reason") == CUT_OFF,
        unread=message is None or has_other_content(message.value),
    )


def has_other_content(message: object) -> bool:
    """Return whether a message, or a piece of one, has a content that is no text."""
    if not isinstance(message, dict):
        return True
    return not isinstance(message.get("content"), str | None) or bool(message.get("audio"))


def calls_tools(message: object) -> bool:
    """Return whether a message, or a piece of one, calls tools."""
    if not isinstance(message, dict):
        return False
    return bool(message.get("tool_calls") or message.get("function_call"))


def _withheld(index: int, notice: str) -> str:
    """Return a choice without any of the text: its log-probabilities would contain it."""
    return dumped(
        {
            "index": index,
            "message": {"role": "assistant", "content": notice, "refusal": None},
            "logprobs": None,
            "finish_reason": "content_filter",
        }
    )


def dumped(value: object) -> str:
    """Return JSON text in one line, in ASCII."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def encoded(text: str) -> bytes:
    """Return JSON text as bytes; half a character that stood there escaped has no UTF-8."""
    return text.encode("utf-8", "backslashreplace")
