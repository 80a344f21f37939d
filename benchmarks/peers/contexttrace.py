"""Adapter of contexttrace: `verify_trace` in its default mode, "lexical"."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; a claim is flagged unless all of its parts are supported."""
    from contexttrace.verify import RAGTrace, TraceContext, verify_trace

    def judge(claim: str, sources: Sources) -> Judgement:
        contexts = [TraceContext(id=name, text=text) for name, text in sources]
        parts = verify_trace(RAGTrace("", claim, contexts))["claims"]
        verdicts = {part["verdict"] for part in parts}
        if not parts or "unverifiable" in verdicts:
            return None, None
        return min(part["best_score"] for part in parts), verdicts != {"supported"}

    return judge
