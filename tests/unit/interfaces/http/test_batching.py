from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.cancellation import cancellable
from veridical.core.measurements import (
    BackendInfo,
    Measurement,
    Query,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import BackendError
from veridical.interfaces.http.batching import Batching, Deadlined, Observed
from veridical.telemetry import BackendAsked, Event, Telemetry
from veridical.testing import FAKE, FakeBackend, check_backend, fake_estimate


class Slow:
    """Takes its time, and notes its batches."""

    info: BackendInfo = FAKE

    def __init__(self, seconds: float = 0.0) -> None:
        self.batches: list[list[str]] = []
        self.seconds = seconds
        self.at_once = 0

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.at_once += 1
        assert self.at_once == 1
        self.batches.append([query.claim for query in queries])
        await asyncio.sleep(self.seconds)
        self.at_once -= 1
        return [fake_estimate(int(query.claim.partition(".")[2] or 0) / 1000) for query in queries]


def queries(name: str, count: int) -> list[Query]:
    return [Query(f"{name}.{number}", "context") for number in range(count)]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(1, 20))
def test_each_request_gets_its_own_answers_in_order(sizes: list[int], most: int) -> None:
    async def run() -> None:
        backend = Slow()
        batching = Batching(backend, most)
        found = await asyncio.gather(
            *(batching.estimate(queries(str(i), size)) for i, size in enumerate(sizes))
        )
        for size, measured in zip(sizes, found, strict=True):
            assert list(measured) == [fake_estimate(n / 1000) for n in range(size)]
        assert sum(map(len, backend.batches)) == sum(sizes)
        assert max(map(len, backend.batches), default=0) <= most
        assert batching.waiting == 0

    anyio.run(run)


def test_requests_share_a_batch_and_a_small_one_does_not_wait_for_a_large_one() -> None:
    async def run() -> list[str]:
        backend, done = Slow(0.002), list[str]()
        batching = Batching(backend, 8)

        async def ask(name: str, count: int) -> None:
            await batching.estimate(queries(name, count))
            done.append(name)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "large", 80)
            tasks.start_soon(ask, "small", 2)
        assert any({"large", "small"} == {q.partition(".")[0] for q in b} for b in backend.batches)
        return done

    assert anyio.run(run) == ["small", "large"]


def test_what_nobody_waits_for_any_more_is_not_asked() -> None:
    async def run() -> None:
        backend = Slow(0.01)
        batching = Batching(backend, 4)
        gone = asyncio.create_task(batching.estimate(queries("gone", 100)))
        await asyncio.sleep(0.005)
        gone.cancel()
        await batching.estimate(queries("here", 4))
        assert sum(len(batch) for batch in backend.batches) <= 12

    anyio.run(run)


def test_a_backend_that_cannot_start_is_an_error_for_each_and_the_next_is_asked_again() -> None:
    class Broken(Slow):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            if not self.batches:
                self.batches.append([])
                msg = "damaged"
                raise BackendError(msg)
            return await super().estimate(queries)

    async def run() -> None:
        batching = Batching(Broken(), 50)
        found = await asyncio.gather(
            *(batching.estimate(queries("a", 3)) for _ in range(2)), return_exceptions=True
        )
        assert [type(one) for one in found] == [BackendError, BackendError]
        assert len(await batching.estimate(queries("b", 3))) == 3  # type: ignore[arg-type]

    anyio.run(run)


def test_the_promises_of_the_port_are_kept() -> None:
    backend = FakeBackend(lambda query: fake_estimate(0.9 if "1998" in query.claim else 0.1))
    anyio.run(check_backend, Deadlined(Batching(Observed(backend, Telemetry()), 2)))


@pytest.mark.spec("SPEC-08.43")
def test_what_is_late_is_a_timeout_and_the_host_goes_on() -> None:
    async def run() -> None:
        backend = Deadlined(Slow(60))
        started = time.monotonic()
        with cancellable(0.05):
            measured = await backend.estimate(queries("a", 3))
        assert time.monotonic() - started < 20
        assert [type(one) for one in measured] == [Unmeasured] * 3
        assert {one.reason for one in measured if isinstance(one, Unmeasured)} == {
            UnmeasuredReason.TIMEOUT
        }

    anyio.run(run)


def test_at_the_end_of_the_service_deadlines_are_moved_up() -> None:
    async def run() -> None:
        backend = Deadlined(Slow(60))
        with cancellable(60):
            asked = asyncio.create_task(backend.estimate(queries("a", 1)))
            await asyncio.sleep(0.01)
            backend.hasten(0.05)
            (measured,) = await asyncio.wait_for(asked, 2)
        assert isinstance(measured, Unmeasured)

    anyio.run(run)


def test_telemetry_hears_of_each_batch_in_numbers() -> None:
    events: list[Event] = []

    class Sink:
        def take(self, event: Event, /) -> None:
            events.append(event)

    async def run() -> None:
        await Observed(Slow(), Telemetry([Sink()])).estimate(queries("a", 3))

    anyio.run(run)
    (event,) = events
    assert isinstance(event, BackendAsked)
    assert (event.backend, event.queries, event.cached, event.unmeasured) == ("fake", 3, 0, 0)
