"""Execution of gate decisions: facts are stored, promoted, queued or rejected."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from veridical.errors import StoreError, StoreLockedError
from veridical.memory.checking import UNSTATED, Checker, no_fact
from veridical.memory.decision import REDUCTION, FactState, GateDecision, Refusal, accept_unverified
from veridical.memory.gate import GateResult
from veridical.memory.queue_worker import conflicts
from veridical.memory.rows import decided, fact_row, origins, rejection_row, same_key, to_fact
from veridical.memory.values import (
    FactContradicted,
    FactNotGrounded,
    FactOutcome,
    RememberResult,
    Tier,
)
from veridical.memory.waiting import STORE_LOCKED
from veridical.memory.writing import write
from veridical.store.memory import Filter, MemoryTables, NewFact
from veridical.store.memory_queue import MemoryQueue, Settled, new_queue_row
from veridical.store.memory_tables import DEPENDS_ON, TIERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.types import Source
    from veridical.memory.rows import FactInput
    from veridical.memory.values import Fact
    from veridical.memory.waiting import Waiting
    from veridical.store.memory import Row

logger = logging.getLogger(__name__)


class FactWriter:
    """Writer of facts, by the decisions of the gate."""

    def __init__(
        self, facts: MemoryTables, queue: MemoryQueue, checker: Checker, waiting: Waiting
    ) -> None:
        self._facts = facts
        self._waiting = waiting
        self._queue = queue
        self._checker = checker

    def remember(
        self,
        said: FactInput,
        given: Mapping[str, Source],
        rests_on: tuple[str, ...],
        started: float,
    ) -> RememberResult:
        """Store a fact if the gate accepts it; `started` is the start of its time limit.

        A known fact is verified again unless it is verified, and is not stored twice. A fact that
        cannot be written because the store is locked waits in a file beside it.
        """
        key = same_key(said, given, rests_on)
        try:
            there = self._facts.find(Filter(key=key, retracted=False, limit=1))
            texts = {source.id: source.text for source in given.values()}
            evidence = self._checker.evidence(texts, rests_on)
        except StoreLockedError:
            result = self._undecided(said)
            return self._written(said, given, rests_on, result, key)
        if there:
            try:
                return self._again(to_fact(there[0]), said, given, rests_on, started)
            except _GoneError:  # retracted or deleted meanwhile: it is new
                return self.remember(said, given, rests_on, started)
        result = self._checker.check(
            said.text, evidence, said.stated, keys=said.keys, without=rests_on, started=started
        )
        if result.decision.refusal is not None:
            note = rejection_row(
                said.text, said.tier, said.stated, len(evidence), result, origin="remember"
            )
            self._note(note)
            return _rejected(result)
        return self._written(said, given, rests_on, result, key)

    def _undecided(self, said: FactInput) -> GateResult:
        """Return the result for a fact whose evidence and related facts cannot be read now."""
        gate = self._checker.gate
        stated = UNSTATED if said.stated is None else said.stated
        if gate is None:
            return GateResult(
                accept_unverified(stated if said.stated is not None else stated * REDUCTION)
            )
        reduced = gate.stated(said.stated) * REDUCTION
        return GateResult(GateDecision(STORE_LOCKED, reduced, FactState.UNVERIFIED, queue=True))

    def _again(
        self,
        fact: Fact,
        said: FactInput,
        given: Mapping[str, Source],
        rests_on: tuple[str, ...],
        started: float,
    ) -> RememberResult:
        """Return the result for a fact that is stored already; `_GoneError` if it no longer is."""
        goal = max(fact.tier, said.tier, key=TIERS.index)
        known = replace(said, tier=goal, stated=fact.stated_confidence)
        result = self._undecided(known)
        try:
            gated = self._checker.gate is not None
            if goal == fact.tier and (fact.state is FactState.VERIFIED or not gated):
                return self._as_stored(fact)
            if not gated:
                return self._moved(fact, goal)
            result, sources = self._checked(fact, started)
            return self._promoted(fact, goal, result, sources)
        except StoreLockedError as error:
            if result.decision.refusal is not None:
                logger.error("a rejection could not be recorded: %s", error.message)  # noqa: TRY400 -- its traceback adds nothing
                return replace(_rejected(result), fact=fact)
            new = self._new(known, given, rests_on, result, same_key(said, given, rests_on))
            return self._wait(replace(new, fact=new.fact | {"id": fact.id}), result)

    def _written(
        self,
        said: FactInput,
        given: Mapping[str, Source],
        rests_on: tuple[str, ...],
        result: GateResult,
        key: str,
    ) -> RememberResult:
        new = self._new(said, given, rests_on, result, key)
        try:
            fact_id = write(self._facts, self._queue, new)
            if fact_id == new.fact["id"]:
                return _kept(_fact(new), result)
            return self._as_stored(self._stored(fact_id))
        except StoreLockedError:
            return self._wait(new, result)
        except _GoneError:  # deleted at this moment
            return self._written(said, given, rests_on, result, key)

    def _new(
        self,
        said: FactInput,
        given: Mapping[str, Source],
        rests_on: tuple[str, ...],
        result: GateResult,
        key: str,
    ) -> NewFact:
        """Return the rows of a fact with the decision about it."""
        row = fact_row(said, result.decision, result.verification, key)
        return NewFact(
            fact=row,
            roles=[
                (each.role, key, each.entity)
                for each, key in zip(said.participants, said.keys, strict=True)
            ],
            origins=origins(given, result),
            links=[*((DEPENDS_ON, fact) for fact in rests_on), *conflicts(result)],
            queue=_waiting(result),
        )

    def _wait(self, new: NewFact, result: GateResult) -> RememberResult:
        """Keep a fact beside the database until that can be written."""
        self._waiting.keep(new)
        logger.warning("a fact waits for the store's lock")
        return replace(
            _kept(_fact(new), result), outcome=FactOutcome.QUEUED, reason=STORE_LOCKED, pending=True
        )

    def _as_stored(self, fact: Fact) -> RememberResult:
        """Return the result for a stored fact that nothing changes."""
        pending = self._queue.row(fact.id) is not None
        return replace(_kept(fact, None), pending=pending, verification=fact.verification)

    def _note(self, row: Row) -> None:
        """Log and record a rejection; a failure to record it changes nothing."""
        logger.info("a fact was rejected: %s, %s", row["error"], row["reason"])
        try:
            self._queue.reject(row)
        except StoreError as error:
            logger.error("a rejection could not be recorded: %s", error.message)  # noqa: TRY400 -- its traceback adds nothing

    def promote(self, fact: Fact, goal: Tier, started: float) -> RememberResult:
        """Move a fact up if the gate accepts it; see `Memory.promote`."""
        try:
            if self._checker.gate is None:
                return self._moved(fact, goal)
            return self._promoted(fact, goal, *self._checked(fact, started))
        except _GoneError:
            raise no_fact(fact.id) from None

    def _checked(self, fact: Fact, started: float) -> tuple[GateResult, int]:
        """Return the gate's result for a stored fact, and the number of texts in its evidence."""
        evidence = self._checker.evidence_of(fact)
        return self._checker.check_again(fact, evidence, started=started), len(evidence)

    def _moved(self, fact: Fact, goal: Tier) -> RememberResult:
        """Move a fact up with the gate off; `_GoneError` if it is gone."""
        self._settle(fact, Settled(changes={"tier": goal.value}, keeps_place=True))
        pending = self._queue.row(fact.id) is not None
        return replace(_kept(self._stored(fact.id), None), pending=pending)

    def _promoted(self, fact: Fact, goal: Tier, result: GateResult, sources: int) -> RememberResult:
        """Write the gate's decision about a stored fact; `_GoneError` if it is gone."""
        decision = result.decision
        changes = decided(decision, result.verification)
        if decision.refusal is not None:
            note = rejection_row(
                fact.text,
                goal,
                fact.stated_confidence,
                sources,
                result,
                origin="promote",
                fact=fact.id,
            )
            logger.info("a fact was rejected: %s, %s", note["error"], note["reason"])
            if fact.state is FactState.QUEUED:  # it was never accepted
                self._settle(fact, Settled(rejection=note, removed_at=datetime.now(UTC)))
                return _rejected(result)
            self._settle(fact, Settled(changes=changes, rejection=note))
            return replace(_rejected(result), fact=self._stored(fact.id))
        if decision.queue:
            waits = (_waiting(result) or {}) | {"tier": None if goal == fact.tier else goal.value}
            self._settle(fact, Settled(queue=waits))
        else:
            # The tier is written even if it stays: a promotion that waits raises it.
            done = Settled(changes=changes | {"tier": goal.value}, links=conflicts(result))
            self._settle(fact, done)
        return _kept(self._stored(fact.id), result)

    def _settle(self, fact: Fact, done: Settled) -> None:
        if not self._queue.settle(fact.id, done):
            raise _GoneError

    def _stored(self, fact_id: str) -> Fact:
        """Return a fact as it is stored now; `_GoneError` if it no longer is."""
        found = self._facts.find(Filter(ids=[fact_id], limit=1))
        if not found:
            raise _GoneError
        return to_fact(found[0])


