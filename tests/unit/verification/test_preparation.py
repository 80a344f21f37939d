from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from veridical import SyncVerifier, Verifier
from veridical.core.cancellation import Cancellation, cancellable, checkpoint
from veridical.core.limits import Limits
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.verdicts import Status
from veridical.errors import SizeError, TimeLimitError
from veridical.pipeline.evidence import Binder, Corpus
from veridical.pipeline.reports import Report
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification import preparation

SOURCES = {"S1": "The bridge was opened in 1998. It carries eight lanes.", "S2": "It rains."}
ANSWER = "The bridge opened in 1998 [S1]. It rains today [S2]. It has six lanes [S9]."


def verifier(**given: object) -> Verifier:
    return Verifier(FakeBackend(lambda _: fake_estimate(0.95)), **given)  # type: ignore[arg-type]


def check(*, before: Callable[[Cancellation], object] = lambda _: None) -> Report:
    async def run() -> Report:
        with cancellable() as work:
            before(work)
            return await verifier().check(ANSWER, SOURCES)

    return asyncio.run(run())


def late(report: Report) -> list[str]:
    return [
        verdict.claim.id
        for verdict in report.claims
        if isinstance(verdict.p1, Unmeasured) and verdict.p1.reason is UnmeasuredReason.TIMEOUT
    ]


def test_an_answer_without_time_to_find_its_claims_is_an_error() -> None:
    with pytest.raises(TimeLimitError):
        check(before=lambda work: work.cancel())


def test_claims_without_time_for_an_index_are_undetermined_and_phantoms_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works: list[Cancellation] = []

    def ended(*given: object, **more: object) -> Corpus:
        del given, more
        works[0].cancel()
        checkpoint()
        raise AssertionError

    monkeypatch.setattr("veridical.pipeline.evidence.corpus.Corpus", ended)
    preparation.CORPORA.clear()
    report = check(before=works.append)
    assert late(report) == ["c1", "c2", "c3"]
    assert [verdict.status for verdict in report.claims] == [
        Status.UNDETERMINED,
        Status.UNDETERMINED,
        Status.PHANTOM_CITATION,
    ]


def test_claims_from_the_deadline_on_are_undetermined_and_those_before_it_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works: list[Cancellation] = []
    bind = Binder.bind

    def ending(self: Binder, *given: object) -> object:
        found = bind(self, *given)  # type: ignore[arg-type]
        works[0].cancel()
        return found

    monkeypatch.setattr(Binder, "bind", ending)
    report = check(before=works.append)
    assert late(report) == ["c2", "c3"]
    assert report.claims[0].status is Status.SUPPORTED


def test_a_text_beyond_a_limit_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preparation, "extract_claims", None)
    with (
        SyncVerifier(verifier(limits=Limits(max_answer_chars=9))) as checks,
        pytest.raises(SizeError, match="the answer"),
    ):
        checks.check(ANSWER, SOURCES)
    with (
        SyncVerifier(verifier(limits=Limits(max_source_chars=9))) as checks,
        pytest.raises(SizeError, match="the sources"),
    ):
        checks.verify("It rains.", SOURCES)


def test_an_answer_of_more_claims_than_a_limit_is_refused() -> None:
    with (
        SyncVerifier(verifier(limits=Limits(max_answer_claims=2))) as checks,
        pytest.raises(SizeError, match="3 claims, and 2 are allowed"),
    ):
        checks.check(ANSWER, SOURCES)


@pytest.mark.parametrize("brief", [0, 10**9])
def test_verdicts_are_the_same_in_threads_and_without(
    brief: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = check().claims
    monkeypatch.setattr(preparation, "BRIEF", brief)
    monkeypatch.setattr("veridical.verification.scoring.FEW", brief)
    assert check(before=lambda work: work.hasten(60)).claims == expected
