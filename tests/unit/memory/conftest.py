"""Backend that reads its answers out of the facts, and gates on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.memory import GatePolicy, Memory, MemoryGate
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

NewMemory = Callable[..., Memory]


def answer(query: Query) -> Measurement:
    """Return the answer stated in the claim: supported by its evidence unless it states another."""
    if "hangs" in query.claim:
        time.sleep(0.6)  # holds up the event loop
    if "limited" in query.claim:
        return Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=3600.0)
    if "broken" in query.claim:
        msg = "SECRET"
        raise RuntimeError(msg)
    if "denied" in query.claim and "evidence" in query.context:
        return fake_estimate(0.01, 0.95)
    if {"red", "blue"} <= {*query.claim.split(), *query.context.split()}:
        return fake_estimate(0.01, 0.95)
    if "[EVIDENCE REMOVED]" in query.context or not query.context:
        return fake_estimate(0.3)
    return fake_estimate(0.4 if "weak" in query.claim else 0.97)


def gate_of(
    backend: FakeBackend, *, timeout_s: float = 20.0, rules: GatePolicy | None = None
) -> MemoryGate:
    gate = MemoryGate(Verifier(backend), backend, rules=rules, timeout_s=timeout_s)
    gate.warm_up()
    return gate


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend(answer)


@pytest.fixture
def new_memory(tmp_path: Path, backend: FakeBackend) -> Iterator[NewMemory]:
    """Make memories on one file that are closed when the test ends."""
    made: list[Memory] = []

    def create(*, gated: bool = True, timeout_s: float = 20.0, **rules: object) -> Memory:
        chosen = GatePolicy(**rules) if rules else None  # type: ignore[arg-type]
        gate = gate_of(backend, timeout_s=timeout_s, rules=chosen) if gated else None
        made.append(Memory(f"sqlite:///{tmp_path}/memory.db", gate))
        return made[-1]

    yield create
    for memory in made:
        memory.close()


@pytest.fixture
def memory(new_memory: NewMemory) -> Memory:
    return new_memory()
