from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner, Result

import veridical.settings.installed
import veridical.settings.layers
from veridical.core.measurements import (
    BackendInfo,
    Estimator,
    Generated,
    Measurement,
    Query,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import BackendError, ConfigurationError, MissingExtraError
from veridical.interfaces.cli import diagnosis
from veridical.interfaces.cli.app import app
from veridical.interfaces.cli.secrets import MASK, shown_value
from veridical.pipeline.inference import card
from veridical.pipeline.inference.cascade import Cascade
from veridical.pipeline.inference.health import QUESTION, check_up
from veridical.pipeline.inference.probing import Probe
from veridical.settings import Layer, Layers
from veridical.settings.installed import GROUP, TEXT_GROUP
from veridical.testing import FakeBackend, FakeTextModel, fake_estimate

INFO = BackendInfo("good", "g1", Estimator.LOGPROBS, "f")
GOOD = replace(fake_estimate(0.9), estimator=Estimator.LOGPROBS)
DOWN = Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 500")


class Remote(FakeBackend):
    """A backend that can be probed."""

    found = Probe(ok=True, detail="answers without log-probabilities", logprobs=False)

    async def probe(self) -> Probe:
        return self.found


class Wrapper(FakeBackend):
    """Knows all answers already."""

    def __init__(self, wrapped: FakeBackend) -> None:
        super().__init__(lambda _: GOOD, wrapped.info)
        self.wrapped = wrapped


class Stuck(FakeBackend):
    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:  # noqa: ARG002
        await anyio.sleep_forever()
        raise AssertionError


def refuse(error: Exception) -> Callable[..., FakeBackend]:
    def create(_model: str | None, **_: object) -> FakeBackend:
        raise error

    return create


def give(backend: FakeBackend) -> Callable[..., FakeBackend]:
    def create(model: str | None, **_: object) -> FakeBackend:
        backend.info = replace(backend.info, model=model or "default")
        return backend

    return create


FACTORIES: dict[str, Callable[..., FakeBackend]] = {
    "good": give(FakeBackend(lambda _: GOOD, INFO)),
    "remote": give(Remote(lambda _: DOWN, INFO)),
    "down": give(FakeBackend(lambda _: DOWN, INFO)),
    "keyless": refuse(ConfigurationError("there is no key", hint="Set backends.keyless.api_key")),
    "bare": refuse(
        MissingExtraError("bare is not installed", hint="pip install 'veridical[bare]'")
    ),
    "broken": refuse(BackendError("the file is damaged", hint="Load it again")),
    "wild": refuse(ZeroDivisionError("SECRET")),
}


WRITER = FakeTextModel(lambda _: "hello")


def give_text(model: FakeTextModel) -> Callable[..., FakeTextModel]:
    def create(named: str | None, **_: object) -> FakeTextModel:
        model.info = replace(model.info, model=named or "default")
        return model

    return create


TEXT_FACTORIES: dict[str, Callable[..., object]] = {
    "writer": give_text(WRITER),
    "silent": give_text(FakeTextModel(lambda _: DOWN)),
} | {name: FACTORIES[name] for name in ("keyless", "bare", "wild")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test with the backends above installed, in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    module = ModuleType("fake_backends")
    vars(module).update(FACTORIES)
    vars(module).update(TEXT_FACTORIES)
    monkeypatch.setitem(sys.modules, "fake_backends", module)
    entries = [EntryPoint(name, f"fake_backends:{name}", GROUP) for name in FACTORIES]
    entries.append(EntryPoint("absent", "no_such_module_anywhere:create", GROUP))
    texts = [EntryPoint(name, f"fake_backends:{name}", TEXT_GROUP) for name in TEXT_FACTORIES]
    groups = {GROUP: entries, TEXT_GROUP: texts}
    monkeypatch.setattr(
        veridical.settings.installed, "entry_points", lambda group: groups.get(group, [])
    )
    return tmp_path


@pytest.fixture(autouse=True)
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put small files in the place of the weights: hashing the real ones takes its time."""
    place = tmp_path / "weights"
    place.mkdir()
    raw = json.loads((card.WEIGHTS / "verifier-v5.json").read_text())
    for name in raw["sha256"]:
        (place / name).write_bytes(name.encode())
        raw["sha256"][name] = sha256(name.encode()).hexdigest()
    (place / "verifier-v5.json").write_text(json.dumps(raw))
    monkeypatch.setattr(card, "WEIGHTS", place)
    return place


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    result = run("--json", *arguments)
    assert result.stderr == ""
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["schema"] == "veridical.doctor/1"
    return found


def finding(name: str) -> dict[str, Any]:
    (found,) = document("--backend", name)["backends"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("name", "state", "code"),
    [
        ("good", "usable", 0),
        ("good:m2", "usable", 0),
        ("remote", "usable", 0),
        ("down", "not_usable", 3),
        ("keyless", "not_set_up", 3),
        ("bare", "not_installed", 3),
        ("broken", "not_usable", 3),
        ("wild", "not_usable", 3),
        ("absent", "not_usable", 3),
        ("self", "not_set_up", 3),
        ("cascade", "not_set_up", 3),
    ],
)
def test_the_exit_code_says_whether_the_backend_can_be_used(
    name: str, state: str, code: int
) -> None:
    assert finding(name)["state"] == state
    assert run("--backend", name).exit_code == code
    quiet = run("--backend", name, "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (code, "")
    assert bool(quiet.stderr) == bool(code)
    assert "SECRET" not in run("--backend", name).output + quiet.stderr


def test_a_backend_that_is_asked_says_model_logprobs_and_time() -> None:
    found = finding("good:m2")
    assert (found["name"], found["model"], found["estimator"]) == ("good", "m2", "logprobs")
    assert (found["logprobs"], found["configured"]) == (True, True)
    assert found["latency_ms"] >= 0


def test_a_probe_of_its_own_is_preferred() -> None:
    found = finding("remote")
    assert (found["logprobs"], found["detail"]) == (False, "answers without log-probabilities")


def test_what_is_missing_comes_with_what_to_do() -> None:
    assert finding("keyless")["hint"] == "Set backends.keyless.api_key"
    text = run("--backend", "bare").stdout
    assert "not installed" in text
    assert "hint: pip install 'veridical[bare]'" in text


def test_without_a_name_only_the_configured_backend_is_asked(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("backend: good:m3\n")
    found = document()
    states = {one["name"]: one["state"] for one in found["backends"]}
    assert (found["configured"], found["usable"]) == ("good", True)
    assert states == {
        "good": "usable",
        "absent": "not_usable",
        "bare": "not_installed",
        "broken": "not_usable",
        "down": "not_asked",
        "keyless": "not_set_up",
        "remote": "not_asked",
        "wild": "not_usable",
    }
    assert [one["name"] for one in found["backends"] if one["configured"]] == ["good"]


def test_a_person_gets_a_table(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("backend: good\n")
    lines = run().stdout.splitlines()
    (line,) = (line for line in lines if line.startswith("*  good "))
    assert line.split()[:5] == ["*", "good", "default", "usable", "yes"]
    hint = lines.index("     hint: Set backends.keyless.api_key")
    assert "keyless" in lines[hint - 1]
    assert "SECRET" not in "".join(lines)


def test_a_backend_that_nobody_installed_is_wrong_use() -> None:
    result = run("--backend", "nobody")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "nobody" in result.stderr
    assert "good" in result.stderr


def test_wrong_settings_are_wrong_use(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("thread: 1\n")
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean threads?" in result.stderr


def test_the_installation_is_described(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("backend: good\nthreads: 3\n")
    found = document()["installation"]
    assert found["python"].startswith("3.")
    assert found["threads"] == 3
    assert found["processors"] >= 1
    assert found["onnxruntime"]
    assert found["weights"] == {"model": "verifier-v5", "verified": True, "detail": ""}
    extras = {extra["name"]: extra for extra in found["extras"]}
    assert "pdf" in extras
    assert extras.keys().isdisjoint({"dev", "all", "train"})


def test_damaged_weights_are_said_to_be(weights: Path) -> None:
    (weights / "verifier-v5.tokenizer.json").write_bytes(b"damaged")
    assert document("--backend", "good")["installation"]["weights"]["verified"] is False
    assert "NOT verified" in run("--backend", "good").stdout


def test_help_has_examples_and_the_common_options() -> None:
    text = run("--help").stdout
    assert "veridical doctor --backend" in text
    assert {"--json", "--quiet", "--config"} <= set(re.findall(r"--\w+", text))


def test_an_extra_whose_package_is_missing_is_named() -> None:
    requirements = [
        "anyio>=4.6",
        "pydantic>=2; extra == 'present'",
        'no-such-package[x]>=1; python_version > "3" and extra == "gone"',
        "pydantic; extra == 'gone'",
        "ruff; extra == 'dev'",
    ]
    assert diagnosis._extras(requirements) == (
        diagnosis.Extra("gone", installed=False, missing=("no-such-package",)),
        diagnosis.Extra("present", installed=True),
    )


# --- text models -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "state", "detail"),
    [
        ("writer:m7", "usable", "writes"),
        ("silent", "not_usable", "backend_error: HTTP 500"),
        ("wild", "not_usable", "it raised ZeroDivisionError"),
        ("keyless", "not_set_up", "there is no key"),
        ("bare", "not_installed", "bare is not installed"),
        ("nobody:m1", "not_set_up", "there is no text model named 'nobody'"),
    ],
)
def test_the_text_model_that_is_configured_is_asked(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, state: str, detail: str
) -> None:
    (folder / "veridical.yaml").write_text("backend: good\n")
    monkeypatch.setenv("VERIDICAL_TEXT_MODEL", name)
    found = document()
    first, *others = found["text_models"]
    assert (first["name"], first["configured"]) == (name.partition(":")[0], True)
    assert (first["state"], first["detail"]) == (state, detail)
    assert (first["latency_ms"] is None) is (
        state not in {"usable", "not_usable"} or name == "wild"
    )
    assert not any(one["configured"] for one in others)
    assert found["usable"] is True, "the exit code is about the backend"
    page = run().stdout
    assert detail in page
    assert first["hint"] in page
    assert "SECRET" not in page


def test_text_models_that_are_not_configured_are_not_asked(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("backend: good\n")
    WRITER.requests.clear()
    states = {one["name"]: one["state"] for one in document()["text_models"]}
    assert states == {
        "bare": "not_installed",
        "keyless": "not_set_up",
        "silent": "not_asked",
        "wild": "not_usable",
        "writer": "not_asked",
    }
    assert WRITER.requests == []
    lines = run().stdout.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if "text model" in line) :]
    assert "keyless" in table[table.index("     hint: Set backends.keyless.api_key") - 1]
    assert document("--backend", "good")["text_models"] == []
    assert "text model" not in run("--backend", "good").stdout


def test_a_cache_does_not_answer_for_a_text_model(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    (folder / "veridical.yaml").write_text(
        "backend: good\ncache: {path: cache.db, texts: true}\ntext_model: writer\n"
    )
    WRITER.requests.clear()
    assert [document()["text_models"][0]["state"] for _ in range(2)] == ["usable"] * 2
    assert len(WRITER.requests) == 2
    monkeypatch.setattr(WRITER, "answer", lambda _: DOWN)
    assert document()["text_models"][0]["state"] == "not_usable"


def test_a_text_model_that_writes_nothing_in_time_is_not_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(FakeTextModel):
        async def generate(self, request: TextRequest) -> Generated | Unmeasured:  # noqa: ARG002
            await anyio.sleep_forever()
            raise AssertionError

    monkeypatch.setattr(diagnosis, "TIMEOUT_S", 0.01)
    probe = anyio.run(diagnosis._ask_for_text, Slow(lambda _: "hello"))
    assert probe == Probe(ok=False, detail="no answer within 0.01 s")


# --- asking ----------------------------------------------------------------------------------


def test_a_wrapper_does_not_answer_for_the_backend_inside() -> None:
    wrapped = FakeBackend(lambda _: DOWN, INFO)
    assert anyio.run(check_up, Wrapper(wrapped)) == Probe(
        ok=False, detail="backend_error: HTTP 500"
    )
    assert wrapped.queries == [QUESTION]


def test_no_answer_in_time_is_said_to_be_none() -> None:
    assert anyio.run(check_up, Stuck(lambda _: GOOD), 0.01) == Probe(
        ok=False, detail="no answer within 0.01 s"
    )


@pytest.mark.parametrize("which", [0, 1])
def test_a_cascade_is_usable_if_both_its_backends_are(which: int) -> None:
    backends = [FakeBackend(lambda _: GOOD, INFO), Remote(lambda _: GOOD, INFO)]
    probe = anyio.run(Cascade(*backends).probe)
    assert (probe.ok, probe.logprobs) == (True, False)
    backends[which] = FakeBackend(lambda _: DOWN, INFO)
    assert not anyio.run(Cascade(*backends).probe).ok


def test_a_cascade_that_is_configured_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CASCADE__FIRST", "good:small")
    monkeypatch.setenv("VERIDICAL_CASCADE__SECOND", "remote:large")
    found = finding("cascade")
    assert (found["state"], found["model"]) == ("usable", "small+large")
    assert found["detail"] == "good answers; good answers without log-probabilities"
    monkeypatch.setenv("VERIDICAL_CASCADE__SECOND", "down")
    assert finding("cascade")["state"] == "not_usable"


# --- secrets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("openai.api_key", "hidden-1"),
        ("api_key", "hidden-1"),
        ("openai.apikey", "hidden-1"),
        ("service.auth_token", "hidden-1"),
        ("store.password", "hidden-1"),
        ("anything", SecretStr("hidden-1")),
        ("anything", [SecretStr("hidden-1")]),
        ("anything", {"token": "hidden-1"}),
        ("store.url", "postgresql://user:hidden-1@host/db"),
        ("store.url", "https://hidden-1:@host"),
        ("store.url", "postgresql://user:hid/den?hidden#hidden@hidden@db.example/veridical"),
        ("openai.base_url", "https://hidden-1@host/v1"),
        ("openai.base_url", "https://host/v1?a=b&api_key=hidden-1&c=d"),
        ("openai.base_url", "https://host/v1?key=hidden-1"),
        ("openai.extra_body", {"authorization": "hidden-1"}),
        ("openai.extra_body", {"headers": {"X-API-Key": "hidden-1"}}),
    ],
)
def test_a_secret_is_not_shown(key: str, value: object) -> None:
    assert "hidden" not in str(shown_value(key, value))
    assert MASK in str(shown_value(key, value))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("api_key", None),
        ("backend", "openai:gpt"),
        ("limits.tokens_per_minute", 5),
        ("max_tokens", 5),
        ("openai.base_url", "http://127.0.0.1:8080/v1?at=a@b"),
        ("openai.base_url", "https://host/v1?keys=1&max_tokens=2#token=3"),
        ("store.url", "postgresql://user@host:5432/db?application_name=a"),
        ("token_budget", [1, {"a": 2}]),
    ],
)
def test_what_is_no_secret_is_shown_as_it_is(key: str, value: object) -> None:
    assert shown_value(key, value) == value


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_config_show_says_that_a_secret_is_set_and_where_but_not_what_it_is(
    monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
) -> None:
    values = {"openai.api_key": "hidden-1", "x.y": SecretStr("hidden-2"), "z.token": None}
    layers = Layers((Layer("env", values, dict.fromkeys(values, "VERIDICAL_PLACE")),))
    monkeypatch.setattr(veridical.settings, "load_layers", lambda _config: layers)
    result = CliRunner().invoke(app, ["config", "show", *how])
    assert result.exit_code == 0
    assert "hidden" not in result.output
    assert result.stdout.count(MASK) == 2
    assert result.stdout.count("VERIDICAL_PLACE") == 3
    assert "null" in result.stdout


def test_doctor_masks_the_place_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    real = veridical.settings.load_layers

    class Extended(Layers):
        def effective(self) -> dict[str, tuple[object, Layer]]:
            layer = self.layers[0]
            cache = {"cache.url": ("postgresql://u:hidden@host/db", layer)}
            return super().effective() | cache

        def merged(self) -> dict[str, Any]:
            return {"backend": "good"}

    monkeypatch.setattr(
        veridical.settings, "load_layers", lambda *given: Extended(real(*given).layers)
    )
    cache = document("--backend", "good")["cache"]
    assert cache["cache.url"] == "postgresql://***@host/db"
    assert "cache.url" in run("--backend", "good").stdout
