from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from veridical.core.measurements import Estimator, Reads
from veridical.core.ports import Backend, TextModel, estimators_of
from veridical.errors import BackendError, ConfigurationError
from veridical.memory import GatePolicy
from veridical.pipeline.inference.aliases import Operation
from veridical.pipeline.inference.capabilities import ServerCapabilities
from veridical.pipeline.inference.card import WEIGHTS
from veridical.pipeline.inference.cascade import Cascade
from veridical.pipeline.inference.classifier_servers import FORMATS
from veridical.pipeline.inference.classify import ServedClassifier
from veridical.pipeline.inference.claude import Claude
from veridical.pipeline.inference.decisions import RequestLimits
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.gguf import Gguf
from veridical.pipeline.inference.gguf_text import GgufText
from veridical.pipeline.inference.listed_prices import address_of
from veridical.pipeline.inference.openai_chat import OpenAIChat
from veridical.pipeline.inference.openai_decisions import OpenAIDecisions
from veridical.pipeline.inference.openai_text import OpenAIText
from veridical.pipeline.inference.prices import Usage, UsageBound
from veridical.pipeline.inference.sampling import Plan
from veridical.pipeline.inference.systemone import SystemOne
from veridical.pipeline.inference.text_form import TextForm
from veridical.pipeline.inference.wrappers import (
    Breaker,
    Cache,
    CostLimit,
    Deadline,
    RateLimited,
    Retries,
    TextCache,
    WrappedTextModel,
)
from veridical.pipeline.inference.wrappers.base import Wrapper
from veridical.settings import Settings
from veridical.testing import FAKE, FakeBackend, FakeTextModel, fake_estimate
from veridical.wiring.build import (
    build_backend,
    build_store,
    build_text_model,
    build_verifier,
    is_instant,
)
from veridical.wiring.memories import build_memory


@pytest.mark.spec("SPEC-08.27")
def test_the_default_backend_is_the_embedded_verifier() -> None:
    info = build_backend(Settings(), Settings().backend).info
    assert (info.name, info.model) == ("embedded", "verifier-v5")


def test_a_model_may_follow_the_name() -> None:
    assert build_backend(Settings(), "embedded:verifier-v5").info.model == "verifier-v5"


def test_an_unknown_model_is_a_named_error() -> None:
    with pytest.raises(BackendError, match="no-such-model"):
        build_backend(Settings(), "embedded:no-such-model")


def test_an_unknown_backend_is_named_and_the_installed_ones_listed() -> None:
    with pytest.raises(ConfigurationError, match="embedded"):
        build_verifier(Settings(), backend="oracle")


def test_a_misspelt_backend_is_told_the_name_that_is_near() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_backend(Settings(), "embeded")
    assert (caught.value.hint or "").startswith("Did you mean embedded? Installed here: ")


def test_a_backend_that_is_built_already_is_used_as_it_is() -> None:
    fake = FakeBackend(lambda _: fake_estimate(0.9))
    assert build_backend(Settings(), fake) is fake


@pytest.mark.parametrize("backend", [5, None, object()])
def test_what_is_neither_a_name_nor_a_backend_is_refused(backend: object) -> None:
    with pytest.raises(ConfigurationError, match="is a name or"):
        build_backend(Settings(), backend)


# --- the backends that come with extras: built as they are, and not asked ---------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a file that begins as a GGUF file does; the rest is read when it is loaded."""
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(60))
    return path


def settings(**blocks: object) -> Settings:
    """Return settings with an address for each service, so that none needs a key."""
    local = {"base_url": "http://127.0.0.1:9/v1"}
    services = dict.fromkeys(("openai", "openai_decisions", "systemone", "anthropic"), local)
    return Settings.model_validate(services | blocks)


def inside(backend: Backend | TextModel) -> Any:  # noqa: ANN401 -- of whatever class
    while isinstance(backend, Wrapper | WrappedTextModel):
        backend = backend.wrapped
    return backend


