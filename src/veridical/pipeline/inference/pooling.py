"""One estimate out of two: the logarithmic opinion pool (Genest & Zidek 1986).

P(supported) is the mean of the two in log-odds, the second counted twice: the surer one counts for
more, and two that lean the same way are not made surer than they are. The rest is shared between
contradicted and not in context as the two share theirs on average.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import TYPE_CHECKING

from veridical.core.certainty import log_odds

if TYPE_CHECKING:
    from veridical.core.measurements import Estimate


WEIGHT = 2 / 3
"""Weight of the second: as it is only asked in doubt, it is taken for the better one."""


def pooled_probability(first: float, second: float) -> float:
    """Return the mean of two probabilities in log-odds, each clipped as for bits (.001 to .999)."""
    mean = (1.0 - WEIGHT) * log_odds(first) + WEIGHT * log_odds(second)
    return 1.0 / (1.0 + exp(-mean))


def pooled(first: Estimate, second: Estimate) -> Estimate:
    """Return `second` with the probabilities and the interval of both."""
    supported = pooled_probability(first.supported, second.supported)
    contradicted, not_in_context = _rest(1.0 - supported, first, second)
    return replace(
        second,
        supported=supported,
        contradicted=contradicted,
        not_in_context=not_in_context,
        low=min(supported, pooled_probability(first.low, second.low)),
        high=max(supported, pooled_probability(first.high, second.high)),
    )


def _rest(total: float, *estimates: Estimate) -> tuple[float | None, float | None]:
    """Return P(contradicted) and P(not in context); None if neither estimate tells them apart."""
    shares = [share for estimate in estimates if (share := _share(estimate)) is not None]
    if not shares:
        return None, None
    contradicted = total * sum(shares) / len(shares)
    return contradicted, total - contradicted


def _share(estimate: Estimate) -> float | None:
    """Return the contradicted share of the probability of "not supported"; None if unknown."""
    if estimate.contradicted is None or estimate.not_in_context is None:
        return None
    rest = estimate.contradicted + estimate.not_in_context
    return estimate.contradicted / rest if rest > 0.0 else None
