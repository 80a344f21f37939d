"""Labelled quotes beside this repository: each decided as labelled, by the rules."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from veridical.core.text import normalise
from veridical.quotes.matching import ANYONE, QuoteMatch, ground_quotes

DEV = Path(__file__).parents[4] / "shared" / "data" / "dev"
FILES = sorted(DEV.glob("quote_*.jsonl.gz"))
CHANGED = ("number_changed", "negation_flipped", "antonym")

pytestmark = [
    pytest.mark.skipif(not FILES, reason="the labelled quotes are not beside this clone"),
    pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0]),
]


@cache
def matches(path: Path, mode: str) -> list[tuple[dict[str, Any], QuoteMatch]]:
    """Return each row of a file with the match of its quote; labels ignore the speaker."""
    by_source = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            by_source[row["evidence"]].append(row)
    found = []
    for source, rows in by_source.items():
        quotes = [row["claim"] for row in rows]
        found += zip(rows, ground_quotes(quotes, source, mode=mode, speaker=ANYONE), strict=True)
    return found


@pytest.mark.spec("053.substring")
def test_every_label_holds_and_every_place_is_the_quote(path: Path) -> None:
    wrong = Counter()
    for row, match in matches(path, "substring"):
        wrong[row["extra"]["kind"]] += match.accepted != (row["label"] == "supported")
        if match.accepted:
            there = row["evidence"][match.start : match.end]
            assert normalise(there).text == normalise(row["claim"]).text
    assert +wrong == Counter()


def test_no_near_miss_is_accepted_as_a_substring(path: Path) -> None:
    near = [match for row, match in matches(path, "substring") if row["extra"].get("near_miss")]
    assert not any(match.accepted for match in near)
    assert near or path.name.startswith("quote_phq"), "the synthetic rows mark none"


@pytest.mark.spec("053.fuzzy")
def test_fuzzy_accepts_no_changed_number_or_polarity_and_no_ellipsis(path: Path) -> None:
    accepted = Counter(
        row["extra"]["kind"] for row, match in matches(path, "fuzzy") if match.accepted
    )
    assert [kind for kind in (*CHANGED, "ellipsis_join") if accepted[kind]] == []
    assert accepted["punct_changed"] or path.name.startswith("quote_phq"), "it accepts something"


def test_fuzzy_accepts_whatever_the_rule_accepts(path: Path) -> None:
    pairs = zip(matches(path, "substring"), matches(path, "fuzzy"), strict=True)
    assert all(near == exact for (_, exact), (_, near) in pairs if exact.accepted)
