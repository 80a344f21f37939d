"""Outcomes of an answer: passed, marked, retried, asked about; and every failure."""

from __future__ import annotations

import threading
import time
from asyncio import CancelledError
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from veridical import Policy
from veridical.core.assessment import Outcome
from veridical.core.measurements import (
    BilledFailure,
    Generated,
    Measurement,
    Query,
    Taken,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import FailOn
from veridical.core.verdicts import Note, Status
from veridical.errors import BackendError, ConfigurationError, TextError
from veridical.orchestrator import (
    Action,
    FailureChoice,
    FailureKind,
    Orchestrator,
    ProcessedAnswer,
    ProcessingFailure,
    Replacement,
    UnverifiedReason,
    VerificationConfig,
)
from veridical.pipeline.inference.wrappers import Cache
from veridical.settings import Settings
from veridical.testing import FakeBackend, FakeTextModel, fake_estimate
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Verifier

pytestmark = [pytest.mark.spec("SPEC-16.22"), pytest.mark.spec("SPEC-16.29")]

FULL = VerificationConfig(mode="full")
SKIPPING = VerificationConfig(skip_short=True)


# --- what is done about flags ----------------------------------------------------------------


@pytest.mark.spec("SPEC-08.19")
@pytest.mark.spec("SPEC-08.20")
def test_a_supported_answer_comes_back_untouched(bridge: ModuleType) -> None:
    answer = bridge.process(
        Orchestrator(bridge.Script([bridge.GOOD]), bridge.verifier(), config=FULL)
    )
    assert (answer.text, answer.action) == (bridge.GOOD, Action.PASSED)
    assert answer.report.summary.outcome is Outcome.GROUNDED
    assert answer.guidance is None
    assert answer.failure is None


@pytest.mark.spec("SPEC-16.23")
@pytest.mark.spec("SPEC-08.22")
def test_a_flagged_claim_is_marked_and_the_answer_is_not_rejected(bridge: ModuleType) -> None:
    answer = bridge.process(
        Orchestrator(bridge.Script([bridge.WRONG]), bridge.verifier(), config=FULL)
    )
    assert answer.action is Action.FLAGGED
    assert answer.original == bridge.WRONG
    assert "The ferry never sank in 2003 [S2].[!1] A ferry ran" in answer.text
    assert "- [!1] contradicted; S2 says: “The ferry sank in 2003.”" in answer.text


@pytest.mark.spec("SPEC-16.24")
@pytest.mark.spec("SPEC-08.21")
def test_a_retry_reads_what_failed_and_the_nearest_evidence(bridge: ModuleType) -> None:
    script = bridge.Script([bridge.WRONG, bridge.GOOD])
    answer = bridge.process(
        Orchestrator(script, bridge.verifier(), on_failure="retry", config=FULL)
    )
    first, second = script.prompts
    assert first == "What of the bridge?"
    assert second.startswith(first)
    assert '"The ferry never sank in 2003." is contradicted.' in second
    assert 'In S2, this contradicts it: "The ferry sank in 2003."' in second
    assert "nine thousand" not in second
    assert (answer.text, answer.action, len(answer.attempts)) == (bridge.GOOD, Action.PASSED, 2)


def doubtful(query: Query) -> Measurement:
    """Oppose claims with "never", but not surely."""
    return fake_estimate(0.3, 0.6) if "never" in query.claim else fake_estimate(0.95)


@pytest.mark.parametrize(("fail_on", "attempts"), [("sure", 1), ("any", 2), ("contradicted", 2)])
def test_a_retry_is_for_claims_that_fail_by_the_policy(
    bridge: ModuleType, fail_on: FailOn, attempts: int
) -> None:
    script = bridge.Script([bridge.WRONG, bridge.GOOD])
    verifier = bridge.verifier(doubtful, Policy(fail_on=fail_on))
    answer = bridge.process(Orchestrator(script, verifier, on_failure="retry", config=FULL))
    assert len(answer.attempts) == attempts
    if attempts == 1:
        assert answer.action is Action.FLAGGED
        assert answer.guidance is None
        assert "The ferry never sank in 2003 [S2].[?1]" in answer.text
        assert "- [?1] contradicted, unsure: please look; S2 says" in answer.text


def test_retries_end_and_the_best_attempt_is_marked(bridge: ModuleType) -> None:
    script = bridge.Script([bridge.WORSE, bridge.WRONG, bridge.WORSE + " "])
    answer = bridge.process(
        Orchestrator(script, bridge.verifier(), on_failure="retry", max_retries=2, config=FULL)
    )
    assert len(script.prompts) == 3
    assert answer.best.number == 2
    assert answer.original == bridge.WRONG
    assert answer.action is Action.FLAGGED
    assert answer.text.count("[!1]") == 2  # the mark, and its line of the legend
    assert "contradicted" in answer.guidance


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_there_are_at_most_max_retries(bridge: ModuleType, retries: int) -> None:
    script = bridge.Script([bridge.WRONG + " " * n for n in range(5)])
    bridge.process(
        Orchestrator(
            script, bridge.verifier(), on_failure="retry", max_retries=retries, config=FULL
        )
    )
    assert len(script.prompts) == retries + 1


def test_a_generator_that_repeats_itself_is_asked_and_checked_no_further(
    bridge: ModuleType,
) -> None:
    script, spy = bridge.Script([bridge.WRONG] * 5), bridge.Spy()
    answer = bridge.process(
        Orchestrator(script, spy, on_failure="retry", max_retries=4, config=FULL)
    )
    assert (len(script.prompts), len(spy.policies)) == (2, 1)
    assert answer.action is Action.FLAGGED


def test_a_refusal_does_not_count_as_better(bridge: ModuleType) -> None:
    script = bridge.Script([bridge.WRONG, "I cannot say?"])
    answer = bridge.process(
        Orchestrator(script, bridge.verifier(), on_failure="retry", config=FULL)
    )
    assert answer.original == bridge.WRONG
    assert answer.attempts[1].skipped is UnverifiedReason.NOTHING_TO_CHECK


def test_a_short_retry_is_verified_nevertheless(bridge: ModuleType) -> None:
    script = bridge.Script([bridge.WRONG, "The bridge opened in 1998 [S1]."])
    answer = bridge.process(
        Orchestrator(script, bridge.verifier(), on_failure="retry", config=FULL)
    )
    assert (answer.text, answer.action) == (script.texts[1], Action.PASSED)


def ask_with(
    bridge: ModuleType, *replies: object, texts: list[str] | None = None
) -> ProcessedAnswer:
    seen = []

    async def ask(report: object) -> object:
        seen.append(report)
        reply = replies[len(seen) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply

    script = bridge.Script(texts or [bridge.WRONG] * 2)
    orchestrator = Orchestrator(script, bridge.verifier(), on_failure="ask", ask=ask, config=FULL)
    answer = bridge.process(orchestrator)
    assert all(report.flagged for report in seen)
    return answer


def test_a_callback_may_accept(bridge: ModuleType) -> None:
    answer = ask_with(bridge, FailureChoice.ACCEPT)
    assert (answer.text, answer.action) == (bridge.WRONG, Action.ACCEPTED)


def test_a_callback_may_give_a_text_of_its_own(bridge: ModuleType) -> None:
    answer = ask_with(bridge, Replacement("Nobody knows."))
    assert (answer.text, answer.action) == ("Nobody knows.", Action.REPLACED)
    assert answer.original == bridge.WRONG


def test_a_callback_may_have_it_tried_again(bridge: ModuleType) -> None:
    answer = ask_with(bridge, FailureChoice.RETRY, texts=[bridge.WRONG, bridge.GOOD])
    assert (answer.text, len(answer.attempts)) == (bridge.GOOD, 2)


def test_a_callback_that_accepts_a_later_attempt_gets_that_one(bridge: ModuleType) -> None:
    answer = ask_with(bridge, "retry", "accept", texts=[bridge.WRONG, bridge.WORSE])
    assert (answer.text, answer.action) == (bridge.WORSE, Action.ACCEPTED)


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (FailureChoice.FLAG, None),
        ("flag", None),
        (RuntimeError("no"), ProcessingFailure(FailureKind.ASK_ERROR, "RuntimeError")),
        (CancelledError(), ProcessingFailure(FailureKind.ASK_ERROR, "_CancelledItselfError")),
        (None, ProcessingFailure(FailureKind.ASK_ERROR, "an unknown reply (NoneType)")),
        ([], ProcessingFailure(FailureKind.ASK_ERROR, "an unknown reply (list)")),
        ("maybe", ProcessingFailure(FailureKind.ASK_ERROR, "an unknown reply (str)")),
    ],
)
def test_whatever_else_a_callback_does_the_claims_are_marked(
    bridge: ModuleType, reply: object, failure: ProcessingFailure | None
) -> None:
    answer = ask_with(bridge, reply)
    assert (answer.action, answer.failure) == (Action.FLAGGED, failure)


