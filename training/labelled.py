"""Labelled rows of the licensed files, cut to what the product would show the model."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any

from cutting import cut
from programmatic.base import NOT_SUPPORTED, SUPPORTED, Pair

from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

UNLICENSED = ("nolic__", "nc__", "p0__", "traces_")
"""Prefixes of files that must not train weights that ship, or that have no evidence."""

CLOSED_WORLDS = frozenset({"proofwriter_train", "folio_train"})
"""Puzzles that need all their premises: kept whole, or not at all."""

WHOLE_LIMIT = 220
_BRACKETS = {"LRB": "(", "RRB": ")", "LSB": "[", "RSB": "]"}
_BRACKET = re.compile(r"-(LRB|RRB|LSB|RSB)-")
_MARKS = re.compile(r"<\|(?:other_|multi_)?cit\|>|\(\s*\)|\[\s*\]")
_LOOSE = ((re.compile(r" ([.,;:!?%)\]])"), r"\1"), (re.compile(r"([(\[]) "), r"\1"))
_CONTRACTED = re.compile(r" ('s|n't|'re|'ve|'ll|'d|')\b")


def files(folder: Path) -> list[Path]:
    """Return the files of a folder that may train weights that ship."""
    found = sorted(folder.glob("*.jsonl.gz"))
    return [path for path in found if not path.name.startswith(UNLICENSED)]


def name_of(path: Path) -> str:
    """Return a file's name without its endings."""
    return path.name.removesuffix(".jsonl.gz")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file that have an unambiguous label."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = map(json.loads, stream)
        yield from (row for row in rows if not (row.get("extra") or {}).get("ambiguous"))


def pairs(path: Path, rng: Random) -> Iterator[Pair]:
    """Yield the training pairs of a file."""
    for row in read(path):
        pair = pair_of(row, name_of(path), rng)
        if pair is not None and pair.evidence.strip() and pair.claim.strip():
            yield pair


def pair_of(row: dict[str, Any], source: str, rng: Random) -> Pair | None:
    """Return a row as a pair, or `None` if its evidence cannot be cut without loss."""
    label = label_of(row)
    tidy = spaced if rng.random() < 0.6 else str
    text, claim = tidy(brackets(evidence_of(row, rng))), tidy(claim_of(row))
    if source in CLOSED_WORLDS:
        kept = text if estimate_tokens(text) <= WHOLE_LIMIT else None
    else:
        kept = cut(text, claim, rng, supported=label == SUPPORTED)
    return None if kept is None else Pair(kept, claim, label, source)


def label_of(row: dict[str, Any]) -> str:
    """Return the three-way label, or the two-way one where there is no other."""
    return row["label3"] or (SUPPORTED if row["label"] == SUPPORTED else NOT_SUPPORTED)


def claim_of(row: dict[str, Any]) -> str:
    """Return the claim without placeholders of citations."""
    return brackets(_MARKS.sub("", row["claim"]).strip())


def evidence_of(row: dict[str, Any], rng: Random) -> str:
    """Return the evidence in one text; only what is cited where citations are given."""
    evidence = row["evidence"]
    if isinstance(evidence, str):
        return evidence.strip()
    cites = (row.get("extra") or {}).get("cites")
    kept = [
        part if isinstance(part, str) else part["text"]
        for part in evidence
        if cites is None or isinstance(part, str) or part["id"] in cites
    ]
    return rng.choice((" ", "\n")).join(text.strip() for text in kept)


def spaced(text: str) -> str:
    """Return a text that was split into tokens with its usual spacing."""
    for pattern, replacement in _LOOSE:
        text = pattern.sub(replacement, text)
    text = _CONTRACTED.sub(r"\1", text)
    return text.replace("`` ", '"').replace(" ''", '"')


def brackets(text: str) -> str:
    """Return a text with its brackets written as such."""
    return _BRACKET.sub(lambda match: _BRACKETS[match.group(1)], text)
