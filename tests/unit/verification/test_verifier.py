from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio
import pytest

from veridical.core.assessment import Outcome
from veridical.core.measurements import Measurement, Query, Reads, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.verdicts import Note, Role, Status, Verdict
from veridical.errors import BackendError, SourceError, TextError
from veridical.pipeline.judgement import PROPOSITION
from veridical.pipeline.reports import Report
from veridical.testing import FAKE, FakeBackend, fake_estimate
from veridical.verification.verifier import Case, Verifier

SOURCES = {
    "S1": "The bridge opened in 1998. It carries nine thousand vehicles a day.",
    "S2": "A ferry ran until the spring of 1998. The ferry sank in 2003.",
}

CLAIM_TEXT = "the text of a claim"


def stated(query: Query) -> Measurement:
    """Support a claim with all words in the context; oppose one with "never"."""
    if "never" in query.claim:
        return fake_estimate(0.02, 0.95)
    found = all(word.strip(".,") in query.context for word in query.claim.split())
    return fake_estimate(0.95 if found else 0.02)


def check(
    answer: str,
    answers: Callable[[Query], Measurement] = stated,
    policy: Policy | None = None,
    **more: object,
) -> Report:
    async def run() -> Report:
        async with Verifier(FakeBackend(answers), policy=policy) as verifier:
            return await verifier.check(answer, SOURCES, **more)  # type: ignore[arg-type]

    return anyio.run(run)


def statuses(report: Report) -> list[str]:
    return [verdict.status.value for verdict in report.claims]


@pytest.mark.spec("SPEC-08.03")
@pytest.mark.spec("SPEC-08.19")
def test_an_answer_is_checked_claim_by_claim() -> None:
    report = check("The bridge opened in 1998 [S1]. The ferry never sank [S2]. Is that all?")
    assert statuses(report) == ["supported", "contradicted", "unverifiable"]
    assert report.summary.outcome is Outcome.FLAGGED
    assert report.summary.skipped == {"question": 1}


def test_a_misattributed_claim_is_unsupported_and_says_where_support_is() -> None:
    (verdict,) = check("The ferry sank in 2003 [S1].").claims
    assert verdict.status is Status.UNSUPPORTED
    assert Note.SUPPORTED_BY_UNCITED_SOURCE in verdict.notes


def test_an_unknown_id_is_a_phantom_though_the_claim_holds() -> None:
    (verdict,) = check("The ferry sank in 2003 [S2, S7].").claims
    assert verdict.status is Status.PHANTOM_CITATION
    assert [(c.id, c.resolved) for c in verdict.citations] == [("S2", True), ("S7", False)]


def test_evidence_has_the_text_at_its_place() -> None:
    (verdict,) = check("The bridge opened in 1998 [S1].").claims
    for evidence in verdict.evidence:
        assert evidence.text == evidence.span.of(SOURCES[evidence.source])


def test_a_claim_supported_by_another_source_too_is_evidence_independent() -> None:
    (verdict,) = check("The bridge opened in 1998 [S1].", lambda _: fake_estimate(0.95)).claims
    assert Note.EVIDENCE_INDEPENDENT in verdict.notes


def test_a_softened_form_that_holds_makes_an_over_extrapolation() -> None:
    def weak(query: Query) -> Measurement:
        return fake_estimate(0.1 if query.claim.startswith("All") else 0.9)

    (verdict,) = check("All bridges carry vehicles.", weak).claims
    assert verdict.status is Status.PARTIALLY_SUPPORTED
    assert Note.OVER_EXTRAPOLATION in verdict.notes


@pytest.mark.spec("SPEC-08.42")
@pytest.mark.spec("SPEC-08.43")
def test_a_backend_that_raises_leaves_the_claims_undetermined() -> None:
    def fail(_: Query) -> Measurement:
        raise RuntimeError(CLAIM_TEXT)

    report = check("The bridge opened in 1998.", fail)
    assert report.summary.outcome is Outcome.UNDETERMINED
    p1 = report.claims[0].p1
    assert isinstance(p1, Unmeasured)
    assert (p1.reason, p1.detail) == (UnmeasuredReason.BACKEND_ERROR, "RuntimeError")
    assert CLAIM_TEXT not in report.to_json()


class _TooFew(FakeBackend):
    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        return (await super().estimate(queries))[1:]


