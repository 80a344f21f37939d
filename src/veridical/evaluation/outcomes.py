"""Outcomes of single rows of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.core.verdicts import Status


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """Outcome of a row: `supported` is p1's P(supported), None if unmeasured; `ms` is time."""

    status: Status
    supported: float | None
    ms: float