@pytest.mark.spec("SPEC-08.27")
@pytest.mark.parametrize(
    ("name", "kind", "model", "estimator"),
    [
        ("openai:qwen3", OpenAIChat, "qwen3", Estimator.LOGPROBS),
        ("openai-decisions", OpenAIDecisions, "gpt-6-luna", Estimator.DECISION),
        ("openai-decisions:nimble", OpenAIDecisions, "nimble", Estimator.DECISION),
        ("systemone", SystemOne, "jev-latest", Estimator.DECISION),
        ("systemone:laya", SystemOne, "laya", Estimator.DECISION),
        ("anthropic", Claude, "claude-haiku-5-5", Estimator.SAMPLING),
        ("anthropic:claude-opus-5", Claude, "claude-opus-5", Estimator.SAMPLING),
        ("haiku", Claude, "claude-haiku-5-5", Estimator.SAMPLING),
        ("self", OpenAIChat, "qwen3", Estimator.LOGPROBS),
        ("external", SystemOne, "jev-latest", Estimator.DECISION),
        ("configurable", Claude, "claude-haiku-5-5", Estimator.SAMPLING),
    ],
)
def test_each_backend_is_built_by_its_name(
    name: str, kind: type, model: str, estimator: Estimator
) -> None:
    aliases = {"self": "openai:qwen3", "external": "systemone", "check": "haiku"}
    built = build_backend(settings(aliases=aliases), name)
    assert isinstance(built, Backend)
    assert isinstance(inside(built), kind)
    assert (built.info.model, built.info.estimator) == (model, estimator)
    assert built.info.reads is Reads.WHOLE


def test_the_embedded_verifier_reads_passages_and_a_cascade_behind_it_both(model: Path) -> None:
    assert build_backend(Settings(), "embedded").info.reads is Reads.PASSAGES
    chosen = settings(cascade={"second": f"gguf:{model}"})
    assert build_backend(chosen, "cascade").info.reads is Reads.BOTH


def test_a_model_file_is_a_backend(model: Path) -> None:
    block = {"context_tokens": 512, "timeout_s": 5.0}
    built = inside(build_backend(settings(gguf=block, threads=3), f"gguf:{model}"))
    assert isinstance(built, Gguf)
    assert built.info.model == "model.gguf"
    assert (built._load.context_tokens, built._load.threads) == (512, 3)
    assert built._timeout_s == 5.0


def test_a_model_folder_is_a_backend_and_so_is_a_downloaded_one(tmp_path: Path) -> None:
    shutil.copytree(WEIGHTS, tmp_path / "ours")
    built = build_backend(settings(), f"onnx:{tmp_path / 'ours'}")
    assert isinstance(inside(built), EmbeddedVerifier)
    assert built.info.name == "onnx"
    assert not is_instant(built)
    with pytest.raises(ConfigurationError, match="veridical models get factcg-deberta-l"):
        build_backend(settings(models={"folder": str(tmp_path)}), "hub:factcg-deberta-l")


