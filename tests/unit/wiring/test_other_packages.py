"""Backends and text models of other packages, installed beside veridical as pip would do it."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import veridical
from veridical.core.measurements import Estimate, Generated, TextRequest
from veridical.core.policy import Policy
from veridical.core.verdicts import Status
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers import Cache, Deadline
from veridical.pipeline.inference.wrappers.base import Wrapper
from veridical.settings import Settings, load_layers
from veridical.settings.installed import GROUP, TEXT_GROUP, installed
from veridical.testing import check_backend
from veridical.wiring.build import build_backend, build_text_model, is_instant

MODULE = """
from pydantic import SecretStr

from veridical.core.measurements import (
    BackendInfo, Estimate, Estimator, Generated, TextModelInfo
)
from veridical.core.specs import BackendSpec, TextModelSpec
from veridical.settings import SettingsBlock
from veridical.settings.types import Count, Probability, Secret

class MineSettings(SettingsBlock):
    supported: Probability = 0.5
    word: str = "yes"
    api_key: Secret = None
    concurrency: Count = 3

class Mine:
    def __init__(self, model, supported=0.5, **rest):
        self.info = BackendInfo("mine", model or "m0", Estimator.DECISION, "f")
        self.supported, self.rest = supported, rest

    async def estimate(self, queries):
        rest = 1.0 - self.supported
        return [
            Estimate(
                supported=self.supported, contradicted=0.0, not_in_context=rest,
                low=self.supported, high=self.supported, estimator=self.info.estimator,
                model=self.info.model, fingerprint=self.info.fingerprint,
            )
            for _ in queries
        ]

class Writer:
    def __init__(self, model, **rest):
        self.info, self.rest = TextModelInfo("mine", model or "m0"), rest

    async def generate(self, request):
        return Generated(self.rest["word"], self.info.model)

def create(model, *, threads=None, **options):
    return Mine(model, **options)

def write(model, *, threads=None, **options):
    return Writer(model, **options)

class Required(SettingsBlock):
    address: str

class Supplied(SettingsBlock):
    model: str = "m"
    threads: int = 1

