from __future__ import annotations

import asyncio

import pytest

from veridical import Verifier
from veridical.core.sources import as_sources
from veridical.interfaces.http import memory_release
from veridical.interfaces.http.memory_release import MemoryRelease, release_memory
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.preparation import CORPORA

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
