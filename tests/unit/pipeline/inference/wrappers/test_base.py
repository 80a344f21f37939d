"""Calls of backends that break the promises of their port."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest

from veridical.core.measurements import BilledFailure, Query, Unmeasured, UnmeasuredReason
from veridical.pipeline.inference.wrappers.base import safe_estimate
from veridical.testing import FAKE, fake_estimate

QUERIES = [Query("A claim.", "A context."), Query("Another claim.", "A context.")]
GOOD = fake_estimate(0.9)
TIMEOUT = UnmeasuredReason.TIMEOUT


class Answering:
    """Backend that returns any value."""

    info = FAKE

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    async def estimate(self, queries: Sequence[Query]) -> Any:  # noqa: ANN401 -- a lie is of any type
        assert queries
        return self._answer()


def details(answer: Callable[[], Any]) -> list[str]:
    found = anyio.run(safe_estimate, Answering(answer), QUERIES)
    assert all(isinstance(one, Unmeasured) for one in found)
    return [one.detail for one in found if isinstance(one, Unmeasured)]


def test_answers_without_end_are_too_many() -> None:
    assert details(lambda: itertools.repeat(GOOD)) == ["wrong number of measurements"] * 2


def test_a_backend_that_cancels_itself_has_failed() -> None:
    def cancel() -> None:
        raise asyncio.CancelledError

    assert details(cancel) == ["cancelled by itself"] * 2


def test_a_caller_that_is_cancelled_is_cancelled() -> None:
    class Patient(Answering):
        async def estimate(self, queries: Sequence[Query]) -> Any:  # noqa: ANN401 -- as above
            assert queries
            await anyio.sleep_forever()

    async def scene() -> bool:
        with anyio.move_on_after(0.01) as scope:
            await safe_estimate(Patient(list), QUERIES)
        return scope.cancelled_caught

    assert anyio.run(scene)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": "12"},
        {"tokens": 1.5},
        {"cost_usd": math.inf},
        {"cost_usd": "0.1"},
        {"latency_ms": math.nan},
        {"samples": None},
        {"model": None},
        {"fingerprint": 1},
        {"estimator": "decision"},
    ],
)
def test_an_estimate_with_a_field_of_another_type_is_none(wrong: dict[str, Any]) -> None:
    found = anyio.run(safe_estimate, Answering(lambda: [GOOD, replace(GOOD, **wrong)]), QUERIES)
    assert found[0] == GOOD
    assert found[1] == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "not a measurement")


@pytest.mark.parametrize(
    "wrong",
    [
        Unmeasured("timeout"),  # type: ignore[arg-type]
        Unmeasured(TIMEOUT, None),  # type: ignore[arg-type]
        Unmeasured(TIMEOUT, retry_after_s="soon"),  # type: ignore[arg-type]
        BilledFailure(TIMEOUT, cost_usd=math.nan),
    ],
)
def test_a_failure_with_a_field_of_another_type_is_a_failure_of_the_backend(
    wrong: Unmeasured,
) -> None:
    assert details(lambda: [wrong, wrong]) == ["not a measurement"] * 2