def test_a_callback_that_is_not_async_may_block(bridge: ModuleType) -> None:
    threads = []

    def ask(_: object) -> FailureChoice:
        threads.append(threading.current_thread())
        return FailureChoice.ACCEPT

    script = bridge.Script([bridge.WRONG])
    answer = bridge.process(
        Orchestrator(script, bridge.verifier(), on_failure="ask", ask=ask, config=FULL)
    )
    assert answer.action is Action.ACCEPTED
    assert threads != [threading.main_thread()]


# --- smart skip ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "config", "verify", "reason"),
    [
        ("", FULL, None, UnverifiedReason.NO_ANSWER),
        (None, FULL, None, UnverifiedReason.NO_ANSWER),
        (" \n" * 80, FULL, True, UnverifiedReason.NO_ANSWER),
        ("x" * 200, VerificationConfig(enabled=False), None, UnverifiedReason.DISABLED),
        ("x" * 200, FULL, False, UnverifiedReason.NOT_WANTED),
        ("The bridge never opened in 1998.", SKIPPING, None, UnverifiedReason.TOO_SHORT),
        ("Is it? " * 20, FULL, None, UnverifiedReason.NOTHING_TO_CHECK),
    ],
)
def test_an_answer_that_is_not_verified_says_why(
    bridge: ModuleType,
    text: str | None,
    config: VerificationConfig,
    verify: bool | None,
    reason: UnverifiedReason,
) -> None:
    spy = bridge.Spy()
    answer = bridge.process(Orchestrator(bridge.Script([text]), spy, config=config), verify=verify)
    assert (answer.text, answer.action) == (text or "", Action.NOT_VERIFIED)
    assert answer.skipped is reason
    assert len(spy.policies) == (reason is UnverifiedReason.NOTHING_TO_CHECK)


