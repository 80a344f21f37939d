"""Text models in wrappers: fakes where the model is not the point, and one behind loopback."""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import (
    Generated,
    TextModelInfo,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import TextModel, fingerprint_of
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference import openai_text
from veridical.pipeline.inference.prices import Price
from veridical.pipeline.inference.wrappers import (
    MemoryStore,
    SqliteStore,
    TextCache,
    wrap_text_model,
)
from veridical.pipeline.inference.wrappers.base import (
    PROMPT_TOKENS,
    estimated_tokens,
    estimated_usage,
)
from veridical.pipeline.inference.wrappers.breaker import OPEN
from veridical.pipeline.inference.wrappers.budget import REACHED, UNKNOWN
from veridical.testing import FakeTextModel, check_text_model

REQUEST = TextRequest("Be brief.", "Say hello.", max_tokens=50)
HELLO = Generated("hello", "m1", prompt_tokens=19, output_tokens=10, cost_usd=0.5, latency_ms=3.0)
FREED = replace(HELLO, prompt_tokens=0, output_tokens=0, cost_usd=0.0, cached=True)
DOWN = Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 503")

Answer = str | Generated | Unmeasured


def scripted(*answers: Answer) -> FakeTextModel:
    """Return a text model that writes one answer after the other; the last one goes on."""
    model = FakeTextModel(lambda _: answers[min(len(model.requests), len(answers)) - 1])
    return model


def written(
    model: TextModel, *requests: TextRequest
) -> Generated | Unmeasured | list[Generated | Unmeasured]:
    """Return the results of one or several requests in sequence, without latencies."""

    async def run() -> list[Generated | Unmeasured]:
        return [timeless(await model.generate(request)) for request in requests or (REQUEST,)]

    found = anyio.run(run)
    return found if len(requests) > 1 else found[0]


def timeless(found: Generated | Unmeasured) -> Generated | Unmeasured:
    if isinstance(found, Unmeasured):
        return found
    assert found.latency_ms is not None
    assert found.latency_ms >= 0
    return replace(found, latency_ms=HELLO.latency_ms)


@dataclass
class Slow(FakeTextModel):
    """Takes its time, and counts how many requests are under way."""

    seconds: float = 0.02
    at_once: int = 0
    most: int = 0
    starts: list[float] = field(default_factory=list)

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        self.starts.append(perf_counter())
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await anyio.sleep(self.seconds)
            return await super().generate(request)
        finally:
            self.at_once -= 1


def together(model: TextModel, requests: list[TextRequest]) -> list[Generated | Unmeasured]:
    found: dict[int, Generated | Unmeasured] = {}

    async def one(number: int) -> None:
        found[number] = timeless(await model.generate(requests[number]))

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(len(requests)):
                tasks.start_soon(one, number)

    anyio.run(run)
    return [found[number] for number in range(len(requests))]


def different(number: int) -> list[TextRequest]:
    return [replace(REQUEST, user=f"Say {i}.") for i in range(number)]


# --- the port --------------------------------------------------------------------------------

ALL: dict[str, Any] = {
    "cache": ":memory:",
    "deadline_s": 30.0,
    "attempts": 3,
    "retry_wait_s": 0.0001,
    "concurrency": 4,
    "slot_wait_s": math.inf,
    "requests_per_minute": 100_000,
    "tokens_per_minute": 10**9,
    "max_cost_usd": 1000.0,
    "price": lambda _: 0.01,
    "breaker_failures": 1000,
}


def test_without_options_a_text_model_stays_as_it_is() -> None:
    model = scripted(HELLO)
    assert wrap_text_model(model) is model


@pytest.mark.parametrize("answer", ['{"sky": "blue"}', HELLO, DOWN])
def test_a_text_model_with_all_wrappers_keeps_the_promises_of_the_port(answer: Answer) -> None:
    model = wrap_text_model(scripted(answer), **ALL)
    assert isinstance(model, TextModel)
    assert model.info == TextModelInfo("fake", "fake")
    anyio.run(check_text_model, model)


def test_a_text_says_what_it_took_waiting_included() -> None:
    model = wrap_text_model(Slow(lambda _: HELLO, seconds=0.05), **ALL)
    found = anyio.run(model.generate, REQUEST)
    assert isinstance(found, Generated)
    assert (found.prompt_tokens, found.output_tokens, found.cost_usd) == (19, 10, 0.5)
    assert found.latency_ms is not None
    assert found.latency_ms >= 49


def test_what_a_model_raises_is_a_value_unless_it_cannot_be_used_at_all() -> None:
    def raising(error: Exception) -> TextModel:
        def answer(_: TextRequest) -> str:
            raise error

        return wrap_text_model(FakeTextModel(answer), deadline_s=5.0)

    failed = Unmeasured(UnmeasuredReason.BACKEND_ERROR, "KeyError")
    assert written(raising(KeyError("SECRET"))) == failed
    with pytest.raises(BackendError):
        written(raising(BackendError("the file is damaged")))


def test_what_is_no_text_is_a_value() -> None:
    model = wrap_text_model(FakeTextModel(lambda _: 5), deadline_s=5.0)  # type: ignore[arg-type, return-value]
    assert written(model) == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "not a measurement")