def test_a_backend_that_loses_a_measurement_leaves_the_claims_undetermined() -> None:
    verifier = Verifier(_TooFew(stated))
    report = anyio.run(verifier.check, "The bridge opened in 1998.", SOURCES)
    assert report.summary.outcome is Outcome.UNDETERMINED


@pytest.mark.parametrize("nonsense", [lambda _: None, lambda n: [None] * n, lambda n: [0.9] * n])
def test_a_backend_that_answers_nonsense_leaves_the_claims_undetermined(
    nonsense: Callable[[int], object],
) -> None:
    class Nonsense(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            return nonsense(len(queries))  # type: ignore[return-value]

    report = anyio.run(Verifier(Nonsense(stated)).check, "The bridge opened in 1998.", SOURCES)
    (verdict,) = report.claims
    assert isinstance(verdict.p1, Unmeasured)
    assert verdict.p1.reason is UnmeasuredReason.BACKEND_ERROR


def test_a_backend_that_cannot_start_is_an_error() -> None:
    def fail(_: Query) -> Measurement:
        raise BackendError(CLAIM_TEXT)

    with pytest.raises(BackendError):
        check("The bridge opened in 1998.", fail)


@pytest.mark.spec("SPEC-08.42")
def test_one_unmeasured_claim_does_not_lose_the_others() -> None:
    def half(query: Query) -> Measurement:
        timeout = Unmeasured(UnmeasuredReason.TIMEOUT)
        return timeout if "ferry" in query.claim else stated(query)

    report = check("The bridge opened in 1998. The ferry sank in 2003.", half)
    assert statuses(report) == ["supported", "undetermined"]
    assert report.summary.outcome is Outcome.UNDETERMINED


def test_an_answer_without_claims_is_nothing_to_check() -> None:
    report = check("Hello! How can I help you?")
    assert report.summary.outcome is Outcome.NOTHING_TO_CHECK


@pytest.mark.parametrize("answer", ["", " \n\t ", "a lone \ud800 surrogate"])
def test_an_answer_that_cannot_be_checked_is_a_named_error(answer: str) -> None:
    with pytest.raises(TextError):
        check(answer)


def test_no_sources_are_a_named_error() -> None:
    with pytest.raises(SourceError):
        anyio.run(Verifier(FakeBackend(stated)).check, "A claim.", {})


def test_the_report_shows_the_thresholds_in_force() -> None:
    report = check("The bridge opened in 1998.", policy=Policy(support_threshold=0.99))
    assert report.policy.support_threshold == 0.99
    assert report.policy.contradiction_threshold == 0.5
    assert statuses(report) == ["unsupported"]


def test_a_policy_for_one_check_wins_over_the_verifiers() -> None:
    verifier = Verifier(FakeBackend(stated), policy=Policy(support_threshold=0.99))
    mild = Policy(support_threshold=0.5)
    report = anyio.run(partial(verifier.check, "It carries.", SOURCES, policy=mild))
    assert report.policy.support_threshold == 0.5


def test_the_question_reaches_the_backend() -> None:
    fake = FakeBackend(stated)
    anyio.run(Verifier(fake).check, "The bridge opened in 1998.", SOURCES, "When?")
    assert {query.question for query in fake.queries} == {"When?"}


def test_progress_begins_at_zero_and_ends_with_every_query() -> None:
    told: list[tuple[int, int]] = []
    answer = " ".join(f"The bridge number {i} opened in 1998." for i in range(40))
    check(answer, progress=lambda done, total: told.append((done, total)))
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]
    assert told == sorted(told)


def test_one_bad_case_does_not_lose_the_others() -> None:
    good = Case("The bridge opened in 1998.", SOURCES)
    results = anyio.run(Verifier(FakeBackend(stated)).check_many, [good, Case("", SOURCES), good])
    assert [type(result) for result in results] == [Report, TextError, Report]


def test_every_window_is_scored_when_all_are_asked_for() -> None:
    text = " ".join(f"Sentence number {i} says something about topic{i}." for i in range(100))
    verifier = Verifier(FakeBackend(stated), policy=Policy(windows="all"))
    report = anyio.run(verifier.check, "It says something.", {"S1": text})
    (verdict,) = report.claims
    assert len(verdict.windows_scored) == verdict.windows_total > 3


def verify(claim: str, *cites: str) -> Verdict:
    verifier = Verifier(FakeBackend(stated))
    return anyio.run(partial(verifier.verify, claim, SOURCES, cites=cites))