def test_the_limit_of_a_short_answer_is_100_characters(bridge: ModuleType) -> None:
    for length, skipped in ((99, UnverifiedReason.TOO_SHORT), (100, None)):
        text = bridge.GOOD[: length - 1] + "."
        orchestrator = Orchestrator(bridge.Script([text]), bridge.verifier(), config=SKIPPING)
        answer = bridge.process(orchestrator)
        assert (len(text), answer.skipped) == (length, skipped)
        assert answer.left_out == (None if skipped else {})


def test_a_short_answer_is_verified_on_demand(bridge: ModuleType) -> None:
    text = "The bridge never opened in 1998."
    orchestrator = Orchestrator(bridge.Script([text]), bridge.verifier(), config=SKIPPING)
    assert bridge.process(orchestrator, verify=True).action is Action.FLAGGED


# --- by default ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.19", "SPEC-16.22")
def test_an_answer_of_any_length_is_verified_wholly_by_default(bridge: ModuleType) -> None:
    many = " ".join(f"The bridge never had {n} gates." for n in range(40))
    for text, claims in (("The bridge never opened.", 1), (many, 40)):
        answer = bridge.process(Orchestrator(bridge.Script([text]), bridge.verifier()))
        assert answer.action is Action.FLAGGED
        assert answer.report.summary.claims_checked == claims
        assert answer.left_out == {}


@pytest.mark.spec("SPEC-16.28")
def test_what_a_sample_and_a_limit_leave_out_is_counted_in_the_result(bridge: ModuleType) -> None:
    config = VerificationConfig(mode="sample", sample_rate=0.5, max_claims_per_response=1)
    answer = bridge.process(
        Orchestrator(bridge.Script([bridge.GOOD]), bridge.verifier(), config=config)
    )
    assert answer.left_out == {"not_sampled": 2, "over_limit": 1}


@pytest.mark.spec("SPEC-08.34")
@pytest.mark.parametrize(
    ("said", "attempts"),
    [
        ({}, 1),
        ({"on_failure": "retry"}, 3),
        ({"on_failure": "retry", "max_retries": 1}, 2),
        ({"on_failure": "retry", "max_retries": 0}, 1),
    ],
)
def test_the_settings_say_how_often_an_answer_is_tried_again(
    bridge: ModuleType, said: dict[str, Any], attempts: int
) -> None:
    settings = Settings.model_validate({"verification": said})
    script = bridge.Script([bridge.WRONG + " " * n for n in range(5)])
    bridge.process(Orchestrator(script, bridge.verifier(), settings=settings))
    assert len(script.prompts) == attempts


@pytest.mark.spec("SPEC-08.34")
def test_the_settings_say_how_long_an_answer_waits_for_its_verdict(bridge: ModuleType) -> None:
    settings = Settings.model_validate({"hallucination": {"timeout": "100ms"}})
    slow = bridge.Spy(delay_s=5.0)
    answer = bridge.process(Orchestrator(bridge.Script([bridge.GOOD]), slow, settings=settings))
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.TIMEOUT


