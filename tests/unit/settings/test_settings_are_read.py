"""Every key of the settings is read by the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import veridical
from veridical.settings import Settings, load_layers
from veridical.settings.aliases import ALIASES
from veridical.settings.backend_blocks import DecisionSettings
from veridical.settings.blocks import PolicySettings, VerificationSettings
from veridical.settings.installed import backend_spec, installed

PACKAGE = Path(veridical.__file__).parent
TESTS = Path(__file__).parents[2]
PROOFS = TESTS.parent / "benchmarks" / "results" / "settings.md"
"""What `scripts/settings_mutation.py` writes: for a key, the test that fails without it."""


def blocks_of_backends() -> dict[str, str]:
    """Return, by block, the module whose `create` takes each of its keys as an argument."""
    own = (entry for entry in installed().values() if entry.value.startswith("veridical."))
    modules = {backend_spec(entry).settings: entry.module for entry in own}
    return {
        block: module.removeprefix("veridical.").replace(".", "/") + ".py"
        for block, module in modules.items()
        if isinstance(block, str)
    }


AS_A_WHOLE = blocks_of_backends() | {
    # `Settings.to_policy` makes a `Policy` of the block, `VerificationConfig.of` a configuration.
    "policy": "core/policy.py",
    "verification": "orchestrator/config.py",
    "cascade": "wiring/build.py",
    # `resolve_alias` is handed all names.
    "aliases": "pipeline/inference/aliases.py",
}
"""Blocks that are handed on whole, and the file that names their keys."""


@cache
def attributes(path: Path) -> frozenset[str]:
    """Return the attributes that a file reads, not the ones it sets."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return frozenset(node.attr for node in read if isinstance(node.ctx, ast.Load))


@cache
def readers() -> tuple[Path, ...]:
    return tuple(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "settings")


def names_in(path: Path) -> frozenset[str]:
    """Return the names that a file has: attributes, arguments, fields, texts."""
    found = set(attributes(path))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg or "")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return frozenset(found)


def keys() -> Iterator[str]:
    yield from load_layers(None).layers[0].values


def is_read(key: str) -> bool:
    """Return whether code outside of the settings reads a key, or passes on its block."""
    block, _, rest = key.partition(".")
    *_, parent, name = ["", *key.split(".")]
    if block in AS_A_WHOLE:
        return name in names_in(PACKAGE / AS_A_WHOLE[block])
    # `enabled` alone may be anybody's: the name of a block within a block has to be there, too.
    wanted = {name, parent} if parent != block and parent else {name}
    if any(wanted <= attributes(path) for path in readers()):
        return True
    return bool(rest) and name in attributes(PACKAGE / "settings" / "layers.py")


@pytest.mark.spec("SPEC-08.34")
@pytest.mark.parametrize("key", list(keys()))
def test_a_key_is_read(key: str) -> None:
    assert is_read(key)


@pytest.mark.parametrize(
    "key", ["policy.nobody", "openai.nobody", "server.nobody", "hallucination.cache_tll", "nobody"]
)
def test_a_key_that_nothing_reads_would_be_found(key: str) -> None:
    assert not is_read(key)


@pytest.mark.spec("SPEC-08.34")
def test_for_every_key_there_is_a_test_that_fails_if_the_key_does_nothing() -> None:
    page = PROOFS.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w.]+)` \| `([\w./]+::\w+)` \|", page, re.MULTILINE))
    assert set(rows) == {key for key in keys() if not key.startswith("backends.")}
    for proof in rows.values():
        file, _, name = proof.partition("::")
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), proof


def test_an_alias_has_no_value_and_no_default_of_its_own() -> None:
    settings = set(keys())
    assert settings >= set(ALIASES.values())
    assert not settings & set(ALIASES)


@pytest.mark.spec("SPEC-08.34", "SPEC-16.21")
@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_a_value_set_by_an_alias_is_that_of_its_setting(alias: str, name: str) -> None:
    values = {"mode": "sample", "enabled": False, "parallel": False, "max_claims": 7, "output": "x"}
    value = values.get(name.rpartition(".")[2], 0.25)
    found = Settings.model_validate(nested(alias, value))
    assert found == Settings.model_validate(nested(name, value))
    assert at(found.model_dump(), name) == value


def nested(key: str, value: object) -> dict[str, object]:
    name, _, rest = key.partition(".")
    return {name: nested(rest, value) if rest else value}


def at(document: object, key: str) -> object:
    for name in key.split("."):
        assert isinstance(document, dict)
        document = document[name]
    return document


def test_blocks_that_are_handed_on_whole_have_the_keys_of_what_takes_them() -> None:
    from dataclasses import fields

    from veridical.core.policy import Policy
    from veridical.orchestrator import VerificationConfig

    assert set(PolicySettings.model_fields) == {field.name for field in fields(Policy)}
    found = {field.name for field in fields(VerificationConfig)}
    aliases = {name.removeprefix("verification.") for name in ALIASES if name.startswith("verif")}
    assert {*VerificationSettings.model_fields, *aliases} == found
    assert set(DecisionSettings.model_fields)