def test_one_claim_is_taken_as_it_stands() -> None:
    claim = "Might the bridge [S9] have opened; and the ferry?"
    verdict = verify(claim)
    assert verdict.claim.text == claim
    assert verdict.citations == ()
    assert verdict.status is Status.UNSUPPORTED


def test_a_claim_of_several_sentences_is_supported_if_each_of_them_is() -> None:
    def by_sentence(query: Query) -> Measurement:
        return stated(query) if query.claim.count(".") == 1 else fake_estimate(0.1, 0.8)

    def verified(claim: str) -> Verdict:
        return anyio.run(Verifier(FakeBackend(by_sentence)).verify, claim, SOURCES)

    both = verified("Sure! The bridge opened in 1998. The ferry sank in 2003.")
    assert (both.status, both.rule) == (Status.SUPPORTED, "all_parts_supported")
    assert [part.text for part in both.parts] == [
        "The bridge opened in 1998.",
        "The ferry sank in 2003.",
    ]
    assert {evidence.source for evidence in both.evidence} == {"S1", "S2"}
    assert verified("The bridge opened in 1998. It leaks.").flagged


@pytest.mark.parametrize(("part", "expected"), [(0.9, 0.9), (0.6, 0.7)])
def test_a_claim_that_is_supported_as_a_whole_is_more_probable_if_its_sentences_are(
    part: float, expected: float
) -> None:
    def answers(query: Query) -> Measurement:
        return fake_estimate(part if query.claim.count(".") == 1 else 0.7)

    policy = Policy(support_threshold=0.5, contradiction_threshold=0.5)
    verifier = Verifier(FakeBackend(answers), policy=policy)
    found = anyio.run(verifier.verify, "It opened in 1998. It has six lanes.", SOURCES)
    assert (found.status, found.p1) == (Status.SUPPORTED, fake_estimate(expected))


def test_a_claim_supported_as_a_whole_stays_so_and_says_which_sentences_are_not() -> None:
    def answers(query: Query) -> Measurement:
        return fake_estimate(0.1, 0.8) if query.claim.count(".") == 1 else fake_estimate(0.9)

    verifier = Verifier(FakeBackend(answers))
    found = anyio.run(verifier.verify, "It opened in 1998. It has six lanes.", SOURCES)
    assert (found.status, found.p1) == (Status.SUPPORTED, fake_estimate(0.9))
    assert [part.status for part in found.parts] == [Status.CONTRADICTED, Status.CONTRADICTED]


def test_one_claim_is_read_with_what_it_cites() -> None:
    assert verify("The ferry sank in 2003.").status is Status.SUPPORTED
    assert verify("The ferry sank in 2003.", "S2").status is Status.SUPPORTED
    assert verify("The ferry sank in 2003.", "S1").status is Status.UNSUPPORTED
    assert verify("The ferry sank in 2003.", "S2", "S9").status is Status.PHANTOM_CITATION


def test_a_phantom_in_text_that_asserts_nothing_is_flagged() -> None:
    report = check("The bridge opened in 1998 [S1].\n\nSources: [S1], [S9]")
    assert statuses(report) == ["supported", "phantom_citation"]
    assert report.summary.outcome is Outcome.FLAGGED
    assert report.summary.claims_checked == 2


@pytest.mark.parametrize("question", ["", 5, b"When?", "\ud800"])
def test_a_question_that_is_no_text_is_a_named_error(question: object) -> None:
    with pytest.raises(TextError, match="question"):
        check("The bridge opened in 1998.", question=question)


def test_an_error_about_a_text_does_not_carry_the_text() -> None:
    with pytest.raises(TextError) as caught:
        check("a lone \ud800 surrogate")
    assert caught.value.__context__ is None