@pytest.mark.spec("SPEC-16.21")
def test_a_plain_orchestrator_reads_the_settings(
    bridge: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "veridical.yaml").write_text(
        "policy: {windows: all}\n"
        "verification: {mode: sample, sample_rate: 0.5, on_failure: retry, max_retries: 0}\n"
        "hallucination: {timeout: 7s}\n"
    )
    spy = bridge.Spy()
    orchestrator = Orchestrator(bridge.Script([bridge.GOOD]), spy)
    assert bridge.process(orchestrator).left_out == {"not_sampled": 2}
    assert (spy.policies[0].windows, orchestrator.config.on_failure) == ("all", "retry")
    assert orchestrator._setup.deadline_s == 7.0
    explicit = Orchestrator(bridge.Script([bridge.GOOD]), spy, config=FULL, deadline_s=3.0)
    assert bridge.process(explicit).left_out == {}
    assert explicit._setup.deadline_s == 3.0


def test_the_policy_that_a_verifier_was_given_stands_above_the_settings(
    bridge: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERIDICAL_POLICY__MODE", "sample")
    verifier = bridge.verifier(policy=Policy(max_claims=3, windows=1))
    answer = bridge.process(Orchestrator(bridge.Script([bridge.GOOD]), verifier))
    assert answer.left_out == {"over_limit": 1}
    assert answer.report.policy.windows == 1


@pytest.mark.spec("SPEC-08.02", "SPEC-08.34")
@pytest.mark.parametrize(
    "said",
    [
        {"hallucination": {"enabled": False}},
        {"hallucination": {"enabled": True, "output_verification": {"enabled": False}}},
        {"verification": {"enabled": False}},
    ],
)
def test_the_settings_switch_the_verification_of_answers_off(
    bridge: ModuleType, said: dict[str, Any]
) -> None:
    settings = Settings.model_validate(said)
    spy = bridge.Spy()
    answer = bridge.process(Orchestrator(bridge.Script([bridge.WRONG]), spy, settings=settings))
    assert (answer.skipped, spy.policies) == (UnverifiedReason.DISABLED, [])


@pytest.mark.spec("SPEC-08.02", "SPEC-08.34")
def test_output_verification_is_on_where_the_settings_say_so(bridge: ModuleType) -> None:
    on = {"enabled": True, "output_verification": {"enabled": True, "flag_threshold_bits": 9.0}}
    settings = Settings.model_validate({"hallucination": on})
    script = bridge.Script([bridge.INVENTED] * 3)
    orchestrator = Orchestrator(script, bridge.Spy(), settings=settings, on_failure="retry")
    answer = bridge.process(orchestrator)
    assert (answer.action, len(answer.attempts)) == (Action.FLAGGED, 1)
    lower = settings.model_copy(
        update={"policy": settings.policy.model_copy(update={"gap_threshold_bits": 2.0})}
    )
    script = bridge.Script([bridge.INVENTED] * 3)
    again = Orchestrator(script, bridge.Spy(), settings=lower, on_failure="retry")
    assert len(bridge.process(again).attempts) == 2


@pytest.mark.spec("SPEC-08.27")
@pytest.mark.parametrize(
    "said",
    [
        {"verification": {"verification_model": "embedded"}},
        {"hallucination": {"backend": {"default": "embedded"}}},
        {"hallucination": {"backend": {"type": "configurable"}}, "aliases": {"output": "embedded"}},
        {"hallucination": {"backend": {"type": "external"}}, "aliases": {"external": "embedded"}},
        {"hallucination": {"backend": {"type": "external", "default": "embedded"}}},
    ],
)
def test_who_verifies_answers_is_what_the_blocks_of_hosts_say(
    bridge: ModuleType, said: dict[str, Any]
) -> None:
    settings = Settings.model_validate({"backend": "no-such-backend", **said})
    answer = bridge.process(Orchestrator(bridge.Script([bridge.WRONG]), settings=settings))
    assert answer.report.backend.name == "embedded"


# --- a wide gap, and an answer without its end -----------------------------------------------


def _just_supported(query: Query) -> Measurement:
    return fake_estimate(0.71 if "opened" in query.context else 0.001)


@pytest.mark.spec("SPEC-16.22", "SPEC-16.24")
def test_a_wide_gap_of_a_supported_claim_is_critical_marked_and_tried_again(
    bridge: ModuleType,
) -> None:
    text = "The bridge opened in 1998 [S1]."
    for on_failure, attempts in (("flag", 1), ("retry", 2)):
        script = bridge.Script([text] * 3)
        verifier = bridge.verifier(_just_supported, Policy(fail_on="any"))
        answer = bridge.process(Orchestrator(script, verifier, on_failure=on_failure))
        (verdict,) = answer.report.claims
        assert (verdict.status, verdict.budget.budget_gap_bits > 2.0) == (Status.SUPPORTED, True)
        assert (answer.action, len(answer.attempts)) == (Action.FLAGGED, attempts)
        assert "supported, but less surely than it is stated" in answer.text
        assert "less confidence" in answer.guidance
    wide = VerificationConfig(gap_threshold_bits=9.0)
    script = bridge.Script([text])
    answer = bridge.process(Orchestrator(script, bridge.verifier(_just_supported), config=wide))
    assert (answer.action, answer.text) == (Action.PASSED, text)


def test_an_answer_that_was_cut_off_says_so(bridge: ModuleType) -> None:
    for cut_off in (True, False):
        written = Generated(bridge.GOOD, "m", cut_off=cut_off)
        answer = bridge.process(Orchestrator(bridge.Script([written]), bridge.verifier()))
        notes = [Note.ANSWER_CUT_OFF in verdict.notes for verdict in answer.report.claims]
        assert (answer.cut_off, notes) == (cut_off, [False, False, False, cut_off])


@pytest.mark.parametrize("context", [None, {}, {"S1": " \n"}])
def test_without_evidence_nothing_is_verified(
    bridge: ModuleType, context: dict[str, str] | None
) -> None:
    orchestrator = Orchestrator(lambda *_, **__: "x" * 200, bridge.verifier(), config=FULL)
    answer = anyio.run(orchestrator.process, "What?", context)
    assert answer.skipped is UnverifiedReason.NO_EVIDENCE


@pytest.mark.spec("SPEC-08.39")
def test_under_load_answers_go_back_unverified(bridge: ModuleType) -> None:
    spy = bridge.Spy(delay_s=0.2)
    orchestrator = Orchestrator(
        lambda *_, **__: bridge.GOOD, spy, config=FULL, max_concurrent_checks=2
    )
    answers = _at_once(bridge, orchestrator, 5)
    assert sorted(answer.skipped or "" for answer in answers) == ["", "", "load", "load", "load"]
    assert spy.most == 2
    assert bridge.process(orchestrator).skipped is None  # the load is over


def _at_once(bridge: ModuleType, orchestrator: Orchestrator, count: int) -> list[ProcessedAnswer]:
    answers: list[ProcessedAnswer] = []

    async def one() -> None:
        answers.append(await orchestrator.process("What?", bridge.SOURCES))

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one)

    anyio.run(run)
    return answers