def test_the_memory_gate_refuses_a_backend_without_p0(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeBackend(lambda _: fake_estimate(0.9), replace(FAKE, measures_dependence=False))
    monkeypatch.setattr("veridical.wiring.memories.build_backend", lambda *_, **__: fake)
    with pytest.raises(ConfigurationError, match="needs p0, which fake does not measure"):
        build_memory(settings(), gate=True)


@pytest.mark.spec("SPEC-08.27")
@pytest.mark.parametrize(
    ("operation", "kind"),
    [("check", EmbeddedVerifier), ("memory", OpenAIChat), ("output", Claude), ("trace", Claude)],
)
def test_configurable_is_chosen_for_each_operation(operation: Operation, kind: type) -> None:
    aliases = {"check": "embedded", "memory": "self", "output": "haiku", "trace": "anthropic"}
    chosen = settings(aliases=aliases | {"self": "openai:qwen3"})
    assert isinstance(
        inside(build_backend(chosen, "configurable", operation=operation)),
        kind,
    )


def test_a_cascade_is_built_of_both_its_backends(model: Path) -> None:
    parts = {"first": f"gguf:{model}", "second": "haiku", "low": 0.1, "high": 0.9}
    built = build_backend(settings(cascade=parts), "cascade")
    assert isinstance(built, Cascade)
    assert built.info.model == "model.gguf+claude-haiku-5-5"
    assert (built._low, built._high) == (0.1, 0.9)
    assert estimators_of(built) == {Estimator.LOGPROBS, Estimator.SAMPLING}


@pytest.mark.parametrize(
    ("name", "cascade", "problem"),
    [
        ("cascade", {}, "no second backend"),
        ("cascade", {"first": None, "second": "embedded"}, "no first backend"),
        ("cascade", {"second": "cascade"}, "the cascade itself"),
        ("cascade", {"first": "self", "second": "embedded"}, "the cascade itself"),
        ("cascade:m", {"second": "embedded"}, "takes no model"),
    ],
)
def test_a_cascade_that_cannot_be_says_why(
    name: str, cascade: dict[str, object], problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        build_backend(settings(cascade=cascade, aliases={"self": "cascade"}), name)


def test_the_options_of_a_chat_endpoint_reach_it() -> None:
    block = {
        "base_url": "http://127.0.0.1:9/v1",
        "samples_max": 5,
        "top_logprobs": 3,
        "extra_body": {"seed": 7},
    }
    built = inside(build_backend(settings(openai=block), "openai:m"))
    assert built._plan == Plan(3, 5)
    assert built._dialect == ServerCapabilities(3)
    assert built._extra_body == {"seed": 7}
    off = build_backend(settings(openai=block | {"sampling": False}), "openai:m")
    assert estimators_of(off) == {Estimator.LOGPROBS}


@pytest.mark.parametrize(("name", "block"), [("openai:m", "openai"), ("anthropic", "anthropic")])
def test_a_claim_has_as_many_samples_as_the_settings_say(name: str, block: str) -> None:
    local = {"base_url": "http://127.0.0.1:9/v1", "samples_min": 4, "samples_max": 6}
    assert inside(build_backend(settings(**{block: local}), name))._plan == Plan(4, 6)


@pytest.mark.parametrize("name", ["openai:m", "anthropic"])
def test_sampling_stops_at_the_threshold_of_the_policy(name: str) -> None:
    for threshold, expected in ((0.9, 0.9), (None, 0.7), (1.0, 0.7)):
        chosen = settings(policy={"support_threshold": threshold})
        assert inside(build_backend(chosen, name))._plan.threshold == expected


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("haiku", 0.1),
        ("anthropic", 0.1),
        ("openai:gpt-4.1", 2.0),
        ("openai-decisions", 0.1),
        ("systemone:gpt-4.1", 2.0),
    ],
)
def test_a_request_is_priced_by_the_full_name_of_its_model(name: str, price: float) -> None:
    assert inside(build_backend(settings(), name))._price(Usage(100_000, 0)) == price / 10


