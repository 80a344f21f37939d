"""The parts of a decision model's reply that both formats share: the envelope, not the answers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.pipeline.inference.failures import malformed, unmeasured_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.measurements import Unmeasured

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the probabilities of the options by the name of the question.

    `model`, `tokens` and `cost_usd` are those of the whole request, None where unknown.
    """

    answers: Mapping[str, Mapping[str, object] | Unmeasured]
    model: str | None = None
    tokens: int | None = None
    cost_usd: float | None = None


def parsed(content: bytes) -> object:
    """Return what a reply's JSON stands for; None if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # RecursionError: thousands of brackets
        return None


def read_envelope(
    raw: object, answers: Mapping[str, Mapping[str, object] | Unmeasured] | None
) -> Reply | Unmeasured:
    """Return answers with what the JSON of their reply says of model, tokens and cost.

    `answers` is None if the reply has none: then it is a failure that a gateway passes on with a
    status of 200, or malformed.
    """
    if not isinstance(raw, dict):
        return malformed("the reply is not an object")
    if answers is None:
        error = raw.get("error")
        return _passed_on(error) if isinstance(error, dict) else malformed("no answers")
    model, usage = raw.get("model"), raw.get("usage")
    return Reply(
        answers=answers,
        model=model if isinstance(model, str) and _nameable(model) else None,
        tokens=token_count(usage),
        cost_usd=cost(usage),
    )


def token_count(usage: object) -> int | None:
    """Return the tokens read and written; None unless the service states both as whole numbers."""
    if not isinstance(usage, dict):
        return None
    counts = [usage.get("input_tokens"), usage.get("output_tokens")]
    known = [c for c in counts if isinstance(c, int) and not isinstance(c, bool) and c >= 0]
    return sum(known) if len(known) == len(counts) else None


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
