from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import pytest

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError, MissingExtraError
from veridical.pipeline.inference.wrappers.breaker import OPEN, Breaker, Circuit
from veridical.pipeline.inference.wrappers.deadline import Deadline
from veridical.testing import FakeBackend, check_backend, fake_estimate

GOOD = fake_estimate(0.9)
DOWN = Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 503")
QUERY = Query("claim", "context")


@dataclass
class Service(FakeBackend):
    """A service that is up or down."""

    up: bool = False
    seconds: float = 0.0
    calls: int = 0

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.calls += 1
        await anyio.sleep(self.seconds)
        return await super().estimate(queries)


def service(*, up: bool = False, seconds: float = 0.0) -> Service:
    made = Service(lambda _: GOOD if made.up else DOWN, up=up, seconds=seconds)
    return made


async def ask(breaker: Breaker, times: int = 1) -> list[Measurement]:
    return [measurement for _ in range(times) for measurement in await breaker.estimate([QUERY])]


@pytest.mark.spec("SPEC-08.42")
def test_after_enough_failures_the_service_is_left_alone() -> None:
    down = service()
    breaker = Breaker(down, failures=3)
    found = anyio.run(ask, breaker, 10)
    assert down.calls == 3
    assert found[:3] == [DOWN] * 3
    assert breaker.state is Circuit.OPEN
    for refused in found[3:]:
        assert isinstance(refused, Unmeasured)
        assert (refused.reason, refused.detail) == (UnmeasuredReason.BACKEND_ERROR, OPEN)
        assert refused.retry_after_s == pytest.approx(30, abs=25)


def test_a_success_in_between_starts_the_count_again() -> None:
    flaky = service()
    breaker = Breaker(flaky, failures=3)

    async def scene() -> None:
        for up in (False, False, True, False, False, True):
            flaky.up = up
            await ask(breaker)

    anyio.run(scene)
    assert breaker.state is Circuit.CLOSED
    assert flaky.calls == 6


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (UnmeasuredReason.TIMEOUT, Circuit.OPEN),
        (UnmeasuredReason.BACKEND_ERROR, Circuit.OPEN),
        (UnmeasuredReason.RATE_LIMITED, Circuit.CLOSED),
        (UnmeasuredReason.MALFORMED_REPLY, Circuit.CLOSED),
        (UnmeasuredReason.CONTEXT_TOO_LONG, Circuit.CLOSED),
    ],
)
def test_only_silence_and_errors_open_the_circuit(reason: UnmeasuredReason, state: Circuit) -> None:
    breaker = Breaker(FakeBackend(lambda _: Unmeasured(reason)), failures=2)
    anyio.run(ask, breaker, 3)
    assert breaker.state is state


def test_a_call_that_is_measured_in_part_is_no_failure() -> None:
    mixed = FakeBackend(lambda q: GOOD if q is QUERY else DOWN)
    breaker = Breaker(mixed, failures=1)
    assert anyio.run(breaker.estimate, [QUERY, Query("other", "context")]) == [GOOD, DOWN]
    assert breaker.state is Circuit.CLOSED


def elapse(breaker: Breaker) -> None:
    """Let the time pass after which one call is tried."""
    breaker._opened -= breaker._reset_s


def test_after_a_while_one_call_is_tried_and_decides() -> None:
    recovering = service()
    breaker = Breaker(recovering, failures=1, reset_s=3600)

    async def scene() -> None:
        await ask(breaker)
        elapse(breaker)
        assert breaker.state is Circuit.HALF_OPEN
        assert await ask(breaker) == [DOWN]
        assert breaker.state is Circuit.OPEN
        elapse(breaker)
        recovering.up = True
        assert await ask(breaker, 3) == [GOOD] * 3
        assert breaker.state is Circuit.CLOSED

    anyio.run(scene)


def test_while_one_call_is_tried_no_other_goes_through() -> None:
    recovering = service(seconds=0.05)
    breaker = Breaker(recovering, failures=1, reset_s=3600)
    found: list[Measurement] = []

    async def one() -> None:
        found.extend(await ask(breaker))

    async def scene() -> None:
        await ask(breaker)
        elapse(breaker)
        recovering.up = True
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(one)

    anyio.run(scene)
    assert found == [*[Unmeasured(UnmeasuredReason.BACKEND_ERROR, OPEN)] * 3, GOOD]
    assert recovering.calls == 2


def test_a_trial_that_is_cancelled_makes_room_for_another() -> None:
    recovering = service()
    breaker = Breaker(recovering, failures=1, reset_s=0.0)

    async def scene() -> list[Measurement]:
        await ask(breaker)
        recovering.seconds = 60
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, breaker)
            await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        recovering.seconds, recovering.up = 0, True
        return await ask(breaker)

    assert anyio.run(scene) == [GOOD]


def test_a_service_that_hangs_until_the_deadline_opens_the_circuit() -> None:
    breaker = Breaker(service(seconds=60), failures=3)
    backend = Deadline(breaker, seconds=0.1)
    anyio.run(backend.estimate, [Query("claim", str(i)) for i in range(4)])
    assert breaker.state is Circuit.OPEN


def test_a_deadline_that_is_merely_short_does_not_open_the_circuit() -> None:
    breaker = Breaker(service(up=True, seconds=0.01), failures=3)
    backend = Deadline(breaker, seconds=1.5, at_once=2)
    found = anyio.run(backend.estimate, [Query("claim", str(i)) for i in range(500)])
    assert GOOD in found
    assert found[-1] != GOOD
    assert breaker.state is Circuit.CLOSED


def test_a_missing_extra_is_told_each_time() -> None:
    def missing(_: Query) -> Measurement:
        msg = "the SDK is not installed"
        raise MissingExtraError(msg)

    breaker = Breaker(FakeBackend(missing), failures=1, reset_s=60)
    for _ in range(3):
        with pytest.raises(MissingExtraError):
            anyio.run(ask, breaker)


@pytest.mark.parametrize("wrong", [{"failures": 0}, {"reset_s": -1}])
def test_a_breaker_that_makes_no_sense_is_a_configuration_error(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="circuit breaker needs"):
        Breaker(service(), **wrong)  # type: ignore[arg-type]


def test_a_backend_with_a_breaker_keeps_the_promises_of_the_port() -> None:
    anyio.run(check_backend, Breaker(service(up=True)))
    anyio.run(check_backend, Breaker(service(), failures=1))
