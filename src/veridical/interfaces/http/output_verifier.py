"""Verifier of answers on their way to a user, such as the proxy's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from veridical.interfaces.http.limits import Kind

if TYPE_CHECKING:
    from veridical.core.policy import Policy
    from veridical.core.sources import Sources
    from veridical.interfaces.http.service import Service
    from veridical.pipeline.reports import Report
    from veridical.verification.scoring import Progress


class OutputVerifier:
    """A `Verifier` for answers on their way to a user (SPEC-08.39).

    A check waits for its turn until the deadline around the call, then it raises `OverloadedError`:
    `proxy.on_unverified` says what becomes of the answer.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def policy(self) -> Policy:
        """Policy of checks that bring none of their own."""
        return self._service.verifier.policy

    async def check(
        self,
        answer: str,
        sources: Sources,
        question: str | None = None,
        *,
        policy: Policy | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Return the verdict on each claim of an answer; see `Verifier.check`."""
        work = partial(
            self._service.check,
            answer,
            sources,
            question,
            policy=policy,
            progress=progress,
            operation="output",
        )
        return await self._service.admitted("output", work, Kind.OUTPUT)
