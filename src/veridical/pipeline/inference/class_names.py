"""Names of a classifier's classes, and their meanings for a claim."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError
from veridical.pipeline.inference.failures import malformed
from veridical.pipeline.inference.option_scores import (
    CONTRADICTED,
    NOT_STATED,
    SUPPORTED,
    Distribution,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.measurements import Unmeasured

_NAMES = {
    SUPPORTED: "supported supports entailment entailed aligned grounded faithful consistent",
    CONTRADICTED: "contradicted contradiction contradicts contradict refuted refutes",
    NOT_STATED: (
        "neutral notentailment notincontext notstated notsupported unsupported notenoughinfo"
        " notgrounded ungrounded notfaithful unfaithful notconsistent inconsistent"
        " hallucinated hallucination"
    ),
}
MEANINGS = {name: meaning for meaning, names in _NAMES.items() for name in names.split()}
"""Meanings by name, in small letters and without signs.

`yes` and `no` are missing: the question decides which of them supports a claim.
"""

_SLACK = 1e-6
_ROUNDED = 0.01  # of the sum of all probabilities: servers compute them in 16 bits


def meaning_of(name: str) -> str | None:
    """Return the meaning of a class by its name, however it is written; None if it is unknown."""
    return MEANINGS.get(re.sub(r"[\W_]", "", name).lower())


def meanings_of(names: Sequence[str], *, hint: str) -> tuple[str, ...]:
    """Return the meaning of each class, in order.

    `ConfigurationError` that lists the names without a known meaning, or if none supports a claim.
    """
    unknown = sorted(name for name in names if meaning_of(name) is None)
    if unknown:
        msg = f"the meaning of these classes is not known: {', '.join(unknown)}"
        raise ConfigurationError(msg, hint=hint)
    found = tuple(MEANINGS[re.sub(r"[\W_]", "", name).lower()] for name in names)
    if SUPPORTED not in found:
        msg = f"none of these classes supports a claim: {', '.join(names)}"
        raise ConfigurationError(msg, hint=hint)
    return found


def read_classes(
    meanings: Sequence[str], probabilities: Sequence[object]
) -> Distribution | Unmeasured:
    """Return the distribution over the meanings; a malformed reply if it is none.

    A single class is a probability of support, which two classes without a contradiction are, too.
    """
    if len(probabilities) != len(meanings):
        return malformed("a class has no probability")
    values = [_probability(value) for value in probabilities]
    if any(value is None for value in values):
        return malformed("a probability is not a number from 0 to 1")
    known = [value for value in values if value is not None]
    total = math.fsum(known) if len(known) > 1 else 1.0
    if abs(total - 1.0) > _ROUNDED:
        return malformed("the probabilities do not sum to 1")
    supported, contradicted = (
        math.fsum(p for p, meaning in zip(known, meanings, strict=True) if meaning == wanted)
        / total
        for wanted in (SUPPORTED, CONTRADICTED)
    )
    supported = min(1.0, supported)
    rest = max(0.0, 1.0 - supported - contradicted)
    return Distribution(supported, contradicted, rest, supported, supported)


def _probability(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -_SLACK <= value <= 1.0 + _SLACK:  # false for NaN
        return None
    return min(1.0, max(0.0, float(value)))
