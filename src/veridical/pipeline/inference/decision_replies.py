"""Shared parts of the two formats of decision replies: the envelope, not the answers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from veridical.core.measurements import Unmeasured
from veridical.pipeline.inference.failures import malformed, unmeasured_status
from veridical.pipeline.inference.prices import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class DecisionReply:
    """Reply of a decision model: the option probabilities by the name of the question.

    `model`, `usage` and `cost_usd` are those of the whole request, None where unknown.
    """

    answers: Mapping[str, Mapping[str, object] | Unmeasured] = field(repr=False)
    model: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None

    @property
    def tokens(self) -> int | None:
        """Tokens read and written, None if they are unknown."""
        return None if self.usage is None else self.usage.prompt_tokens + self.usage.output_tokens


def parsed(content: bytes) -> object:
    """Return the value of a reply's JSON; None if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # RecursionError: thousands of brackets
        return None


def read_envelope(
    raw: object, answers: Mapping[str, Mapping[str, object] | Unmeasured] | None
) -> DecisionReply | Unmeasured:
    """Return answers with the model, tokens and cost that their reply states.

    `answers` is None if the reply has none: then it is a failure that a gateway passes on with a
    status of 200, or malformed.
    """
    if not isinstance(raw, dict):
        return malformed("the reply is not an object")
    if answers is None:
        error = raw.get("error")
        return _passed_on(error) if isinstance(error, dict) else malformed("no answers")
    model, usage = raw.get("model"), raw.get("usage")
    return DecisionReply(
        answers=answers,
        model=model if isinstance(model, str) and _nameable(model) else None,
        usage=usage_of(usage),
        cost_usd=cost(usage),
    )


def priced(
    reply: DecisionReply | Unmeasured, price: Callable[[Usage], float | None]
) -> DecisionReply | Unmeasured:
    """Return a reply with its cost by the price, unless the service states one."""
    if isinstance(reply, Unmeasured) or reply.usage is None or reply.cost_usd is not None:
        return reply
    return replace(reply, cost_usd=price(reply.usage))


def usage_of(raw: object) -> Usage | None:
    """Return the tokens of a request; None unless those read and written are whole numbers."""
    if not isinstance(raw, dict):
        return None
    total, output = _count(raw, "input_tokens"), _count(raw, "output_tokens")
    if total is None or output is None:
        return None
    details = raw.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = min(_count(details, "cached_tokens") or 0, total)
    written = min(_count(details, "cache_write_tokens") or 0, total - cached)
    return Usage.from_total(total, output, cached_input_tokens=cached, cache_write_tokens=written)


def _count(values: Mapping[str, object], key: str) -> int | None:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= 0 else None


def cost(usage: object) -> float | None:
    """Return the dollars that a request cost; None unless the service states it (gateways do)."""
    value = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if value >= 0 else None


def _nameable(model: str) -> bool:
    return 0 < len(model) <= _LONGEST_NAME and model.isprintable()


def _passed_on(error: dict[str, object]) -> Unmeasured:
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 502  # noqa: PLR2004
    return unmeasured_status(status, body=json.dumps(error))
