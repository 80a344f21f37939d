"""Parsed request of the proxy: the body for the upstream, and the input of the verification."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.interfaces.http.proxy.evidence import question_of, sources_of
from veridical.interfaces.http.proxy.json_places import (
    Edit,
    JsonValue,
    edited,
    member,
    members,
    with_last,
    without,
)
from veridical.interfaces.http.proxy.options import FIELD, FieldError, InForce, read_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from veridical.settings.service_blocks import ProxySettings


_MODEL = re.compile(r"[\w.:/@+-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Turns:
    """Content of a request: `messages` in the shape of chat completions, under the field `key`.

    `prose` is off in JSON mode, where no mark may stand. `repeatable` is off where another attempt
    would be written behind the first one.
    """

    key: str
    messages: list[object] = field(repr=False)
    prose: bool
    repeatable: bool = True


def chat_turns(values: Mapping[str, Any]) -> Turns:
    """Return the content of a request for a chat completion."""
    messages = values.get("messages")
    return Turns(
        "messages",
        messages if isinstance(messages, list) else [],
        is_prose(values.get("response_format")),
    )


def is_prose(written_as: object) -> bool:
    """Return whether a format of answers is text, or left out."""
    kind = written_as.get("type") if isinstance(written_as, dict) else None
    return kind is None or kind == "text"


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """One request, without our own field.

    `question` is the user's last text, `sources` is the evidence by id, `model` is the name of the
    model if it looks like one.
    """

    text: str = field(repr=False)
    options: InForce
    turns: Turns
    sources: dict[str, str] = field(repr=False)
    question: str | None = field(repr=False)
    model: str | None = None

    @property
    def prose(self) -> bool:
        """True if the answer is to be text, not JSON."""
        return self.turns.prose

    @property
    def body(self) -> bytes:
        """Body for the upstream."""
        return self.text.encode()

    def again(self, answer: str, guidance: str) -> bytes:
        """Return the request with an answer to it and the corrections of that at its end."""
        turns = [{"role": "assistant", "content": answer}, {"role": "user", "content": guidance}]
        place = member(self.text, 0, self.turns.key)
        if place is None:
            msg = "the request has no turns"
            raise ValueError(msg)
        if isinstance(place.value, str):
            whole = json.dumps([{"role": "user", "content": place.value}, *turns])
            edit = Edit(place.start, place.end, whole)
        else:
            edit = with_last(self.text, ",".join(map(json.dumps, turns)), start=place.start)
        return edited(self.text, [edit]).encode()


def read(
    body: bytes, settings: ProxySettings, turns_of: Callable[[Mapping[str, Any]], Turns]
) -> ProxyRequest | None:
    """Return a request; None if it cannot be read, which the upstream then reports.

    `FieldError` if our own field is wrong.
    """
    try:
        text = body.decode()
        places = members(text, whole=True)
    except (ValueError, RecursionError):
        return None
    ours = [place for place in places if place.key == FIELD]
    if len(ours) > 1:
        msg = "the field stands there twice"
        raise FieldError(msg)
    options = read_options(ours[0].value if ours else None, settings)
    values = {place.key: place.value for place in places}
    turns, model = turns_of(values), values.get("model")
    return ProxyRequest(
        _forwarded(text, places, ours),
        options,
        turns,
        options.documents | sources_of(turns.messages, options.roles),
        question_of(turns.messages),
        model if isinstance(model, str) and _MODEL.fullmatch(model) else None,
    )


def _forwarded(text: str, places: list[JsonValue], ours: list[JsonValue]) -> str:
    return without(text, places, ours[0]) if ours else text
