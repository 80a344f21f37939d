"""Events in numbers, ids and hashes: the only input of telemetry.

No event has a field for a text. Logs, metrics and spans are made from events alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from veridical.core.measurements import Unmeasured, supported_probability
from veridical.core.verdicts import Status
from veridical.pipeline.logs import claim_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.audit.values import TraceAudit
    from veridical.core.assessment import Assessment
    from veridical.core.measurements import BackendInfo
    from veridical.core.verdicts import Verdict
    from veridical.memory import RememberResult
    from veridical.quotes.grounding import QuoteMatch


@dataclass(frozen=True, slots=True)
class Flag:
    """Flagged claim; its hash can be matched only by holders of the claim and of the key.

    Probabilities are of the claim given its evidence (p1) and given the rest (p0), None where
    they were not measured. `offsets` are the claim's place in the answer, in code points.
    """

    claim_id: str
    claim_hash: str
    status: str
    rule: str
    offsets: tuple[int, int]
    p1: float | None
    p0: float | None
    budget_gap_bits: float | None


@dataclass(frozen=True, slots=True)
class ClaimsVerified:
    """Verification of the claims of an answer, or of a single claim (`operation`).

    `by_status` counts checked claims, `unmeasured` those without an estimate by reason. `seconds`
    is the whole check. `tokens` and `cost_usd` are None where they are unknown.
    """

    operation: str
    outcome: str
    backend: str
    model: str
    seconds: float
    by_status: Mapping[str, int]
    unmeasured: Mapping[str, int] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()
    overall_confidence: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None

    @property
    def claims(self) -> int:
        """Number of checked claims."""
        return sum(self.by_status.values())

    @property
    def hallucinations(self) -> dict[str, int]:
        """Number of flagged claims, by status."""
        return dict(Counter(flag.status for flag in self.flags))


@dataclass(frozen=True, slots=True)
class Staged:
    """End of a stage of a check."""

    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class BackendAsked:
    """Call of a backend: number of queries at once, and of answers from the cache."""

    backend: str
    queries: int
    cached: int
    unmeasured: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FactDecided:
    """Decision of the memory about a fact; `refusal` is the reason if it was rejected.

    `pending` is true if it waits for verification, or for the database's lock.
    """

    outcome: str
    reason: str
    refusal: str | None
    seconds: float
    pending: bool = False


@dataclass(frozen=True, slots=True)
class TraceAudited:
    """Audit of a chain of reasoning: number of steps by label, None's as `unmeasured`.

    `post_hoc` is the verdict on the derivation of its answer, None if not requested.
    """

    overall: str
    by_label: Mapping[str, int]
    post_hoc: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Quoted:
    """Matching of quotes against a text; `by_reason` counts the rejected ones."""

    accepted: int
    by_reason: Mapping[str, int]
    by_caveat: Mapping[str, int]
    seconds: float

    @property
    def rejected(self) -> int:
        """Number of rejected quotes."""
        return sum(self.by_reason.values())


@dataclass(frozen=True, slots=True)
class Shed:
    """Rejected work: `overload` (the queue is full) or `rate` (a key's limit)."""

    operation: str
    reason: str


@dataclass(frozen=True, slots=True)
class Waited:
    """End of a wait for a turn in a queue."""

    queue: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ProxyAnswer:
    """Answer that left the proxy: the action on it, and the reason for a missing verdict.

    `reason` is "none" if there is a verdict; `detail` is a type or a reason of the backend.
    `unverified` is true if nobody chose that there is none.
    """

    action: str
    reason: str
    detail: str
    outcome: str
    flagged: int | None
    unverified: bool
    waited_s: float


@dataclass(frozen=True, slots=True)
class Served:
    """Answered request; `route` is its pattern, never its address."""

    method: str
    route: str
    status: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """Internal failure that did not break the host: the error's type, and its place.

    `stack` are the places of all calls, the innermost last, for the level `debug`.
    """

    where: str
    error: str
    place: str = ""
    stack: tuple[str, ...] = ()


Event: TypeAlias = (
    ClaimsVerified
    | Staged
    | BackendAsked
    | FactDecided
    | TraceAudited
    | Quoted
    | Shed
    | Waited
    | ProxyAnswer
    | Served
    | Failed
)


class Sink(Protocol):
    """Destination of events: it writes, counts or sends them."""

    def take(self, event: Event, /) -> None:
        """Take an event; an exception is counted and goes no further."""
        ...


# --- reports -> events -----------------------------------------------------------------------


def checked(
    assessment: Assessment, operation: str = "check", hash_key: str | None = None
) -> ClaimsVerified:
    """Return the event of a report; without a key its hashes are good for this process only."""
    summary = assessment.summary
    return ClaimsVerified(
        operation=operation,
        outcome=summary.outcome.value,
        backend=assessment.backend.name,
        model=assessment.backend.model,
        seconds=summary.latency_ms / 1000,
        by_status=_statuses(assessment.claims),
        unmeasured=_unmeasured(assessment.claims),
        flags=_flags(assessment.claims, hash_key),
        overall_confidence=summary.overall_confidence,
        tokens=summary.tokens,
        cost_usd=summary.cost_usd,
    )


def verified(
    verdict: Verdict,
    backend: BackendInfo,
    seconds: float,
    operation: str = "verify_claim",
    hash_key: str | None = None,
) -> ClaimsVerified:
    """Return the event of the verdict on one claim; see `checked` for the key."""
    outcome = "flagged" if verdict.flagged else verdict.status.value
    return ClaimsVerified(
        operation=operation,
        outcome="grounded" if verdict.status is Status.SUPPORTED else outcome,
        backend=backend.name,
        model=backend.model,
        seconds=seconds,
        by_status=_statuses([verdict]),
        unmeasured=_unmeasured([verdict]),
        flags=_flags([verdict], hash_key),
        overall_confidence=supported_probability(verdict.p1),
    )


def fact_decided(done: RememberResult, seconds: float) -> FactDecided:
    """Return the event of a fact that was handed to a memory."""
    refusal = getattr(done.error, "status", None)
    return FactDecided(
        done.outcome.value,
        done.reason,
        None if refusal is None else str(refusal),
        seconds,
        done.pending,
    )


def audited(audit: TraceAudit, seconds: float) -> TraceAudited:
    """Return the event of an audit."""
    labels: Counter[str] = Counter(step.label or "unmeasured" for step in audit.steps)
    found = None if audit.post_hoc is None else str(audit.post_hoc.verdict)
    overall = "unmeasured" if audit.overall is None else audit.overall.soundness.value
    return TraceAudited(overall, dict(labels), found, seconds)


def quoted(matches: Iterable[QuoteMatch], seconds: float) -> Quoted:
    """Return the event of a quote matching."""
    found = list(matches)
    rejected = Counter(str(match.reason) for match in found if not match.accepted)
    caveats = Counter(str(caveat) for match in found for caveat in match.caveats)
    accepted = sum(match.accepted for match in found)
    return Quoted(accepted, dict(rejected), dict(caveats), seconds)


def _statuses(verdicts: Iterable[Verdict]) -> dict[str, int]:
    return dict(Counter(verdict.status.value for verdict in verdicts if verdict.checked))


def _unmeasured(verdicts: Iterable[Verdict]) -> dict[str, int]:
    return dict(
        Counter(
            verdict.p1.reason.value
            for verdict in verdicts
            if verdict.checked and isinstance(verdict.p1, Unmeasured)
        )
    )


def _flags(verdicts: Iterable[Verdict], hash_key: str | None) -> tuple[Flag, ...]:
    return tuple(
        Flag(
            claim_id=verdict.claim.id,
            claim_hash=claim_hash(verdict.claim.text, hash_key),
            status=verdict.status.value,
            rule=verdict.rule,
            offsets=(verdict.claim.span.start, verdict.claim.span.end),
            p1=supported_probability(verdict.p1),
            p0=supported_probability(verdict.p0),
            budget_gap_bits=verdict.budget.budget_gap_bits,
        )
        for verdict in verdicts
        if verdict.flagged
    )
