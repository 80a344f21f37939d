from __future__ import annotations

import contextvars
import math
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.cancellation import (
    Cancellation,
    cancellable,
    checkpoint,
    deadline,
    in_pieces,
    remaining,
)
from veridical.errors import TimeLimitError


def test_without_a_deadline_work_goes_on() -> None:
    checkpoint()
    with cancellable():
        checkpoint()
    assert deadline() == remaining() == math.inf


def test_cancelled_work_ends_at_its_next_unit() -> None:
    with cancellable() as work:
        checkpoint()
        work.cancel()
        with pytest.raises(TimeLimitError):
            checkpoint()
    checkpoint()


def test_work_ends_at_its_deadline() -> None:
    with cancellable(0.0), pytest.raises(TimeLimitError, match="deadline"):
        checkpoint()


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=5))
def test_the_nearest_deadline_around_the_work_counts(seconds: list[float]) -> None:
    started = time.monotonic()
    scopes = [cancellable(each) for each in seconds]
    for scope in scopes:
        scope.__enter__()
    found = deadline() - started
    for scope in reversed(scopes):
        scope.__exit__(None, None, None)
    assert found == pytest.approx(min(seconds), abs=0.5)


def test_the_end_of_the_whole_is_the_end_of_its_parts() -> None:
    whole = Cancellation()
    with cancellable(60, parent=whole):
        checkpoint()
        whole.hasten(0.0)
        with pytest.raises(TimeLimitError):
            checkpoint()


def test_work_is_never_given_more_time() -> None:
    with cancellable(0.0) as work:
        work.hasten(60)
        assert remaining() == 0.0


def test_a_parent_stands_in_for_the_cancellation_around() -> None:
    with cancellable(0.0), cancellable(60, parent=Cancellation()):
        checkpoint()


def test_a_thread_with_the_context_of_the_work_ends_with_it() -> None:
    units, started = 0, threading.Event()

    def work() -> None:
        nonlocal units
        while True:
            checkpoint()
            units += 1
            started.set()

    with cancellable() as cancellation:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(_quiet, work))
        thread.start()
        assert started.wait(10)
        cancellation.cancel()
        thread.join(10)
    assert units
    assert not thread.is_alive()


def _quiet(work: object) -> None:
    with pytest.raises(TimeLimitError):
        work()  # type: ignore[operator]


def test_pieces_are_joined_and_each_is_a_unit() -> None:
    assert in_pieces(iter(["a", "", "b"])) == "ab"
    with cancellable(0.0), pytest.raises(TimeLimitError):
        in_pieces(["a"])
