"""Worker of the verification queue: each fact by one worker, with retries after a delay."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from secrets import token_hex
from time import perf_counter, time
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError, InputError
from veridical.memory.decision import FactState, GateDecision
from veridical.memory.gate import GateResult
from veridical.memory.rows import decided, rejection_row, to_fact
from veridical.memory.values import QueueResult, Tier
from veridical.store.memory import Filter, MemoryTables
from veridical.store.memory_queue import MemoryQueue, Settled
from veridical.store.memory_tables import TIERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.memory.checking import Checker
    from veridical.memory.values import Fact
    from veridical.store.memory import Row

logger = logging.getLogger(__name__)

CONTRADICTS = "contradicts"
"""Label of a link to an older fact that the new one contradicts."""

MOST_ATTEMPTS = 5
"""Attempts before a fact is given up."""

FIRST_WAIT_S = 30.0
"""Seconds until a fact is tried for the second time; each further wait is four times as long."""

LEASE_S = 60.0
"""Seconds of a worker's claim on a fact, beyond the time limit of its verification.

The facts of a killed worker are free for others after that time.
"""


def drain(  # noqa: PLR0913 -- the worker's parts and its limits
    facts: MemoryTables,
    queue: MemoryQueue,
    checker: Checker,
    *,
    limit: int | None,
    early: bool,
    timeout_s: float,
    watch: Callable[[str, GateDecision], object] | None,
) -> QueueResult:
    """Verify pending facts; see `Memory.verify_pending`."""
    if checker.gate is None:
        msg = "the memory has no gate to verify anything"
        hint = "Set hallucination.enabled and hallucination.memory_gate.enabled to true"
        raise ConfigurationError(msg, hint=hint)
    worker, begun = token_hex(8), time()
    done: Counter[str] = Counter()
    while limit is None or done.total() < limit:
        now = time()
        row = queue.claim(
            worker,
            now=now,
            until=now + timeout_s + LEASE_S,
            early_before=begun if early else None,
        )
        if row is None:
            break
        name, decision = _Work(facts, queue, checker, worker).on(row, timeout_s)
        done[name] += 1
        if watch is not None and decision is not None:
            watch(name, decision)
    return replace(QueueResult(**done), waiting=len(queue.rows()))


class _Work:
    """Verification of one queued fact by one worker."""

    def __init__(
        self, facts: MemoryTables, queue: MemoryQueue, checker: Checker, worker: str
    ) -> None:
        self._facts = facts
        self._queue = queue
        self._checker = checker
        self._worker = worker

    def on(self, row: Row, timeout_s: float) -> tuple[str, GateDecision | None]:
        """Verify a fact and write the result; return the name of its count, and the decision.

        A lost fact has no decision.
        """
        found = self._facts.find(Filter(ids=[row["id"]], limit=1))
        if not found:
            return "lost", None
        fact = to_fact(found[0])
        result, sources = self._verified(fact, timeout_s)
        name, settled = _settled(row, fact, result, sources)
        if not self._queue.settle(fact.id, settled, worker=self._worker):
            return "lost", None
        return name, result.decision

    def _verified(self, fact: Fact, timeout_s: float) -> tuple[GateResult, int]:
        """Return the gate's result, and the number of texts in the fact's evidence."""
        started = perf_counter()
        try:
            evidence = self._checker.evidence_of(fact)
            result = self._checker.check_again(fact, evidence, started=started, timeout_s=timeout_s)
        except InputError as error:  # an entry that cannot be verified must not hold up the others
            logger.warning("a fact could not be verified: %s", type(error).__name__)
            confidence = fact.confidence
            decision = GateDecision("input_error", confidence, fact.state, queue=True)
            return GateResult(decision), 0
        return result, len(evidence)


def _settled(row: Row, fact: Fact, result: GateResult, sources: int) -> tuple[str, Settled]:
    """Return the name of the count and the change of a queued fact."""
    decision = result.decision
    if decision.queue:
        return _retried(row, result)
    promoted = row["tier"] is not None
    goal = max(fact.tier, Tier(row["tier"]), key=TIERS.index) if promoted else fact.tier
    changes = decided(decision, result.verification)
    if decision.refusal is None:
        # Only a promotion writes the tier: with the gate off the fact may have gone up meanwhile.
        moved = {"tier": goal.value} if promoted else {}
        done = Settled(changes=changes | moved, links=conflicts(result))
        return ("verified" if decision.state is FactState.VERIFIED else "unsupported"), done
    origin = "promote" if promoted else "queue"
    note = rejection_row(
        fact.text, goal, fact.stated_confidence, sources, result, origin=origin, fact=fact.id
    )
    logger.info("a fact was rejected: %s, %s", note["error"], note["reason"])
    if promoted and fact.state is not FactState.QUEUED:  # it stays where it was
        return "rejected", Settled(changes=changes, rejection=note)
    return "rejected", Settled(rejection=note, removed_at=datetime.now(UTC))


def _retried(row: Row, result: GateResult) -> tuple[str, Settled]:
    attempts = row["attempts"] + 1
    given_up = attempts >= MOST_ATTEMPTS
    now = time()
    wait_s = max(FIRST_WAIT_S * 4 ** (attempts - 1), result.retry_after_s or 0.0)
    kept = {name: row[name] for name in ("tier", "created")}
    again = kept | {
        "reason": result.decision.reason,
        "attempts": attempts,
        "tried": now,
        "due": now + wait_s,
        "given_up": given_up,
    }
    if given_up:
        logger.warning("a fact was given up after %d attempts: %s", attempts, again["reason"])
    return ("given_up" if given_up else "retried"), Settled(queue=again)


def conflicts(result: GateResult) -> list[tuple[str, str]]:
    """Return links to the facts in memory that a fact contradicts."""
    found = result.verification.conflicts if result.verification else ()
    return [(CONTRADICTS, each.fact_id) for each in found]
