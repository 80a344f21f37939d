"""What a memory takes and gives: facts, what became of them, what waits, what was rejected."""

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
    """The evidence of a fact does not carry it."""

    status = Refusal.NOT_GROUNDED


class FactContradicted(FactRejectedError):  # noqa: N818 -- named like the other
    """The evidence of a fact opposes it."""

    status = Refusal.CONTRADICTED


class Tier(StrEnum):
    """How long a fact is meant to be remembered; the order is that of promotion."""

    TASK = "task"
    SESSION = "session"
    LONG_TERM = "long_term"


class FactOutcome(StrEnum):
    """What became of a fact that was to be remembered, promoted or verified."""

    STORED = "stored"
    QUEUED = "queued"
    """It is remembered once it is verified, or once the database is no longer locked."""
    REJECTED = "rejected"
    FAILED = "failed"
    """The database could not be written: the fact is lost unless it is tried again."""


@dataclass(frozen=True, slots=True)
class Participant:
    """An entity, and the role it has in a fact; "" for none in particular."""

    role: str
    entity: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a fact is from: a source by its id, and by a hash of its text (SHA-256, hexadecimal).

    `start` and `end` are the place that decided about the fact, in code points; None before that.
    """

    source: str
    hash: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A fact in memory that contradicts the new one: the smaller of both directions' P."""

    fact: str
    probability: float


@dataclass(frozen=True, slots=True)
class Verification:
    """What was measured about a fact, and when; None where it was not.

    `conflicts_read` counts the facts in memory that the fact was compared with, and
    `conflicts_unread` those that came into question and were not: too late, or a failure. `tokens`
    and `cost_usd` are what all of it took, None where unknown.
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
    gap_bits: float | None
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
    """Something remembered: a relation between entities, said in a text.

    `stated` is the confidence it was handed in with (None: not said), `confidence` what is left of
    it. `reason` is the rule that decided about its `state`. Valid from `valid_from` until before
    `valid_to`, and not at all once `retracted`.
    """

    id: str
    text: str = field(repr=False)
    relation: str | None = field(repr=False)
    participants: tuple[Participant, ...]
    tier: Tier
    state: FactState
    reason: str
    stated: float | None
    confidence: float
    provenance: tuple[Provenance, ...]
    created: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retracted: datetime | None = None
    verification: Verification | None = None

    @property
    def entities(self) -> tuple[str, ...]:
        """The names of the entities, in order."""
        return tuple(each.entity for each in self.participants)


@dataclass(frozen=True, slots=True)
class Match:
    """A fact, and how close it is to what was looked for: cosine similarity, -1 to 1."""

    fact: Fact
    similarity: float


@dataclass(frozen=True, slots=True)
class RememberResult:
    """What became of a fact. `fact` is None if it was rejected, or could not be written.

    `pending` says that it waits in the queue to be verified (again). `error` is what `strict` would
    have raised. `retracted` are ids of facts that went with one that was rejected.
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
        """The facts in memory that contradict this one."""
        return self.verification.conflicts if self.verification else ()

    @property
    def verified(self) -> bool:
        """Whether it is remembered, and its evidence carries it."""
        return self.fact is not None and self.fact.state is FactState.VERIFIED


@dataclass(frozen=True, slots=True)
class Link:
    """A labelled edge between two facts: `source` `label` `target`."""

    source: str
    label: str
    target: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A fact that waits to be verified.

    `tier` is where it goes then (None: it stays), `due` when it is tried again, `attempts` how
    often it was tried. Given up, it waits for `verify_pending(early=True)`.
    """

    fact: str
    reason: str
    attempts: int
    due: datetime
    given_up: bool
    tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class FactRejection:
    """A fact that was rejected, without its text: a hash, counts, and why."""

    number: int
    created: datetime
    fact: str | None
    fact_hash: str
    length: int
    sources: int
    error: Refusal
    reason: str
    origin: str
    tier: Tier
    stated: float | None
    confidence: float
    p1: float | None
    p0: float | None
    gap_bits: float | None


@dataclass(frozen=True, slots=True)
class QueueResult:
    """What became of the queue: counts of facts, and how many still `wait`.

    `retried` could not be measured again and are tried later; `given_up` are not, by themselves.
    `lost` were claimed by this worker, and meanwhile retracted or taken over.
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
