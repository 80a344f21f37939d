"""Settings that are in force: verifiers, backends and wrappers built of them behave accordingly."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio
import pytest

from veridical import Report
from veridical.core.measurements import Measurement, Query, Unmeasured
from veridical.core.verdicts import Note
from veridical.errors import FlaggedError
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate
from veridical.wiring.build import build_backend, build_verifier
from veridical.wiring.memories import build_embeddings

pytestmark = pytest.mark.spec("SPEC-08.34")

Serve = Callable[..., Any]

ONE = "The bridge opened in 1998."
FOUR = f"{ONE} It carries nine thousand vehicles a day. The ferry sank in 2003. A ferry ran."
SOURCES = {
    "S1": f"{FOUR} " + " ".join(f"Sentence {i} is about topic{i} of the city." for i in range(100))
}


def checked(
    policy: dict[str, object],
    measured: Measurement,
    answer: str = FOUR,
    backend: FakeBackend | None = None,
    **blocks: object,
) -> Report:
    settings = Settings.model_validate({"policy": policy, **blocks})
    verifier = build_verifier(settings, backend=backend or FakeBackend(lambda _: measured))
    return anyio.run(partial(verifier.check, answer, SOURCES))


# --- policy ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "measured", "before", "after"),
    [
        ({"support_threshold": 0.9}, fake_estimate(0.8), "supported", "unsupported"),
        ({"contradiction_threshold": 0.9}, fake_estimate(0.0, 0.8), "contradicted", "unsupported"),
    ],
)
def test_thresholds_decide_the_status(
    policy: dict[str, object], measured: Measurement, before: str, after: str
) -> None:
    for given, expected in (({}, before), (policy, after)):
        (verdict,) = checked(given, measured, ONE).claims
        assert verdict.status == expected


def test_the_dependence_threshold_notes_claims_that_need_no_evidence() -> None:
    def noted(policy: dict[str, object]) -> bool:
        def read(query: Query) -> Measurement:
            return fake_estimate(0.95 if "REMOVED" not in query.context else 0.45)

        (verdict,) = checked(policy, fake_estimate(0.0), ONE, FakeBackend(read)).claims
        return Note.EVIDENCE_INDEPENDENT in verdict.notes

    assert not noted({})
    assert noted({"dependence_threshold": 0.99})


def test_the_target_confidence_is_that_of_a_claim_that_states_none() -> None:
    (verdict,) = checked({"target_confidence": 0.6}, fake_estimate(0.8), ONE).claims
    assert verdict.budget.target == 0.6


def test_windows_are_how_much_is_read_of_long_evidence() -> None:
    def read(windows: object) -> int:
        (verdict,) = checked({"windows": windows}, fake_estimate(0.4), "It is about it.").claims
        return len(verdict.windows_scored)

    assert read(None) < read("all")


@pytest.mark.parametrize(
    ("policy", "left_out"),
    [
        ({"mode": "sample"}, "not_sampled"),
        ({"mode": "critical_only"}, "not_critical"),
        ({"max_claims": 1}, "over_limit"),
    ],
)
def test_the_policy_says_which_claims_are_left_out(
    policy: dict[str, object], left_out: str
) -> None:
    assert left_out in checked(policy, fake_estimate(0.8)).summary.skipped


def test_rate_and_seed_say_how_many_claims_are_drawn_and_which() -> None:
    def drawn(**policy: object) -> list[str]:
        report = checked({"mode": "sample", **policy}, fake_estimate(0.8))
        return [verdict.claim.text for verdict in report.claims if verdict.checked]

    assert len(drawn(sample_rate=0.5)) == 2
    assert len(drawn(sample_rate=0.75)) == 3
    assert len({tuple(drawn(sample_rate=0.5, seed=seed)) for seed in range(8)}) > 1


def test_claims_fail_as_the_policy_says() -> None:
    unsure = fake_estimate(0.3)
    checked({"fail_on": "contradicted"}, unsure, ONE).raise_for_flagged()
    with pytest.raises(FlaggedError):
        checked({"fail_on": "any"}, unsure, ONE).raise_for_flagged()


@pytest.mark.parametrize(("parallel", "at_once"), [(True, 2), (False, 1)])
def test_batches_are_put_to_the_backend_at_once_or_in_turn(parallel: bool, at_once: int) -> None:
    running, most = 0, 0

    class Slow(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await anyio.sleep(0.02)
            running -= 1
            return await super().estimate(queries)

    slow = Slow(lambda _: fake_estimate(0.8))
    blocks = {"hallucination": {"batch_size": 2}}
    checked({"parallel": parallel}, fake_estimate(0.8), FOUR, slow, **blocks)
    assert (most >= at_once) if parallel else (most == 1)


# --- services --------------------------------------------------------------------------------

SERVICES = {
    "openai:m": "openai",
    "anthropic": "anthropic",
    "openai-decisions": "openai_decisions",
    "systemone": "systemone",
}


def estimated(name: str, server: Any, **options: object) -> Measurement:  # noqa: ANN401 -- of conftest
    """Return the measurement of one claim by a service with options, asked once."""
    block = {"base_url": server.base_url, **options}
    settings = Settings.model_validate({SERVICES[name]: block, "requests": {"attempts": 1}})
    (found,) = anyio.run(build_backend(settings, name).estimate, [Query(ONE, ONE)])
    return found


@pytest.mark.parametrize("name", SERVICES)
def test_the_key_of_a_service_goes_to_it(name: str, chat_server: Serve) -> None:
    server = chat_server(lambda _: (500, {}))
    estimated(name, server, api_key="key-of-the-settings")
    sent = {value for headers in server.headers for value in headers.values()}
    assert sent & {"key-of-the-settings", "Bearer key-of-the-settings"}


def late(_: object) -> tuple[int, dict[str, object]]:
    time.sleep(0.4)
    return 500, {}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_as_much_time_as_the_settings_say(name: str, chat_server: Serve) -> None:
    server = chat_server(late)
    for seconds, reason in ((0.1, "timeout"), (20.0, "backend_error")):
        found = estimated(name, server, timeout_s=seconds)
        assert isinstance(found, Unmeasured)
        assert found.reason == reason


def test_vectors_come_from_the_endpoint_of_the_settings_in_time(chat_server: Serve) -> None:
    server = chat_server(late)
    for seconds, reason in ((0.1, "timeout"), (20.0, "backend_error")):
        block = {"model": "m7", "base_url": server.base_url, "api_key": "k7", "timeout_s": seconds}
        model = build_embeddings(Settings.model_validate({"embeddings": block}))
        assert model is not None
        found = anyio.run(model.embed, [ONE])
        assert isinstance(found, Unmeasured)
        assert found.reason == reason
    assert {one["model"] for one in server.requests} == {"m7"}
    assert all("Bearer k7" in headers.values() for headers in server.headers)