def test_a_wrapped_model_lets_go_of_what_is_inside() -> None:
    class Loaded(FakeTextModel):
        closed = False

        def close(self) -> None:
            self.closed = True

    for inside in (Loaded(lambda _: HELLO), scripted(HELLO)):
        model: Any = wrap_text_model(inside, deadline_s=5.0)
        model.close()
        assert getattr(inside, "closed", True)


# --- asking again, and leaving alone ---------------------------------------------------------


def test_a_text_that_failed_for_the_moment_is_asked_for_again() -> None:
    inside = scripted(DOWN, Unmeasured(UnmeasuredReason.RATE_LIMITED), HELLO)
    assert written(wrap_text_model(inside, attempts=3, retry_wait_s=0.001)) == HELLO
    assert len(inside.requests) == 3
    lasting = scripted(Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG), HELLO)
    found = written(wrap_text_model(lasting, attempts=3, retry_wait_s=0.001))
    assert found == Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG)


def test_the_wait_that_a_service_asks_for_is_kept() -> None:
    told = Unmeasured(UnmeasuredReason.RATE_LIMITED, "HTTP 429", retry_after_s=0.1)
    inside = Slow(lambda _: HELLO if len(inside.requests) > 1 else told, seconds=0.0)
    assert written(wrap_text_model(inside, attempts=2, retry_wait_s=0.001)) == HELLO
    assert inside.starts[1] - inside.starts[0] >= 0.1
    hopeless = scripted(replace(told, retry_after_s=3600.0), HELLO)
    found = written(wrap_text_model(hopeless, attempts=2))
    assert found == replace(told, retry_after_s=3600.0)


def test_a_service_that_is_down_is_left_alone() -> None:
    inside = scripted(DOWN)
    model = wrap_text_model(inside, breaker_failures=2, breaker_reset_s=60.0)
    found = written(model, *[REQUEST] * 4)
    assert isinstance(found, list)
    assert [m.detail for m in found if isinstance(m, Unmeasured)] == ["HTTP 503"] * 2 + [OPEN] * 2
    assert len(inside.requests) == 2


def test_a_text_that_is_late_is_a_timeout() -> None:
    model = wrap_text_model(Slow(lambda _: HELLO, seconds=60.0), deadline_s=0.05)
    found = written(model)
    assert found == Unmeasured(UnmeasuredReason.TIMEOUT, "no answer within 0.05 s")


def test_no_more_texts_are_written_at_once_than_allowed_and_all_wait_for_their_turn() -> None:
    inside = Slow(lambda _: HELLO, seconds=0.02)
    model = wrap_text_model(inside, concurrency=2, max_wait_s=0.0, slot_wait_s=math.inf)
    assert together(model, different(7)) == [HELLO] * 7
    assert inside.most == 2


def test_texts_beyond_the_rate_are_refused_with_the_wait() -> None:
    inside = scripted(HELLO)
    model = wrap_text_model(inside, requests_per_minute=1, max_wait_s=0.0)
    found = written(model, *different(2))
    assert isinstance(found, list)
    assert found[0] == HELLO
    assert isinstance(found[1], Unmeasured)
    assert found[1].reason is UnmeasuredReason.RATE_LIMITED
    assert found[1].retry_after_s == pytest.approx(60.0, abs=2.0)


