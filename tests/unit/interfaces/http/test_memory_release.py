from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from veridical import Verifier
from veridical.core.sources import as_sources
from veridical.interfaces.http import memory_release
from veridical.interfaces.http.memory_release import FullCollections, MemoryRelease, release_memory
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.preparation import CORPORA

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = {"S1": "The bridge was opened to traffic in 1998. " * 30_000}


def test_the_index_of_a_large_source_is_dropped_when_nobody_asks_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_release, "KEPT_S", 0.05)
    verifier = Verifier(FakeBackend(lambda _: fake_estimate(0.9)))

    async def run() -> None:
        report = await verifier.check("It was opened in 1998.", LONG)
        kept = CORPORA.of(as_sources(LONG))
        release = MemoryRelease()
        release.checked(report)
        assert CORPORA.of(as_sources(LONG)) is kept
        while CORPORA._kept:  # noqa: ASYNC110 -- nothing else tells
            await asyncio.sleep(0.01)
        release.stop()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_memory_is_returned_where_the_c_library_can() -> None:
    release_memory()
    release_memory()


@pytest.fixture
def _collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class _Knot:
    def __init__(self) -> None:
        self.own = self


@pytest.mark.usefixtures("_collector")
@pytest.mark.parametrize(("busy", "turns"), [(False, 1), (True, 3)])
def test_garbage_is_collected_between_requests_and_at_last_beside_them(
    monkeypatch: pytest.MonkeyPatch, *, busy: bool, turns: int
) -> None:
    monkeypatch.setattr(memory_release, "COLLECTION_S", 0.01)
    monkeypatch.setattr(memory_release, "_POSTPONED", turns - 1)
    asked = 0

    def is_busy() -> bool:
        nonlocal asked
        asked += 1
        return busy

    async def run() -> int:
        collections = FullCollections(is_busy)
        collections.start()
        made = _Knot()
        knot = weakref.ref(made)
        gc.collect(1)  # it is old now
        del made
        while knot() is not None:  # noqa: ASYNC110 -- nothing else tells
            await asyncio.sleep(0.005)
        collections.stop()
        return asked

    assert asyncio.run(asyncio.wait_for(run(), 60)) == turns


@pytest.mark.usefixtures("_collector")
def test_no_full_collection_runs_while_many_objects_are_made() -> None:
    generations: list[int] = []

    def note(phase: str, told: dict[str, int]) -> None:
        generations.extend([told["generation"]] * (phase == "start"))

    async def run() -> None:
        collections = FullCollections(lambda: True)
        collections.start()
        gc.callbacks.append(note)
        try:
            kept = [[n] for n in range(500_000)]
        finally:
            gc.callbacks.remove(note)
            collections.stop()
        assert len(kept) == 500_000

    asyncio.run(run())
    assert 1 in generations
    assert 2 not in generations
