"""Writing of a new fact, or of its decision and tier if the same fact is stored already."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.memory.checking import no_fact
from veridical.memory.decision import FactState
from veridical.store.memory import Filter
from veridical.store.memory_queue import Settled
from veridical.store.memory_tables import DEPENDS_ON, TIERS

if TYPE_CHECKING:
    from veridical.store.memory import MemoryTables, NewFact, Row
    from veridical.store.memory_queue import MemoryQueue

_MEASURED = (FactState.VERIFIED, FactState.UNSUPPORTED)
_DECISION = ("state", "reason", "stated", "confidence", "verification")


def write(facts: MemoryTables, queue: MemoryQueue, new: NewFact) -> str:
    """Write a fact, and return its id in the database.

    If the same fact is stored already, it gets the higher tier, and the decision unless it is
    verified. Contradicted facts may be gone meanwhile; `InputError` if one that it rests on is.
    """
    while True:
        put = facts.put(new)
        if put.missing:
            for label, target in new.links:
                if label == DEPENDS_ON and target in put.missing:
                    raise no_fact(target)
            kept = [link for link in new.links if link[1] not in put.missing]
            new = replace(new, links=kept)
            continue
        if put.same is None:
            return str(new.fact["id"])
        if _merge(facts, queue, new, put.same) or put.same == new.fact["id"]:
            return put.same
        # The stored one was retracted or deleted meanwhile: the next attempt finds none.


def _merge(facts: MemoryTables, queue: MemoryQueue, new: NewFact, same: str) -> bool:
    """Add a fact to the same one, and return whether that is still stored."""
    found = facts.find(Filter(ids=[same], retracted=False, limit=1))
    if not found:
        return False
    done = _merged(new, found[0], queued=queue.row(same) is not None)
    return done is None or queue.settle(same, done)


def _merged(new: NewFact, stored: Row, *, queued: bool) -> Settled | None:
    """Return the change of a stored fact by the same new one; None if there is none."""
    goal = max(stored["tier"], new.fact["tier"], key=TIERS.index)
    higher = goal != stored["tier"]
    verified = stored["state"] == FactState.VERIFIED
    if new.queue is not None:  # not measured: it goes up once it is
        if higher or not (verified or queued):
            return Settled(queue=new.queue | {"tier": goal if higher else None})
        return None
    if new.fact["state"] in _MEASURED and not verified:
        changes = {name: new.fact[name] for name in _DECISION} | {"tier": goal}
        links = [link for link in new.links if link[0] != DEPENDS_ON]
        return Settled(changes=changes, links=links)
    return Settled(changes={"tier": goal}, keeps_place=True) if higher else None