@pytest.mark.spec("SPEC-08.39")
def test_answers_are_verified_side_by_side(bridge: ModuleType) -> None:
    spy = bridge.Spy(delay_s=0.05)
    orchestrator = Orchestrator(lambda *_, **__: bridge.GOOD, spy, config=FULL)
    answers = _at_once(bridge, orchestrator, 4)
    assert [answer.action for answer in answers] == [Action.PASSED] * 4
    assert spy.most == 4


@pytest.mark.spec("SPEC-16.26")
@pytest.mark.parametrize(("parallel", "most"), [(True, 4), (False, 1)])
def test_the_claims_of_an_answer_are_verified_at_once_or_in_turn(
    bridge: ModuleType, parallel: bool, most: int
) -> None:
    running, found = 0, 0

    class Slow(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            nonlocal running, found
            running += 1
            found = max(found, running)
            await anyio.sleep(0.05)
            running -= 1
            return await super().estimate(queries)

    verifier = Verifier(Slow(bridge.stated), batch_size=2)
    config = VerificationConfig(parallel_verification=parallel)
    answer = bridge.process(Orchestrator(bridge.Script([bridge.GOOD]), verifier, config=config))
    assert (answer.action, answer.report.summary.claims_checked) == (Action.PASSED, 4)
    assert found == most


# --- never worse than no verification --------------------------------------------------------


class Broken:
    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    async def check(self, *_: object, **__: object) -> object:
        if self.error is not None:
            raise self.error
        return None


@pytest.mark.spec("SPEC-08.43")
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("the text of an answer"),
        BackendError("damaged"),
        TextError("surrogate"),
        ExceptionGroup("two", [ValueError("a"), OSError("b")]),
        TimeoutError("inside"),
        None,
    ],
)
@pytest.mark.parametrize("on_failure", ["flag", "retry"])
def test_a_verifier_that_fails_leaves_the_answer_as_it_is(
    bridge: ModuleType, error: Exception | None, on_failure: object
) -> None:
    script = bridge.Script([bridge.WRONG])
    answer = bridge.process(Orchestrator(script, Broken(error), on_failure=on_failure))
    assert (answer.text, answer.action) == (bridge.WRONG, Action.NOT_VERIFIED)
    assert answer.failure.kind in {FailureKind.VERIFIER_ERROR, FailureKind.TIMEOUT}
    assert answer.failure.detail in {type(error).__name__, "TypeError", ""}
    assert answer.report is None
    assert answer.cost_usd is None  # unknown is not zero