def test_queries_go_to_the_backend_in_batches_of_the_size_asked_for() -> None:
    sizes: list[int] = []

    class Counting(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            sizes.append(len(queries))
            return await super().estimate(queries)

    backend = Counting(lambda _: fake_estimate(0.9))
    answer = "The lamp is red. The door is blue. The roof is green."
    anyio.run(partial(Verifier(backend, batch_size=2).check, answer, {"S1": answer}))
    assert max(sizes) == 2
    assert sum(sizes) == len(backend.queries)


LONG = {
    "S1": " ".join(
        f"Gate {i} of the canal is {i} metres wide and has a keeper." for i in range(60)
    ),
    "S2": "The ferry sank in 2003.",
}


def asked(reads: Reads) -> tuple[Verdict, list[Query]]:
    backend = FakeBackend(stated, replace(FAKE, reads=reads))
    claim = "Gate 7 of the canal has a keeper and the ferry sank in 2003."
    verdict = anyio.run(partial(Verifier(backend).verify, claim, LONG))
    return verdict, backend.queries


def test_passages_are_read_one_by_one_unless_a_backend_reads_more() -> None:
    _, queries = asked(Reads.PASSAGES)
    assert len(queries) > 2
    assert {query.whole for query in queries} == {None}


def test_a_backend_that_reads_the_whole_gets_the_passages_as_one_text() -> None:
    verdict, (with_evidence, scrubbed) = asked(Reads.WHOLE)
    for text in ("Gate 7 of the canal", "The ferry sank in 2003."):
        assert text in with_evidence.context
        assert text not in scrubbed.context
    assert with_evidence.whole is None
    assert verdict.status is Status.SUPPORTED
    assert verdict.evidence
    assert all(one.text == one.span.of(LONG[one.source]) for one in verdict.evidence)
    assert len(verdict.windows_scored) == 2


def test_a_backend_that_reads_both_gets_each_passage_with_the_whole_beside_it() -> None:
    _, queries = asked(Reads.BOTH)
    _, (whole, _) = asked(Reads.WHOLE)
    assert [query.whole for query in queries[:-1]] == [whole.context] * (len(queries) - 1)
    assert len({query.context for query in queries}) == len(queries)


def test_a_verdict_names_what_was_read_not_what_could_have_been() -> None:
    doubtful, _ = asked(Reads.PASSAGES)
    sure = FakeBackend(lambda _: fake_estimate(0.9))
    claim = doubtful.claim.text
    decided = anyio.run(partial(Verifier(sure).verify, claim, LONG))
    assert set(decided.stitched_scored) < set(doubtful.stitched_scored)
    assert len(sure.queries) == 2


# --- what rules decide -------------------------------------------------------------------------


def one_of(texts: dict[str, float]) -> Callable[[Query], Measurement]:
    """Return an answer by the claim that is read; .02 for any other."""
    return lambda query: fake_estimate(texts.get(query.claim, 0.02))


def verified(claim: str, source: str, answers: Callable[[Query], Measurement]) -> Verdict:
    return anyio.run(Verifier(FakeBackend(answers)).verify, claim, {"S1": source})


def test_a_quantity_is_read_in_the_words_of_the_evidence_and_shown_as_it_stands() -> None:
    found = verified(
        "It starts at 2 p.m. sharp.",
        "It starts at 14:00, says the plan.",
        one_of({"It starts at 14:00 sharp.": 0.95}),
    )
    assert (found.status, found.claim.text) == (Status.SUPPORTED, "It starts at 2 p.m. sharp.")


def test_a_claim_that_differs_in_a_quantity_is_contradicted_however_it_reads() -> None:
    found = verified(
        "Its storage is 20 MB.",
        "Its storage is 20 GB, and more can be had.",
        one_of({"Its storage is 20 MB.": 0.95, "Its storage is 20 GB.": 0.95}),
    )
    assert (found.status, found.rule) == (Status.CONTRADICTED, "quantity_differs")
    assert found.difference is not None
    assert (found.difference.claimed, found.difference.stated) == ("20 MB", "20 GB")


def test_check_has_the_same_rules_and_tells_a_watcher_only_what_stands() -> None:
    told: list[Verdict] = []

    class Watching:
        def decided(self, verdict: Verdict) -> None:
            told.append(verdict)

        def stage(self, name: str, seconds: float) -> None:
            pass

    report = check(
        "The bridge carries ten thousand vehicles a day [S1].",
        lambda _: fake_estimate(0.95),
        watcher=Watching(),
    )
    assert statuses(report) == ["contradicted"]
    assert [verdict.status for verdict in told] == [Status.CONTRADICTED]


def by_context(query: Query) -> Measurement:
    """Read a sentence that stands alone, and nothing that has more beside it."""
    return fake_estimate(0.95 if query.claim == query.context else 0.02, 0.0)


def test_a_claim_that_is_a_sentence_of_its_source_is_supported_whatever_stands_beside_it() -> None:
    found = verified("A hat is red.", "A hat is red. The coat is blue.", by_context)
    assert (found.status, found.rule) == (Status.SUPPORTED, "stands_verbatim")
    assert [span.text for span in found.evidence] == ["A hat is red."]


@pytest.mark.parametrize(
    "source",
    [
        "It is not true that a hat is red. The coat is blue.",
        "The following is wrong:\n\n- A hat is red.\n- A coat is blue.",
        "If a hat is red, run. The coat is blue.",
    ],
)
def test_a_claim_inside_a_longer_sentence_or_introduced_by_a_colon_does_not_stand_verbatim(
    source: str,
) -> None:
    found = verified("A hat is red.", source, by_context)
    assert found.status is Status.UNSUPPORTED


def test_a_claim_that_is_not_read_as_supported_by_its_own_sentence_is_not_lifted() -> None:
    found = verified("A hat is red.", "A hat is red. The coat is blue.", one_of({}))
    assert found.status is Status.UNSUPPORTED


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Some say that a hat is red. The red hat is there.", Status.SUPPORTED),
        ("Some say that a hat is red. If a hat is red, run.", Status.UNDETERMINED),
        ("Some say that a hat is red.", Status.UNDETERMINED),
    ],
)
def test_a_mention_neither_supports_a_claim_nor_takes_support_away(
    source: str, expected: Status
) -> None:
    def answers(query: Query) -> Measurement:
        return fake_estimate(0.9 if "red" in query.context else 0.1)

    found = verified("A hat is red.", source, answers)
    assert found.status is expected
    assert "".join(span.text for span in found.evidence if span.role is Role.SUPPORTS) == (
        "The red hat is there." if expected is Status.SUPPORTED else ""
    )


