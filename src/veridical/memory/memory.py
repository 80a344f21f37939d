"""Memory of facts: the public interface to remember, search, link, retract and delete them."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import anyio.to_thread

from veridical.core.sources import as_sources
from veridical.core.types import ensure_text
from veridical.errors import ConfigurationError, InputError, StoreError, StoreLockedError
from veridical.memory.checking import Checker, ensure_id, no_fact
from veridical.memory.fact_filter import fact_filter
from veridical.memory.fact_writer import FactWriter
from veridical.memory.gate import TIMEOUT_S
from veridical.memory.queue_worker import drain
from veridical.memory.rows import (
    as_tier,
    ensure_storable,
    statement,
    to_fact,
    to_link,
    to_pending,
    to_rejection,
    words,
)
from veridical.memory.values import FactOutcome, Match, Pending, RememberResult, Tier
from veridical.memory.waiting import STORE_LOCKED, Waiting
from veridical.store.database import Store, patience, within
from veridical.store.memory import Filter, MemoryTables
from veridical.store.memory_queue import MemoryQueue
from veridical.store.memory_tables import TIERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from veridical.core.ports import EmbeddingModel
    from veridical.core.sources import Sources
    from veridical.memory.decision import FactState, GateDecision
    from veridical.memory.gate import MemoryGate
    from veridical.memory.rows import Entity
    from veridical.memory.semantic import Semantic
    from veridical.memory.values import Fact, FactRejection, Link, QueueResult

logger = logging.getLogger(__name__)

LOCK_SHARE = 0.25
"""Share of a fact's time limit for waiting until the database can be read."""

LOCK_GRACE_S = 0.05
"""Seconds that a call waits to write down facts that waited for the lock."""


