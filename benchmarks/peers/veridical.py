"""Adapter of veridical: `verify` with the embedded verifier, as it ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; an undetermined claim has neither score nor decision."""
    import atexit
    from contextlib import ExitStack

    from veridical import SyncVerifier, Verifier
    from veridical.core.measurements import Estimate
    from veridical.core.verdicts import Status
    from veridical.pipeline.inference.embedded import EmbeddedVerifier

    stack = ExitStack()
    atexit.register(stack.close)
    verifier = stack.enter_context(SyncVerifier(Verifier(EmbeddedVerifier())))

    def judge(claim: str, sources: Sources) -> Judgement:
        verdict = verifier.verify(claim, dict(sources))
        if verdict.status is Status.UNDETERMINED or not isinstance(verdict.p1, Estimate):
            return None, None
        return verdict.p1.supported, verdict.status is not Status.SUPPORTED

    return judge
