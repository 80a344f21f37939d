"""Accepted arguments of an OpenAI-compatible server, and fallbacks after a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from veridical.core.measurements import Unmeasured, UnmeasuredReason

_CAPPED_TOP_LOGPROBS = 5
_REFUSALS = frozenset({400, 403, 422, 501})
_SAID = 300  # characters of a refusal in plain text; a prompt that it repeats comes later
_DEPTH = 6  # of values in a refusal: a list of problems is at the fourth
_ROOM = 16  # tokens of an answer that is sampled: enough to see whether it goes on
_ROOM_TO_THINK = 8_000


@dataclass(frozen=True, slots=True)
class ServerCapabilities:
    """The arguments that a server accepts; `top_logprobs` None: it gives no log-probabilities.

    Without them answers are sampled, each in at most `room` tokens. With them an answer takes
    `answer_tokens`.
    """

    top_logprobs: int | None
    limit: str = "max_tokens"
    temperature: bool = True
    room: int = _ROOM
    answer_tokens: int = 1

    @property
    def sampled(self) -> bool:
        """True if the answer counts, and not the probabilities of its first token."""
        return self.top_logprobs is None

    @classmethod
    def first(cls, top_logprobs: int, answer_tokens: int) -> ServerCapabilities:
        """Return the most widely accepted arguments for an answer of so many tokens."""
        if answer_tokens > 1:
            top_logprobs = min(top_logprobs, _CAPPED_TOP_LOGPROBS)  # they come with every token
        room = max(_ROOM, answer_tokens)
        return cls(top_logprobs, room=room, answer_tokens=answer_tokens)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a request: the most probable token, or one sample."""
        arguments: dict[str, Any] = {self.limit: self.room if self.sampled else self.answer_tokens}
        if self.temperature:
            arguments["temperature"] = 1 if self.sampled else 0
        if not self.sampled:
            arguments |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        return arguments

    def after(self, refusal: str) -> ServerCapabilities | None:
        """Return the next arguments to try after a refusal; None if it is about something else."""
        if "output limit" in refusal:
            return self.roomier()
        if "max_completion_tokens" in refusal and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "logprobs" in refusal and self.top_logprobs is not None:
            more = self.top_logprobs > _CAPPED_TOP_LOGPROBS
            return replace(self, top_logprobs=_CAPPED_TOP_LOGPROBS if more else None)
        if "temperature" in refusal and self.temperature:
            return replace(self, temperature=False)
        return None

    def roomier(self) -> ServerCapabilities | None:
        """Return the arguments for a model that thinks first; None if that was tried."""
        if self.sampled and self.room >= _ROOM_TO_THINK:
            return None
        return replace(self, top_logprobs=None, room=_ROOM_TO_THINK)


def refusal_of(error: Exception, failure: Unmeasured) -> str:
    """Return a server's text about refused arguments; empty if it refuses something else.

    Only the description of the error is read: some servers repeat the request, prompt and all.
    """
    status = getattr(error, "status_code", None)
    if status not in _REFUSALS or failure.reason is UnmeasuredReason.CONTEXT_TOO_LONG:
        return ""
    body = getattr(error, "body", None)
    if not isinstance(body, Mapping):
        return str(body)[:_SAID]
    return " ".join(_texts(body))


def _texts(body: object, depth: int = _DEPTH) -> Iterator[str]:
    """Yield the texts that name the refused argument and the reason.

    Servers that validate a request list each wrong argument with its place, and with its `input`.
    """
    if isinstance(body, str):
        yield body
    elif isinstance(body, list) and depth:
        for part in body:
            yield from _texts(part, depth - 1) if isinstance(part, Mapping) else ()
    elif isinstance(body, Mapping) and depth:
        place = body.get("loc")
        yield from [key for key in place if isinstance(key, str)] if isinstance(place, list) else ()
        for key in ("param", "msg", "message", "detail"):
            yield from _texts(body.get(key), depth - 1)
