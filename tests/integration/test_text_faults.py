"""A real text model behind a proxy that spoils replies, put together from settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from _faulty_proxy import Fault, FaultyProxy, Pace, Upstream, always, at_first
from veridical.core.measurements import Generated, TextRequest, Unmeasured, UnmeasuredReason
from veridical.pipeline.inference.wrappers.breaker import OPEN
from veridical.settings import Settings
from veridical.wiring.build import build_text_model

pytestmark = [pytest.mark.spec("SPEC-08.42"), pytest.mark.slow]

PACE = Pace(slow_s=0.1, late_s=5.0, retry_after_s=1)
REQUEST = TextRequest("You are brief.", "Say hello.", max_tokens=4)

# What numbers are spoiled by is no fault of a text.
FAULTS = {
    Fault.RATE_SECONDS: (UnmeasuredReason.RATE_LIMITED, "HTTP 429"),
    Fault.RATE_DATE: (UnmeasuredReason.RATE_LIMITED, "HTTP 429"),
    Fault.ERROR: (UnmeasuredReason.BACKEND_ERROR, "HTTP 500"),
    Fault.UNAVAILABLE: (UnmeasuredReason.BACKEND_ERROR, "HTTP 503"),
    Fault.NOT_JSON: (UnmeasuredReason.MALFORMED_REPLY, "the reply is not JSON"),
    Fault.EMPTY: (UnmeasuredReason.MALFORMED_REPLY, "the reply is not JSON"),
    Fault.TRUNCATED: (UnmeasuredReason.MALFORMED_REPLY, "the reply broke off"),
    Fault.DROPPED_BEFORE: (
        UnmeasuredReason.BACKEND_ERROR,
        "no connection (APIConnectionError)",
    ),
    Fault.DROPPED_WITHIN: (
        UnmeasuredReason.BACKEND_ERROR,
        "no connection (APIConnectionError)",
    ),
}


@pytest.fixture(scope="module")
def upstream(llama_server: str) -> Upstream:
    return Upstream(llama_server.removesuffix("/v1"))


def settings(proxy: FaultyProxy, timeout_s: float = 120.0, **blocks: object) -> Settings:
    return Settings.model_validate(
        {
            "openai": {"base_url": f"{proxy.address}/v1"},
            "extraction": {"timeout_s": timeout_s},
            **blocks,
        }
    )


def written(chosen: Settings, times: int = 1) -> list[Generated | Unmeasured]:
    model = build_text_model(chosen, "openai:smollm2")

    async def run() -> list[Generated | Unmeasured]:
        return [await model.generate(REQUEST) for _ in range(times)]

    return anyio.run(run)


@pytest.fixture(scope="module")
def spoiled(
    upstream: Upstream,
) -> Callable[..., tuple[list[Generated | Unmeasured], list[Any]]]:
    """Return the results of requests behind a fault, and the proxy's record."""

    def run(
        plan: Callable[[str, int], Fault],
        times: int = 1,
        **blocks: Any,  # noqa: ANN401 -- of settings
    ) -> tuple[list[Generated | Unmeasured], list[Any]]:
        with FaultyProxy(upstream, plan, PACE) as proxy:
            return written(settings(proxy, **blocks), times), list(proxy.served)

    return run


Spoiled = Callable[..., tuple[list[Generated | Unmeasured], list[Any]]]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_text_whose_reply_was_spoiled_is_written_at_the_second_attempt(
    spoiled: Spoiled, fault: Fault
) -> None:
    (found,), served = spoiled(at_first(fault))
    assert isinstance(found, Generated)
    assert (found.model, found.cost_usd) == ("smollm2", None)
    # What a reply took that came, but could not be read, nobody knows.
    unread = FAULTS[fault][0] in {UnmeasuredReason.TIMEOUT, UnmeasuredReason.MALFORMED_REPLY}
    assert found.output_tokens == (None if unread else 4)
    assert (found.prompt_tokens is None) is unread
    assert found.latency_ms is not None
    first, second = served
    assert second.at >= first.again_at


@pytest.mark.parametrize("fault", FAULTS)
def test_a_text_whose_replies_are_always_spoiled_is_a_value_with_its_reason(
    spoiled: Spoiled, fault: Fault
) -> None:
    (found,), served = spoiled(always(fault), requests={"attempts": 1})
    assert isinstance(found, Unmeasured)
    assert (found.reason, found.detail) == FAULTS[fault]
    assert len(served) == 1


@pytest.mark.parametrize("fault", [Fault.LATE, Fault.DRIP])
def test_a_text_that_is_late_is_a_timeout(spoiled: Spoiled, fault: Fault) -> None:
    (found,), _ = spoiled(always(fault), timeout_s=0.5, requests={"attempts": 1})
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.TIMEOUT


def test_a_deadline_bounds_all_attempts_together(spoiled: Spoiled) -> None:
    (found,), _ = spoiled(always(Fault.LATE), requests={"deadline_s": 0.5})
    assert found == Unmeasured(UnmeasuredReason.TIMEOUT, "no answer within 0.5 s")


def test_a_server_that_fails_is_left_alone(spoiled: Spoiled) -> None:
    chosen = {"attempts": 1, "breaker_failures": 2}
    found, served = spoiled(always(Fault.ERROR), times=4, requests=chosen)
    assert [m.detail for m in found if isinstance(m, Unmeasured)] == ["HTTP 500"] * 2 + [OPEN] * 2
    assert len(served) == 2


def test_a_text_that_is_kept_is_not_asked_for_again(spoiled: Spoiled, tmp_path: Path) -> None:
    cache = {"path": str(tmp_path / "cache.db"), "texts": True}
    (first, again), served = spoiled(always(Fault.NONE), times=2, cache=cache)
    assert isinstance(first, Generated)
    assert isinstance(again, Generated)
    assert (again.text, again.prompt_tokens, again.output_tokens) == (first.text, 0, 0)
    assert len(served) == 1


def test_a_budget_without_a_price_asks_nothing(spoiled: Spoiled) -> None:
    (found,), served = spoiled(always(Fault.NONE), requests={"max_cost_usd": 1.0})
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.DISABLED
    assert served == []


def test_a_price_of_ones_own_pays_for_texts_until_the_budget_is_spent(
    spoiled: Spoiled, tmp_path: Path
) -> None:
    (tmp_path / "prices.yaml").write_text("smollm2: {input: 0.0, output: 100000.0}\n")
    paid = {"prices": str(tmp_path / "prices.yaml"), "requests": {"max_cost_usd": 1.0}}
    found, served = spoiled(always(Fault.NONE), times=4, **paid)  # 4 tokens cost 0.4
    costs = [m.cost_usd for m in found if isinstance(m, Generated)]
    assert costs == pytest.approx([0.4, 0.4])
    assert [m.detail for m in found if isinstance(m, Unmeasured)] == ["cost budget reached"] * 2
    assert len(served) == 2
