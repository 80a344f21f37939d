from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from veridical.errors import TextError
from veridical.pipeline.reports import Report
from veridical.sync import SyncVerifier
from veridical.testing import FakeBackend, fake_estimate
from veridical.verifier import Case, Verifier

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
