"""Memory gate: verification of facts before they are stored, within a time limit."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from veridical.core.measurements import (
    NOTHING,
    UNKNOWN,
    Estimate,
    Measurement,
    Query,
    Taken,
    Unmeasured,
    UnmeasuredReason,
    supported_probability,
)
from veridical.core.types import Claim
from veridical.errors import ConfigurationError, InputError
from veridical.memory.deadline import DeadlineError, DeadlineRunner
from veridical.memory.decision import (
    FactState,
    GateDecision,
    GatePolicy,
    decide_admission,
    unmeasured,
    without_evidence,
)
from veridical.memory.values import Conflict, Verification
from veridical.pipeline.judgement.contradictions import Pair, find_contradictions
from veridical.store.tables import LONGEST_WAIT_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.policy import Policy
    from veridical.core.ports import Backend
    from veridical.core.sources import Sources
    from veridical.core.verdicts import Verdict
    from veridical.verification.verifier import Verifier

logger = logging.getLogger(__name__)

TIMEOUT_S = 2.0
"""Time limit of a verification in seconds; after it a fact is stored unverified (SPEC-08.38)."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """Decision about a fact, with its measurements (None: nothing was measured).

    `retry_after_s` is the number of seconds the backend asked to wait, if it did.
    """

    decision: GateDecision
    verdict: Verdict | None = None
    verification: Verification | None = None
    retry_after_s: float | None = None


@dataclass(slots=True)
class _Found:
    """Measurements so far, available also after a timeout."""

    verdict: Verdict | None = None
    conflicts: tuple[Conflict, ...] = ()
    read: int = 0
    compared: Taken = NOTHING


@dataclass(frozen=True, slots=True)
class _Asked:
    """Input of a measurement: a fact, its evidence, and stored facts."""

    text: str = field(repr=False)
    sources: Sources
    policy: Policy
    others: Mapping[str, str] = field(repr=False)
    found: _Found = field(default_factory=_Found)


class MemoryGate:
    """Gate that decides about facts by their evidence: see `decision.decide_admission`.

    `verifier` verifies a fact against its evidence, `backend` compares it with facts in memory;
    both work in a thread of the gate. `policy` is by default the verifier's, `rules` are from
    the policy. Threads may share a gate; close it after use.

        gate = MemoryGate(verifier, backend)
        gate.check("It has eight lanes.", {"S1": "It carries eight lanes."}, 0.9).decision
    """

    def __init__(
        self,
        verifier: Verifier,
        backend: Backend,
        *,
        rules: GatePolicy | None = None,
        policy: Policy | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        if not timeout_s > 0:
            msg = "the gate needs a time above 0 to verify a fact in"
            raise ConfigurationError(msg, hint=f"{TIMEOUT_S:g} seconds are the default")
        self._verifier = verifier
        self.backend = backend
        self._policy = policy or verifier.policy
        self.rules = rules or GatePolicy(self._policy.gap_threshold_bits)
        self.timeout_s = timeout_s
        self._loops = DeadlineRunner()

    def stated(self, confidence: float | None) -> float:
        """Return the target confidence of a fact: the stated one, else that of the policy."""
        return self._policy.target_confidence if confidence is None else confidence

    def check(
        self,
        text: str,
        sources: Sources,
        confidence: float | None = None,
        *,
        others: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> GateResult:
        """Return the decision about a fact, after at most `timeout_s` seconds.

        `others` are facts in memory, by id, that the fact might contradict; contradictions are
        reported and decide nothing. A failure of the verification is a decision, too. `InputError`
        if the text or the sources cannot be checked.
        """
        started = perf_counter()
        if not sources:
            return GateResult(without_evidence(self.rules))
        stated = self.stated(confidence)
        policy = replace(self._policy, target_confidence=stated)
        asked = _Asked(text, sources, policy, others or {})
        seconds = self.timeout_s if timeout_s is None else timeout_s
        failure = self._run(asked, seconds)
        verdict = asked.found.verdict
        if verdict is None:
            return GateResult(unmeasured(failure or UnmeasuredReason.BACKEND_ERROR, stated))
        decision = decide_admission(verdict, self.rules)
        if decision.queue:
            logger.warning("a fact could not be verified: %s", decision.reason)
        return GateResult(
            decision,
            verdict,
            self._verification(asked, decision, (perf_counter() - started) * 1000),
            _retry_after(verdict),
        )

    def warm_up(self, seconds: float = 60.0) -> None:
        """Verify a probe, so that the first fact need not wait until a model is loaded.

        With a remote backend this is a request. Failures are ignored; they recur at the first fact.
        """
        with suppress(Exception):
            probe = partial(self._verifier.verify, "It is warm.", {"S1": "It is warm."})
            self._loops.run(probe, seconds)

    def close(self) -> None:
        """Stop the gate's threads."""
        self._loops.close()

    def _run(self, asked: _Asked, seconds: float) -> UnmeasuredReason | None:
        """Measure; return the reason if the measurement did not complete."""
        try:
            self._loops.run(partial(self._measure, asked), seconds)
        except InputError:
            raise
        except DeadlineError:
            logger.warning("a fact was not verified within %g s", seconds)
            return UnmeasuredReason.TIMEOUT
        except Exception as error:  # noqa: BLE001 -- a failure of the verifier must not break the host
            logger.warning("a fact could not be verified: %s", type(error).__name__)
            return UnmeasuredReason.BACKEND_ERROR
        return None

    async def _measure(self, asked: _Asked) -> None:
        verdict = await self._verifier.verify(asked.text, asked.sources, policy=asked.policy)
        asked.found.verdict = verdict
        kept = decide_admission(verdict, self.rules).state
        if kept in {FactState.VERIFIED, FactState.UNSUPPORTED} and asked.others:
            await self._compare(asked)

    async def _compare(self, asked: _Asked) -> None:
        """Compare the fact with the stored ones in both directions: both must contradict."""
        new = Claim.of_text(asked.text, "new")
        pairs = [Pair(new, Claim.of_text(text, key)) for key, text in asked.others.items()]
        queries = [
            query
            for text in asked.others.values()
            for query in (Query(asked.text, text), Query(text, asked.text))
        ]
        asked.found.compared = UNKNOWN  # until the answers are in: it may end before that
        measured = await self._estimates(queries)
        if measured is None:
            return
        asked.found.compared = Taken.by(measured)
        threshold = asked.policy.resolved(self.backend.info).contradiction_threshold
        both = list(zip(measured[::2], measured[1::2], strict=True))
        found = find_contradictions(
            pairs, both, len(pairs), 1.0 if threshold is None else threshold
        )
        asked.found.conflicts = tuple(
            Conflict(each.second_id, each.probability) for each in found.pairs
        )
        asked.found.read = len(pairs) - found.pairs_unmeasured

    async def _estimates(self, queries: Sequence[Query]) -> list[Measurement] | None:
        try:
            measured = list(await self.backend.estimate(queries))
        except Exception as error:  # noqa: BLE001 -- the fact itself is verified already
            logger.warning("facts could not be compared: %s", type(error).__name__)
            return None
        return measured if len(measured) == len(queries) else None

    def _verification(
        self, asked: _Asked, decision: GateDecision, latency_ms: float
    ) -> Verification:
        found, info = asked.found, self.backend.info
        verdict = found.verdict
        assert verdict is not None  # noqa: S101 -- for mypy
        compared = decision.state in {FactState.VERIFIED, FactState.UNSUPPORTED}
        took = verdict.taken + found.compared
        return Verification(
            at=datetime.now(UTC).isoformat(),
            status=verdict.status.value,
            rule=verdict.rule,
            target=verdict.budget.target,
            p1=supported_probability(verdict.p1),
            contradicted=verdict.p1.contradicted if isinstance(verdict.p1, Estimate) else None,
            p0=supported_probability(verdict.p0),
            required_bits=verdict.budget.required_bits,
            observed_bits=verdict.budget.observed_bits,
            budget_gap_bits=verdict.budget.budget_gap_bits,
            backend=info.name,
            model=info.model,
            fingerprint=info.fingerprint,
            latency_ms=latency_ms,
            conflicts=found.conflicts,
            conflicts_read=found.read,
            conflicts_unread=len(asked.others) - found.read if compared else 0,
            tokens=took.tokens,
            cost_usd=took.cost_usd,
        )


def _retry_after(verdict: Verdict) -> float | None:
    waits = (
        each.retry_after_s for each in (verdict.p1, verdict.p0) if isinstance(each, Unmeasured)
    )
    asked = next((wait for wait in waits if wait is not None), None)
    if asked is None:
        return None
    return min(asked, LONGEST_WAIT_S) if asked > 0 else 0.0  # NaN is no wait
