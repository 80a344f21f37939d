"""A request as the proxy reads it: what goes on to the upstream, and what to verify with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.interfaces.http.proxy.evidence import question_of, sources_of
from veridical.interfaces.http.proxy.json_places import (
    Place,
    edited,
    members,
    with_last,
    without,
)
from veridical.interfaces.http.proxy.options import FIELD, FieldError, InForce, read_options

if TYPE_CHECKING:
    from veridical.settings_blocks import ProxySettings


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, without our own field; `prose` is off in JSON mode, where no mark may stand.

    `question` is what the user said last, `sources` is the evidence by id.
    """

    text: str = field(repr=False)
    options: InForce
    sources: dict[str, str] = field(repr=False)
    question: str | None = field(repr=False)
    prose: bool

    @property
    def body(self) -> bytes:
        """What goes on to the upstream."""
        return self.text.encode()

    def again(self, answer: str, guidance: str) -> bytes:
        """Return the request with an answer to it, and with what to correct in that, at its end."""
        turns = ({"role": "assistant", "content": answer}, {"role": "user", "content": guidance})
        written = ",".join(json.dumps(turn) for turn in turns)
        (messages,) = [place for place in members(self.text) if place.key == "messages"][-1:]
        return edited(self.text, [with_last(self.text, written, start=messages.start)]).encode()


def read(body: bytes, settings: ProxySettings) -> Asked | None:
    """Return a request; None if it cannot be read, which is then for the upstream to say.

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
    messages = values.get("messages")
    if not isinstance(messages, list):
        messages = []
    return Asked(
        _forwarded(text, places, ours),
        options,
        options.documents | sources_of(messages, options.roles),
        question_of(messages),
        prose=_is_prose(values.get("response_format")),
    )


def _forwarded(text: str, places: list[Place], ours: list[Place]) -> str:
    return without(text, places, ours[0]) if ours else text


def _is_prose(response_format: object) -> bool:
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    return kind in {None, "text"}
