"""Adapter of the budget gap, p1 against p0, by veridical with a server's language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; a claim without p1 or p0 has neither score nor decision."""
    import atexit
    import os
    from contextlib import ExitStack
    from pathlib import Path

    from veridical import SyncVerifier, Verifier
    from veridical.pipeline.inference.openai_chat import OpenAIChat
    from veridical.pipeline.inference.wrappers import wrap

    stack = ExitStack()
    atexit.register(stack.close)
    chat = OpenAIChat("local", base_url=os.environ["MODEL_URL"], timeout_s=300, concurrency=1)
    backend = wrap(chat, cache=Path.home() / "estimates.sqlite")
    verifier = stack.enter_context(SyncVerifier(Verifier(backend)))

    def judge(claim: str, sources: Sources) -> Judgement:
        gap = verifier.verify(claim, dict(sources)).budget.budget_gap_bits
        return (None, None) if gap is None else (-gap, gap > 0)

    return judge
