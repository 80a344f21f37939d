from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress

import anyio
import pytest

from veridical.core.measurements import Measurement, Query
from veridical.errors import TextError
from veridical.pipeline.reports import Report
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification import portal
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Case, Verifier

SOURCES = {"S1": "The bridge opened in 1998."}


def blocking() -> SyncVerifier:
    return SyncVerifier(Verifier(FakeBackend(lambda _: fake_estimate(0.9))))


def test_a_check_blocks_and_returns_the_report() -> None:
    with blocking() as verifier:
        assert len(verifier.check("The bridge opened in 1998.", SOURCES).claims) == 1


def test_it_works_inside_a_running_event_loop() -> None:
    async def host() -> Report:
        with blocking() as verifier:
            return verifier.check("The bridge opened in 1998.", SOURCES)

    assert asyncio.run(host()).summary.claims_checked == 1


def test_it_may_be_used_from_many_threads() -> None:
    with blocking() as verifier, ThreadPoolExecutor(8) as pool:
        answers = [f"Bridge {i} opened in 1998." for i in range(16)]
        reports = list(pool.map(lambda answer: verifier.check(answer, SOURCES), answers))
    assert [report.answer for report in reports] == answers


def test_the_report_on_a_claim_holds_the_verdict_on_it() -> None:
    claim = "The bridge opened. It is in use."
    with blocking() as verifier:
        report, verdict = verifier.check_claim(claim, SOURCES), verifier.verify(claim, SOURCES)
    assert report.claims == (verdict,)
    assert (report.answer, report.summary.claims_checked) == (claim, 1)
    assert report.backend.name == "fake"


def test_errors_come_back_as_they_are() -> None:
    with blocking() as verifier, pytest.raises(TextError):
        verifier.check("", SOURCES)


def test_many_cases_come_back_in_order() -> None:
    with blocking() as verifier:
        results = verifier.check_many([Case("A bridge opened.", SOURCES), Case("", SOURCES)])
    assert [type(result) for result in results] == [Report, TextError]


def test_a_verifier_that_is_not_open_says_so() -> None:
    with pytest.raises(RuntimeError, match="with SyncVerifier"):
        blocking().check("The bridge opened in 1998.", SOURCES)


class _Slow(FakeBackend):
    started = threading.Event()

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.started.set()
        await anyio.sleep(5)
        return await super().estimate(queries)


def interrupt_a_check(slow: _Slow, pool: ThreadPoolExecutor) -> Future[Report]:
    """Leave the verifier by an exception while a check runs in another thread."""
    with suppress(KeyboardInterrupt), SyncVerifier(Verifier(slow)) as verifier:
        running = pool.submit(verifier.check, "The bridge opened in 1998.", SOURCES)
        slow.started.wait(5)
        raise KeyboardInterrupt
    return running


def test_leaving_on_an_exception_cancels_what_still_runs() -> None:
    with ThreadPoolExecutor(1) as pool:
        running = interrupt_a_check(_Slow(lambda _: fake_estimate(0.9)), pool)
        assert isinstance(running.exception(), CancelledError)


@pytest.mark.parametrize("blocks_the_loop", [False, True])
def test_close_ends_though_a_backend_hangs(
    monkeypatch: pytest.MonkeyPatch, *, blocks_the_loop: bool
) -> None:
    monkeypatch.setattr(portal, "CLOSE_S", 0.1)
    begun, let_go = threading.Event(), threading.Event()

    class Hanging(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            begun.set()
            if blocks_the_loop:
                let_go.wait(20)
            await anyio.sleep_forever()
            return await super().estimate(queries)

    def close(pool: ThreadPoolExecutor) -> Future[Report]:
        with SyncVerifier(Verifier(Hanging(lambda _: fake_estimate(0.9)))) as verifier:
            asked = pool.submit(verifier.check, "The bridge opened in 1998.", SOURCES)
            assert begun.wait(20)
        return asked

    with ThreadPoolExecutor() as pool:
        closing = pool.submit(close, pool)
        try:
            asked = closing.result(20)
            assert isinstance(asked.exception(20), CancelledError)
        finally:
            let_go.set()
