from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.cancellation import cancellable
from veridical.core.measurements import (
    Estimate,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import Policy
from veridical.core.sources import as_sources
from veridical.core.types import FURTHER, Passage, SourceSpan, Span
from veridical.pipeline.judgement import PooledEstimate
from veridical.testing import FAKE, FakeBackend, fake_estimate
from veridical.verification.scoring import ClaimScorer

SHORT = Policy(windows=0, support_threshold=0.5, contradiction_threshold=0.5).resolved(FAKE)
LONG = replace(SHORT, windows=2)
Claims = list[list[tuple[float, float]]]

probabilities = st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)) | st.tuples(
    st.floats(0.5, 1), st.just(0.0)
)
claims = st.lists(st.lists(probabilities, max_size=4), max_size=12)


def contexts(read: Claims) -> list[tuple[str, tuple[Passage, ...]]]:
    return [
        (
            str(i),
            tuple(
                Passage(str(j), (SourceSpan("S1", Span(j, j + 1)),), turn=min(j, 1))
                for j in range(len(found))
            ),
        )
        for i, found in enumerate(read)
    ]


def backend_that_says(read: Claims, reads: Reads = Reads.PASSAGES) -> FakeBackend:
    def answer(query: Query) -> Measurement:
        return fake_estimate(*read[int(query.claim)][int(query.context)])

    return FakeBackend(answer, replace(FAKE, reads=reads))


def readings(
    read: Claims, policy: Policy = SHORT, batch_size: int = 64
) -> tuple[list[PooledEstimate], FakeBackend]:
    backend = backend_that_says(read)
    asker = ClaimScorer(backend, {}, None, None, batch_size=batch_size)
    return anyio.run(partial(asker.read, contexts(read), policy)), backend


@pytest.mark.parametrize("first", [(0.5, 0.0), (0.0, 0.5), (0.9, 0.0)])
def test_where_the_closest_sentences_decide_nothing_else_is_read(
    first: tuple[float, float],
) -> None:
    (reading,), backend = readings([[first, (1.0, 0.0)]])
    assert [query.context for query in backend.queries] == ["0"]
    assert reading.measurement == fake_estimate(*first)
    assert [passage.text for passage in reading.unread] == ["1"]


def test_where_they_decide_nothing_the_stitched_passage_is_read_too() -> None:
    (reading,), backend = readings([[(0.4, 0.3), (0.1, 0.8)]])
    assert [query.context for query in backend.queries] == ["0", "1"]
    assert reading.measurement == fake_estimate(0.1, 0.8)
    assert reading.unread == ()


def test_with_windows_every_passage_is_read() -> None:
    (reading,), backend = readings([[(0.9, 0.0), (1.0, 0.0)]], LONG)
    assert len(backend.queries) == 2
    assert reading.measurement == fake_estimate(1.0)


def test_a_backend_that_sees_the_whole_beside_a_passage_gets_all_passages_at_once() -> None:
    read = [[(0.9, 0.0), (1.0, 0.0)]]
    backend = backend_that_says(read, Reads.BOTH)
    sources = as_sources({"S1": "ab"})
    anyio.run(ClaimScorer(backend, sources, None, None).read, contexts(read), SHORT)
    assert [query.context for query in backend.queries] == ["0", "1"]


@given(claims, st.integers(1, 5))
def test_readings_come_in_order_whatever_is_read_of_each_claim(
    read: Claims, batch_size: int
) -> None:
    found, backend = readings(read, batch_size=batch_size)
    assert len(found) == len(read)
    assert len(set(backend.queries)) == len(backend.queries)
    for reading, said in zip(found, read, strict=True):
        taken = len(said) - len(reading.unread)
        estimates = [fake_estimate(*each) for each in said[:taken]]
        if estimates:
            assert isinstance(reading.measurement, Estimate)
            assert reading.measurement in estimates
        assert not reading.unread or max(said[0]) >= 0.5


@given(claims)
def test_a_claim_that_is_decided_with_all_read_is_decided_with_less_read(read: Claims) -> None:
    everything = readings(read, LONG)[0]
    for less, full in zip(readings(read)[0], everything, strict=True):
        decided = [
            isinstance(r.measurement, Estimate)
            and max(r.measurement.supported, r.measurement.contradicted or 0.0) >= 0.5
            for r in (less, full)
        ]
        assert decided[0] == decided[1]


def test_what_is_further_off_is_read_where_all_that_is_near_decides_nothing() -> None:
    read = [[(0.4, 0.0), (0.3, 0.6), (0.9, 0.0)], [(0.4, 0.0), (0.3, 0.3), (0.9, 0.0)]]
    backend = backend_that_says(read)
    asked = [
        (claim, (*near, replace(last, turn=FURTHER))) for claim, (*near, last) in contexts(read)
    ]
    opposed, supported = anyio.run(partial(ClaimScorer(backend, {}, None, None).read, asked, SHORT))
    assert opposed.measurement == fake_estimate(0.3, 0.6)
    assert [passage.text for passage in opposed.unread] == ["2"]
    assert supported.measurement == fake_estimate(0.9)


def test_what_is_further_off_does_not_oppose_a_claim() -> None:
    read = [[(0.4, 0.1), (0.1, 0.9)]]
    backend = backend_that_says(read)
    asked = [(claim, (near, replace(last, turn=FURTHER))) for claim, (near, last) in contexts(read)]
    (reading,) = anyio.run(partial(ClaimScorer(backend, {}, None, None).read, asked, SHORT))
    assert reading.measurement == fake_estimate(0.4, 0.1)
    assert reading.unread == ()


@pytest.mark.spec("SPEC-08.43")
def test_a_backend_that_hangs_is_given_up_at_the_deadline_around_the_check() -> None:
    class Hanging(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await anyio.sleep(0.0 if queries[0].claim == "0" else 60.0)
            return await super().estimate(queries)

    backend = Hanging(lambda _: fake_estimate(0.9))
    asker = ClaimScorer(backend, {}, None, None, batch_size=1)
    asked = contexts([[(0.9, 0.0)], [(0.9, 0.0)]])
    with cancellable(0.2):
        found = anyio.run(asker.read, asked, SHORT)
    assert found[0].measurement == fake_estimate(0.9)
    late = found[1].measurement
    assert isinstance(late, Unmeasured)
    assert late.reason is UnmeasuredReason.TIMEOUT