BACKEND = BackendSpec(create, MineSettings, priced=True, sampled=True)
INSTANT = BackendSpec(create, in_process=True, instant=True)
TEXT_MODEL = TextModelSpec(write, MineSettings, options=frozenset({"word"}))
SHARED = BackendSpec(create, settings="gguf")
NOWHERE = BackendSpec(create, settings="backend")
REQUIRED = BackendSpec(create, Required)
SUPPLIED = BackendSpec(create, Supplied)
FOREIGN = BackendSpec(create, dict)
OTHER = BackendSpec(create, Supplied)
NUMBER = 7
"""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that installs a package with the module above and entry points."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    added: list[str] = []

    def install(package: str = "mine", group: str = GROUP, **entries: str) -> Path:
        site = tmp_path / f"site-{package}"
        metadata = site / f"{package}-1.0.dist-info"
        metadata.mkdir(parents=True, exist_ok=True)
        (site / f"{package}_module.py").write_text(MODULE)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        lines = [f"{name} = {package}_module:{value}\n" for name, value in entries.items()]
        with (metadata / "entry_points.txt").open("a") as file:
            file.write(f"[{group}]\n" + "".join(lines))
        added.append(f"{package}_module")
        if str(site) not in sys.path:
            monkeypatch.syspath_prepend(site)
        importlib.invalidate_caches()
        return site

    yield install
    for module in added:
        sys.modules.pop(module, None)


def configure(text: str) -> None:
    Path("veridical.yaml").write_text(text)


def inside(backend: Any) -> Any:  # noqa: ANN401 -- of a class that is made here
    while isinstance(backend, Wrapper):
        backend = backend.wrapped
    return backend


def problems() -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        Settings.load()
    return [line.removeprefix("  - ") for line in caught.value.message.splitlines()[1:]]


def test_a_backend_is_configured_in_the_file_and_answers(install: Install) -> None:
    install(mine="BACKEND")
    configure("backend: mine:m1\nbackends:\n  mine:\n    supported: 0.9\n")
    verifier = veridical.Verifier.from_settings(Settings.load())
    source = veridical.Source("S1", "It opened in 1998.")
    report = anyio.run(verifier.check, "The bridge opened in 1998.", [source])
    assert (report.backend.name, report.backend.model) == ("mine", "m1")
    (verdict,) = report.claims
    assert verdict.status is Status.SUPPORTED
    assert isinstance(verdict.p1, Estimate)
    assert verdict.p1.supported == 0.9


def test_the_command_line_checks_with_it(install: Install, tmp_path: Path) -> None:
    site = install(mine="BACKEND")
    configure("backend: mine\nbackends: {mine: {supported: 0.1}}\n")
    (tmp_path / "answer.md").write_text("The bridge opened in 1998.\n")
    (tmp_path / "source.txt").write_text("It opened in 1998.\n")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "veridical", "check", "answer.md", "--source", "source.txt"]

    def run(**variables: str) -> dict[str, Any]:
        environment = {**os.environ, "PYTHONPATH": path, **variables}
        found = subprocess.run(
            [*command, "--json"], env=environment, capture_output=True, check=False, text=True
        )
        document: dict[str, Any] = json.loads(found.stdout)
        return document

    assert run()["claims"][0]["p1"]["supported"] == 0.1
    surer = run(VERIDICAL_BACKENDS__MINE__SUPPORTED="0.95")
    assert surer["claims"][0]["p1"]["supported"] == 0.95
    assert surer["claims"][0]["status"] == "supported"
    assert surer["backend"]["name"] == "mine"


def test_the_file_the_environment_and_arguments_set_it(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(mine="BACKEND")
    configure("backends: {mine: {supported: 0.2, word: 'no', concurrency: 5}}")
    monkeypatch.setenv("VERIDICAL_BACKENDS__MINE__SUPPORTED", "0.3")
    monkeypatch.setenv("VERIDICAL_BACKENDS__MINE__CONCURRENCY", "6")
    block = load_layers(overrides={"backends": {"mine": {"concurrency": 7}}}).merged()["backends"]
    assert block == {"mine": {"supported": 0.3, "word": "no", "concurrency": 7}}


def test_options_are_the_settings_that_are_not_null(install: Install) -> None:
    install(mine="BACKEND")
    policy = {"support_threshold": 0.8}
    block = {"mine": {"api_key": "s3cret"}}
    built = inside(
        build_backend(Settings.model_validate({"policy": policy, "backends": block}), "mine")
    )
    assert callable(built.rest.pop("price"))
    assert built.rest == {
        "word": "yes",
        "api_key": "s3cret",
        "concurrency": 3,
        "threshold": 0.8,
    }


def test_a_backend_that_is_not_configured_has_its_defaults(install: Install) -> None:
    install(mine="BACKEND")
    assert inside(build_backend(Settings(), "mine")).rest["concurrency"] == 3


def test_each_setting_is_shown_with_its_place(install: Install) -> None:
    install(mine="BACKEND")
    configure("backends: {mine: {supported: 0.2}}")
    layers = load_layers()
    shown = {
        key: (value, layer.places[key])
        for key, (value, layer) in layers.effective().items()
        if key.startswith("backends.")
    }
    assert shown == {
        "backends.mine.supported": (0.2, "veridical.yaml"),
        "backends.mine.word": ("yes", "default"),
        "backends.mine.api_key": (None, "default"),
        "backends.mine.concurrency": (3, "default"),
    }


def test_all_problems_are_listed_with_those_of_the_other_blocks(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(mine="BACKEND", plain="create")
    configure(
        "thread: 1\n"
        "mine: {}\n"
        "backends:\n"
        "  mine: {supported: 2, wrd: x, word: [1]}\n"
        "  plain: {a: 1}\n"
        "  openai: {}\n"
        "  mien: {}\n"
    )
    monkeypatch.setenv("VERIDICAL_BACKENDS__MINE__CONCURRENCY", "none")
    monkeypatch.setenv("VERIDICAL_BACKENDS__MINE__WRD", "x")
    variable = "VERIDICAL_BACKENDS__MINE__"
    no_settings = "the backend has no settings, or does not load (veridical doctor says which)"
    assert sorted(problems()) == [
        f"environment: {variable}CONCURRENCY: must be a whole number from 1, not text",
        f"environment: {variable}WRD: unknown variable, did you mean {variable}WORD?",
        "veridical.yaml: backends.mien: unknown key, did you mean mine?",
        "veridical.yaml: backends.mine.supported: must be a number from 0 to 1, not 2",
        "veridical.yaml: backends.mine.word: must be str, not a list",
        "veridical.yaml: backends.mine.wrd: unknown key, did you mean word?",
        "veridical.yaml: backends.openai: unknown key, did you mean openai?",
        f"veridical.yaml: backends.plain: unknown key: {no_settings}",
        "veridical.yaml: mine: unknown key, did you mean backends.mine?",
        "veridical.yaml: thread: unknown key, did you mean threads?",
    ]


@pytest.mark.parametrize("value", ["1", "[mine]", "{mine: 1}"])
def test_what_is_no_block_is_a_problem(install: Install, value: str) -> None:
    install(mine="BACKEND")
    configure(f"backends: {value}")
    assert "must be a block of keys, not" in problems()[0]


@pytest.mark.parametrize("name", ["policy", "cache", "server", "backend"])
def test_a_backend_may_be_named_like_a_block_of_the_settings(install: Install, name: str) -> None:
    install(**{name: "BACKEND"})
    said = {"cache": {"ttl_s": 5.0}, "backends": {name: {"word": "own"}}}
    assert inside(build_backend(Settings.model_validate(said), name)).rest["word"] == "own"


@pytest.mark.parametrize("name", ["policy", "cache", "server"])
def test_a_plain_function_takes_no_settings_of_a_block_of_its_name(
    install: Install, name: str
) -> None:
    install(**{name: "create"})
    built = build_backend(Settings(), name)
    assert inside(built).rest == {}
    assert not is_instant(built)


def test_a_name_with_a_dash_has_a_key_with_an_underscore(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(**{"my-own.one": "BACKEND"})
    monkeypatch.setenv("VERIDICAL_BACKENDS__MY_OWN_ONE__WORD", "own")
    assert inside(build_backend(Settings.load(), "my-own.one")).rest["word"] == "own"


def test_a_backend_may_share_a_block_that_there_is(install: Install) -> None:
    install(mine="SHARED")
    settings = Settings.model_validate({"gguf": {"context_tokens": 99}})
    assert inside(build_backend(settings, "mine")).rest["context_tokens"] == 99


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("REQUIRED", "a key has no default"),
        ("SUPPLIED", "model, threads is supplied by veridical"),
        ("FOREIGN", "dict is no SettingsBlock"),
        ("NOWHERE", "which is no block"),
        ("NUMBER", "of mine is no BackendSpec"),
        ("TEXT_MODEL", "of mine is no BackendSpec"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused(install: Install, value: str, problem: str) -> None:
    install(mine=value)
    assert Settings.load().backends.model_dump() == {}
    with pytest.raises(ConfigurationError, match=problem):
        build_backend(Settings(), "mine")


def test_a_name_that_no_block_can_have_is_refused(install: Install) -> None:
    install(copy="BACKEND")
    with pytest.raises(ConfigurationError, match="no block can be named copy"):
        build_backend(Settings(), "copy")


def test_a_module_that_does_not_load_leaves_the_others_alone(install: Install) -> None:
    site = install(mine="BACKEND")
    (site / "mine_module.py").write_text("import no_such_module_anywhere")
    assert Settings.load().backend == "embedded"


def test_a_name_that_two_packages_have_is_refused(install: Install) -> None:
    install("mine", openai="BACKEND")
    with pytest.raises(ConfigurationError, match="taken by mine and veridical"):
        build_backend(Settings(), "openai:m")


def test_two_classes_under_one_key_are_refused(install: Install) -> None:
    install("mine", **{"one-two": "BACKEND"})
    install("other", one_two="BACKEND")
    with pytest.raises(ConfigurationError, match="one_two are of two classes"):
        Settings.load()


def test_an_instant_backend_is_cached_and_not_limited(install: Install) -> None:
    install(mine="INSTANT", slow="BACKEND")
    settings = Settings.model_validate(
        {"cache": {"path": ":memory:"}, "requests": {"deadline_s": 9.0}}
    )
    built = build_backend(settings, "mine")
    assert isinstance(built, Cache)
    assert built.wrapped is inside(built)
    assert is_instant(built)
    layers, layer = [], build_backend(settings, "slow")
    while isinstance(layer, Wrapper):
        layers.append(type(layer))
        layer = layer.wrapped
    assert Deadline in layers


def test_a_backend_of_another_package_keeps_the_promises_of_the_port(install: Install) -> None:
    install(mine="BACKEND")
    anyio.run(check_backend, build_backend(Settings(), "mine"))


def test_a_text_model_takes_the_settings_that_it_names(install: Install) -> None:
    install(mine="BACKEND")
    install("mine", TEXT_GROUP, mine="TEXT_MODEL")
    settings = Settings.model_validate({"backends": {"mine": {"word": "hello", "api_key": "k"}}})
    model: Any = build_text_model(settings, "mine:m1", timeout_s=4.0)
    found = anyio.run(model.generate, TextRequest("Be brief.", "Say hello.", max_tokens=16))
    assert isinstance(found, Generated)
    assert found.text == "hello"
    while not hasattr(model, "rest"):
        model = model.wrapped
    assert model.rest == {"word": "hello", "timeout_s": 4.0}


def test_the_policy_is_not_touched_by_a_backend_of_its_name(install: Install) -> None:
    install(policy="BACKEND")
    configure("backends: {policy: {supported: 0.9}}\npolicy: {support_threshold: 0.6}")
    assert Settings.load().to_policy() == Policy(support_threshold=0.6)


def test_the_own_backends_are_specs() -> None:
    for group in (GROUP, TEXT_GROUP):
        for entry in installed(group).values():
            if entry.value.startswith("veridical."):
                assert type(entry.load()).__name__ in {"BackendSpec", "TextModelSpec"}, entry