@pytest.mark.spec("SPEC-08.43")
def test_a_verifier_that_ends_in_a_cancellation_of_its_own_is_a_failure(bridge: ModuleType) -> None:
    script = bridge.Script([bridge.WRONG])
    answer = bridge.process(Orchestrator(script, Broken(CancelledError())))
    assert answer.text == bridge.WRONG
    assert answer.failure.kind is FailureKind.VERIFIER_ERROR


class Hanging:
    """Verifier that returns only when it is released, and ignores cancellation."""

    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        self.released = True

    async def check(self, *_: object, **__: object) -> None:
        while not self.released:
            try:
                await anyio.sleep(0.02)
            except BaseException:  # noqa: BLE001, S112 -- that is the point
                continue


class Blocking:
    """Verifier that blocks its thread until it is released."""

    def __init__(self) -> None:
        self._released = threading.Event()

    def release(self) -> None:
        self._released.set()

    def check(self, *_: object, **__: object) -> None:
        self._released.wait(20)


@pytest.mark.spec("SPEC-08.43")
@pytest.mark.parametrize("on_failure", ["flag", "retry"])
def test_a_verifier_that_hangs_holds_nobody_up(bridge: ModuleType, on_failure: object) -> None:
    hanging = Hanging()
    orchestrator = Orchestrator(
        bridge.Script([bridge.WRONG]), hanging, on_failure=on_failure, deadline_s=0.1
    )

    async def run() -> tuple[ProcessedAnswer, float]:
        started = time.perf_counter()
        answer = await orchestrator.process("What?", bridge.SOURCES)
        took_s = time.perf_counter() - started
        hanging.release()  # or the event loop could not close
        return answer, took_s

    answer, took_s = anyio.run(run)
    assert (answer.text, answer.failure) == (bridge.WRONG, ProcessingFailure(FailureKind.TIMEOUT))
    assert took_s < 5


@pytest.mark.spec("SPEC-08.43")
def test_a_blocking_verifier_holds_nobody_up(bridge: ModuleType) -> None:
    blocking = Blocking()
    orchestrator = Orchestrator(bridge.Script([bridge.WRONG]), blocking, deadline_s=0.1)

    async def run() -> ProcessedAnswer:
        try:
            return await orchestrator.process("What?", bridge.SOURCES)
        finally:
            blocking.release()

    answer = anyio.run(run)
    assert (answer.text, answer.failure) == (bridge.WRONG, ProcessingFailure(FailureKind.TIMEOUT))


@pytest.mark.spec("SPEC-08.39")
@pytest.mark.parametrize("kind", [Hanging, Blocking])
def test_a_check_that_nobody_waits_for_counts_as_running_until_it_ends(
    bridge: ModuleType, kind: type[Hanging | Blocking]
) -> None:
    verifier = kind()
    orchestrator = Orchestrator(
        lambda *_, **__: bridge.WRONG, verifier, deadline_s=0.1, max_concurrent_checks=1
    )

    async def ask() -> ProcessedAnswer:
        return await orchestrator.process("What?", bridge.SOURCES)

    async def run() -> tuple[ProcessedAnswer, ProcessedAnswer]:
        try:
            first, second = await ask(), await ask()
        finally:
            verifier.release()
        while (await ask()).skipped:
            pass
        return first, second

    first, second = anyio.run(run)
    assert first.failure == ProcessingFailure(FailureKind.TIMEOUT)
    assert second.skipped is UnverifiedReason.LOAD


@pytest.mark.spec("SPEC-08.43")
def test_an_undetermined_report_leaves_the_answer_as_it_is(bridge: ModuleType) -> None:
    script = bridge.Script([bridge.WRONG])
    answer = bridge.process(
        Orchestrator(script, bridge.verifier(bridge.unmeasured), on_failure="retry", config=FULL)
    )
    assert (answer.text, answer.action) == (bridge.WRONG, Action.NOT_VERIFIED)
    assert answer.failure == ProcessingFailure(FailureKind.UNDETERMINED, "rate_limited")
    assert answer.report.summary.outcome is Outcome.UNDETERMINED


@pytest.mark.parametrize("bad", [5, b"bytes", "\ud800" * 200])
def test_a_source_that_is_no_text_costs_the_verification_only(
    bridge: ModuleType, bad: object
) -> None:
    orchestrator = Orchestrator(lambda *_, **__: bridge.WRONG, bridge.verifier(), config=FULL)
    answer = anyio.run(orchestrator.process, "What?", {"S1": bad})
    assert answer.text == bridge.WRONG
    assert answer.failure.kind is FailureKind.VERIFIER_ERROR


