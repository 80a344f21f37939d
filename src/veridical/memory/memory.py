"""`Memory`: what remembers, finds, links and forgets."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import anyio.to_thread

from veridical.core.sources import as_sources
from veridical.errors import InputError, StoreError
from veridical.memory.checking import Checker, entity_keys, no_fact
from veridical.memory.rows import (
    as_tier,
    decided,
    ensure_storable,
    entity_key,
    fact_row,
    in_utc,
    origins,
    rejection_row,
    statement,
    to_fact,
    to_link,
    to_pending,
    to_rejection,
    words,
)
from veridical.memory.values import (
    FactContradicted,
    FactNotGrounded,
    Outcome,
    Remembered,
    Tier,
)
from veridical.memory.working import conflicts, work_off
from veridical.pipeline.oversight.gate import Refusal, State
from veridical.store.database import Store
from veridical.store.memory import DEPENDS_ON, Filter, MemoryTables, NewFact
from veridical.store.memory_queue import MemoryQueue, Settled, new_queue_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from veridical.core.sources import Sources
    from veridical.core.types import Source
    from veridical.memory.gate import GateResult, MemoryGate
    from veridical.memory.rows import Entity, Statement
    from veridical.memory.values import Fact, Link, Pending, Rejection, Worked
    from veridical.store.memory import Row

logger = logging.getLogger(__name__)

_TIERS = list(Tier)
_REMEMBERED = tuple(state for state in State if state is not State.QUEUED)


class Memory:
    """Facts in a database that threads and processes may share.

    `store` is a URL or a `Store`. With a `gate` facts are verified before they are stored; without
    one they are stored unverified. The calls block; `aremember` is for async programs. Close it, or
    use it as a context manager. Methods may raise `StoreError`, and `InputError` for what is
    no fact, or an id that does not exist.

        with Memory("sqlite:///memory.db", gate) as memory:
            done = memory.remember("The bridge has eight lanes.", {"S1": notice}, about=["bridge"])
            print(done.outcome, done.confidence, memory.facts(entity="bridge"))
    """

    def __init__(self, store: Store | str, gate: MemoryGate | None = None) -> None:
        opened = store if isinstance(store, Store) else Store(store)
        self._store = opened
        self._closing: list[Callable[[], object]] = []
        if gate is not None:
            self.on_close(gate.close)
        if opened is not store:
            self.on_close(opened.close)
        self._facts = MemoryTables(opened)
        self._queue = MemoryQueue(opened)
        self._checker = Checker(self._facts, gate)

    @property
    def gate(self) -> MemoryGate | None:
        """Who verifies facts; None if the gate is off."""
        return self._checker.gate

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the gate, and close the database if it was opened here."""
        for call in self._closing:
            call()

    def on_close(self, call: Callable[[], object]) -> None:
        """Have something closed with this memory, after its gate."""
        self._closing.append(call)

    # --- remembering -------------------------------------------------------------------------

    def remember(  # noqa: PLR0913 -- what a fact consists of
        self,
        text: str,
        sources: Sources | None = None,
        *,
        about: Iterable[Entity] = (),
        relation: str | None = None,
        confidence: float | None = None,
        tier: str = Tier.LONG_TERM,
        depends_on: Iterable[str] = (),
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        strict: bool = False,
    ) -> Remembered:
        """Store a fact if its evidence carries it, and say what became of it.

        `sources` are its evidence, and so are the facts it `depends_on` (ids) as far as these are
        verified. `about` are the entities it is about: names, or (role, name). `confidence` (0 to
        1) is what whoever states it states. With `strict` what is not kept is raised:
        `FactNotGrounded`, `FactContradicted`, or the `StoreError` of a database that cannot be
        written.
        """
        said = statement(
            text,
            about=about,
            relation=relation,
            confidence=confidence,
            tier=tier,
            valid_from=valid_from,
            valid_to=valid_to,
        )
        given = {} if sources is None or sources == {} else as_sources(sources)
        for source_id in given:
            ensure_storable(source_id, "a source id")
        try:
            self._open()
            done = self._remember(said, given, tuple(dict.fromkeys(depends_on)), perf_counter())
        except StoreError as error:
            logger.error("a fact could not be stored: %s", error.message)  # noqa: TRY400 -- its trace says no more
            done = Remembered(Outcome.FAILED, "store_error", 0.0, error=error)
        if strict and done.error is not None:
            raise done.error
        return done

    def _open(self) -> None:
        """Make or migrate the database if need be: no time of the gate is spent on that."""
        with self._store.read():
            pass

    async def aremember(
        self,
        text: str,
        sources: Sources | None = None,
        **arguments: Any,  # noqa: ANN401 -- those of `remember`
    ) -> Remembered:
        """Do as `remember` does, with the same arguments, without blocking the event loop."""
        call = partial(self.remember, text, sources, **arguments)
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)

    def _remember(
        self,
        said: Statement,
        given: Mapping[str, Source],
        rests_on: tuple[str, ...],
        started: float,
    ) -> Remembered:
        texts = {source.id: source.text for source in given.values()}
        evidence = self._checker.evidence(texts, rests_on)
        result = self._checker.check(
            said.text, evidence, said.stated, keys=said.keys, without=rests_on, started=started
        )
        if result.decision.refusal is not None:
            note = rejection_row(
                said.text, said.tier, said.stated, len(evidence), result, origin="remember"
            )
            self._note(note)
            return _rejected(result)
        row = fact_row(said, result.decision, result.verification)
        new = NewFact(
            fact=row,
            roles=[
                (each.role, key, each.entity)
                for each, key in zip(said.participants, said.keys, strict=True)
            ],
            origins=origins(given, result),
            links=[*((DEPENDS_ON, fact) for fact in rests_on), *conflicts(result)],
            queue=_waiting(result),
        )
        self._put(new, rests_on)
        named = [{"role": role, "name": name} for role, _, name in new.roles]
        return _kept(to_fact(row | {"roles": named, "provenance": new.origins}), result)

    def _put(self, new: NewFact, rests_on: tuple[str, ...]) -> None:
        """Write a fact; what it contradicts may be gone meanwhile, what it rests on may not."""
        missing = self._facts.put(new)
        if gone := missing.intersection(rests_on):
            raise no_fact(gone.pop())
        if missing:
            kept = [link for link in new.links if link[1] not in missing]
            self._put(replace(new, links=kept), rests_on)

    def _note(self, row: Row) -> None:
        """Log and record a rejection; one that cannot be recorded is a rejection all the same."""
        logger.info("a fact was rejected: %s, %s", row["error"], row["reason"])
        try:
            self._queue.reject(row)
        except StoreError as error:
            logger.error("a rejection could not be recorded: %s", error.message)  # noqa: TRY400 -- its trace says no more

    # --- finding -----------------------------------------------------------------------------

    def get(self, fact_id: str) -> Fact:
        """Return the fact of an id, retracted or not."""
        found = self._facts.find(Filter(ids=[fact_id], limit=1))
        if not found:
            raise no_fact(fact_id)
        return to_fact(found[0])

    def facts(  # noqa: PLR0913 -- each may be left out
        self,
        *,
        text: str | None = None,
        entity: str | Iterable[str] = (),
        source: str | None = None,
        relation: str | None = None,
        tier: str | None = None,
        states: Iterable[State] | None = None,
        at: datetime | None = None,
        everything: bool = False,
        limit: int = 100,
    ) -> list[Fact]:
        """Return what is remembered and valid now (or `at` a time), the newest first.

        A fact has all the words of `text` (the best match comes first then) and is about every
        `entity`. `source` is the id or the hash of a source. `states` picks by how far facts can be
        relied on; what is queued is remembered only once it is verified, and has to be asked for.
        With `everything` facts come that are queued, retracted or not valid now, too.
        """
        if limit < 1:
            msg = "the limit has to be 1 or more"
            raise InputError(msg, hint="100 is the default")
        sought = [] if text is None else words(text)
        if text is not None and not sought:
            return []
        names = [entity] if isinstance(entity, str) else list(entity)
        wanted = Filter(
            words=sought,
            entities=tuple(dict.fromkeys(map(entity_key, names))),
            source=source,
            relation=relation,
            tier=None if tier is None else as_tier(tier).value,
            states=None if states is None else [State(state).value for state in states],
            limit=limit,
        )
        if not everything:
            shown = [state.value for state in _REMEMBERED]
            moment = in_utc(at) or datetime.now(UTC)
            wanted = replace(
                wanted,
                states=shown if wanted.states is None else wanted.states,
                at=moment,
                retracted=False,
            )
        return [to_fact(row) for row in self._facts.find(wanted)]

    def search(self, text: str, *, limit: int = 20) -> list[Fact]:
        """Return the facts with all the words of a text, the best match first."""
        return self.facts(text=text, limit=limit)

    # --- changing ----------------------------------------------------------------------------

    def link(self, source: str, label: str, target: str) -> None:
        """Link two facts by their ids; what is linked by "depends_on" is retracted together."""
        ensure_storable(label, "a label")
        if missing := self._facts.link(source, label, target):
            raise no_fact(missing.pop())

    def links(self, fact_id: str) -> list[Link]:
        """Return the links from and to a fact."""
        self.get(fact_id)
        return [to_link(row) for row in self._facts.links(fact_id)]

    def retract(self, fact_id: str) -> list[Fact]:
        """Retract a fact and all that depends on it; return what was retracted by this."""
        self.get(fact_id)
        ids = self._facts.retract(fact_id, datetime.now(UTC))
        found = self._facts.find(Filter(ids=ids, limit=max(len(ids), 1)))
        return sorted(map(to_fact, found), key=lambda fact: ids.index(fact.id))

    def promote(self, fact_id: str, tier: str, *, strict: bool = False) -> Remembered:
        """Move a fact to a higher tier, if the gate lets it through now.

        Rejected, it stays in its tier and is no longer one that is verified. What cannot be
        measured now stays, too, and goes up when it is verified. With the gate off it goes up as it
        is. With `strict` a rejection is raised.
        """
        fact, goal = self.get(fact_id), as_tier(tier)
        if fact.retracted is not None:
            raise no_fact(fact_id)
        if _TIERS.index(goal) <= _TIERS.index(fact.tier):
            msg = f"the fact is in tier {fact.tier} already"
            raise InputError(msg, hint=f"The tiers go up: {', '.join(Tier)}")
        done = self._promote(fact, goal, perf_counter())
        if strict and done.error is not None:
            raise done.error
        return done

    def _promote(self, fact: Fact, goal: Tier, started: float) -> Remembered:
        if self.gate is None:
            self._settle(fact, Settled(changes={"tier": goal.value}))
            return _kept(self.get(fact.id), None)
        evidence = self._checker.evidence_of(fact)
        result = self._checker.check(
            fact.text,
            evidence,
            fact.stated,
            keys=entity_keys(fact),
            without=[fact.id, *self._checker.rests_on(fact.id)],
            started=started,
        )
        decision = result.decision
        changes = decided(decision, result.verification)
        if decision.refusal is not None:
            note = rejection_row(
                fact.text, goal, fact.stated, len(evidence), result, origin="promote", fact=fact.id
            )
            logger.info("a fact was rejected: %s, %s", note["error"], note["reason"])
            self._settle(fact, Settled(changes=changes, rejection=note))
            return replace(_rejected(result), fact=self.get(fact.id))
        if decision.queue:
            waits = _waiting(result) or {}
            self._settle(fact, Settled(queue=waits | {"tier": goal.value}))
        else:
            done = Settled(changes=changes | {"tier": goal.value}, links=conflicts(result))
            self._settle(fact, done)
        return _kept(self.get(fact.id), result)

    def _settle(self, fact: Fact, done: Settled) -> None:
        if not self._queue.settle(fact.id, done):
            raise no_fact(fact.id)

    # --- what waits, what was rejected -------------------------------------------------------

    def verify_pending(
        self,
        *,
        limit: int | None = None,
        early: bool = False,
        timeout_s: float = 30.0,
        progress: Callable[[int], object] | None = None,
    ) -> Worked:
        """Verify what waits and is due, `limit` facts at most, and say what became of it.

        With `early` also what is not due yet, and what was given up. Any number of workers may do
        this at once: a fact is verified by one of them. A fact may take `timeout_s` seconds here.
        `progress` is told after each fact how many are done. `ConfigurationError` if the gate is
        off.
        """
        return work_off(
            self._facts,
            self._queue,
            self._checker,
            limit=limit,
            early=early,
            timeout_s=timeout_s,
            progress=progress,
        )

    def pending(self) -> list[Pending]:
        """Return what waits to be verified: what is due first, what was given up last."""
        return [to_pending(row) for row in self._queue.rows()]

    def rejections(self, *, limit: int = 100) -> list[Rejection]:
        """Return what was rejected, the newest first: hashes and figures, no text."""
        return [to_rejection(row) for row in self._queue.rejections(limit)]