def test_a_price_file_wins_for_a_default_model_too(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("claude-haiku-5-5: {input: 7.0, output: 9.0}\n")
    built = build_backend(settings(prices=str(tmp_path / "prices.yaml")), "anthropic")
    assert inside(built)._price(Usage(1_000_000, 0)) == 7.0


def test_a_price_that_is_unknown_is_none() -> None:
    assert inside(build_backend(settings(), "openai:nobody"))._price(Usage(1, 1)) is None


def test_a_model_in_no_table_has_the_price_of_the_list_at_its_own_service(
    tmp_path: Path,
) -> None:
    pytest.importorskip("genai_prices")
    listed = inside(build_backend(settings(openai={"api_key": "k"}), "openai:gpt-4o"))
    assert 0 < listed._price(Usage(1_000, 100)) < 1
    local = build_backend(settings(openai={"base_url": "http://127.0.0.1:9/v1"}), "openai:gpt-4o")
    assert inside(local)._price(Usage(1_000, 100)) is None
    assert address_of(local) == "http://127.0.0.1:9/v1/"
    (tmp_path / "prices.yaml").write_text("gpt-4o: {input: 7.0, output: 9.0}\n")
    own = settings(prices=str(tmp_path / "prices.yaml"))
    assert inside(build_backend(own, "openai:gpt-4o"))._price(Usage(1_000_000, 0)) == 7.0


# --- text models -----------------------------------------------------------------------------


def test_a_text_model_has_the_options_of_the_backend_of_its_name() -> None:
    block = {"base_url": "http://127.0.0.1:9/v1", "extra_body": {"user": "u1"}, "timeout_s": 5.0}
    chosen = settings(openai=block, extraction={"timeout_s": 77.0})
    built = inside(build_text_model(chosen, "openai:gpt-4.1"))
    assert isinstance(built, OpenAIText)
    assert (built.info.name, built.info.model) == ("openai", "gpt-4.1")
    assert str(built._client.base_url) == "http://127.0.0.1:9/v1/"
    assert built._extra_body == {"user": "u1"}
    assert built._timeout_s == 77.0
    assert built._price(Usage(1_000_000, 0)) == 2.0


REQUESTS = {
    "deadline_s": 500.0,
    "attempts": 4,
    "per_minute": 30,
    "tokens_per_minute": 9000,
    "max_wait_s": 70.0,
    "breaker_failures": 7,
    "breaker_reset_s": 90.0,
    "max_cost_usd": 1.5,
}


def wrappers(asked: Any) -> dict[type, Any]:  # noqa: ANN401 -- of whatever class
    """Return the wrappers by their class, from the outside in."""
    found = {}
    while isinstance(asked, Wrapper):
        found[type(asked)] = asked
        asked = asked.wrapped
    return found


@pytest.mark.parametrize(("name", "at_once"), [("openai:m1", 5), ("anthropic", 4)])
def test_a_text_model_has_the_wrappers_that_a_backend_has(name: str, at_once: int) -> None:
    local = {"base_url": "http://127.0.0.1:9/v1", "concurrency": 5}
    built = build_text_model(settings(requests=REQUESTS, openai=local), name)
    assert isinstance(built, WrappedTextModel)
    found = wrappers(built.inner)
    assert list(found) == [Deadline, Retries, RateLimited, CostLimit, Breaker]
    assert built.kept is built.inner
    assert found[Deadline]._seconds == 500.0
    assert found[Retries]._backoff.attempts == 4
    limits = found[RateLimited]
    assert (limits._concurrency, limits._requests._limit, limits._tokens._limit) == (
        at_once,
        30,
        9000,
    )
    assert (limits._max_wait_s, limits._slot_wait_s) == (70.0, math.inf)
    assert found[CostLimit]._limit == 1.5
    assert (found[Breaker]._limit, found[Breaker]._reset_s) == (7, 90.0)


def test_a_budget_knows_the_price_of_a_text(tmp_path: Path) -> None:
    built = build_text_model(settings(requests=REQUESTS), "openai:gpt-4.1")
    assert isinstance(built, WrappedTextModel)
    price = wrappers(built.inner)[CostLimit]._price
    assert price(Usage(1_000_000, 0)) == 2.0
    (tmp_path / "prices.yaml").write_text("gpt-4.1: {input: 7.0, output: 9.0}\n")
    own = settings(requests=REQUESTS, prices=str(tmp_path / "prices.yaml"))
    built = build_text_model(own, "openai:gpt-4.1")
    assert isinstance(built, WrappedTextModel)
    assert wrappers(built.inner)[CostLimit]._price(Usage(0, 1_000_000)) == 9.0


def test_a_budget_knows_what_a_claim_and_a_text_may_take() -> None:
    found = wrappers(build_backend(settings(requests=REQUESTS), "haiku"))
    assert found[CostLimit]._most() == UsageBound(13, 96)
    assert found[CostLimit]._price(Usage(1_000_000, 0)) is None  # of a prompt of that length
    assert found[CostLimit]._price(Usage(10_000, 0)) == pytest.approx(0.00125)  # and not .001
    built = build_text_model(settings(requests=REQUESTS), "anthropic:claude-opus-9")
    assert isinstance(built, WrappedTextModel)
    assert wrappers(built.inner)[CostLimit]._most() == UsageBound(1, 8_000)


@pytest.mark.parametrize("texts", [False, True])
def test_texts_are_kept_only_if_that_is_switched_on(
    tmp_path: Path, model: Path, texts: bool
) -> None:
    chosen = settings(cache={"path": str(tmp_path / "cache.db"), "texts": texts})
    for name in ("openai:m1", f"gguf:{model}"):
        built = build_text_model(chosen, name)
        found = isinstance(built, WrappedTextModel) and isinstance(built.kept, TextCache)
        assert found is texts


def test_a_text_model_in_this_process_has_a_deadline_and_no_more(model: Path) -> None:
    built = build_text_model(settings(requests=REQUESTS), f"gguf:{model}")
    assert isinstance(built, WrappedTextModel)
    assert list(wrappers(built.inner)) == [Deadline]
    assert isinstance(build_text_model(settings(), f"gguf:{model}"), GgufText)


def test_a_backend_in_this_process_costs_nothing_and_so_has_a_price(model: Path) -> None:
    built = build_backend(settings(requests=REQUESTS), f"gguf:{model}")
    assert wrappers(built)[CostLimit]._price(Usage(1_000_000, 1)) == 0.0


def test_a_classifier_server_is_built_with_its_settings() -> None:
    limits = {"texts_per_request": 7, "concurrency": 3, "timeout_s": 5.0}
    block = {"preset": "factcg-deberta-l", "api_key": "sk-1", **limits}
    built = build_backend(settings(classify=block), "classify:http://127.0.0.1:9/tei/")
    assert isinstance(inside(built), ServedClassifier)
    assert inside(built)._limits == RequestLimits(5.0, 3, 7)
    assert inside(built)._headers["Authorization"] == "Bearer sk-1"
    assert (built.info.name, built.info.model) == ("classify", "127.0.0.1:9/tei")
    assert not built.info.tells_contradiction
    limited = settings(classify=block, requests=REQUESTS)
    found = wrappers(build_backend(limited, "classify:http://127.0.0.1:9"))
    assert (found[Deadline]._batch, found[RateLimited]._batch) == (7, 7)


def test_a_classifier_of_any_model_is_described_by_the_settings() -> None:
    block = {"server": "vllm", "labels": ["no", "yes"], "template": "{context} {claim}"}
    built = inside(build_backend(settings(classify=block), "classify:http://127.0.0.1:9"))
    assert built._form == TextForm("{context} {claim}", ("no", "yes"))
    assert built._formats == [FORMATS["vllm"]]


def test_a_preset_is_a_setting_of_a_chat_endpoint() -> None:
    local = {"base_url": "http://127.0.0.1:9/v1", "preset": "granite-guardian"}
    built = build_backend(settings(openai=local), "openai:guardian")
    assert (built.info.support_threshold, built.info.tells_contradiction) == (0.5, False)
    strict = settings(openai=local, policy={"support_threshold": 0.9})
    assert build_backend(strict, "openai:guardian").info.support_threshold == 0.9
    assert inside(build_text_model(settings(openai=local), "openai:m1")).info.model == "m1"


@pytest.mark.parametrize(
    ("name", "block", "claims"),
    [
        ("anthropic", "anthropic", 20),
        ("openai-decisions", "openai_decisions", 64),
        ("systemone", "systemone", 64),
        ("openai:m1", "openai", 1),
    ],
)
def test_deadline_and_limits_count_the_requests_that_a_backend_makes(
    name: str, block: str, claims: int
) -> None:
    found = wrappers(build_backend(settings(requests=REQUESTS), name))
    assert (found[Deadline]._batch, found[RateLimited]._batch) == (claims, claims)
    if claims > 1:
        local = {"base_url": "http://127.0.0.1:9/v1", "claims_per_request": 3}
        found = wrappers(build_backend(settings(requests=REQUESTS, **{block: local}), name))
        assert (found[Deadline]._batch, found[RateLimited]._batch) == (3, 3)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("openai:m1", "openai"),
        ("anthropic", "anthropic"),
        ("openai-decisions", "openai_decisions"),
        ("systemone", "systemone"),
    ],
)
def test_a_deadline_lets_as_many_requests_go_as_the_backend_may_have_under_way(
    name: str, block: str
) -> None:
    for concurrency, at_once in ((24, 24), (2, 8)):
        local = {"base_url": "http://127.0.0.1:9/v1", "concurrency": concurrency}
        found = wrappers(build_backend(settings(requests=REQUESTS, **{block: local}), name))
        assert found[Deadline]._at_once == at_once
        assert found[RateLimited]._concurrency is None


