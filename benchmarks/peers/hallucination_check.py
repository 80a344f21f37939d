"""Adapter of hallucination-check: `check` with its default threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; the score is the lowest confidence of the claim's sentences."""
    from hallucination_check import check

    def judge(claim: str, sources: Sources) -> Judgement:
        report = check(claim, [{"id": name, "text": text} for name, text in sources])
        if not report.claims:
            return None, None
        return min(part.confidence for part in report.claims), bool(report.unsupported)

    return judge
