"""Adapter of uqlm: P(True) of a claim as the answer to a question about its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources

QUESTION = "Which statement do these sources support?"


def load() -> Judge:
    """Return the judge; a reply that begins with neither word gives no score."""
    import asyncio
    import os
    from math import isnan

    from langchain_openai import ChatOpenAI
    from uqlm.white_box.p_true import PTrueScorer

    model = ChatOpenAI(
        model="local", base_url=os.environ["MODEL_URL"], api_key="none", temperature=0, max_tokens=2
    )
    scorer = PTrueScorer(model)
    loop = asyncio.new_event_loop()  # one for all claims: the client keeps its connections
    even = 0.5

    def judge(claim: str, sources: Sources) -> Judgement:
        prompt = "\n\n".join([QUESTION, *(text for _, text in sources)])
        (score,) = loop.run_until_complete(scorer.evaluate([prompt], [claim]))["p_true"]
        return (None, None) if isnan(score) else (float(score), bool(score < even))

    return judge