def test_an_alias_may_stand_for_a_text_model() -> None:
    chosen = settings(
        openai={"base_url": "http://127.0.0.1:9/v1"}, aliases={"external": "openai:m9"}
    )
    assert build_text_model(chosen, "external").info.model == "m9"


def test_a_text_model_that_is_built_already_is_returned_as_it_is() -> None:
    model = FakeTextModel(lambda _: "hello")
    assert build_text_model(Settings(), model) is model


@pytest.mark.parametrize("name", ["embedded", "nope:m", "openai", 7, None])
def test_what_is_no_text_model_is_a_named_error(name: object) -> None:
    with pytest.raises(ConfigurationError, match="text model"):
        build_text_model(settings(openai={"base_url": "http://127.0.0.1:9/v1"}), name)


@pytest.mark.spec("SPEC-08.38")
@pytest.mark.parametrize(("written", "seconds"), [("500ms", 0.5), ("10s", 10.0), (None, 2.0)])
def test_the_memory_gate_takes_two_seconds_unless_told_otherwise(
    tmp_path: Path, written: str | None, seconds: float
) -> None:
    settings = Settings.model_validate(
        {
            "store": {"url": f"sqlite:///{tmp_path / 'kept.db'}"},
            "hallucination": {"timeout": written},
        }
    )
    with build_memory(settings, gate=True) as memory:
        assert memory.gate is not None
        assert memory.gate.timeout_s == seconds


