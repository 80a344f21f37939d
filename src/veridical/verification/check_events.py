"""Callbacks of a check while it runs."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from veridical.pipeline.judgement import subclaims
from veridical.verification.rule_stage import may_change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.types import Source
    from veridical.core.verdicts import Verdict
    from veridical.verification.bound_claims import BoundClaim


class CheckWatcher(Protocol):
    """Callback protocol for the events of a check; exceptions end the check."""

    def decided(self, verdict: Verdict, /) -> None:
        """Receive a final verdict: once for every claim, not always in the answer's order."""
        ...

    def stage(self, name: str, seconds: float, /) -> None:
        """Receive the duration of a stage: claims, evidence, inference (with judgement)."""
        ...


class CheckEvents:
    """Reporter of stages, and of verdicts that nothing changes any more, to an optional watcher."""

    def __init__(self, watcher: CheckWatcher | None) -> None:
        self._watcher = watcher
        self._since = perf_counter()
        self._told: set[str] = set()

    def stage(self, name: str) -> None:
        """Report that a stage has ended, and start the next."""
        now = perf_counter()
        if self._watcher is not None:
            self._watcher.stage(name, now - self._since)
        self._since = now

    def first_look(
        self, verdict: Verdict, bound: BoundClaim, sources: Mapping[str, Source]
    ) -> None:
        """Report a verdict that neither a second look nor a rule can change."""
        if self._watcher is None:
            return
        again = verdict.claim.evidence_map or subclaims(verdict)
        if not (again or may_change(verdict, bound, sources)):
            self._told.add(verdict.claim.id)
            self._watcher.decided(verdict)

    def decided(self, verdict: Verdict) -> None:
        """Report a verdict, unless it was reported before."""
        if self._watcher is not None and verdict.claim.id not in self._told:
            self._watcher.decided(verdict)
