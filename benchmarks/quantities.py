"""How many pairs of claim and evidence are judged right that differ in a quantity, or only seem to.

`quantity_pairs.jsonl` has a hundred claims with their evidence, in twelve kinds of text. Half of
them state the evidence's quantity in another form (supported), half another value, unit, date,
time, sign or ordinal (contradicted). The rules were written with half A at hand; half B was written
before them and read once they stood.

Every claim goes through `Verifier.verify` with the embedded verifier, at the thresholds that ship.
Right is the status "supported" for an equal quantity and "contradicted" for another one; flagged is
any status that a gate stops. "Without rules" is the same verifier with `core.quantities` finding
nothing.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from _common import Page, Requirement, publish, table
from veridical import Verifier
from veridical.core.verdicts import Status, Verdict
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.judgement import quantities as rules

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIRS = Path(__file__).parent / "quantity_pairs.jsonl"
RIGHT = {"equal": Status.SUPPORTED, "different": Status.CONTRADICTED}
LEAST = 98


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim, its evidence, and whether both state the same quantity."""

    id: str
    domain: str
    kind: str
    label: str
    evidence: str
    claim: str

    @property
    def half(self) -> str:
        """A, which the rules were developed on, or B."""
        return self.id[0].upper()


def main() -> None:
    """Judge every pair with the rules and without, print the page."""
    chosen = options()
    found = [pair for pair in pairs() if chosen.half in {None, pair.half}]
    verifier = Verifier(EmbeddedVerifier())
    with_rules = anyio.run(judged, verifier, found)
    with rules.switched_off():
        without = anyio.run(judged, verifier, found)
    publish(
        Page("Quantities", lines(found, with_rules, without), required(found, with_rules)),
        __doc__,
        chosen,
    )


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("A", "B"), help="judge one half only")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


def pairs() -> list[Pair]:
    """Return all pairs."""
    return [Pair(**json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


async def judged(verifier: Verifier, found: Sequence[Pair]) -> list[Verdict]:
    """Return the verdict on each pair."""
    return [await verifier.verify(pair.claim, {"S1": pair.evidence}) for pair in found]
