"""Blocking façade of the verifier."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

from veridical.verification.portal import Portal
from veridical.verification.verifier import Case, CheckResult, Verifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from veridical.core.policy import Policy
    from veridical.core.sources import Sources
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.reports import Report
    from veridical.settings import Settings
    from veridical.verification.scoring import Progress


class SyncVerifier:
    """`Verifier` without `await`; use it as a context manager, from any thread.

    Its end waits 5 seconds for calls of other threads, then cancels them; see `Portal`.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._portal = Portal()
        self._open = False

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> Self:
        """Return the verifier that the settings describe (default: file and environment)."""
        return cls(Verifier.from_settings(settings))

    @property
    def policy(self) -> Policy:
        """Policy of checks without one of their own; see `Verifier.policy`."""
        return self._verifier.policy

    def __enter__(self) -> Self:
        self._portal.enter(self._verifier)
        self._open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open = False
        self._portal.__exit__(kind, error, traceback)

    def check(
        self,
        answer: str,
        sources: Sources,
        question: str | None = None,
        *,
        policy: Policy | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Return the result of `Verifier.check`."""
        call = partial(
            self._verifier.check, answer, sources, question, policy=policy, progress=progress
        )
        return self._running().run(call)

    def verify(
        self,
        claim: str,
        sources: Sources,
        question: str | None = None,
        *,
        cites: Sequence[str] = (),
        policy: Policy | None = None,
    ) -> Verdict:
        """Return the result of `Verifier.verify`."""
        call = partial(self._verifier.verify, claim, sources, question, cites=cites, policy=policy)
        return self._running().run(call)

    def check_claim(
        self,
        claim: str,
        sources: Sources,
        question: str | None = None,
        *,
        cites: Sequence[str] = (),
        policy: Policy | None = None,
    ) -> Report:
        """Return the result of `Verifier.check_claim`."""
        call = partial(
            self._verifier.check_claim, claim, sources, question, cites=cites, policy=policy
        )
        return self._running().run(call)

    def check_many(
        self, cases: Iterable[Case], *, policy: Policy | None = None
    ) -> list[CheckResult]:
        """Return the result of `Verifier.check_many`."""
        return self._running().run(partial(self._verifier.check_many, cases, policy=policy))

    def _running(self) -> Portal:
        if not self._open:
            msg = "the verifier is not open: use it as `with SyncVerifier(...) as verifier:`"
            raise RuntimeError(msg)
        return self._portal