def _kept(fact: Fact, result: GateResult | None) -> Remembered:
    decision = result.decision if result else None
    return Remembered(
        Outcome.QUEUED if fact.state is State.QUEUED else Outcome.STORED,
        decision.reason if decision else fact.reason,
        decision.confidence if decision else fact.confidence,
        fact,
        pending=decision is not None and decision.queue,
        verification=result.verification if result else None,
    )


def _rejected(result: GateResult) -> Remembered:
    decision, found = result.decision, result.verification
    if decision.refusal is Refusal.CONTRADICTED:
        error: FactContradicted | FactNotGrounded = FactContradicted(
            "the evidence of the fact opposes it", hint="Correct the fact, or its sources"
        )
    else:
        gap = f", gap {found.gap_bits:.2f} bits" if found and found.gap_bits is not None else ""
        error = FactNotGrounded(
            f"the evidence of the fact does not carry it ({decision.reason}{gap})",
            hint="Pass evidence that states it, or state it with less confidence",
        )
    return Remembered(
        Outcome.REJECTED, decision.reason, decision.confidence, error=error, verification=found
    )


def _waiting(result: GateResult) -> Row | None:
    """Return the row of the queue for a fact that is to be verified later."""
    if not result.decision.queue:
        return None
    return new_queue_row(result.decision.reason, wait_s=result.retry_after_s or 0.0)
