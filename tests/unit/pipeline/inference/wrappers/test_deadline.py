from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.wrappers.base import batches_by_context, run_bounded
from veridical.pipeline.inference.wrappers.deadline import Deadline
from veridical.testing import FakeBackend, check_backend, fake_estimate

GOOD = fake_estimate(0.9)


@dataclass
class Sleepy(FakeBackend):
    """Backend that takes the seconds given in the claim of its slowest query."""

    batches: list[list[Query]] = field(default_factory=list)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.batches.append(list(queries))
        await anyio.sleep(max(float(query.claim) for query in queries))
        return await super().estimate(queries)


def sleepy() -> Sleepy:
    return Sleepy(lambda _: GOOD)


@pytest.mark.spec("SPEC-08.42")
@pytest.mark.spec("SPEC-08.43")
def test_what_is_back_in_time_is_kept_and_the_rest_is_a_timeout() -> None:
    queries = [Query(claim, "context") for claim in ("0", "60", "0.01", "60")]
    started = perf_counter()
    found = anyio.run(Deadline(sleepy(), seconds=0.5).estimate, queries)
    assert perf_counter() - started < 20
    late = Unmeasured(UnmeasuredReason.TIMEOUT, "no answer within 0.5 s")
    assert found == [GOOD, late, GOOD, late]


def test_a_batch_goes_out_in_pieces_that_share_a_context() -> None:
    queries = [Query("0", f"context {i % 2}") for i in range(6)]
    backend = sleepy()
    anyio.run(Deadline(backend, seconds=5, batch=3).estimate, queries)
    assert backend.batches == [queries[::2], queries[1::2]]


def test_no_more_pieces_than_allowed_are_under_way() -> None:
    under_way, most = 0, 0

    class Counting(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await anyio.sleep(0.001)
            under_way -= 1
            return await super().estimate(queries)

    backend = Deadline(Counting(lambda _: GOOD), seconds=5, at_once=3)
    found = anyio.run(backend.estimate, [Query("claim", str(i)) for i in range(20)])
    assert found == [GOOD] * 20
    assert most == 3


def test_a_step_in_a_thread_is_not_waited_for() -> None:
    go = threading.Event()

    class Threaded(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await anyio.to_thread.run_sync(go.wait, 30)
            return await super().estimate(queries)

    backend = Deadline(Threaded(lambda _: GOOD), seconds=0.02, at_once=1)

    async def scene() -> Sequence[Measurement]:
        found = await backend.estimate([Query("claim", str(i)) for i in range(5)])
        go.set()
        return found

    started = perf_counter()
    assert all(isinstance(measurement, Unmeasured) for measurement in anyio.run(scene))
    assert perf_counter() - started < 20


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_backend_that_ignores_its_cancellation_is_cancelled_once_and_left_alone(
    pieces: int,
) -> None:
    ignored: list[str] = []

    class Stubborn(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            while len(ignored) < 1000 and not over.is_set():
                try:
                    await asyncio.sleep(60 if not ignored else 0.01)
                except asyncio.CancelledError:
                    ignored.append(queries[0].context)
            return []

    async def scene() -> None:
        backend = Deadline(Stubborn(lambda _: GOOD), seconds=0.05)
        found = await backend.estimate([Query("claim", str(n)) for n in range(pieces)])
        assert {each.reason for each in found if isinstance(each, Unmeasured)} == {
            UnmeasuredReason.TIMEOUT
        }
        # A loop that cancels again and again leaves other threads of the host no time.
        await asyncio.sleep(0.1)
        over.set()
        await asyncio.sleep(0.1)

    over = threading.Event()
    anyio.run(scene)
    assert len(ignored) == pieces


def test_a_backend_that_cannot_be_used_is_told_as_it_is() -> None:
    def broken(_: Query) -> Measurement:
        msg = "the weights are damaged"
        raise BackendError(msg)

    queries = [Query("claim", str(i)) for i in range(3)]
    for at_once in (1, 8):
        backend = Deadline(FakeBackend(broken), seconds=5, at_once=at_once)
        with pytest.raises(BackendError, match="damaged"):
            anyio.run(backend.estimate, queries)


def test_a_cancelled_call_ends() -> None:
    async def scene() -> bool:
        with anyio.move_on_after(0.02) as scope:
            await Deadline(sleepy(), seconds=60).estimate([Query("60", "a"), Query("60", "b")])
        return scope.cancelled_caught

    assert anyio.run(scene)


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"seconds": 1, "batch": 0}])
def test_a_deadline_that_makes_no_sense_is_a_configuration_error(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="a deadline needs"):
        Deadline(sleepy(), **wrong)


def test_a_backend_with_a_deadline_keeps_the_promises_of_the_port() -> None:
    anyio.run(check_backend, Deadline(FakeBackend(lambda _: GOOD), seconds=60, at_once=2))
    never = FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT))
    anyio.run(check_backend, Deadline(never, seconds=60, batch=4))


# --- pieces ----------------------------------------------------------------------------------

queries = st.lists(st.builds(Query, st.just("claim"), st.sampled_from("abcdef")))


@given(queries, st.integers(1, 10))
def test_pieces_hold_every_query_once_and_no_more_than_their_size(
    batch: list[Query], size: int
) -> None:
    found = batches_by_context(batch, size)
    assert sorted(i for piece in found for i in piece) == list(range(len(batch)))
    assert all(1 <= len(piece) <= size for piece in found)


@given(queries, st.integers(1, 10))
def test_a_context_is_split_only_if_it_has_more_queries_than_a_piece_holds(
    batch: list[Query], size: int
) -> None:
    found = batches_by_context(batch, size)
    for context in {query.context for query in batch}:
        group = [i for i, query in enumerate(batch) if query.context == context]
        holding = [piece for piece in found if set(piece) & set(group)]
        assert len(holding) == -(-len(group) // size)


@given(queries, st.integers(1, 10))
def test_a_piece_is_one_request_and_that_has_one_context(batch: list[Query], size: int) -> None:
    assert all(
        len({batch[i].context for i in piece}) == 1 for piece in batches_by_context(batch, size)
    )


def test_nothing_to_do_is_done_at_once() -> None:
    async def work(_: list[int]) -> None:
        pytest.fail("there is no piece")

    async def nothing() -> None:
        await run_bounded([], work, at_once=3)

    anyio.run(nothing)
