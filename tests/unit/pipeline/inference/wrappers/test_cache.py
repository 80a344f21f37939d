from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import (
    NOTHING,
    UNKNOWN,
    BilledFailure,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Taken,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.wrappers.cache import Cache, decode, encode, keys_of
from veridical.pipeline.inference.wrappers.stores import MemoryStore, SqliteStore
from veridical.testing import FAKE, FakeBackend, check_backend, fake_estimate

QUERY = Query("The bridge was opened in 1998.", "It was opened in 1998.")
OTHER = Query("The bridge was opened in 1850.", "It was opened in 1998.")


def by_length(query: Query) -> Measurement:
    return fake_estimate((len(query.claim) % 100) / 100)


@dataclass
class Slow(FakeBackend):
    """Takes its time, and notes how often it was called."""

    calls: int = 0
    seconds: float = 0.02
    started: list[anyio.Event] = field(default_factory=list)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.calls += 1
        for event in self.started:
            event.set()
        await anyio.sleep(self.seconds)
        return await super().estimate(queries)


def ask(backend: Cache, *queries: Query) -> list[Measurement]:
    return list(anyio.run(backend.estimate, queries))


@pytest.mark.spec("SPEC-08.30")
@pytest.mark.spec("SPEC-16.32")
def test_what_was_measured_is_not_asked_again() -> None:
    fake = FakeBackend(by_length)
    cache = Cache(fake, MemoryStore())
    first = ask(cache, QUERY, OTHER)
    again = ask(cache, OTHER, QUERY)
    assert fake.queries == [QUERY, OTHER]
    assert first == [by_length(QUERY), by_length(OTHER)]
    assert again == [replace(m, cached=True) for m in reversed(first) if isinstance(m, Estimate)]
    assert (cache.hits, cache.misses) == (2, 2)


@pytest.mark.spec("SPEC-08.30")
def test_after_its_time_an_estimate_is_measured_again(tmp_path: Path) -> None:
    for store in (MemoryStore(), SqliteStore(tmp_path / "cache.db")):
        fake = FakeBackend(by_length)
        cache = Cache(fake, store, ttl_s=0.05)

        async def twice(cache: Cache = cache) -> None:
            await cache.estimate([QUERY])
            await anyio.sleep(0.06)
            await cache.estimate([QUERY])

        anyio.run(twice)
        assert fake.queries == [QUERY, QUERY]


def test_what_was_not_measured_is_not_kept() -> None:
    fake = FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT))
    cache = Cache(fake, MemoryStore())
    assert ask(cache, QUERY) == ask(cache, QUERY) == [Unmeasured(UnmeasuredReason.TIMEOUT)]
    assert len(fake.queries) == 2
    assert (cache.hits, cache.misses) == (0, 2)


def test_equal_queries_of_a_batch_are_asked_once() -> None:
    fake = FakeBackend(by_length)
    cache = Cache(fake, MemoryStore())
    found = ask(cache, QUERY, OTHER, QUERY, QUERY)
    assert fake.queries == [QUERY, OTHER]
    assert [m.cached for m in found if isinstance(m, Estimate)] == [False, False, True, True]
    assert (cache.hits, cache.misses) == (2, 2)


def test_equal_queries_of_concurrent_tasks_are_asked_once() -> None:
    slow = Slow(by_length)
    cache = Cache(slow, MemoryStore())
    found: list[Measurement] = []

    async def one(*queries: Query) -> None:
        found.extend(await cache.estimate(queries))

    async def many() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(one, QUERY, OTHER)
                tasks.start_soon(one, OTHER, QUERY)

    anyio.run(many)
    assert slow.queries == [QUERY, OTHER]
    assert len(found) == 20
    assert sum(not m.cached for m in found if isinstance(m, Estimate)) == 2


@pytest.mark.parametrize(
    ("failure", "took"),
    [
        (BilledFailure(UnmeasuredReason.MALFORMED_REPLY, tokens=10, cost_usd=0.5), Taken(10, 0.5)),
        (Unmeasured(UnmeasuredReason.TIMEOUT), UNKNOWN),
        (Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=1.0), NOTHING),
    ],
)
def test_a_failure_costs_the_one_who_asked_and_nobody_else(
    failure: Unmeasured, took: Taken
) -> None:
    cache = Cache(Slow(lambda _: failure, seconds=0), MemoryStore())
    found: list[list[Measurement]] = []

    async def one(*queries: Query) -> None:
        found.append(list(await cache.estimate(queries)))

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, QUERY, QUERY)
            tasks.start_soon(one, QUERY)

    anyio.run(both)
    (first, again), (waited,) = found
    assert (Taken.by([first]), Taken.by([again]), Taken.by([waited])) == (took, NOTHING, NOTHING)
    assert {getattr(one, "reason", None) for one in (first, again, waited)} == {failure.reason}


