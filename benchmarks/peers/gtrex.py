"""Adapter of gtrex: a quotation under its default policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _peer import Judge, Judgement, Sources


def load() -> Judge:
    """Return the judge; it decides yes or no, so the score is 1 or 0."""
    from gtrex import Policy, Verifier

    verifiers: dict[str, Verifier] = {}

    def judge(claim: str, sources: Sources) -> Judgement:
        ((_, text),) = sources
        if text not in verifiers:
            verifiers[text] = Verifier(text, Policy())
        grounded = verifiers[text].verify(claim).grounded
        return float(grounded), not grounded

    return judge