def test_the_tokens_that_a_text_took_count_against_the_rate() -> None:
    limit = estimated_tokens(REQUEST) + 40
    for inside, texts in ((scripted(HELLO), 2), (scripted("hello"), 1)):  # 29 tokens, or unknown
        model = wrap_text_model(inside, tokens_per_minute=limit, max_wait_s=0.0)
        found = written(model, *different(3))
        assert isinstance(found, list)
        assert len([m for m in found if isinstance(m, Generated)]) == texts


@given(st.text(), st.text(), st.integers(1, 10**6))
def test_a_text_is_expected_to_be_as_long_as_it_may_be(system: str, user: str, most: int) -> None:
    request = TextRequest(system, user, max_tokens=most)
    usage = estimated_usage(request)
    size = len((system + user).encode())
    assert size / 4 <= usage.input_tokens - PROMPT_TOKENS < size / 4 + 1
    assert usage.output_tokens == most
    assert estimated_tokens(request) == usage.input_tokens + most
    longer = replace(request, schema={"type": "object"})
    assert estimated_usage(longer).input_tokens > usage.input_tokens


def test_tokens_of_which_a_part_is_unknown_are_unknown() -> None:
    assert HELLO.tokens == 29
    assert replace(HELLO, prompt_tokens=None).tokens is None
    assert replace(HELLO, output_tokens=None).tokens is None


# --- money -----------------------------------------------------------------------------------


def test_a_text_that_could_exceed_the_budget_is_not_asked_for() -> None:
    inside = scripted(replace(HELLO, cost_usd=0.002))
    price = Price(input=0.0, output=100.0)  # 50 tokens may be written: half a cent
    model = wrap_text_model(inside, max_cost_usd=0.0095, price=price.cost_usd)
    found = written(model, *different(5))
    assert isinstance(found, list)
    assert found[3:] == [REACHED] * 2  # 3 x 0.002 are spent; 0.005 more would be too much
    assert len(inside.requests) == 3


def test_where_the_price_is_not_known_no_text_is_asked_for() -> None:
    inside = scripted(HELLO)
    assert written(wrap_text_model(inside, max_cost_usd=5.0)) == UNKNOWN
    assert inside.requests == []


# --- the cache -------------------------------------------------------------------------------


def test_a_text_that_was_written_is_not_asked_for_again_and_took_nothing(tmp_path: Path) -> None:
    inside = scripted(HELLO, "another")
    model = wrap_text_model(inside, cache=tmp_path / "cache.db", deadline_s=5.0)
    assert written(model, REQUEST, REQUEST) == [HELLO, FREED]
    other = wrap_text_model(scripted("another"), cache=tmp_path / "cache.db")
    assert written(other) == FREED
    assert len(inside.requests) == 1


def test_a_file_that_holds_texts_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    written(wrap_text_model(scripted(HELLO), cache=path))
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    path.chmod(0o640)  # what somebody chose is left
    written(wrap_text_model(scripted(HELLO), cache=path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_is_left_to_chance_is_written_anew() -> None:
    inside = scripted(HELLO)
    warm = replace(REQUEST, temperature=0.7, seed=7)
    assert written(wrap_text_model(inside, cache=":memory:"), warm, warm) == [HELLO] * 2
    assert len(inside.requests) == 2


def test_a_failure_is_not_kept() -> None:
    assert written(wrap_text_model(scripted(DOWN, HELLO), cache=":memory:"), REQUEST, REQUEST) == [
        DOWN,
        HELLO,
    ]


def test_who_asks_the_same_at_the_same_time_waits_for_one_text() -> None:
    inside = Slow(lambda _: HELLO)
    found = together(wrap_text_model(inside, cache=":memory:"), [REQUEST] * 5)
    assert sorted(found, key=repr) == sorted([HELLO, *[FREED] * 4], key=repr)
    assert len(inside.requests) == 1


def test_a_model_that_differs_by_its_fingerprint_alone_has_texts_of_its_own() -> None:
    store = MemoryStore()

    class Placed(FakeTextModel):
        fingerprint = "one"

    class Elsewhere(FakeTextModel):
        fingerprint = "two"

    for kind in (Placed, Elsewhere, FakeTextModel):
        inside = kind(lambda _: HELLO)
        model = wrap_text_model(inside, cache=store)
        assert fingerprint_of(model) == fingerprint_of(inside)
        assert written(model, REQUEST, REQUEST) == [HELLO, FREED]


def cache(inside: Any, store: Any = None) -> TextCache:  # noqa: ANN401
    return TextCache(inside, store or MemoryStore())


requests = st.builds(
    TextRequest,
    st.text(max_size=5),
    st.text(max_size=5),
    st.none() | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)),
    st.integers(1, 3),
    seed=st.none() | st.integers(0, 2),
)