def test_two_callers_that_each_want_what_the_other_asks_do_not_wait_for_ever() -> None:
    third = Query("The bridge is long.", "It was opened in 1998.")
    slow = Slow(by_length)
    cache = Cache(slow, MemoryStore())

    async def crossing() -> None:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cache.estimate, [QUERY, OTHER])
                tasks.start_soon(cache.estimate, [OTHER, third, QUERY])
                tasks.start_soon(cache.estimate, [third, QUERY])

    anyio.run(crossing)
    assert sorted(slow.queries, key=str) == sorted([QUERY, OTHER, third], key=str)


def test_when_who_asks_is_cancelled_who_waits_asks_itself() -> None:
    slow = Slow(by_length, seconds=60)
    cache = Cache(slow, MemoryStore())
    found: list[Measurement] = []

    async def wait() -> None:
        found.extend(await cache.estimate([QUERY]))

    async def scene() -> None:
        slow.started = [anyio.Event()]
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks, anyio.create_task_group() as first:
                first.start_soon(cache.estimate, [QUERY])
                await slow.started[0].wait()
                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                slow.seconds = 0
                first.cancel_scope.cancel()
        assert await cache.estimate([QUERY]) == [replace(by_length(QUERY), cached=True)]  # type: ignore[arg-type]

    anyio.run(scene)
    assert found == [by_length(QUERY)]
    assert slow.calls == 2


def test_when_the_backend_cannot_start_every_caller_is_told() -> None:
    class Dead(Slow):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await super().estimate(queries)
            msg = "it cannot start"
            raise BackendError(msg)

    cache = Cache(Dead(by_length), MemoryStore())
    told: list[str] = []

    async def one() -> None:
        try:
            await cache.estimate([QUERY])
        except BackendError as error:
            told.append(error.message)

    async def both() -> None:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one)
                tasks.start_soon(one)

    anyio.run(both)
    assert told == ["it cannot start"] * 2


@dataclass
class Served(FakeBackend):
    """Stands before a service that alone knows its model, and says it when `names` does."""

    served_model: str | None = None
    names: str | None = None
    asked: int = 0

    async def ask_model(self) -> None:
        self.asked += 1
        self.served_model = self.names


def test_estimates_of_a_model_that_is_not_known_are_not_kept() -> None:
    served = Served(by_length)
    cache = Cache(served, MemoryStore())
    for _ in range(3):
        assert ask(cache, QUERY) == [by_length(QUERY)]
    assert ask(cache) == []
    assert (len(served.queries), served.asked, cache.misses) == (3, 1, 3)
    served.served_model = "model"  # learnt with an answer
    assert ask(cache, QUERY) == [by_length(QUERY)]
    assert ask(cache, QUERY) == [replace(by_length(QUERY), cached=True)]  # type: ignore[arg-type]


def test_a_service_is_asked_for_its_model_with_the_first_query() -> None:
    served = Served(by_length, names="model")
    cache = Cache(served, MemoryStore())
    assert (ask(cache), served.asked) == ([], 0)
    for _ in range(2):
        ask(cache, QUERY)
    assert (len(served.queries), served.asked) == (1, 1)


def test_a_service_that_breaks_when_it_is_asked_for_its_model_still_gets_the_queries() -> None:
    class Broken(Served):
        async def ask_model(self) -> None:
            raise KeyError

    assert ask(Cache(Broken(by_length), MemoryStore()), QUERY) == [by_length(QUERY)]


def test_one_cache_serves_one_event_loop_after_the_other(tmp_path: Path) -> None:
    fake = FakeBackend(by_length)
    cache = Cache(fake, SqliteStore(tmp_path / "cache.db"))
    for _ in range(3):
        ask(cache, QUERY)
    assert fake.queries == [QUERY]


def test_the_embedded_model_comes_out_of_the_cache_with_the_same_numbers(tmp_path: Path) -> None:
    cache = Cache(EmbeddedVerifier(), SqliteStore(tmp_path / "cache.db"))
    first = ask(cache, QUERY, OTHER)
    again = ask(cache, QUERY, OTHER)
    assert again == [replace(m, cached=True) for m in first if isinstance(m, Estimate)]


@pytest.mark.parametrize("store", ["memory", "file"])
def test_a_cached_backend_keeps_the_promises_of_the_port(store: str, tmp_path: Path) -> None:
    kept = MemoryStore() if store == "memory" else SqliteStore(tmp_path / "cache.db")
    cache = Cache(FakeBackend(by_length), kept)
    anyio.run(check_backend, cache)
    assert cache.info == FAKE
    assert cache.errors == 0
    assert cache.hits > 0


def test_no_time_to_live_at_all_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="more than 0 s"):
        Cache(FakeBackend(by_length), MemoryStore(), ttl_s=0)


# --- keys ------------------------------------------------------------------------------------


