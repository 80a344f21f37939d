"""Labelled rows of each suite on the page of proof."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from pathlib import Path

from _sample import DEV, draw
from quantities import pairs
from veridical.core.types import Source
from veridical.evaluation.answers import read_answers
from veridical.evaluation.rows import Row

HERE = Path(__file__).parent


def all_suites(limit: int) -> dict[str, list[Row]]:
    """Return the rows of each suite; dev and quotes only where the labelled data is."""
    found = {f"answers {half}": shuffled(answer_rows(half)) for half in "ab"}
    found["quantities"] = shuffled(
        [
            Row(pair.id, pair.claim, (Source("S1", pair.evidence),), pair.label == "equal")
            for pair in pairs()
        ]
    )
    if DEV.is_dir():
        found["dev"] = [item.row for item in draw(limit).items]
        found["quotes"] = shuffled(quote_rows())
    return found


def answer_rows(half: str) -> list[Row]:
    """Return the labelled claims of one half of the answers."""
    sets = read_answers(sorted((HERE / "answers" / half).glob("*.jsonl")))
    answers = [answer for one in sets for answer in one.answers]
    return [
        Row(f"{a.id}/{n}", claim.span.of(a.answer), a.sources, claim.supported)
        for a in answers
        for n, claim in enumerate(a.claims)
    ]


def quote_rows() -> list[Row]:
    """Return the labelled quotes."""
    found = []
    for path in sorted(DEV.glob("quote_*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                source = (Source("S1", row["evidence"]),)
                found.append(Row(row["id"], row["claim"], source, row["label"] == "supported"))
    return found


def shuffled(rows: list[Row]) -> list[Row]:
    """Return the rows in the order of a hash of their ids."""
    return sorted(rows, key=lambda row: sha256(row.id.encode()).digest())