class _GoneError(Exception):
    """Raised when a stored fact was retracted or deleted while it was verified."""


def _fact(new: NewFact) -> Fact:
    """Return the fact of a row."""
    named = [{"role": role, "name": name} for role, _, name in new.roles]
    return to_fact(new.fact | {"roles": named, "provenance": new.origins})


def _kept(fact: Fact, result: GateResult | None) -> RememberResult:
    decision = result.decision if result else None
    return RememberResult(
        FactOutcome.QUEUED if fact.state is FactState.QUEUED else FactOutcome.STORED,
        decision.reason if decision else fact.reason,
        decision.confidence if decision else fact.confidence,
        fact,
        pending=decision is not None and decision.queue,
        verification=result.verification if result else None,
    )


def _rejected(result: GateResult) -> RememberResult:
    decision, found = result.decision, result.verification
    if decision.refusal is Refusal.CONTRADICTED:
        error: FactContradicted | FactNotGrounded = FactContradicted(
            "the evidence of the fact opposes it", hint="Correct the fact, or its sources"
        )
    else:
        bits = found.budget_gap_bits if found else None
        gap = "" if bits is None else f", budget gap {bits:.2f} bits"
        error = FactNotGrounded(
            f"the evidence of the fact does not carry it ({decision.reason}{gap})",
            hint="Pass evidence that states it, or state it with less confidence",
        )
    return RememberResult(
        FactOutcome.REJECTED, decision.reason, decision.confidence, error=error, verification=found
    )


def _waiting(result: GateResult) -> Row | None:
    """Return the queue row of a fact that is to be verified later."""
    if not result.decision.queue:
        return None
    return new_queue_row(result.decision.reason, wait_s=result.retry_after_s or 0.0)
