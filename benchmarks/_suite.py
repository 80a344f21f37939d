"""Labelled suite of procedural hallucinations: its cases, each in one of two halves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.evaluation.rows import Row, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

SUITE = Path(__file__).parent / "procedural" / "suite.jsonl"


@dataclass(frozen=True)
class Labelled:
    """A row of the suite, and what stands beside it: case, kind, half, phantom on purpose."""

    row: Row
    case: str
    kind: str
    half: str
    phantom: bool


def half_of(case: str) -> str:
    """Return "A" or "B": the lowest bit of the SHA-256 of a case's name (0 is A)."""
    return "AB"[sha256(case.encode()).digest()[-1] % 2]


def labelled(lines: Iterable[str]) -> tuple[Labelled, ...]:
    """Return the rows of the suite in order; `ValueError` for a line that is none."""
    return tuple(_labelled(line) for line in lines)


def suite() -> tuple[Labelled, ...]:
    """Return the suite that ships."""
    return labelled(SUITE.read_text(encoding="utf-8").splitlines())


def _labelled(line: str) -> Labelled:
    row = parse(line)
    if not isinstance(row, Row):
        msg = f"not a row to measure: {row}"
        raise ValueError(msg)  # noqa: TRY004 -- what the line holds is wrong, not its type
    extra: dict[str, Any] = json.loads(line)["extra"]
    return Labelled(row, extra["case"], extra["kind"], extra["half"], extra.get("phantom", False))