# Claim, P of it where it is first read, source, and the second look that fails.
SECOND_LOOKS: dict[str, tuple[str, float, str, Callable[[Query], bool]]] = {
    "verbatim": (
        "A hat is red.",
        0.02,
        "A hat is red. The coat is blue.",
        lambda query: query.context == "A hat is red.",
    ),
    "quantity": (
        "Its storage is 20 MB.",
        0.95,
        "Its storage is 20 GB, and more can be had.",
        lambda query: query.claim == "Its storage is 20 GB.",
    ),
    "frame": (
        "A hat is red.",
        0.95,
        "We found that a hat is red.",
        lambda query: query.claim == PROPOSITION,
    ),
    "without its mentions": (
        "A hat is red.",
        0.95,
        "Some say that a hat is red. The red hat is there.",
        lambda query: query.context == "The red hat is there.",
    ),
}


@pytest.mark.parametrize(
    ("claim", "p1", "source", "fails"), SECOND_LOOKS.values(), ids=list(SECOND_LOOKS)
)
def test_a_second_look_that_fails_is_told(
    claim: str, p1: float, source: str, fails: Callable[[Query], bool]
) -> None:
    failure = Unmeasured(UnmeasuredReason.RATE_LIMITED, "the queue is too long")
    answers = one_of({claim: p1})
    found = verified(claim, source, lambda query: failure if fails(query) else answers(query))
    assert found.second_look == failure
    assert verified(claim, source, answers).second_look is None


def test_a_second_look_that_could_change_nothing_does_not_count() -> None:
    def answers(query: Query) -> Measurement:
        failed = query.claim == PROPOSITION and "They" in query.context
        return Unmeasured(UnmeasuredReason.RATE_LIMITED) if failed else fake_estimate(0.95)

    claim, source = "A hat is red.", "We found that a hat is red. They confirm that a hat is red."
    found = verified(claim, source, answers)
    assert (found.status, found.second_look) == (Status.SUPPORTED, None)


def test_p0_is_not_asked_of_a_backend_that_cannot_judge_without_evidence() -> None:
    fake = FakeBackend(stated, replace(FAKE, measures_dependence=False))

    async def run() -> Report:
        async with Verifier(fake) as verifier:
            return await verifier.check("The bridge opened in 1998 [S1].", SOURCES)

    (verdict,) = anyio.run(run).claims
    assert isinstance(verdict.p0, Unmeasured)
    assert verdict.p0.reason is UnmeasuredReason.DISABLED
    assert (verdict.status, verdict.evidence_dependence) == (Status.SUPPORTED, None)
    assert not any("[EVIDENCE REMOVED]" in query.context for query in fake.queries)