@given(requests, requests)
def test_keys_are_equal_if_and_only_if_the_requests_are(one: TextRequest, two: TextRequest) -> None:
    keys = cache(FakeTextModel(lambda _: "")).keys([one, two])
    assert all(len(key) == 32 for key in keys)
    # The order of a schema's keys can decide about a text.
    same = one == two and list(one.schema or ()) == list(two.schema or ())
    assert (keys[0] == keys[1]) is same
    assert keys[0] == cache(FakeTextModel(lambda _: "")).keys([replace(one, temperature=0)])[0]


texts = st.builds(
    Generated,
    st.text(),
    st.text(),
    st.booleans(),
    st.none() | st.integers(0),
    st.none() | st.integers(0),
    st.none() | st.floats(0, 1e6),
    st.none() | st.floats(0, 1e6),
)


@given(texts)
def test_a_text_is_read_as_it_was_written(found: Generated) -> None:
    subject = cache(FakeTextModel(lambda _: ""))
    value = subject.written(found)
    assert value is not None
    assert subject.read(value) == subject.again(found)
    assert subject.again(found).text == found.text


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"7",
        b'{"text": "hello"}',
        b'{"text": 5, "model": "m1"}',
        b'{"text": "hello", "model": null}',
        b'{"text": "hello", "model": "m1", "cut_off": 1}',
        b'{"text": "hello", "model": "m1", "more": 1}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_value_is_no_text(value: bytes) -> None:
    assert cache(FakeTextModel(lambda _: "")).read(value) is None


def test_a_cache_that_cannot_be_written_knows_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = SqliteStore(tmp_path / "file" / "cache.db")
    inside = scripted(HELLO)
    assert written(wrap_text_model(inside, cache=store), REQUEST, REQUEST) == [HELLO] * 2
    assert store.errors > 0


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"deadline_s": -1}, {"slot_wait_s": -1}])
def test_options_that_make_no_sense_are_a_configuration_error(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        wrap_text_model(scripted(HELLO), concurrency=1, **wrong)


def test_an_option_that_there_is_not_is_an_error() -> None:
    with pytest.raises(TypeError, match="atempts"):
        wrap_text_model(scripted(HELLO), atempts=1)


# --- a model behind a service ----------------------------------------------------------------


def test_a_model_behind_a_service_recovers_and_is_asked_once(
    chat_server: Callable[..., Any], chat_completion: Callable[..., dict[str, Any]]
) -> None:
    replies = iter([(500, {}), (429, {}), (200, chat_completion("hello"))])
    server = chat_server(lambda _: next(replies))
    inside = openai_text.create(
        "m1", base_url=server.base_url, price=Price(input=1.0, output=4.0).cost_usd
    )
    model = wrap_text_model(inside, **ALL)
    first, again = written(model, REQUEST, REQUEST)  # type: ignore[misc]
    assert isinstance(first, Generated)
    assert (first.text, first.prompt_tokens, first.output_tokens) == ("hello", 19, 10)
    assert first.cost_usd == pytest.approx(59e-6)
    assert again == replace(first, prompt_tokens=0, output_tokens=0, cost_usd=0.0, cached=True)
    assert len(server.requests) == 3
    assert str(server.base_url) in fingerprint_of(model)
    elsewhere = openai_text.create("m1", base_url="http://127.0.0.1:1/v1")
    assert fingerprint_of(elsewhere) != fingerprint_of(model)


def test_usage_that_a_service_does_not_tell_stays_unknown(
    chat_server: Callable[..., Any], chat_completion: Callable[..., dict[str, Any]]
) -> None:
    silent = json.loads(json.dumps(chat_completion("hello")))
    del silent["usage"]
    server = chat_server(lambda _: (200, silent))
    model = wrap_text_model(
        openai_text.create("m1", base_url=server.base_url, price=lambda _: 1.0), deadline_s=30.0
    )
    found = anyio.run(model.generate, REQUEST)
    assert isinstance(found, Generated)
    assert (found.prompt_tokens, found.output_tokens, found.cost_usd) == (None, None, None)
    assert found.latency_ms is not None
