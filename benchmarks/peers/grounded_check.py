"""Adapter of grounded-check: its exact tier, as its command runs by default.

A claim without a number, name, quotation or citation is one it says nothing about: undetermined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; the score is the share of the findings that are in a source."""
    from pathlib import Path

    from grounded import Source, extract, verify

    def judge(claim: str, sources: Sources) -> Judgement:
        result = verify(extract(claim), [Source(Path(name), text) for name, text in sources])
        return (result.rate, not result.passed) if result.exact else (None, None)

    return judge