@pytest.mark.spec("SPEC-08.43")
def test_a_retry_that_fails_keeps_the_attempt_before(bridge: ModuleType) -> None:
    script = bridge.Script([bridge.WRONG, OSError("no network")])
    answer = bridge.process(
        Orchestrator(script, bridge.verifier(), on_failure="retry", config=FULL)
    )
    assert (answer.original, answer.action) == (bridge.WRONG, Action.FLAGGED)
    assert answer.failure == ProcessingFailure(FailureKind.GENERATE_ERROR, "OSError")


@pytest.mark.spec("SPEC-08.43")
def test_a_retry_that_hangs_keeps_the_attempt_before(bridge: ModuleType) -> None:
    calls = []

    async def generate(prompt: str, **_: object) -> str:
        calls.append(prompt)
        if len(calls) > 1:
            await anyio.sleep(60)
        return str(bridge.WRONG)

    orchestrator = Orchestrator(
        generate, bridge.verifier(), on_failure="retry", config=FULL, deadline_s=2.0
    )
    answer = bridge.process(orchestrator)
    assert (answer.original, answer.action) == (bridge.WRONG, Action.FLAGGED)
    assert answer.failure == ProcessingFailure(FailureKind.TIMEOUT, "generate")


MALFORMED = Unmeasured(UnmeasuredReason.MALFORMED_REPLY)


@pytest.mark.parametrize(
    ("lost", "cost_usd", "tokens"),
    [
        (BilledFailure.of(MALFORMED, Taken(1000, 0.5)), 0.75, 1100),
        (Unmeasured(UnmeasuredReason.RATE_LIMITED), 0.25, 100),
        (MALFORMED, None, None),
        (TimeoutError(), None, None),
        (OSError("no network"), None, None),
    ],
)
def test_a_retry_that_fails_costs_what_it_was_billed_or_an_unknown_sum(
    bridge: ModuleType, lost: object, cost_usd: float | None, tokens: int | None
) -> None:
    events: list[dict[str, Any]] = []
    first = Generated(bridge.WRONG, "m", prompt_tokens=90, output_tokens=10, cost_usd=0.25)
    answer = bridge.process(
        Orchestrator(
            bridge.Script([first, lost]),
            bridge.verifier(),
            on_failure="retry",
            config=FULL,
            trajectory=events.append,
        )
    )
    assert (answer.original, len(answer.attempts)) == (bridge.WRONG, 1)
    assert (answer.generation.cost_usd, answer.generation.tokens) == (cost_usd, tokens)
    assert events[-1]["generation"]["tokens"] == tokens
    failed = next(event for event in events if event.get("attempt") == 2)
    assert failed["tokens"] == (None if tokens is None else tokens - 100)


def test_a_retry_that_could_not_be_verified_is_not_taken(bridge: ModuleType) -> None:
    class OnlyOnce(bridge.Spy):  # type: ignore[name-defined, misc]
        async def check(self, *args: object, **kwargs: object) -> object:
            if self.policies:
                raise OSError
            return await super().check(*args, **kwargs)

    script = bridge.Script([bridge.WRONG, bridge.GOOD])
    answer = bridge.process(Orchestrator(script, OnlyOnce(), on_failure="retry", config=FULL))
    assert (answer.original, answer.action) == (bridge.WRONG, Action.FLAGGED)
    assert answer.failure == ProcessingFailure(FailureKind.VERIFIER_ERROR, "OSError")


@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("mine")])
def test_a_failure_of_the_first_generate_is_the_callers(
    bridge: ModuleType, error: Exception
) -> None:
    orchestrator = Orchestrator(bridge.Script([error]), bridge.verifier())
    with pytest.raises(type(error)) as caught:
        bridge.process(orchestrator)
    assert caught.value is error


@pytest.mark.parametrize(
    ("written", "kind"),
    [(5, "int"), (Generated(None, "m"), "Generated")],  # type: ignore[arg-type]
)
def test_what_is_no_text_is_a_named_error(bridge: ModuleType, written: object, kind: str) -> None:
    with pytest.raises(TextError, match=f"not {kind}"):
        bridge.process(Orchestrator(bridge.Script([written]), bridge.verifier()))


@pytest.mark.parametrize("where", ["generate", "check", "ask", "retry"])
def test_a_cancellation_passes_through(bridge: ModuleType, where: str) -> None:
    at: list[str] = []

    async def wait(here: str) -> None:
        at.append(here)
        if here == where:
            await anyio.sleep(60)

    async def generate(*_: object, **__: object) -> str:
        await wait("retry" if "generate" in at else "generate")
        return str(bridge.WRONG)

    class Waiting(bridge.Spy):  # type: ignore[name-defined, misc]
        async def check(self, *args: object, **kwargs: object) -> object:
            await wait("check")
            return await super().check(*args, **kwargs)

    async def ask(_: object) -> FailureChoice:
        await wait("ask")
        return FailureChoice.RETRY

    orchestrator = Orchestrator(generate, Waiting(), on_failure="ask", ask=ask, config=FULL)

    async def run() -> bool:
        with anyio.move_on_after(0.5) as scope:
            await orchestrator.process("What?", bridge.SOURCES)
        return scope.cancelled_caught

    assert anyio.run(run)
    assert at[-1] == where


