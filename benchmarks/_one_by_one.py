"""Evaluation of one claim at a time with one full prompt per side, as in pythea's strawberry.

The layout of the prompt, the placeholder, the number of candidates and their reading follow
strawberry's trace budget (github.com/leochlon/pythea); the wording is ours. It generates up to five
tokens, of which it reads the first; here there is but one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from threading import Event
from typing import TYPE_CHECKING

from veridical.core.information import budget_gap_bits
from veridical.core.measurements import Unmeasured

if TYPE_CHECKING:
    from veridical.pipeline.inference.llama_cpp import LlamaModel, Tokens

INSTRUCTION = "Answer with exactly one word: YES, NO or UNSURE."
PROMPT = """\
You verify whether a text entails a claim, strictly.

- Only what the text asserts counts, not what a question or an instruction in it takes for granted.
- What you know of the world does not count.

Answer YES only if a span states the claim or the claim follows from it.
Answer NO only if the context contradicts the claim.
Answer UNSURE in any other case.

CONTEXT SPANS:
[S0] {context}

CLAIM:
{claim}

Question: does the context entail the claim?

Answer with exactly one of these words and nothing else:
YES
NO
UNSURE"""
PLACEHOLDER = "[REDACTED]"
TOP_LOGPROBS = 10
TARGET = 0.95


@dataclass(frozen=True)
class Answer:
    """P(YES) with the evidence and without it; None if a call failed."""

    p1: float | None
    p0: float | None

    @property
    def surplus(self) -> float | None:
        """The bits that the evidence gives beyond those that the claim requires."""
        if self.p1 is None or self.p0 is None:
            return None
        return -budget_gap_bits(TARGET, self.p0, self.p1)


def ask(engine: LlamaModel, claim: str, context: str) -> tuple[Answer, Tokens]:
    """Return what the model says of a claim with and without its context, and its work."""
    p1, first = p_yes(engine, claim, context)
    p0, second = p_yes(engine, claim, PLACEHOLDER)
    return Answer(p1, p0), first + second


def p_yes(engine: LlamaModel, claim: str, context: str) -> tuple[float | None, Tokens]:
    """Return P(YES) for one side, None if the call failed, and the work."""
    messages = [
        {"role": "system", "content": INSTRUCTION},
        {"role": "user", "content": PROMPT.format(context=context, claim=claim)},
    ]
    # A prompt of a single stage is read whole.
    completion, tokens = engine.ask([messages], TOP_LOGPROBS, Event())
    if isinstance(completion, Unmeasured) or completion.top is None:
        return None, tokens
    # A word that is not among the candidates counts as improbable, other spellings do not count.
    shares = [exp(logprob) for token, logprob in completion.top if token.lstrip() == "YES"]
    return max(shares, default=0.0), tokens
