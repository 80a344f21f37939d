"""Servers that fail: llama.cpp and jevcompat behind a proxy that spoils replies; one is killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from jevcompat.mock import MockConfig, Running

from _faulty_proxy import FAULTS, Fault, FaultyProxy, Pace, Upstream, always, at_first
from _llama_server import LlamaServer
from veridical.core.measurements import Estimate, Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.core.ports import Backend
from veridical.pipeline.inference import openai_chat, systemone
from veridical.pipeline.inference.wrappers import Backoff, Breaker, Circuit, Retries
from veridical.pipeline.inference.wrappers.breaker import OPEN

pytestmark = [pytest.mark.spec("SPEC-08.42"), pytest.mark.spec("SPEC-08.43")]

EVIDENCE = "John Smeaton built the lighthouse in 1759. It was made of granite."
CLAIMS = ("Smeaton built the lighthouse.", "The lighthouse was made of wood.")
QUERIES = [Query(claim, EVIDENCE) for claim in CLAIMS]
TIMEOUT_S, PATIENT_S = 2.0, 120.0
PACE = Pace(slow_s=0.1, late_s=5.0, retry_after_s=1)

TIMEOUT, RATE_LIMITED = UnmeasuredReason.TIMEOUT, UnmeasuredReason.RATE_LIMITED
ERROR, MALFORMED = UnmeasuredReason.BACKEND_ERROR, UnmeasuredReason.MALFORMED_REPLY
NO_CONNECTION = "no connection (APIConnectionError)"

EXPECTED = {
    Fault.LATE: (TIMEOUT, "TimeoutError"),
    Fault.DRIP: (TIMEOUT, "TimeoutError"),
    Fault.RATE_SECONDS: (RATE_LIMITED, "HTTP 429"),
    Fault.RATE_DATE: (RATE_LIMITED, "HTTP 429"),
    Fault.ERROR: (ERROR, "HTTP 500"),
    Fault.UNAVAILABLE: (ERROR, "HTTP 503"),
    Fault.NOT_JSON: (MALFORMED, "the reply is not JSON"),
    Fault.EMPTY: (MALFORMED, "the reply is not JSON"),
    Fault.NAN: (MALFORMED, "the log-probabilities are not those of a distribution"),
    Fault.TOO_LARGE: (MALFORMED, "the log-probabilities are not those of a distribution"),
    Fault.NO_NUMBERS: (ERROR, "no log-probabilities"),
    Fault.NO_ALTERNATIVES: (ERROR, "no log-probabilities"),
    Fault.TRUNCATED: (MALFORMED, "the reply broke off"),
    Fault.DROPPED_BEFORE: (ERROR, NO_CONNECTION),
    Fault.DROPPED_WITHIN: (ERROR, NO_CONNECTION),
}


def chat(address: str, **options: Any) -> Backend:  # noqa: ANN401
    """Return the backend `openai`; prompts cached by llama.cpp would change its answers."""
    chosen = {"sampling": False, "concurrency": 1, "extra_body": {"cache_prompt": False}}
    return openai_chat.create("smollm2", base_url=f"{address}/v1", **(chosen | options))


def decider(address: str, **options: Any) -> Backend:  # noqa: ANN401
    return systemone.create(base_url=address, claims_per_request=1, **options)


def asked(backend: Backend, queries: Sequence[Query]) -> list[Measurement]:
    return list(anyio.run(backend.estimate, queries))


def supported(found: Sequence[Measurement]) -> list[float | None]:
    return [m.supported if isinstance(m, Estimate) else None for m in found]


def failure(measurement: Measurement) -> tuple[UnmeasuredReason, str]:
    assert isinstance(measurement, Unmeasured)
    return measurement.reason, measurement.detail


@dataclass(frozen=True)
class Service:
    """Real server behind proxies, with its answers to the queries without faults."""

    upstream: Upstream
    create: Callable[..., Backend]
    healthy: list[float | None]

    def behind(self, proxy: FaultyProxy, fault: Fault = Fault.NONE) -> Backend:
        """Return a new backend that waits briefly only where the fault is to wait."""
        brief = fault in {Fault.LATE, Fault.DRIP}
        return self.create(proxy.address, timeout_s=TIMEOUT_S if brief else PATIENT_S)


def service(address: str, create: Callable[..., Backend]) -> Service:
    upstream = Upstream(address)
    healthy = supported(asked(create(address, timeout_s=PATIENT_S), QUERIES))
    assert None not in healthy
    with FaultyProxy(upstream, always(Fault.NONE), PACE) as proxy:
        passed_on = supported(asked(create(proxy.address, timeout_s=PATIENT_S), QUERIES))
    assert passed_on == pytest.approx(healthy, abs=1e-6)
    return Service(upstream, create, healthy)


@pytest.fixture(scope="module")
def llama(llama_server: str) -> Service:
    return service(llama_server.removesuffix("/v1"), chat)


@pytest.fixture(scope="module")
def decisions() -> Iterator[Service]:
    with Running(MockConfig()) as server:
        yield service(server.url, decider)


@pytest.fixture(scope="module")
def mortal(smollm2_path: Path) -> Iterator[LlamaServer]:
    """Return a llama.cpp server for tests to start, and to kill."""
    server = LlamaServer(smollm2_path)
    yield server
    server.kill()


# --- a proxy that spoils replies -------------------------------------------------------------


def test_each_fault_has_an_expected_failure() -> None:
    assert set(EXPECTED) == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_spoiled_reply_costs_its_own_claim_alone_and_only_once(
    llama: Service, fault: Fault
) -> None:
    """The failure's text is known word by word, though the proxy's errors quote the request."""

    def plan(body: str, times: int) -> Fault:
        return fault if CLAIMS[0] in body and not times else Fault.NONE

    with FaultyProxy(llama.upstream, plan, PACE) as proxy:
        backend = llama.behind(proxy, fault)
        found = asked(backend, QUERIES)
        again = asked(backend, QUERIES)
    assert failure(found[0]) == EXPECTED[fault]
    assert supported(found[1:]) == pytest.approx(llama.healthy[1:], abs=1e-6)
    assert supported(again) == pytest.approx(llama.healthy, abs=1e-6)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_decision_model_whose_replies_are_spoiled_has_decided_nothing(
    decisions: Service, fault: Fault
) -> None:
    with FaultyProxy(decisions.upstream, at_first(fault), PACE) as proxy:
        backend = decisions.behind(proxy, fault)
        found = asked(backend, QUERIES)
        again = asked(backend, QUERIES)
    malformed = fault in {Fault.NO_NUMBERS, Fault.NO_ALTERNATIVES}
    reason = MALFORMED if malformed else EXPECTED[fault][0]
    assert {failure(m)[0] for m in found} == {reason}
    assert supported(again) == decisions.healthy


def test_a_reply_that_drips_in_but_in_time_is_measured(llama: Service) -> None:
    with FaultyProxy(llama.upstream, always(Fault.SLOW), PACE) as proxy:
        found = asked(llama.behind(proxy), QUERIES)
    assert supported(found) == pytest.approx(llama.healthy, abs=1e-6)


# --- asking again ----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.RATE_SECONDS, Fault.RATE_DATE, Fault.UNAVAILABLE])
def test_a_service_that_says_when_to_come_back_is_left_alone_until_then(
    llama: Service, fault: Fault
) -> None:
    with FaultyProxy(llama.upstream, at_first(fault), PACE) as proxy:
        retried = Retries(llama.behind(proxy), Backoff(attempts=2, first_wait_s=0.01))
        found = asked(retried, QUERIES[:1])
        first, second = proxy.served
    assert supported(found) == pytest.approx(llama.healthy[:1], abs=1e-6)
    assert first.again_at > first.at
    assert second.at >= first.again_at


def test_retries_rescue_what_fails_twice_and_give_up_what_fails_always(llama: Service) -> None:
    def plan(body: str, times: int) -> Fault:
        return Fault.DROPPED_WITHIN if CLAIMS[0] in body or times < 2 else Fault.NONE

    with FaultyProxy(llama.upstream, plan, PACE) as proxy:
        backoff = Backoff(attempts=3, first_wait_s=0.01)
        found = asked(Retries(llama.behind(proxy), backoff), QUERIES)
        assert len(proxy.served) == 6
    assert failure(found[0]) == (ERROR, NO_CONNECTION)
    assert supported(found[1:]) == pytest.approx(llama.healthy[1:], abs=1e-6)


# --- a server that is killed, frozen, and started again --------------------------------------


@pytest.mark.slow
def test_a_server_killed_during_a_batch_costs_the_rest_and_is_used_again(
    mortal: LlamaServer,
) -> None:
    mortal.start()
    measured = anyio.Event()
    backend = chat(mortal.address, timeout_s=PATIENT_S, price=lambda _: measured.set())

    async def scene() -> Sequence[Measurement]:
        async def kill() -> None:
            await measured.wait()
            mortal.kill()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            return await backend.estimate([*QUERIES, Query("It stands on a rock.", EVIDENCE)])

    found = anyio.run(scene)
    assert isinstance(found[0], Estimate)
    assert [failure(m) for m in found[1:]] == [(ERROR, NO_CONNECTION)] * 2
    address = mortal.address
    mortal.start()
    assert mortal.address == address
    assert None not in supported(asked(backend, QUERIES[:1]))


@pytest.mark.slow
def test_the_circuit_opens_for_a_dead_server_and_closes_for_a_new_one(
    mortal: LlamaServer,
) -> None:
    mortal.start()
    breaker = Breaker(chat(mortal.address, timeout_s=PATIENT_S), failures=2, reset_s=1.0)
    mortal.kill()
    dead = [asked(breaker, QUERIES[:1])[0] for _ in range(4)]
    assert [failure(m) for m in dead] == [(ERROR, NO_CONNECTION)] * 2 + [(ERROR, OPEN)] * 2
    mortal.start()
    time.sleep(1.0)
    assert breaker.state is Circuit.HALF_OPEN
    assert None not in supported(asked(breaker, QUERIES[:1]))
    assert breaker.state is Circuit.CLOSED


@pytest.mark.slow
def test_a_server_that_no_longer_moves_is_a_timeout_and_is_used_again(
    mortal: LlamaServer,
) -> None:
    mortal.start()
    mortal.freeze()
    try:
        found = asked(chat(mortal.address, timeout_s=0.3), QUERIES[:1])
    finally:
        mortal.thaw()
    assert [failure(m) for m in found] == [(TIMEOUT, "TimeoutError")]
    assert None not in supported(asked(chat(mortal.address, timeout_s=PATIENT_S), QUERIES[:1]))