# --- what may generate, and what may verify --------------------------------------------------


def test_a_plain_function_generates_in_a_thread(bridge: ModuleType) -> None:
    threads = []

    def generate(*_: object, **__: object) -> str:
        threads.append(threading.current_thread())
        return str(bridge.GOOD)

    assert bridge.process(Orchestrator(generate, bridge.verifier())).action is Action.PASSED
    assert threads != [threading.main_thread()]


def test_a_text_model_reads_the_sources_in_fences_and_its_cost_is_known(bridge: ModuleType) -> None:
    def write(_: TextRequest) -> Generated:
        return Generated(bridge.GOOD, "m", prompt_tokens=90, output_tokens=10, cost_usd=0.5)

    model = FakeTextModel(write)
    answer = bridge.process(Orchestrator(model, bridge.verifier(), config=FULL))
    (request,) = model.requests
    assert "[S1]" in request.system
    assert request.user.index("Source S1:\n<data-") < request.user.index("What of the bridge?")
    assert (answer.generation.tokens, answer.generation.cost_usd) == (100, 0.5)
    assert answer.cost_usd is None  # the fake backend has no price


def test_a_text_model_that_cannot_answer_is_a_named_error(bridge: ModuleType) -> None:
    model = FakeTextModel(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT))
    with pytest.raises(BackendError, match="timeout"):
        bridge.process(Orchestrator(model, bridge.verifier()))


def test_a_blocking_verifier_will_do(bridge: ModuleType) -> None:
    with SyncVerifier(bridge.verifier()) as verifier:
        orchestrator = Orchestrator(bridge.Script([bridge.WRONG]), verifier, config=FULL)
        assert bridge.process(orchestrator).action is Action.FLAGGED


def test_without_a_verifier_the_settings_say_which(
    bridge: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = bridge.process(Orchestrator(bridge.Script([bridge.WRONG]), config=FULL))
    assert answer.report.backend.name == "embedded"
    assert Status.CONTRADICTED in {verdict.status for verdict in answer.report.flagged}


def test_the_verification_model_is_the_backend_of_the_verifier(bridge: ModuleType) -> None:
    config = VerificationConfig(verification_model="no-such-backend")
    with pytest.raises(ConfigurationError, match="no-such-backend"):
        Orchestrator(bridge.Script([]), config=config)


# --- switched off ----------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.SC05")
def test_switched_off_it_needs_no_backend_and_asks_none(bridge: ModuleType) -> None:
    config = VerificationConfig(enabled=False, verification_model="no-such-backend")
    answer = bridge.process(Orchestrator(bridge.Script([bridge.WRONG]), config=config))
    assert (answer.text, answer.skipped) == (bridge.WRONG, UnverifiedReason.DISABLED)
    assert (answer.verification.cost_usd, answer.verification.latency_ms) == (0.0, 0.0)


@pytest.mark.parametrize(
    "wrong",
    [{"on_failure": "ask"}, {"deadline_s": 0}, {"max_concurrent_checks": 0}, {"max_retries": -1}],
)
def test_arguments_out_of_range_are_named(bridge: ModuleType, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Orchestrator(bridge.Script([]), bridge.verifier(), **wrong)


@pytest.mark.spec("SPEC-16.21")
def test_the_settings_say_how_answers_are_verified(bridge: ModuleType) -> None:
    settings = Settings.model_validate(
        {
            "verification": {"on_failure": "retry", "max_retries": 1, "mode": "full"},
            "hallucination": {"timeout": "7s", "output_verification": {"flag_threshold_bits": 0.5}},
        }
    )
    found = Orchestrator.from_settings(
        bridge.Script([bridge.GOOD]), settings, verifier=bridge.verifier()
    )
    assert found.config == VerificationConfig(
        on_failure="retry", max_retries=1, mode="full", gap_threshold_bits=0.5
    )
    assert found._setup.deadline_s == 7.0


def test_answers_keep_estimates_as_long_as_the_settings_of_hosts_say(bridge: ModuleType) -> None:
    settings = Settings.model_validate(
        {"cache": {"path": ":memory:"}, "hallucination": {"cache_ttl": "5m"}}
    )
    found = Orchestrator.from_settings(bridge.Script([bridge.GOOD]), settings)
    cache: Any = found._setup.checkpoint._verifier._backend  # type: ignore[union-attr]
    while not isinstance(cache, Cache):
        cache = cache.wrapped
    assert cache._ttl_s == 300.0
