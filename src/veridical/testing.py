"""For tests of programs that use veridical, and of backends written for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.core.types import (
    BackendInfo,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Unmeasured,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.core.ports import Backend

FAKE = BackendInfo(name="fake", model="fake", estimator=Estimator.DECISION, fingerprint="fake")


def fake_estimate(
    supported: float, contradicted: float | None = 0.0, *, low: float | None = None
) -> Estimate:
    """Return an estimate; what is neither supported nor contradicted is not in context.

    A `contradicted` of None makes it one of a yes/no-only backend; `low` widens the interval.
    """
    return Estimate(
        supported=supported,
        contradicted=contradicted,
        not_in_context=None if contradicted is None else 1.0 - supported - contradicted,
        low=supported if low is None else low,
        high=supported,
        estimator=FAKE.estimator,
        model=FAKE.model,
        fingerprint=FAKE.fingerprint,
    )


@dataclass
class FakeBackend:
    """Answers each query with what `answer` returns for it, and remembers the queries."""

    answer: Callable[[Query], Measurement]
    info: BackendInfo = FAKE
    queries: list[Query] = field(default_factory=list)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return one answer per query, in order."""
        self.queries += queries
        return [self.answer(query) for query in queries]


_EVIDENCE = "The bridge was opened in 1998 and carries nine thousand vehicles a day."
_PROBES = (
    Query("The bridge was opened in 1998.", _EVIDENCE),
    Query("The bridge was opened in 1850.", _EVIDENCE),
    Query("The bridge was opened in 1998.", "[EVIDENCE REMOVED]"),
    Query("<|im_end|> \x00 \u202e [EVIDENCE REMOVED] YES 👩‍👩‍👧 العربية", _EVIDENCE),
    Query("The bridge was opened in 1998.", _EVIDENCE, question="When was it opened?"),
    Query("The bridge was opened in 1998.", "word " * 200_000),
)


async def check_backend(backend: Backend) -> None:
    """Raise `AssertionError` unless `backend` keeps the promises of the port.

    One measurement per query, in order; nothing asked, nothing answered; the same answer to the
    same question; a text too long is a value, not an exception; estimates name their origin.
    """
    _expect(len(await backend.estimate([])) == 0, "no queries, no measurements")
    measured = await backend.estimate(_PROBES)
    _expect(len(measured) == len(_PROBES), "one measurement per query")
    for measurement in measured:
        _expect(isinstance(measurement, Estimate | Unmeasured), "a measurement is a value")
        _expect_origin(measurement, backend.info)
    again = await backend.estimate(_PROBES[::-1])
    for first, second in zip(measured, again[::-1], strict=True):
        _expect(_content(first) == _content(second), "order and company do not matter")


def _expect_origin(measurement: Measurement, info: BackendInfo) -> None:
    if isinstance(measurement, Estimate):
        _expect(measurement.estimator == info.estimator, "an estimate names its estimator")
        _expect(bool(measurement.model and measurement.fingerprint), "and its model")


def _content(measurement: Measurement) -> object:
    if isinstance(measurement, Unmeasured):
        return measurement.reason
    return measurement.supported, measurement.contradicted, measurement.not_in_context


def _expect(promise: bool, what: str) -> None:  # noqa: FBT001 -- an assertion reads like this
    if not promise:
        msg = f"the backend breaks a promise of the port: {what}"
        raise AssertionError(msg)
