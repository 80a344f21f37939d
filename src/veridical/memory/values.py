"""Values of the memory: facts, results, pending facts and rejections."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from veridical.errors import FactRejectedError
from veridical.memory.decision import FactState, Refusal

if TYPE_CHECKING:
    from datetime import datetime

    from veridical.errors import VeridicalError


class FactNotGrounded(FactRejectedError):  # noqa: N818 -- the name of SPEC-08.16
    """Raised when the evidence of a fact does not support it."""

    status = Refusal.NOT_GROUNDED


class FactContradicted(FactRejectedError):  # noqa: N818 -- named like the other
    """Raised when the evidence of a fact contradicts it."""

    status = Refusal.CONTRADICTED


class Tier(StrEnum):
    """Intended retention of a fact; the order is that of promotion."""

    TASK = "task"
    SESSION = "session"
    LONG_TERM = "long_term"


class FactOutcome(StrEnum):
    """Outcome of remembering, promoting or verifying a fact."""

    STORED = "stored"
    QUEUED = "queued"
    """It is remembered once it is verified, or once the database is no longer locked."""
    REJECTED = "rejected"
    FAILED = "failed"
    """The database could not be written: the fact is lost unless it is tried again."""


@dataclass(frozen=True, slots=True)
class Participant:
    """Entity with its role in a fact; "" for no particular role."""

    role: str
    entity: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Source of a fact: its id, and a hash of its text (SHA-256, hexadecimal).

    `start` and `end` are the span that decided about the fact, in code points; None before that.
    """

    source: str
    hash: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Stored fact that contradicts the new one, with the smaller P of both directions."""

    fact_id: str
    probability: float


@dataclass(frozen=True, slots=True)
class Verification:
    """Measurements of a fact and their time; None for anything not measured.

    `conflicts_read` counts the stored facts that the fact was compared with, `conflicts_unread`
    the candidates left out by timeout or failure. `tokens` and `cost_usd` are totals, None where
    unknown.
    """

    at: str
    status: str
    rule: str
    target: float
    p1: float | None
    contradicted: float | None
    p0: float | None
    required_bits: float | None
    observed_bits: float | None
    budget_gap_bits: float | None
    backend: str
    model: str
    fingerprint: str
    latency_ms: float
    conflicts: tuple[Conflict, ...] = ()
    conflicts_read: int = 0
    conflicts_unread: int = 0
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """Remembered fact: a relation between entities, expressed in a text.

    `stated_confidence` is None if none was stated, `confidence` is the supported part of it.
    `reason` is the rule that decided its `state`. Valid from `valid_from` until before `valid_to`,
    and not at all once `retracted`.
    """

    id: str
    text: str = field(repr=False)
    relation: str | None = field(repr=False)
    participants: tuple[Participant, ...]
    tier: Tier
    state: FactState
    reason: str
    stated_confidence: float | None
    confidence: float
    provenance: tuple[Provenance, ...]
    created: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retracted: datetime | None = None
    verification: Verification | None = None

    @property
    def entities(self) -> tuple[str, ...]:
        """Names of the entities, in order."""
        return tuple(each.entity for each in self.participants)


@dataclass(frozen=True, slots=True)
class Match:
    """Fact with its cosine similarity to the query, -1 to 1."""

    fact: Fact
    similarity: float


@dataclass(frozen=True, slots=True)
class RememberResult:
    """Result of remembering a fact; `fact` is None if it was rejected or not written.

    `pending` is true if it waits in the queue for (another) verification. `error` is the exception
    that `strict` raises. `retracted` are ids of facts retracted with a rejected one.
    """

    outcome: FactOutcome
    reason: str
    confidence: float
    fact: Fact | None = None
    pending: bool = False
    error: VeridicalError | None = None
    verification: Verification | None = None

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Stored facts that contradict this one."""
        return self.verification.conflicts if self.verification else ()

    @property
    def verified(self) -> bool:
        """True if the fact is remembered and its evidence supports it."""
        return self.fact is not None and self.fact.state is FactState.VERIFIED


@dataclass(frozen=True, slots=True)
class Link:
    """Labelled edge between two facts: `source` `label` `target`."""

    source: str
    label: str
    target: str


@dataclass(frozen=True, slots=True)
class Pending:
    """Fact that waits for verification.

    `tier` is its tier after that (None: unchanged), `due` the time of the next attempt, `attempts`
    the number of attempts so far. A given-up fact waits for `verify_pending(early=True)`.
    """

    fact_id: str
    reason: str
    attempts: int
    due: datetime
    given_up: bool
    tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class FactRejection:
    """Rejected fact, without its text: a hash, counts, and the reason."""

    number: int
    created: datetime
    fact_id: str | None
    fact_hash: str
    length: int
    sources: int
    error: Refusal
    reason: str
    origin: str
    tier: Tier
    stated_confidence: float | None
    confidence: float
    p1: float | None
    p0: float | None
    budget_gap_bits: float | None


@dataclass(frozen=True, slots=True)
class QueueResult:
    """Result of a run over the queue: counts of facts, and how many still `wait`.

    `retried` could not be measured again and are due later; `given_up` are not retried
    automatically. `lost` were claimed by this worker, and meanwhile retracted or taken over.
    """

    verified: int = 0
    unsupported: int = 0
    rejected: int = 0
    retried: int = 0
    given_up: int = 0
    lost: int = 0
    waiting: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}