@pytest.mark.spec("SPEC-08.34")
def test_the_memory_gate_is_there_with_its_rules_if_the_settings_say_so(tmp_path: Path) -> None:
    def rules(*, host: bool = True, gate: bool = True) -> GatePolicy | None:
        block = {"enabled": gate, "min_confidence": 0.25, "reject_unsupported": False}
        chosen = Settings.model_validate(
            {
                "store": {"url": f"sqlite:///{tmp_path / 'kept.db'}"},
                "policy": {"gap_threshold_bits": 1.5},
                "hallucination": {"enabled": host, "memory_gate": block},
            }
        )
        with build_memory(chosen) as memory:
            return None if memory.gate is None else memory.gate.rules

    assert rules() == GatePolicy(1.5, 0.25, reject_unsupported=False)
    assert rules(gate=False) is None
    assert rules(host=False) is None


@pytest.mark.spec("SPEC-08.34")
@pytest.mark.parametrize("path", [":memory:", "cache.db"])
def test_a_cache_has_the_size_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    built = build_backend(settings(cache={"path": path, "max_entries": 70}), "embedded")
    assert wrappers(built)[Cache]._store._limit == 70


@pytest.mark.parametrize("operation", ["check", "memory", "output", "trace"])
@pytest.mark.parametrize("name", ["embedded", "openai:m1", "cascade"])
def test_estimates_are_kept_as_long_as_the_settings_say(operation: Operation, name: str) -> None:
    chosen = settings(
        cache={"path": ":memory:"},
        hallucination={"cache_ttl": "5m"},
        cascade={"second": "openai:m1"},
    )
    built = build_backend(chosen, name, operation=operation)
    parts = [built._first, built._second] if isinstance(built, Cascade) else [built]
    kept = [wrappers(part)[Cache]._ttl_s for part in parts]
    assert set(kept) == {300.0}
    unset = build_backend(settings(cache={"path": ":memory:"}), "embedded", operation=operation)
    assert wrappers(unset)[Cache]._ttl_s == 86_400.0


def test_the_store_is_that_of_the_project_of_the_settings(tmp_path: Path) -> None:
    settings = Settings.load(store={"url": f"sqlite:///{tmp_path}/s.db", "project": "clinic"})
    for store in (build_store(settings), build_store(settings, wait_s=1.0)):
        assert store.project == "clinic"


@pytest.mark.spec("SPEC-08.30", "SPEC-08.34")
def test_a_lifetime_alone_keeps_estimates_in_memory() -> None:
    alone = build_backend(settings(hallucination={"cache_ttl": "5m"}), "embedded")
    assert wrappers(alone)[Cache]._ttl_s == 300.0
    assert Cache not in wrappers(build_backend(settings(), "embedded"))
