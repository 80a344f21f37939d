"""Adapter of groundrails: `ground` without its models, which come from a hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; the score is the probability of its calibrated verdict."""
    import groundrails

    groundrails.init(models="none", wordnet=False)

    def judge(claim: str, sources: Sources) -> Judgement:
        match = groundrails.ground(claim, [tuple(source) for source in sources])
        known = match.verdict_probability >= 0
        score = match.verdict_probability if known else match.combined_score
        return score, not match.grounded

    return judge
