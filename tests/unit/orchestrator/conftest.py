"""Verifier with a backend by words, and answers about a bridge to try it on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

import anyio
import pytest

from veridical import Policy, Report
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.orchestrator import Orchestrator, ProcessedAnswer
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

SOURCES = {
    "S1": "The bridge opened in 1998. It carries nine thousand vehicles a day. It has six lanes.",
    "S2": "A ferry ran until the spring of 1998. The ferry sank in 2003.",
}
GOOD = (
    "The bridge opened in 1998 [S1]. It carries nine thousand vehicles a day [S1]. "
    "The ferry sank in 2003 [S2]. A ferry ran until the spring of 1998 [S2]."
)
WRONG = GOOD.replace("The ferry sank", "The ferry never sank")
INVENTED = GOOD.replace("The ferry sank in 2003", "Dolphins guard the bridge")
WORSE = WRONG.replace("The bridge opened", "The bridge never opened")


def stated(query: Query) -> Measurement:
    """Support a claim with all words in the context; oppose one with "never"."""
    if "never" in query.claim and "REMOVED" not in query.context:
        return fake_estimate(0.02, 0.95)
    found = all(word.strip(".,") in query.context for word in query.claim.split())
    return fake_estimate(0.95 if found else 0.02)


def unmeasured(_: Query) -> Measurement:
    return Unmeasured(UnmeasuredReason.RATE_LIMITED)


def verifier(
    answers: Callable[[Query], Measurement] = stated, policy: Policy | None = None
) -> Verifier:
    return Verifier(FakeBackend(answers), policy=policy)


@dataclass
class Script:
    """Generator of one text after the other, which records the prompts; exceptions are raised."""

    texts: Sequence[object]
    prompts: list[str] = field(default_factory=list)

    async def __call__(self, prompt: str, /, *, context: Mapping[str, str]) -> object:
        assert context
        self.prompts.append(prompt)
        text = self.texts[len(self.prompts) - 1]
        if isinstance(text, BaseException):
            raise text
        return text


@dataclass
class Spy:
    """Verifier that counts its checks and keeps their policies."""

    inner: Verifier = field(default_factory=verifier)
    policies: list[Policy] = field(default_factory=list)
    delay_s: float = 0.0
    running: int = 0
    most: int = 0

    async def check(
        self,
        answer: str,
        sources: Mapping[str, str],
        question: str | None = None,
        *,
        policy: Policy,
    ) -> Report:
        self.policies.append(policy)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await anyio.sleep(self.delay_s)
            return await self.inner.check(answer, sources, question, policy=policy)
        finally:
            self.running -= 1


def process(orchestrator: Orchestrator, *, verify: bool | None = None) -> ProcessedAnswer:
    async def run() -> ProcessedAnswer:
        return await orchestrator.process("What of the bridge?", SOURCES, verify=verify)

    return anyio.run(run)


@pytest.fixture(scope="session")
def bridge() -> ModuleType:
    """Return this module: test files cannot import each other."""
    return sys.modules[__name__]