class Memory:
    """Facts in a database that threads and processes may share.

    `store` is a URL or a `Store`. With a `gate` facts are verified before they are stored; without
    one they are stored unverified. `similar` needs `embeddings`. The calls block; `aremember` is
    for async programs. Close it, or use it as a context manager. Methods may raise `StoreError`,
    and `InputError` for an invalid fact or an id that does not exist.

        with Memory("sqlite:///memory.db", gate) as memory:
            done = memory.remember("The bridge has eight lanes.", {"S1": notice}, entities=["it"])
            print(done.outcome, done.confidence, memory.facts(entities="it"))
    """

    def __init__(
        self,
        store: Store | str,
        gate: MemoryGate | None = None,
        *,
        embeddings: EmbeddingModel | None = None,
    ) -> None:
        opened = store if isinstance(store, Store) else Store(store)
        self._closing: list[Callable[[], object]] = []
        if gate is not None:
            self.on_close(gate.close)
        self._semantic: Semantic | None = None
        if embeddings is not None:
            from veridical.memory.semantic import Semantic  # with numpy, which takes a while

            self._semantic = Semantic(opened, embeddings)
            self.on_close(self._semantic.close)
        if opened is not store:
            self.on_close(opened.close)
        self._gate = gate
        self._bind(opened)

    def _bind(self, store: Store) -> None:
        """Read and write the facts of the store's project."""
        self._store = store
        self._facts = MemoryTables(store)
        self._queue = MemoryQueue(store)
        self._checker = Checker(self._facts, self._gate)
        self._semantic = self._semantic and self._semantic.of(store)
        self._waiting = Waiting(store.beside)
        self._admission = FactWriter(self._facts, self._queue, self._checker, self._waiting)

    def of(self, project: str) -> Memory:
        """Return the memory of another project in the same database, with the same gate.

        Closing it closes nothing: the gate and the database are those of this one.
        """
        other = copy(self)
        other._bind(self._store.of(project))  # noqa: SLF001 -- its own copy
        other._closing = []  # noqa: SLF001 -- see above
        return other

    @property
    def gate(self) -> MemoryGate | None:
        """Gate that verifies facts; None if it is off."""
        return self._gate

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the gate, and close the database if it was opened here."""
        with suppress(StoreError):
            self._write_down()
        for call in self._closing:
            call()

    def on_close(self, call: Callable[[], object]) -> None:
        """Register a call for `close`, after the gate is stopped."""
        self._closing.append(call)

    # --- remembering -------------------------------------------------------------------------

    def remember(  # noqa: PLR0913 -- what a fact consists of
        self,
        text: str,
        sources: Sources | None = None,
        *,
        entities: Iterable[Entity] = (),
        relation: str | None = None,
        confidence: float | None = None,
        tier: str = Tier.LONG_TERM,
        depends_on: Iterable[str] = (),
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        strict: bool = False,
    ) -> RememberResult:
        """Store a fact if the gate accepts it, and return the result.

        `sources` are its evidence, and so are the facts it `depends_on` (ids) as far as these are
        verified. `entities` are those it is about: names, or (role, name). `confidence` (0 to 1) is
        the stated confidence. With `strict` a fact that is not stored raises: `FactNotGrounded`,
        `FactContradicted`, or the `StoreError` of a database that cannot be written. A known fact,
        by its text and evidence, is not stored again. Where another program locks the database it
        is `queued`, in a file beside it (`store_locked`).
        """
        started = perf_counter()
        said = statement(
            text,
            entities=entities,
            relation=relation,
            confidence=confidence,
            tier=tier,
            valid_from=valid_from,
            valid_to=valid_to,
        )
        given = {} if sources is None or sources == {} else as_sources(sources)
        for source_id in given:
            ensure_storable(source_id, "a source id")
        bases = list(depends_on)
        for base in bases:
            ensure_id(base)
        rests_on = tuple(dict.fromkeys(bases))
        try:
            with within(self._seconds * LOCK_SHARE):
                opened = self._opened()
            with within(self._seconds - (perf_counter() - started - opened)):
                done = self._admission.remember(said, given, rests_on, started + opened)
        except StoreError as error:
            logger.error("a fact could not be stored: %s", error.message)  # noqa: TRY400 -- its traceback adds nothing
            reason = STORE_LOCKED if isinstance(error, StoreLockedError) else "store_error"
            done = RememberResult(FactOutcome.FAILED, reason, 0.0, error=error)
        if strict and done.error is not None:
            raise done.error
        return done

    @property
    def _seconds(self) -> float:
        """Time limit of `remember` in seconds."""
        return TIMEOUT_S if self.gate is None else self.gate.timeout_s

    def _opened(self) -> float:
        """Write down waiting facts, and return the seconds that creating the database took.

        Creating or migrating it does not count for the gate's time limit. A lock is no error here.
        """
        if self._store.ready:
            self._write_down()
            return 0.0
        begun = perf_counter()
        try:
            with self._store.read():
                pass
        except StoreLockedError:
            return 0.0
        made = perf_counter() - begun
        self._write_down()
        return made

    def _write_down(self) -> None:
        """Write the facts that waited for the database's lock, if it is not locked now."""
        left = patience()  # of the call: the grace is for locks, not for the writing itself
        with suppress(StoreLockedError), within(LOCK_GRACE_S):
            self._waiting.write_down(self._facts, self._queue, left)

    async def aremember(
        self,
        text: str,
        sources: Sources | None = None,
        **arguments: Any,  # noqa: ANN401 -- those of `remember`
    ) -> RememberResult:
        """Call `remember` with the same arguments, without blocking the event loop."""
        call = partial(self.remember, text, sources, **arguments)
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)

    # --- finding -----------------------------------------------------------------------------

    def get(self, fact_id: str) -> Fact:
        """Return the fact of an id, retracted or not."""
        self._write_down()
        return self._checker.fact(fact_id)

    def facts(  # noqa: PLR0913 -- each may be left out
        self,
        *,
        text: str | None = None,
        entities: str | Iterable[str] = (),
        source: str | None = None,
        relation: str | None = None,
        tier: str | None = None,
        states: Iterable[FactState] | None = None,
        at: datetime | None = None,
        everything: bool = False,
        limit: int = 100,
    ) -> list[Fact]:
        """Return the remembered facts valid now (or `at` a time), the newest first.

        A fact has all the words of `text` (the best match comes first then) and is about all
        `entities`. `source` is the id or the hash of a source. `states` filters by degree of
        verification; queued facts are not remembered before they are verified, and are returned
        only by `states` or `everything`. With `everything` queued, retracted and currently invalid
        facts are included.
        """
        self._write_down()
        sought = [] if text is None else words(text)
        if text is not None and not sought:
            return []
        wanted = fact_filter(
            entities=entities,
            source=source,
            relation=relation,
            tier=tier,
            states=states,
            at=at,
            everything=everything,
            limit=limit,
        )
        return [to_fact(row) for row in self._facts.find(replace(wanted, words=sought))]

    def search(self, text: str, *, limit: int = 20) -> list[Fact]:
        """Return the facts with all the words of a text, the best match first."""
        return self.facts(text=text, limit=limit)

    def similar(
        self, text: str, *, entities: str | Iterable[str] = (), limit: int = 20
    ) -> list[Match]:
        """Return the remembered facts valid now, the closest in meaning to a text first.

        The first call, and the first after facts were added, computes their vectors.
        `ConfigurationError` without an embedding model, `BackendError` if it fails.
        """
        ensure_text(text, "the text to look for")
        if self._semantic is None:
            msg = "the memory has no embedding model"
            raise ConfigurationError(msg, hint="Set embeddings.model, or pass embeddings=...")
        near = self._semantic.nearest(text, fact_filter(entities=entities, limit=limit))
        found = self._facts.find(Filter(ids=[key for key, _ in near], limit=max(len(near), 1)))
        facts = {row["id"]: to_fact(row) for row in found}
        return [Match(facts[key], alike) for key, alike in near if key in facts]

    # --- changing ----------------------------------------------------------------------------

    def link(self, source: str, label: str, target: str) -> None:
        """Link two facts by id; a fact linked by "depends_on" is retracted with its target."""
        ensure_storable(label, "a label")
        for fact_id in (source, target):
            ensure_id(fact_id)
        if missing := self._facts.link(source, label, target):
            raise no_fact(missing.pop())

    def links(self, fact_id: str) -> list[Link]:
        """Return the links from and to a fact."""
        self.get(fact_id)
        return [to_link(row) for row in self._facts.links(fact_id)]

    def retract(self, fact_id: str) -> list[Fact]:
        """Retract a fact and all its dependents; return the facts retracted by this call."""
        self.get(fact_id)
        ids = self._facts.retract(fact_id, datetime.now(UTC))
        found = self._facts.find(Filter(ids=ids, limit=max(len(ids), 1)))
        return sorted(map(to_fact, found), key=lambda fact: ids.index(fact.id))

    def delete(self, fact_id: str) -> list[Fact]:
        """Delete a fact for good, and retract its dependents; return these.

        Its text goes, and so do the texts of its sources that no other fact has.
        """
        self.get(fact_id)
        ids = self._facts.delete(fact_id, datetime.now(UTC))
        found = self._facts.find(Filter(ids=ids, limit=max(len(ids), 1)))
        return sorted(map(to_fact, found), key=lambda fact: ids.index(fact.id))

    def promote(self, fact_id: str, tier: str, *, strict: bool = False) -> RememberResult:
        """Move a fact to a higher tier, if the gate accepts it now.

        A rejected fact stays in its tier and is no longer verified; a rejected queued fact, which
        was never accepted, is removed. A fact that cannot be measured now stays, too, and is
        promoted when it is verified. With the gate off it is promoted without verification. With
        `strict` a rejection is raised.
        """
        fact, goal = self.get(fact_id), as_tier(tier)
        if fact.retracted is not None:
            raise no_fact(fact_id)
        if TIERS.index(goal) <= TIERS.index(fact.tier):
            msg = f"the fact is in tier {fact.tier} already"
            raise InputError(msg, hint=f"The tiers go up: {', '.join(Tier)}")
        with within(self._seconds):
            done = self._admission.promote(fact, goal, perf_counter())
        if strict and done.error is not None:
            raise done.error
        return done

    # --- queue and rejections ----------------------------------------------------------------

    def verify_pending(
        self,
        *,
        limit: int | None = None,
        early: bool = False,
        timeout_s: float = 30.0,
        watch: Callable[[str, GateDecision], object] | None = None,
    ) -> QueueResult:
        """Verify due pending facts, `limit` at most, and return counts of the results.

        With `early` also facts that are not due yet, or were given up. Any number of workers may
        do this at once: a fact is verified by one of them. A fact may take `timeout_s` seconds
        here. `watch` is called for each fact, with its count in `QueueResult` and the decision.
        `ConfigurationError` if the gate is off.
        """
        self._write_down()
        return drain(
            self._facts,
            self._queue,
            self._checker,
            limit=limit,
            early=early,
            timeout_s=timeout_s,
            watch=watch,
        )

    def pending(self) -> list[Pending]:
        """Return the pending facts: by due time, given-up ones last.

        Facts that wait for the database's lock come first, with the reason `store_locked`.
        """
        self._write_down()
        locked_out = [
            Pending(row["id"], STORE_LOCKED, 0, row["created"], given_up=False)
            for row in self._waiting.rows()
        ]
        return [*locked_out, *(to_pending(row) for row in self._queue.rows())]

    def queued_by_project(self) -> dict[str, int]:
        """Return the numbers of facts that wait in all projects, for a worker of them all."""
        found = Counter(self._queue.counts())
        for project in self._store.beside_projects():
            found[project] += len(list(self.of(project)._waiting.rows()))  # noqa: SLF001 -- its own copy
        return dict(+found)

    def rejections(self, *, limit: int = 100) -> list[FactRejection]:
        """Return the rejections, the newest first: hashes and figures, no text."""
        return [to_rejection(row) for row in self._queue.rejections(limit)]
