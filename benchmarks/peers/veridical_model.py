"""Adapter of veridical: `verify` with the language model that a server offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; an undetermined claim has neither score nor decision."""
    import atexit
    import os
    from contextlib import ExitStack
    from pathlib import Path

    from veridical import SyncVerifier, Verifier
    from veridical.core.measurements import Estimate
    from veridical.core.verdicts import Status
    from veridical.pipeline.inference.openai_chat import OpenAIChat
    from veridical.pipeline.inference.wrappers import wrap

    stack = ExitStack()
    atexit.register(stack.close)
    chat = OpenAIChat("local", base_url=os.environ["MODEL_URL"], timeout_s=300, concurrency=1)
    backend = wrap(chat, cache=Path.home() / "estimates.sqlite")
    verifier = stack.enter_context(SyncVerifier(Verifier(backend)))

    def judge(claim: str, sources: Sources) -> Judgement:
        verdict = verifier.verify(claim, dict(sources))
        if verdict.status is Status.UNDETERMINED or not isinstance(verdict.p1, Estimate):
            return None, None
        return verdict.p1.supported, verdict.status is not Status.SUPPORTED

    return judge
