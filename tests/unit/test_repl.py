"""The functions for notebooks and sandboxes, with the embedded model where meaning counts."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from veridical import repl
from veridical.core.measurements import (
    Generated,
    Measurement,
    Query,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import Policy
from veridical.core.verdicts import Status
from veridical.errors import (
    BackendError,
    ConfigurationError,
    InputError,
    SourceError,
    TextError,
    UnmeasuredError,
    VeridicalError,
)
from veridical.settings import Settings
from veridical.testing import FakeBackend, FakeTextModel, fake_estimate

SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
MANY = "\n\n".join(f"Paragraph {n} is about the harbour and its cranes. " * 20 for n in range(9))
LONG = "The bridge was opened to traffic in 1998 [S1]. It carries six lanes [S1]. " * 2


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test the defaults, and leave none of its own behind."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    reset = {"backend": None, "text_model": None, "policy": None}
    repl.configure(**reset, settings=Settings(threads=1))
    yield
    repl.configure(**reset, settings=None)


def fake(supported: float, contradicted: float = 0.0) -> FakeBackend:
    return FakeBackend(lambda _: fake_estimate(supported, contradicted))


# --- verify_claim ----------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.02", "SPEC-08.31")
def test_a_claim_is_verified_against_evidence() -> None:
    assert repl.verify_claim("The bridge was opened in 1998.", SOURCE).status is Status.SUPPORTED
    found = repl.verify_claim("The bridge carries six lanes.", SOURCE)
    assert found.status is Status.CONTRADICTED
    assert found.is_flagged


@pytest.mark.spec("SPEC-08.32")
def test_it_says_its_probabilities_bits_and_status() -> None:
    repl.configure(
        backend=FakeBackend(lambda q: fake_estimate(0.99 if "1998" in q.context else 0.5))
    )
    found = repl.verify_claim("The bridge was opened in 1998.", SOURCE)
    assert (found.p1, found.p0, found.status) == (0.99, 0.5, Status.SUPPORTED)
    assert found.budget_gap == pytest.approx(found.required_bits - found.observed_bits)
    assert found.budget_gap == pytest.approx(-0.206, abs=0.001)


@pytest.mark.spec("SPEC-16.02")
@pytest.mark.parametrize("evidence", [SOURCE, [SOURCE], [SOURCE, "Whales swim."], {"S1": SOURCE}])
def test_evidence_is_a_text_a_list_or_texts_by_id(evidence: str | list[str]) -> None:
    found = repl.verify_claim("The bridge was opened in 1998.", evidence)
    assert found.status is Status.SUPPORTED
    assert found.evidence_ids[0] in {"1", "S1"}


def test_the_confidence_is_what_the_evidence_has_to_pay_for() -> None:
    repl.configure(backend=fake(0.9))
    easy, hard = repl.verify_claim("It is on.", SOURCE, 0.5), repl.verify_claim("It is on.", SOURCE)
    assert (easy.target, hard.target) == (0.5, 0.95)
    assert easy.budget_gap == 0.0
    assert hard.budget_gap is not None
    assert hard.budget_gap > 0
    assert repl.verify_claim("It is on.", SOURCE, threshold=0.5) == easy


def test_consistency_is_none_unless_it_is_asked_for() -> None:
    repl.configure(backend=fake(0.9))
    assert repl.verify_claim("It is on.", SOURCE).consistency_score is None
    assert repl.verify_claim("It is on.", SOURCE, consistency=True).consistency_score == 1.0


@pytest.mark.spec("SPEC-16.09")
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: repl.verify_claim(1, SOURCE), TextError),
        (lambda: repl.verify_claim("", SOURCE), TextError),
        (lambda: repl.verify_claim("x", ""), TextError),
        (lambda: repl.verify_claim("x", []), SourceError),
        (lambda: repl.verify_claim("x", 3), SourceError),
        (lambda: repl.verify_claim("x", SOURCE, 95), ConfigurationError),
        (lambda: repl.verify_claims("x", {}), SourceError),
        (lambda: repl.audit_reasoning([], SOURCE), InputError),
        (lambda: repl.audit_reasoning([{"claim": "x"}], {}), SourceError),
        (lambda: repl.audit_trace("x"), InputError),
        (lambda: repl.evidence_dependence("x", "", SOURCE), TextError),
        (lambda: repl.detect_hallucinations(3, SOURCE), TextError),
        (lambda: repl.llm("x"), ConfigurationError),
        (lambda: repl.configure(backend="nope"), ConfigurationError),
        (lambda: repl.configure(text_model="nope:m"), ConfigurationError),
        (lambda: repl.answer_consistency(["one"]), ConfigurationError),
    ],
)
def test_bad_input_is_a_named_error_with_a_hint(call: object, error: type[VeridicalError]) -> None:
    with pytest.raises(error) as caught:
        call()  # type: ignore[operator]
    assert caught.value.hint


def test_a_failed_configuration_leaves_the_one_before_in_place() -> None:
    repl.configure(backend=fake(0.9))
    with pytest.raises(ConfigurationError):
        repl.configure(backend="nope")
    assert repl.current() == ("fake:fake", None)


# --- whole texts -----------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.31")
def test_all_claims_of_a_text_are_verified_in_order() -> None:
    found = repl.verify_claims("It opened in 1998. Is it long? It has six lanes.", [SOURCE])
    assert [claim.claim_text for claim in found] == ["It opened in 1998.", "It has six lanes."]
    assert found[1].status is Status.CONTRADICTED
    assert "contradicted" in str(found)


@pytest.mark.spec("SPEC-16.05")
def test_hallucinations_in_a_response_are_detected() -> None:
    response = "The bridge was opened in 1998 [S1]. It has six lanes [S1]. It is blue [S7]."
    report = repl.detect_hallucinations(response, {"S1": SOURCE})
    assert (report.total_claims, report.verified_claims, report.flagged_claims) == (3, 3, 2)
    assert [gap.gap_type for gap in report.gaps] == ["contradicted", "phantom_citation"]
    assert report.has_critical_gaps
    assert report.should_retry
    assert "eight lanes" in (report.retry_guidance or "")
    assert report.contradictions is not None


@pytest.mark.spec("SPEC-16.05")
def test_claims_that_deny_each_other_are_found_unless_switched_off() -> None:
    response = "The bridge was opened in 1998. The bridge was opened in 1950."
    report = repl.detect_hallucinations(response, [SOURCE])
    assert report.contradictions is not None
    assert len(report.contradictions.pairs) == 1
    assert (
        repl.detect_hallucinations(response, [SOURCE], contradictions=False).contradictions is None
    )


@pytest.mark.spec("SPEC-16.05")
@pytest.mark.parametrize(
    ("response", "context", "why"),
    [
        ("", SOURCE, "no_answer"),
        (" \n", SOURCE, "no_answer"),
        (None, SOURCE, "no_answer"),
        ("It is on.", {}, "no_evidence"),
        ("It is on.", None, "no_evidence"),
        ("It is on.", SOURCE, "too_short"),
    ],
)
def test_what_is_not_verified_says_why(response: str | None, context: str | None, why: str) -> None:
    backend = fake(0.9)
    repl.configure(backend=backend)
    report = repl.detect_hallucinations(response, context, skip_short=True)
    assert (report.skipped, report.total_claims, report.overall_confidence) == (why, 0, None)
    assert backend.queries == []


def test_a_short_answer_is_verified_unless_it_is_to_be_skipped() -> None:
    assert repl.detect_hallucinations("It has six lanes.", [SOURCE]).flagged_claims == 1
    assert repl.detect_hallucinations(LONG, {"S1": SOURCE}, skip_short=True).skipped is None


def test_the_policy_counts_and_what_it_leaves_out_is_counted() -> None:
    repl.configure(backend=fake(0.9), policy=Policy(max_claims=1))
    report = repl.detect_hallucinations("It is on. It is off.", SOURCE)
    assert (report.total_claims, report.verified_claims) == (2, 1)
    assert report.left_out == {"over_limit": 1}


# --- reasoning -------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.03")
def test_reasoning_is_audited_step_by_step() -> None:
    steps = [
        {"claim": "The bridge was opened to traffic in 1998.", "cites": ["S1"]},
        {"claim": "The bridge was opened in 1998.", "cites": ["step1"]},
        {"claim": "The bridge has six lanes.", "cites": ["S1"]},
        {"claim": "The bridge is wide.", "cites": ["step3"]},
        {"claim": "The bridge is long.", "cites": ["step6"]},
    ]
    found = repl.audit_reasoning(steps, {"S1": SOURCE})
    assert [claim.claim_id for claim in found] == [f"step{n}" for n in range(1, 6)]
    assert [claim.status.value for claim in found] == [
        "supported",
        "supported",
        "contradicted",
        "unsupported",
        "phantom_citation",
    ]


@pytest.mark.spec("SPEC-08.31")
def test_a_trace_is_audited_and_its_first_error_named() -> None:
    found = repl.audit_trace(
        [
            {"claim": "The bridge was opened in 1998.", "context": SOURCE},
            "The bridge carries six lanes.",
        ]
    )
    assert [step.label for step in found.steps] == ["ENTAILED", "CONTRADICTED"]
    assert found.first_error is found.steps[1]


# --- dependence ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.04")
def test_evidence_dependence_is_a_number_from_0_to_1() -> None:
    answer = "The bridge was opened to traffic in 1998."
    found = repl.evidence_dependence("When was it opened?", answer, SOURCE)
    assert type(found) is float
    assert 0.8 < found <= 1.0
    whole = repl.measure_dependence("When was it opened?", answer, SOURCE)
    assert (whole.method, whole.value) == ("scrubbing", found)


@pytest.mark.spec("SPEC-16.04")
def test_with_a_text_model_the_question_is_asked_again() -> None:
    repl.configure(text_model=FakeTextModel(lambda _: "The bridge was opened to traffic in 1998."))
    answer = "It was in 1998 that the bridge was opened to traffic."
    found = repl.measure_dependence("When was it opened?", answer, SOURCE)
    assert found.method == "re_asking"
    assert float(found) < 0.3


@pytest.mark.spec("SPEC-16.04")
def test_what_could_not_be_measured_is_a_named_error_where_a_number_was_asked_for() -> None:
    lost = Unmeasured(UnmeasuredReason.RATE_LIMITED)
    repl.configure(backend=FakeBackend(lambda _: lost))
    calls: list[Callable[[], object]] = [
        lambda: repl.evidence_dependence(None, "It has eight lanes.", SOURCE),
        lambda: repl.semantic_similarity("It is on.", "It is off."),
    ]
    for call in calls:
        with pytest.raises(UnmeasuredError) as caught:
            call()
        assert caught.value.reason == "rate_limited"
    assert repl.measure_similarity("It is on.", "It is off.").reason == "rate_limited"


@pytest.mark.spec("SPEC-16.08")
def test_texts_and_answers_are_compared() -> None:
    alike = repl.semantic_similarity("It opened in 1998.", "In 1998 it opened.")
    assert type(alike) is float
    assert alike > 0.7
    assert float(repl.answer_consistency(["It is on.", "it is on."])) == 1.0
    assert float(repl.consistency("The bridge was opened in 1998.", SOURCE)) > 0.9


@pytest.mark.spec("SPEC-16.08")
def test_texts_are_compared_by_vectors_only_with_a_model_for_them() -> None:
    with pytest.raises(ConfigurationError, match="no embedding model"):
        repl.semantic_similarity("It is on.", "It is off.", by="embeddings")
    with pytest.raises(ConfigurationError, match="by 'entailment'"):
        repl.semantic_similarity("It is on.", "It is off.", by="magic")  # type: ignore[arg-type]
    settings = {"model": "tiny", "base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
    repl.configure(settings=Settings.model_validate({"embeddings": settings}))
    found = repl.measure_similarity("It is on.", "It is off.", by="embeddings")
    assert (found.value, found.reason) == (None, "backend_error")


# --- llm -------------------------------------------------------------------------------------


def answered(request: TextRequest) -> str:
    return "It carries six lanes [S1]." if "eight lanes" in request.user else "Hello."


def test_llm_answers_from_the_context_and_the_answer_is_verified() -> None:
    model = FakeTextModel(answered)
    repl.configure(text_model=model)
    answer = repl.llm("How many lanes?", {"S1": SOURCE})
    assert answer == "It carries six lanes [S1]."
    assert answer.report is not None
    assert answer.report.flagged_claims == 1
    assert "[S1]\n<data-" in model.requests[0].user


def test_llm_verifies_nothing_if_it_is_told_so() -> None:
    backend = fake(0.9)
    repl.configure(backend=backend, text_model=FakeTextModel(answered))
    answer = repl.llm("How many lanes?", {"S1": SOURCE}, verify=False)
    assert answer.report is None
    assert answer.to_dict()["report"] is None
    assert backend.queries == []


def test_llm_without_a_context_says_that_there_was_nothing_to_verify_it_against() -> None:
    repl.configure(text_model=FakeTextModel(answered))
    answer = repl.llm("Hello?")
    assert answer.report is not None
    assert answer.report.skipped == "no_evidence"


def test_llm_says_that_the_settings_switched_verification_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VERIDICAL_VERIFICATION__ENABLED", "false")
    repl.configure(text_model=FakeTextModel(answered), settings=None)
    answer = repl.llm("How many lanes?", {"S1": SOURCE})
    assert answer.report is not None
    assert answer.report.skipped == "disabled"


def test_a_model_that_gives_no_answer_is_a_named_error() -> None:
    repl.configure(text_model=FakeTextModel(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT)))
    with pytest.raises(BackendError, match="no answer \\(timeout\\)"):
        repl.llm("Hello?", SOURCE)


# --- where it runs ---------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.33")
def test_a_sandbox_gets_the_functions_as_a_dict() -> None:
    sandbox = repl.namespace()
    code = "found = verify_claim('It carries six lanes.', 'It carries eight lanes.').status"
    exec(code, sandbox)  # noqa: S102 -- what a sandbox does
    assert sandbox["found"] is Status.CONTRADICTED
    named = {"verify_claim", "verify_claims", "audit_trace", "audit_reasoning", "llm"}
    assert named | {"evidence_dependence", "detect_hallucinations"} <= sandbox.keys()


def test_the_functions_work_inside_a_running_loop() -> None:
    async def run() -> Status:
        return repl.verify_claim("It carries six lanes.", SOURCE).status

    assert asyncio.run(run()) is Status.CONTRADICTED


def test_one_verifier_is_kept_open_between_calls() -> None:
    repl.verify_claim("It is on.", SOURCE)
    engine = repl._engine()
    verifier = engine.verifier
    repl.verify_claim("It is off.", SOURCE)
    assert repl._engine() is engine
    assert engine.verifier is verifier


def test_what_the_caller_built_is_not_closed() -> None:
    class Closing(FakeTextModel):
        closed = False

        def close(self) -> None:
            self.closed = True

    model = Closing(lambda _: Generated("x", "m"))
    repl.configure(text_model=model)
    repl.llm("Hello?", verify=False)
    repl.configure(text_model=None)
    assert not model.closed


def test_importing_it_loads_nothing_slow_and_the_interpreter_ends_by_itself() -> None:
    code = (
        "import sys; from veridical import repl\n"
        "slow = {'onnxruntime', 'anyio', 'pydantic', 'rich', 'numpy'} & set(sys.modules)\n"
        "print(slow or repl.verify_claim('It has six lanes.', 'It has eight lanes.').status)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "contradicted"
    assert run.stderr == ""


def test_queries_carry_only_the_claim_and_its_evidence() -> None:
    backend = fake(0.9)
    repl.configure(backend=backend)
    repl.verify_claim("It is on.", "A source.")
    assert {query.claim for query in backend.queries} == {"It is on."}
    assert all(isinstance(query, Query) and query.question is None for query in backend.queries)


# --- the policy, and what it took ------------------------------------------------------------


def priced(_: Query) -> Measurement:
    return replace(fake_estimate(0.97), tokens=10, cost_usd=0.25)


def test_what_a_verification_took_is_said_and_unknown_is_none() -> None:
    repl.configure(backend=FakeBackend(priced))
    found = repl.verify_claim("It opened in 1998.", SOURCE)
    assert (found.tokens, found.cost_usd) == (20, 0.5)
    reworded = repl.verify_claim("It opened in 1998.", SOURCE, consistency=True)
    assert reworded.tokens is not None
    assert reworded.tokens > 20
    repl.configure(backend=fake(0.97))
    assert repl.verify_claim("It opened in 1998.", SOURCE).cost_usd is None
    repl.configure(backend=FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT)))
    assert repl.verify_claim("It opened in 1998.", SOURCE).tokens is None


def test_a_report_sums_up_what_its_claims_and_their_contradictions_took() -> None:
    text = "The bridge carries eight lanes. The bridge carries nine lanes."
    repl.configure(backend=FakeBackend(priced))
    alone = repl.detect_hallucinations(text, SOURCE, contradictions=False)
    both = repl.detect_hallucinations(text, SOURCE)
    assert alone.tokens == sum(claim.tokens or 0 for claim in alone.claims) > 0
    assert (alone.contradicting_pairs, both.contradicting_pairs) == (None, 0)
    assert both.contradictions is not None
    assert both.contradictions.pairs_read == 1
    assert both.tokens == alone.tokens + 20


def test_an_audit_says_what_it_took_deriving_the_answer_included() -> None:
    repl.configure(backend=FakeBackend(priced))
    steps = ["The bridge opened in 1998."]
    alone = repl.audit_trace(steps, SOURCE)
    derived = repl.audit_trace(steps, SOURCE, answer="It opened in 1998.")
    assert (alone.tokens, alone.cost_usd) == (20, 0.5)
    assert derived.tokens is not None
    assert derived.tokens > 20
    assert derived.to_dict()["tokens"] == derived.tokens


@pytest.mark.parametrize(
    "call",
    [
        lambda: repl.verify_claim("Ships fly.", MANY),
        lambda: repl.verify_claims("Ships fly.", MANY),
        lambda: repl.detect_hallucinations("Ships fly.", MANY),
        lambda: repl.audit_reasoning([{"claim": "Ships fly."}], MANY),
        lambda: repl.audit_trace(["Ships fly."], MANY),
        lambda: repl.evidence_dependence(None, "Ships fly.", MANY),
        lambda: repl.consistency("Ships do not fly.", MANY),
    ],
)
def test_the_policy_reaches_every_function(call: Callable[[], object]) -> None:
    def asked(policy: Policy | None) -> int:
        backend = FakeBackend(lambda _: fake_estimate(0.3))
        repl.configure(backend=backend, policy=policy)
        call()
        return len(backend.queries)

    few, every = asked(None), asked(Policy(windows="all"))
    assert every > few


@pytest.mark.spec("SPEC-08.34")
def test_the_settings_say_whether_the_answer_of_a_trace_is_derived_again() -> None:
    off = Settings.model_validate(
        {"threads": 1, "hallucination": {"trace_auditing": {"check_post_hoc": False}}}
    )
    for settings, wanted in ((Settings(threads=1), True), (off, False)):
        repl.configure(backend=fake(0.97), settings=settings)
        found = repl.audit_trace(["It opened in 1998."], SOURCE, answer="In 1998.")
        assert (found.post_hoc is not None) is wanted


@pytest.mark.spec("SPEC-08.34")
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"verification": {"enabled": False}}, "disabled"),
        ({"hallucination": {"enabled": False}}, "disabled"),
        ({"verification": {"skip_short": True}}, "too_short"),
        ({}, None),
    ],
)
def test_the_settings_say_whether_what_a_model_answers_is_verified(
    said: dict[str, object], why: str | None
) -> None:
    model = FakeTextModel(lambda _: Generated("It opened in 1998.", "m"))
    repl.configure(backend=fake(0.97), text_model=model, settings=Settings.model_validate(said))
    answer = repl.llm("When did it open?", SOURCE)
    assert answer.report is not None
    assert answer.report.skipped == why