def test_whatever_decides_about_an_estimate_changes_the_key() -> None:
    infos = [
        FAKE,
        replace(FAKE, name="other"),
        replace(FAKE, model="other"),
        replace(FAKE, fingerprint="other"),
        replace(FAKE, estimator=Estimator.SAMPLING),
    ]
    queries = [
        Query("a", "b"),
        Query("b", "a"),
        Query("ab", ""),
        Query("", "ab"),
        Query("a", "b", "c"),
        Query("a", "b", ""),
        Query("a", "b c"),
    ]
    keys = {key for info in infos for key in keys_of(info, queries)}
    assert len(keys) == len(infos) * len(queries)
    assert {len(key) for key in keys} == {32}


def test_thresholds_are_no_part_of_the_key() -> None:
    assert keys_of(FAKE, [QUERY]) == keys_of(replace(FAKE, support_threshold=0.9), [QUERY])


@given(st.text(), st.text(), st.none() | st.text())
def test_a_key_is_the_same_each_time(claim: str, context: str, question: str | None) -> None:
    query = Query(claim, context, question)
    assert keys_of(FAKE, [query]) == keys_of(FAKE, [Query("x", context), query])[1:]


def test_no_text_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = Cache(FakeBackend(by_length), SqliteStore(path))
    ask(cache, Query("Zanzibar is a claim.", "Zanzibar is evidence.", "Zanzibar?"))
    for file in tmp_path.iterdir():
        assert b"anzibar" not in file.read_bytes()


# --- values ----------------------------------------------------------------------------------

unit = st.floats(0, 1)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    supported, share, below, above = draw(unit), draw(unit), draw(unit), draw(unit)
    contradicted = (1 - supported) * share
    joined = draw(st.booleans())
    return Estimate(
        supported=supported,
        contradicted=None if joined else contradicted,
        not_in_context=None if joined else max(0.0, 1 - supported - contradicted),
        low=supported * below,
        high=supported + (1 - supported) * above if above < 1 else 1.0,
        estimator=draw(st.sampled_from(Estimator)),
        model=draw(st.text()),
        fingerprint=draw(st.text()),
        samples=draw(st.integers(1, 100)),
        latency_ms=draw(st.none() | st.floats(0, allow_infinity=False)),
        tokens=draw(st.none() | st.integers(0)),
        cost_usd=draw(st.none() | st.floats(0, 1e9)),
    )


@given(estimates())
def test_an_estimate_comes_back_to_the_last_bit(estimate: Estimate) -> None:
    value = encode(estimate)
    assert value is not None
    assert decode(value) == replace(estimate, cached=True)
    assert encode(replace(estimate, cached=True)) == value


def test_an_estimate_that_json_cannot_hold_is_a_failure_that_is_not_kept() -> None:
    strange = replace(fake_estimate(0.5), tokens=object())  # type: ignore[arg-type]
    backend = FakeBackend(lambda _: strange)
    cache = Cache(backend, MemoryStore())
    for _ in range(2):
        (found,) = ask(cache, QUERY)
        assert isinstance(found, Unmeasured)
    assert len(backend.queries) == 2
    assert cache.misses == 2


@given(st.binary() | st.sampled_from([b"[]", b"{}", b"null", b"1", b'""', b"[" * 9999]))
def test_what_is_no_estimate_is_not_decoded(value: bytes) -> None:
    assert decode(value) is None


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("supported", 2),
        ("supported", "0.5"),
        ("high", 0.1),
        ("estimator", "guess"),
        ("model", 1),
        ("tokens", "many"),
        ("cost_usd", []),
        ("unheard_of", 1),
    ],
)
def test_a_damaged_value_is_not_decoded(name: str, wrong: object) -> None:
    value = encode(fake_estimate(0.5))
    assert value is not None
    values = json.loads(value)
    assert decode(json.dumps({**values, name: wrong}).encode()) is None


# --- two processes ---------------------------------------------------------------------------

PROGRAM = """
import sys, anyio
from veridical.core.measurements import Query
from veridical.pipeline.inference.wrappers import Cache, SqliteStore
from veridical.testing import FakeBackend, fake_estimate

async def main():
    for i in range(int(sys.argv[2]), int(sys.argv[3])):
        await cache.estimate([Query(f"claim {i}", "context")])

cache = Cache(FakeBackend(lambda query: fake_estimate(0.5)), SqliteStore(sys.argv[1]))
anyio.run(main)
print(cache.hits, cache.misses, cache.errors)
"""


def start(path: Path, first: int, last: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path), str(first), str(last)],
        stdout=subprocess.PIPE,
        text=True,
    )


def counts(process: subprocess.Popen[str]) -> tuple[int, ...]:
    output, _ = process.communicate(timeout=60)
    return tuple(map(int, output.split()))


def test_processes_share_what_they_know(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cache.db"
    both = [start(path, 0, 200), start(path, 200, 400)]
    assert [counts(process) for process in both] == [(0, 200, 0), (0, 200, 0)]
    assert counts(start(path, 100, 300)) == (200, 0, 0)
