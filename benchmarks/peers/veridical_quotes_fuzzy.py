"""Adapter of veridical's quotes: mode fuzzy, any speaker, the transcript prepared once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; it decides yes or no, so the score is 1 or 0."""
    from veridical.evidence import ANYONE, ground_quotes, prepare

    prepared: dict[str, object] = {}

    def judge(claim: str, sources: Sources) -> Judgement:
        ((_, text),) = sources
        if text not in prepared:
            prepared[text] = prepare(text)
        (match,) = ground_quotes([claim], prepared[text], mode="fuzzy", speaker=ANYONE)
        return float(match.accepted), not match.accepted

    return judge
