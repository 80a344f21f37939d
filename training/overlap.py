"""Overlap of pairs with other data: whole claims, and runs of nine words of evidence and claim.

Such pairs are left out of training, so that what is measured on the other data was never met.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RUN = 9
"""Words of a run; fewer are shared by chance."""

SHORT_CLAIM = 4
"""Words up to which an equal claim means nothing ("It is red.")."""

_WORD = re.compile(r"[a-z0-9]+")
_FACTOR = 0x9E3779B97F4A7C15


class Known:
    """The claims and the runs of words of data that must not be trained on."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._numbers: dict[str, int] = {}
        claims, runs, met = set(), [], set()
        for evidence, claim in texts:
            claims.add(normal(claim))
            for text in {evidence, claim} - met:
                met.add(text)
                runs.append(self._runs(text, grow=True))
        self._claims = {claim for claim in claims if claim.count(" ") >= SHORT_CLAIM}
        self._known = np.unique(np.concatenate(runs)) if runs else np.empty(0, np.uint64)

    def shares(self, evidence: str, claim: str) -> bool:
        """Tell whether a pair shares a claim or a run of words with the data."""
        return normal(claim) in self._claims or any(map(self._meets, (evidence, claim)))

    def _meets(self, text: str) -> bool:
        runs = self._runs(text, grow=False)
        if not len(runs) or not len(self._known):
            return False
        places = np.minimum(np.searchsorted(self._known, runs), len(self._known) - 1)
        return bool((self._known[places] == runs).any())

    def _runs(self, text: str, *, grow: bool) -> np.ndarray:
        """Return a number for each run of words; words that are not known make none."""
        numbers = self._numbers
        if grow:
            ids = [
                numbers.setdefault(word, len(numbers) + 1) for word in _WORD.findall(text.lower())
            ]
        else:
            ids = [numbers.get(word, 0) for word in _WORD.findall(text.lower())]
        if len(ids) < RUN:
            return np.empty(0, np.uint64)
        words = np.asarray(ids, np.uint64)
        windows = np.lib.stride_tricks.sliding_window_view(words, RUN)
        if not grow:
            windows = windows[(windows != 0).all(axis=1)]
        mixed = np.zeros(len(windows), np.uint64)
        with np.errstate(over="ignore"):
            for column in range(RUN):
                mixed = (mixed ^ windows[:, column]) * np.uint64(_FACTOR)
                mixed ^= mixed >> np.uint64(29)
        return mixed


def normal(text: str) -> str:
    """Return a text's words in lower case."""
    return " ".join(_WORD.findall(text.lower()))


def pairs_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield evidence and claim of each row of a folder's files."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                if "claim" in row:
                    yield joined(row.get("evidence") or ""), row["claim"]


def joined(evidence: str | list) -> str:
    """Return evidence as one text."""
    if isinstance(evidence, str):
        return evidence
    return "\n".join(part if isinstance(part, str) else part["text"] for part in evidence)
