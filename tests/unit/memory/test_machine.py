"""Memory and gate against a dictionary that does the same, over histories made up by chance."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import InputError
from veridical.memory import FactOutcome, FactState, Memory, MemoryGate, Tier
from veridical.pipeline.evidence.scrubbing import MARKER
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

EVIDENCE = {"S1": "A text that speaks of it."}
TIERS = list(Tier)
ENTITIES = ("ada", "Bob", "the 3rd")
KINDS = ("broken", "carried", "limited", "weak", "denied")
LEAST = 0.5
FACT: dict[str, Any] = {
    "kind": st.sampled_from(KINDS),
    "again": st.sampled_from([" weak", ""]),
    "entities": st.sets(st.sampled_from(ENTITIES)),
    "tier": st.sampled_from(TIERS),
    "stated": st.sampled_from([0.9, 0.95, 0.5, 0.4, 0.0]),
    "gated": st.sampled_from([True, True, True, False]),
}


@dataclass
class Known:
    """Reference state of a fact."""

    text: str
    entities: frozenset[str]
    tier: Tier
    state: FactState
    confidence: float
    stated: float
    rests_on: set[str]
    retracted: bool = False
    goal: Tier | None = None
    waits: bool = False


@dataclass
class Reference:
    """A memory without a database."""

    facts: dict[str, Known] = field(default_factory=dict)
    rejected: int = 0

    def retract(self, fact_id: str) -> set[str]:
        gone, front = set[str](), {fact_id}
        while front:
            new = {key for key in front if not self.facts[key].retracted}
            for key in new:
                self.facts[key].retracted, self.facts[key].waits = True, False
            gone |= new
            front = {key for key, fact in self.facts.items() if fact.rests_on & new}
        return gone

    def remove(self, fact_id: str) -> None:
        self.retract(fact_id)
        del self.facts[fact_id]
        for fact in self.facts.values():
            fact.rests_on.discard(fact_id)


class MemoryMachine(RuleBasedStateMachine):
    ids = Bundle("ids")

    @initialize()
    def begin(self) -> None:
        self.well = False
        self.number = 0
        self.folder = Path(tempfile.mkdtemp())
        backend = FakeBackend(self.answer)
        self.gate = MemoryGate(Verifier(backend), backend, timeout_s=60.0)
        url = f"sqlite:///{self.folder}/memory.db"
        self.memory, self.ungated = Memory(url, self.gate), Memory(url)
        self.reference = Reference()

    def answer(self, query: Query) -> Measurement:
        if "broken" in query.claim and not self.well:
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR)
        if "limited" in query.claim and not self.well:
            return Unmeasured(UnmeasuredReason.RATE_LIMITED)
        if MARKER in query.context:
            return fake_estimate(0.3)
        if "denied" in query.claim:
            return fake_estimate(0.01, 0.95)
        return fake_estimate(0.4 if "weak" in query.claim else 0.97)

    @rule(target=ids, **FACT)
    def remember(self, **arguments: Any) -> object:  # noqa: ANN401 -- those of FACT
        return self._remember(rests_on=[], **arguments)

    # A bundle within a strategy would be drawn from while it is empty, which is an invalid example.
    @rule(target=ids, first=ids, second=ids, **FACT)
    def remember_what_rests_on(
        self,
        *,
        first: str,
        second: str,
        **arguments: Any,  # noqa: ANN401 -- those of FACT
    ) -> object:
        return self._remember(rests_on=list(dict.fromkeys([first, second])), **arguments)

    @precondition(lambda self: self.waiting())
    @rule(target=ids, pick=st.integers(0, 9), **FACT)
    def remember_what_rests_on_what_waits(
        self,
        *,
        pick: int,
        **arguments: Any,  # noqa: ANN401 -- those of FACT
    ) -> object:
        waiting = self.waiting()
        return self._remember(rests_on=[waiting[pick % len(waiting)]], **arguments)

    def waiting(self) -> list[str]:
        return [key for key, fact in self.reference.facts.items() if fact.waits]

    def _remember(  # noqa: PLR0913 -- what a fact consists of
        self,
        *,
        kind: str,
        again: str,
        entities: set[str],
        tier: Tier,
        stated: float,
        gated: bool,
        rests_on: list[str],
    ) -> object:
        self.number += 1
        # In letters: facts that differ in a number alone oppose each other.
        name = "".join("abcdefghij"[int(digit)] for digit in str(self.number))
        text = f"Fact {name} is {kind}{again}"
        memory = self.memory if gated else self.ungated
        arguments = {"entities": sorted(entities), "tier": tier, "confidence": stated}
        if any(each not in self.live() for each in rests_on):
            with pytest.raises(InputError):
                memory.remember(text, EVIDENCE, depends_on=rests_on, **arguments)
            return multiple()
        done = memory.remember(text, EVIDENCE, depends_on=rests_on, **arguments)
        state, confidence, waits = self.expected(kind + again, stated, gated=gated)
        if state is None:
            assert done.outcome is FactOutcome.REJECTED
            self.reference.rejected += 1
            return multiple()
        assert done.fact is not None
        assert done.outcome is (
            FactOutcome.QUEUED if state is FactState.QUEUED else FactOutcome.STORED
        )
        known = Known(
            text, frozenset(entities), tier, state, confidence, stated, set(rests_on), waits=waits
        )
        self.reference.facts[done.fact.id] = known
        return done.fact.id

    def expected(
        self, kind: str, stated: float, *, gated: bool
    ) -> tuple[FactState | None, float, bool]:
        """Return state (None: rejected), confidence, and whether it waits."""
        if not gated:
            return FactState.UNVERIFIED, stated, False
        if not self.well and "broken" in kind:
            return FactState.UNVERIFIED, stated / 2, True
        if not self.well and "limited" in kind:
            return FactState.QUEUED, stated / 2, True
        carried = "weak" not in kind and "denied" not in kind and stated >= LEAST
        return (FactState.VERIFIED if carried else None), stated, False

    @rule(fact_id=ids)
    def retract(self, fact_id: str) -> None:
        if fact_id not in self.reference.facts:
            with pytest.raises(InputError):
                self.memory.retract(fact_id)
            return
        gone = {fact.id for fact in self.memory.retract(fact_id)}
        assert gone == self.reference.retract(fact_id)

    @rule(first=ids, second=ids)
    def depend(self, first: str, second: str) -> None:
        if {first, second} <= self.live():
            self.memory.link(first, "depends_on", second)
            self.reference.facts[first].rests_on.add(second)
        else:
            with pytest.raises(InputError):
                self.memory.link(first, "depends_on", second)

    @rule(fact_id=ids, tier=st.sampled_from(TIERS), gated=FACT["gated"])
    def promote(self, *, fact_id: str, tier: Tier, gated: bool) -> None:
        known = self.reference.facts.get(fact_id)
        if known is None or known.retracted or TIERS.index(tier) <= TIERS.index(known.tier):
            return
        if not gated:
            assert self.ungated.promote(fact_id, tier).pending == known.waits
            known.tier = tier
            return
        done = self.memory.promote(fact_id, tier)
        state, confidence, waits = self.expected(known.text, known.stated, gated=True)
        assert done.pending == waits
        if waits:
            known.waits, known.goal = True, max(tier, known.goal or tier, key=TIERS.index)
        elif state is None:
            self.reference.rejected += 1
            if known.state is FactState.QUEUED:
                assert done.fact is None
                self.reference.remove(fact_id)
                return
            known.state, known.waits, known.goal = FactState.UNSUPPORTED, False, None
            known.confidence = done.confidence
        else:
            known.state, known.confidence = state, confidence
            known.tier = max(tier, known.goal or tier, key=TIERS.index)
            known.waits, known.goal = False, None

    @rule(well=st.sampled_from([True, True, False]))
    def work(self, *, well: bool) -> None:
        self.well = well
        due = sorted(self.memory.pending(), key=lambda each: each.due)
        waiting = {each.fact_id: self.reference.facts[each.fact_id] for each in due}
        self.memory.verify_pending(early=True)
        for key, fact in waiting.items():
            if key not in self.reference.facts or fact.retracted:
                continue  # gone with one that was rejected
            state, confidence, waits = self.expected(fact.text, fact.stated, gated=True)
            if waits:
                continue
            if state is None:
                self.reference.rejected += 1
                if fact.goal is None or fact.state is FactState.QUEUED:
                    self.reference.remove(key)
                else:
                    fact.state, fact.confidence = (
                        FactState.UNSUPPORTED,
                        self.memory.get(key).confidence,
                    )
            else:
                fact.state, fact.confidence = state, confidence
                fact.tier = max(fact.tier, fact.goal or fact.tier, key=TIERS.index)
            fact.waits, fact.goal = False, None
        self.well = False

    def live(self) -> set[str]:
        return {key for key, fact in self.reference.facts.items() if not fact.retracted}

    @invariant()
    def the_memory_is_the_reference(self) -> None:
        if not hasattr(self, "memory"):
            return
        found = self.memory.facts(everything=True, limit=1000)
        assert {
            fact.id: (fact.text, fact.tier, fact.state, fact.confidence, bool(fact.retracted))
            for fact in found
        } == {
            key: (fact.text, fact.tier, fact.state, fact.confidence, fact.retracted)
            for key, fact in self.reference.facts.items()
        }
        assert {each.fact_id for each in self.memory.pending()} == {
            key for key, fact in self.reference.facts.items() if fact.waits
        }
        assert len(self.memory.rejections(limit=1000)) == self.reference.rejected

    @invariant()
    def what_is_found_by_an_entity_is_about_it(self) -> None:
        if not hasattr(self, "memory"):
            return
        for name in ENTITIES:
            found = {fact.id for fact in self.memory.facts(entities=name.upper())}
            assert found == {
                key
                for key in self.live()
                if name in self.reference.facts[key].entities
                and self.reference.facts[key].state is not FactState.QUEUED
            }

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            self.ungated.close()
            shutil.rmtree(self.folder)


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestMemory.pytestmark = [pytest.mark.slow, pytest.mark.spec("SPEC-08.15", "SPEC-08.18")]
