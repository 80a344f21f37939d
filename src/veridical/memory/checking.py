"""Collection of the evidence for a fact, and of the stored facts to compare it with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING

from veridical.core.measurements import UnmeasuredReason
from veridical.errors import InputError, StoreLockedError
from veridical.memory.decision import REDUCTION, FactState, accept_unverified, unmeasured
from veridical.memory.gate import GateResult
from veridical.memory.rows import ensure_storable, entity_key, to_fact, words
from veridical.pipeline.judgement.contradictions import content_words
from veridical.store.database import within
from veridical.store.memory import Filter
from veridical.store.memory_tables import DEPENDS_ON

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from veridical.memory.gate import MemoryGate
    from veridical.memory.values import Fact
    from veridical.store.memory import MemoryTables

NEAREST = 5
"""Limit of the stored facts that a new one is compared with."""

UNSTATED = 0.95
"""Stated confidence of a fact that states none, where no policy sets one."""

_FOUND = 20
_SHARED = 2
_SOUGHT = 30
_SHORT = 3
_LEAST_S = 0.05

RESERVED_S = 0.1
"""Seconds reserved for writing a fact, of the time limit of remembering it."""

WRITTEN_PER_S = 20e6
"""Characters of sources written per second, a low estimate: longer ones get more time."""

READ_PER_S = 4e5
"""Characters of sources split and searched per second; facts with more are queued."""

_REMEMBERED = tuple(state.value for state in FactState if state is not FactState.QUEUED)


class Checker:
    """Verification of facts by the gate, with their evidence and related stored facts."""

    def __init__(self, facts: MemoryTables, gate: MemoryGate | None) -> None:
        self._facts = facts
        self.gate = gate

    def check(  # noqa: PLR0913 -- a fact, its evidence, its time
        self,
        text: str,
        evidence: Mapping[str, str],
        stated: float | None,
        *,
        keys: Collection[str],
        without: Collection[str],
        started: float,
        timeout_s: float | None = None,
    ) -> GateResult:
        """Return the gate's result within `timeout_s` seconds of `started` (by `perf_counter`).

        `keys` are the fact's entities, `without` ids of facts that it is not compared with.
        """
        if self.gate is None:
            return GateResult(accept_unverified(UNSTATED * REDUCTION if stated is None else stated))
        whole = timeout_s or self.gate.timeout_s
        others: Mapping[str, str] = {}
        # The facts to compare with may be locked; the fact itself is verified all the same.
        with suppress(StoreLockedError), within(whole / 4 - (perf_counter() - started)):
            others = self._comparable(text, keys, without) if evidence else {}
        size = sum(map(len, evidence.values()))
        reserved = min(RESERVED_S + size / WRITTEN_PER_S, whole / 4)
        left = whole - reserved - (perf_counter() - started)
        if size > READ_PER_S * max(left, whole / 4):
            # Begun and given up, it would take the processor from writing the fact down.
            return GateResult(unmeasured(UnmeasuredReason.TIMEOUT, self.gate.stated(stated)))
        return self.gate.check(text, evidence, stated, others=others, timeout_s=max(left, _LEAST_S))

    def check_again(
        self,
        fact: Fact,
        evidence: Mapping[str, str],
        *,
        started: float,
        timeout_s: float | None = None,
    ) -> GateResult:
        """Return the gate's result for a stored fact, which is not compared with itself."""
        return self.check(
            fact.text,
            evidence,
            fact.stated_confidence,
            keys=entity_keys(fact),
            without=[fact.id, *self.rests_on(fact.id)],
            started=started,
            timeout_s=timeout_s,
        )

    def fact(self, fact_id: str) -> Fact:
        """Return the fact of an id, retracted or not; `InputError` if there is none."""
        ensure_id(fact_id)
        found = self._facts.find(Filter(ids=[fact_id], limit=1))
        if not found:
            raise no_fact(fact_id)
        return to_fact(found[0])

    def evidence(self, texts: Mapping[str, str], rests_on: Collection[str]) -> dict[str, str]:
        """Return the evidence of a fact by id: its sources, and the verified facts it rests on.

        `InputError` if it rests on a fact that is missing or was retracted.
        """
        if not rests_on:
            return dict(texts)
        rows = self._facts.find(Filter(ids=rests_on, retracted=False, limit=len(rests_on)))
        found = {row["id"]: to_fact(row) for row in rows}
        if gone := [each for each in rests_on if each not in found]:
            raise no_fact(gone[0])
        verified = {key: fact for key, fact in found.items() if fact.state is FactState.VERIFIED}
        return {**texts, **{key: fact.text for key, fact in verified.items()}}

    def evidence_of(self, fact: Fact) -> dict[str, str]:
        """Return the evidence of a stored fact by id."""
        texts = {key: data.decode() for key, data in self._facts.texts(fact.id).items()}
        return self.evidence(texts, self.rests_on(fact.id))

    def rests_on(self, fact_id: str) -> list[str]:
        """Return the facts that a fact depends on."""
        return [
            link["target"]
            for link in self._facts.links(fact_id)
            if link["source"] == fact_id and link["label"] == DEPENDS_ON
        ]

    def _comparable(
        self, text: str, keys: Collection[str], without: Collection[str]
    ) -> dict[str, str]:
        """Return the stored facts that a new one might contradict, by id, the nearest first."""
        now = datetime.now(UTC)
        wanted = Filter(states=_REMEMBERED, at=now, retracted=False, limit=_FOUND)
        about = (
            self._facts.brief(replace(wanted, entities=tuple(keys), any_entity=True))
            if keys
            else {}
        )
        content = content_words(text)
        alike = self._facts.brief(replace(wanted, words=_sought(text), any_word=True))
        shared = {
            key: len(content & content_words(other)) for key, other in (about | alike).items()
        }
        enough = max(min(_SHARED, (len(content) + 1) // 2), 1)
        near = [
            key
            for key in sorted(shared, key=lambda key: -shared[key])
            if key not in without and (key in about or shared[key] >= enough)
        ]
        texts = {key: (about | alike)[key] for key in near}
        return dict([(key, other) for key, other in texts.items() if other != text][:NEAREST])


def _sought(text: str) -> list[str]:
    """Return the search words for related facts: long words and numbers, else all words."""
    found = words(text)
    telling = [word for word in found if len(word) > _SHORT or word[0].isdigit()]
    return (telling or found)[:_SOUGHT]


def ensure_id(fact_id: object) -> None:
    """Raise `InputError` unless a value can be the id of a fact."""
    ensure_storable(fact_id, "the id of a fact")


def no_fact(fact_id: str) -> InputError:
    """Return the error for the id of a missing or retracted fact."""
    msg = f"there is no fact {fact_id[:40]!r} in this memory"
    error = InputError(msg, hint="`veridical memory list` shows the ids; retracted facts are gone")
    error.unquoted = "there is no such fact in this memory"
    return error


def entity_keys(fact: Fact) -> tuple[str, ...]:
    """Return the normalised keys of a fact's entities."""
    return tuple(entity_key(each) for each in fact.entities)
