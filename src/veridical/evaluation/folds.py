"""Cross-validation folds within a file that keep related rows together.

Data sets have many near duplicates: claims about the same evidence that differ in a word and in the
label. A model trained on one of them errs on the other, which would hide the bias of the claims. So
rows with the same claim or piece of evidence are in one fold. Where that links a large part of the
file (a few claims asked of every text), its rows are kept together by their evidence only.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.evaluation.rows import Row

FOLDS = 5


def folds(rows: Sequence[Row]) -> list[int]:
    """Return the fold of each row, from 0; the same rows are always folded alike."""
    groups = _groups(rows)
    size = Counter(groups)
    return [
        _fold(_whole(row) if size[group] * FOLDS > len(rows) else group)
        for row, group in zip(rows, groups, strict=True)
    ]


def _fold(key: str) -> int:
    return sha256(key.encode()).digest()[0] % FOLDS


def _whole(row: Row) -> str:
    return "\0".join(source.text for source in row.sources)


def _groups(rows: Sequence[Row]) -> list[str]:
    """Return a text per row that is the same for rows linked by equal claims or equal evidence."""
    parents: dict[str, str] = {}
    for row in rows:
        claim = _root(parents, f"claim {row.claim.casefold()}")
        for source in row.sources:
            parents[_root(parents, f"source {source.text}")] = claim
    return [_root(parents, f"claim {row.claim.casefold()}") for row in rows]


def _root(parents: dict[str, str], key: str) -> str:
    """Return the root of the group of `key` (union-find with path halving; Tarjan 1975)."""
    while (parent := parents.setdefault(key, key)) != key:
        parents[key] = parents[parent]
        key = parents[key]
    return key
