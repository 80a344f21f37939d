"""Every value of the configuration is read and has an effect."""

from __future__ import annotations

from dataclasses import fields
from types import ModuleType
from typing import Any

import pytest

from veridical import Policy
from veridical.core.measurements import Query
from veridical.core.verdicts import Note
from veridical.errors import ConfigurationError
from veridical.orchestrator import Action, Orchestrator, ProcessedAnswer, VerificationConfig
from veridical.testing import fake_estimate

pytestmark = pytest.mark.spec("SPEC-16.21")


def process(bridge: ModuleType, text: str, **config: Any) -> ProcessedAnswer:  # noqa: ANN401 -- any field
    options = VerificationConfig(**{"mode": "full", **config})
    found: ProcessedAnswer = bridge.process(
        Orchestrator(bridge.Script([text] * 9), bridge.verifier(), config=options)
    )
    return found


def test_the_names_are_those_of_spec_16_and_the_defaults_verify_wholly() -> None:
    found = {field.name: field.default for field in fields(VerificationConfig)}
    assert found == {
        "enabled": True,
        "skip_short": False,
        "support_threshold": None,
        "dependence_threshold": 0.3,
        "gap_threshold_bits": 2.0,
        "on_failure": "flag",
        "max_retries": 2,
        "verification_model": None,
        "max_claims_per_response": None,
        "parallel_verification": True,
        "mode": "full",
        "sample_rate": 0.3,
    }


def test_the_support_threshold_decides_what_is_supported(bridge: ModuleType) -> None:
    assert process(bridge, bridge.GOOD, support_threshold=0.9).action is Action.PASSED
    assert process(bridge, bridge.GOOD, support_threshold=0.99).action is Action.FLAGGED


def test_the_dependence_threshold_decides_what_is_independent_of_its_evidence(
    bridge: ModuleType,
) -> None:
    def notes(threshold: float) -> set[Note]:
        answer = process(bridge, bridge.GOOD, dependence_threshold=threshold)
        assert answer.report is not None
        return {note for verdict in answer.report.claims for note in verdict.notes}

    assert Note.EVIDENCE_INDEPENDENT not in notes(0.3)
    assert Note.EVIDENCE_INDEPENDENT in notes(1.0)


def test_the_gap_threshold_decides_what_is_tried_again(bridge: ModuleType) -> None:
    def attempts(bits: float) -> int:
        answer = process(bridge, bridge.INVENTED, gap_threshold_bits=bits, on_failure="retry")
        assert answer.action is Action.FLAGGED
        return len(answer.attempts)

    assert (attempts(2.0), attempts(9.0)) == (2, 1)


def test_max_claims_limits_what_is_checked(bridge: ModuleType) -> None:
    answer = process(bridge, bridge.GOOD, max_claims_per_response=2)
    assert answer.report is not None
    assert answer.report.summary.claims_checked == 2
    assert answer.report.summary.skipped == {"over_limit": 2}


def test_claims_over_the_limit_are_not_named_as_the_failure(bridge: ModuleType) -> None:
    options = VerificationConfig(max_claims_per_response=1)
    verifier = bridge.verifier(bridge.unmeasured)
    answer = bridge.process(Orchestrator(bridge.Script([bridge.GOOD]), verifier, config=options))
    assert answer.failure.detail == "rate_limited"


@pytest.mark.spec("SPEC-16.28")
def test_a_sample_checks_its_share_and_says_so(bridge: ModuleType) -> None:
    for rate, checked in ((0.3, 2), (0.5, 2), (1.0, 4)):
        answer = process(bridge, bridge.GOOD, mode="sample", sample_rate=rate)
        assert answer.report is not None
        assert answer.report.summary.claims_checked == checked


@pytest.mark.spec("SPEC-16.28")
@pytest.mark.parametrize("on_failure", ["flag", "retry"])
def test_a_sample_that_finds_something_is_followed_by_a_full_check_before_a_retry(
    bridge: ModuleType, on_failure: str
) -> None:
    spy = bridge.Spy()
    config = VerificationConfig(mode="sample", sample_rate=0.3, on_failure=on_failure)  # type: ignore[arg-type]
    everything = ". ".join(f"The bridge never had {n} gates" for n in range(9)) + "."
    script = bridge.Script([everything, bridge.GOOD])
    answer = bridge.process(Orchestrator(script, spy, config=config))
    modes = [policy.mode for policy in spy.policies]
    if on_failure == "flag":
        assert modes == ["sample"]
    else:
        assert modes == ["sample", "full", "full"]
        assert script.prompts[1].count("is contradicted") == 9
        assert answer.text == bridge.GOOD


def test_what_the_configuration_does_not_name_is_the_verifiers(bridge: ModuleType) -> None:
    base = Policy(contradiction_threshold=0.99, support_threshold=0.6, windows=5)
    policy = VerificationConfig(mode="sample").to_policy(base)
    assert (policy.contradiction_threshold, policy.support_threshold) == (0.99, 0.6)
    assert (policy.windows, policy.mode) == (5, "sample")
    assert VerificationConfig(support_threshold=0.8).to_policy(base).support_threshold == 0.8
    assert bridge.GOOD


@pytest.mark.parametrize(
    "wrong",
    [
        {"support_threshold": 1.5},
        {"dependence_threshold": -0.1},
        {"gap_threshold_bits": -1},
        {"on_failure": "panic"},
        {"max_retries": 1.5},
        {"max_retries": True},
        {"max_claims_per_response": 0},
        {"mode": "some"},
        {"sample_rate": 2},
        {"enabled": "no"},
        {"parallel_verification": 1},
        {"skip_short": None},
    ],
)
def test_a_value_out_of_range_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        VerificationConfig(**wrong)


def test_arguments_override_the_configuration(bridge: ModuleType) -> None:
    config = VerificationConfig(on_failure="flag", max_retries=5)
    orchestrator = Orchestrator(
        bridge.Script([]), bridge.verifier(), config=config, on_failure="retry", max_retries=0
    )
    assert (orchestrator.config.on_failure, orchestrator.config.max_retries) == ("retry", 0)


def test_a_claim_without_a_gap_threshold_in_reach_is_still_marked(bridge: ModuleType) -> None:
    def weak(query: Query) -> object:
        return fake_estimate(0.5) if "REMOVED" in query.context else fake_estimate(0.4)

    config = VerificationConfig(mode="full", on_failure="retry")
    script = bridge.Script([bridge.GOOD])
    answer = bridge.process(Orchestrator(script, bridge.verifier(weak), config=config))
    assert answer.action is Action.FLAGGED
    assert len(answer.attempts) == 1
