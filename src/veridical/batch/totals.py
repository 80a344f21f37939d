"""Totals of a batch with their denominators, and an interval that may be watched.

The interval of the flagged share is a confidence sequence: it holds at all times at once, so that a
run may stop as soon as it is narrow enough (Robbins' method of mixtures with a uniform prior, and
Ville's inequality). It supposes rows in random order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import lgamma, log
from typing import TYPE_CHECKING

from veridical.core.assessment import Outcome
from veridical.core.printing import number

if TYPE_CHECKING:
    from veridical.core.printing import Document

MISS = 0.05
"""Probability with which the interval misses the share at any time."""

_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class FlaggedShare:
    """Number of flagged rows, out of those that are flagged or grounded."""

    flagged: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the share; 0 and 1 where nothing is known."""
        if not self.of:
            return 0.0, 1.0
        found = self.flagged / self.of
        return self._bound(found, 0.0), self._bound(found, 1.0)

    def decides(self, bound: float) -> bool:
        """Return whether the share is surely above or below `bound`."""
        return self.of > 0 and not self._holds(bound)

    def body(self) -> Document:
        """Return the share as it stands in a JSON object."""
        low, high = self.interval
        share = self.flagged / self.of if self.of else None
        return {
            "flagged": self.flagged,
            "of": self.of,
            "share": number(share),
            "low": number(low),
            "high": number(high),
        }

    def _bound(self, inside: float, outside: float) -> float:
        if self._holds(outside):
            return outside
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if self._holds(middle) else (inside, middle)
        return inside

    def _holds(self, share: float) -> bool:
        """Return whether a share agrees with what was seen."""
        passed = self.of - self.flagged
        if not 0.0 < share < 1.0:
            return not (self.flagged if share <= 0.0 else passed)
        mixed = lgamma(1 + self.flagged) + lgamma(1 + passed) - lgamma(2 + self.of)
        expected = self.flagged * log(share) + passed * log(1.0 - share)
        return mixed - expected < log(1.0 / MISS)


@dataclass(slots=True)
class Totals:
    """Counts of the rows written so far."""

    rows: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, first: Document) -> None:
        """Count a row by the first of its lines."""
        self.rows += 1
        if first["error"] is not None:
            self.errors[first["error"]] += 1
        else:
            self.outcomes[first["outcome"]] += 1

    @property
    def share(self) -> FlaggedShare:
        """Share of flagged rows."""
        flagged = self.outcomes[Outcome.FLAGGED]
        return FlaggedShare(flagged, flagged + self.outcomes[Outcome.GROUNDED])

    def body(self) -> Document:
        """Return the totals as they stand in a JSON object."""
        return {
            "outcomes": {outcome.value: self.outcomes[outcome] for outcome in Outcome},
            "errors": dict(sorted(self.errors.items())),
            "flagged_share": self.share.body(),
        }
