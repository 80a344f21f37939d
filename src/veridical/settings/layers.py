"""Settings: defaults < `veridical.yaml` < environment `VERIDICAL_*` < flags, frozen afterwards.

Every layer is validated on its own, so that each problem is reported with the place it comes from,
and all problems of all layers are reported at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import yaml
from pydantic import BaseModel, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from veridical.core.policy import Policy
from veridical.errors import ConfigurationError
from veridical.settings.aliases import ALIASES, conflicts, resolved, value_at
from veridical.settings.blocks import TopLevel
from veridical.settings.installed import (
    TEXT_GROUP,
    OtherBackends,
    block_key,
    installed,
    other_backends,
)
from veridical.settings.types import SettingsBlock

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

CONFIG_NAME = "veridical.yaml"
PREFIX = "VERIDICAL_"
SPEC_053 = "QUANTITATIVE_EVIDENCE_QUOTE_"
"""Variables of the block `quantitative` also have the names of Spec 053."""

FLAGS = {
    "evidence_quote_validation_mode": "mode",
    "evidence_quote_fuzzy_threshold": "threshold",
    "evidence_quote_fail_on_all_rejected": "fail-on-all-rejected",
}
"""Options with other names than their keys."""

TWO_VALUES = "two_values"
"""Type of the error for different values of one setting under different names."""

RESERVED = frozenset({"VERIDICAL_CONFIG", "VERIDICAL_DEBUG"})


class Settings(TopLevel):
    """All settings; `Settings()` is the defaults, `load` reads the layers."""

    @model_validator(mode="before")
    @classmethod
    def _resolve_aliases(cls, given: object) -> object:
        """Put the value of an alias under the setting's own name."""
        if not isinstance(given, Mapping):
            return given
        for alias, first in conflicts(given):
            names = {"key": alias, "first": first}
            raise PydanticCustomError(TWO_VALUES, "{key} differs from {first}", names)
        return resolved(given)

    @classmethod
    def load(cls, config: Path | None = None, **overrides: object) -> Self:
        """Return the settings in force; an override of None counts as not given."""
        return cls.model_validate(load_layers(config, overrides).merged())

    def to_policy(self) -> Policy:
        """Return the policy block as the value the pipeline works with."""
        return Policy(**self.policy.model_dump())

    @property
    def verifies_answers(self) -> bool:
        """True if an orchestrator, the proxy and `llm` verify answers."""
        return self.verification.enabled and self.hallucination.enabled is not False


@dataclass(frozen=True, slots=True)
class Layer:
    """Origin of settings: its values by dotted key, and the place of each."""

    kind: Literal["default", "file", "env", "flag"]
    values: Mapping[str, object]
    places: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers, weakest first."""

    layers: tuple[Layer, ...]

    def effective(self) -> dict[str, tuple[object, Layer]]:
        """Return, by dotted key, the value in force and the layer it comes from."""
        return {key: (value, layer) for layer in self.layers for key, value in layer.values.items()}

    def merged(self) -> dict[str, Any]:
        """Return the values that were set, nested; the defaults are those of `Settings`."""
        found = self.effective().items()
        return _nest({key: value for key, (value, layer) in found if layer.kind != "default"})


@dataclass(slots=True)
class _Problems:
    """Collector of problems, so that all of them are reported at once."""

    lines: list[str] = field(default_factory=list)

    def add(self, place: str, what: str) -> None:
        line = f"{place}: {what}"
        if line not in self.lines:
            self.lines.append(line)

    def raise_any(self) -> None:
        if not self.lines:
            return
        head = f"{len(self.lines)} problem{'s' * (len(self.lines) > 1)} in the configuration"
        msg = "\n  - ".join([head, *self.lines])
        hint = "The keys and their types are listed in docs/configuration.md"
        raise ConfigurationError(msg, hint=hint)


def load_layers(
    config: Path | None = None, overrides: Mapping[str, object] | None = None
) -> Layers:
    """Read and validate every layer; raise one `ConfigurationError` that lists all problems."""
    problems = _Problems()
    defaults = _flatten(Settings(backends=other_backends()()).model_dump())
    layers = (
        Layer("default", defaults, dict.fromkeys(defaults, "default")),
        _file_layer(config, problems),
        _env_layer(os.environ, defaults, problems),
        _flag_layer(overrides or {}, problems),
    )
    problems.raise_any()
    return Layers(layers)


# --- the layers ------------------------------------------------------------------------------


def _file_layer(config: Path | None, problems: _Problems) -> Layer:
    path = config_path(config)
    raw = {} if path is None else _read_yaml(path, problems)
    values: dict[str, Any] = {}
    try:
        values = _flatten(Settings.model_validate(raw).model_dump(exclude_unset=True))
    except ValidationError as error:
        aliases = {
            name: alias for alias, name in ALIASES.items() if value_at(raw, alias) is not None
        }
        _report(error, lambda key: f"{path}: {aliases.get(key, key)}", problems)
    return Layer("file", values, dict.fromkeys(values, str(path)))


def _env_layer(environ: Mapping[str, str], settings: Iterable[str], problems: _Problems) -> Layer:
    keys = {_env_name(key): key for key in (*settings, *ALIASES)}
    named = {name.removeprefix(PREFIX).replace("__", "_"): key for name, key in keys.items()}
    known = keys | {name: key for name, key in named.items() if name.startswith(SPEC_053)}
    values, places = dict[str, str](), dict[str, str]()
    # Ours come last, so their values win.
    for name, value in sorted(environ.items(), key=lambda item: item[0].startswith(PREFIX)):
        if not name.upper().startswith((PREFIX, SPEC_053)) or name.upper() in RESERVED:
            continue
        if name not in known:
            what = f"unknown variable{_did_you_mean(name.upper(), [*known, *RESERVED])}"
            problems.add(f"environment: {name}", what)
        elif value.strip():
            values[known[name]] = value.strip()
            places[known[name]] = name
    return _validated_env(values, places, problems)


def _validated_env(
    values: Mapping[str, str], places: Mapping[str, str], problems: _Problems
) -> Layer:
    typed: Mapping[str, object] = values
    places = {ALIASES.get(key, key): name for key, name in places.items()} | dict(places)
    given = _nest(values)
    for alias, first in conflicts(given):
        problems.add(f"environment: {places[alias]}", _differs(first))
    try:
        # Without the validator of `Settings`: what that returns is no longer read as strings.
        model = TopLevel.model_validate_strings(resolved(given))
        typed = _flatten(model.model_dump(exclude_unset=True))
    except ValidationError as error:
        _report(error, lambda key: f"environment: {places.get(key, _env_name(key))}", problems)
    return Layer("env", typed, places)


def _flag_layer(overrides: Mapping[str, object], problems: _Problems) -> Layer:
    given = {key: value for key, value in _flatten(overrides).items() if value is not None}
    try:
        model = Settings.model_validate(_nest(given))
        given = _flatten(model.model_dump(exclude_unset=True))
    except ValidationError as error:
        _report(error, _flag_name, problems)
    return Layer("flag", given, {key: _flag_name(key) for key in given})


def _env_name(key: str) -> str:
    return PREFIX + key.upper().replace(".", "__")


def _flag_name(key: str) -> str:
    name = key.rpartition(".")[2]
    return "--" + FLAGS.get(name, name.replace("_", "-"))


# --- the file --------------------------------------------------------------------------------


def config_path(config: Path | None) -> Path | None:
    """Return the path of the configuration file: the one that is named, or found; None if none."""
    named = config or os.environ.get("VERIDICAL_CONFIG") or None
    if named is not None:
        return Path(named)
    path = Path(CONFIG_NAME)
    return path if path.exists() else None


def _read_yaml(path: Path, problems: _Problems) -> dict[str, Any]:
    try:
        content = _parse_yaml(path.read_text(encoding="utf-8-sig"), str(path), problems)
    except OSError as error:
        msg = f"cannot read the configuration file {path}: {error.strerror}"
        hint = "Check --config and VERIDICAL_CONFIG, and the file's permissions"
        raise ConfigurationError(msg, hint=hint) from None
    except UnicodeDecodeError as error:
        msg = f"the configuration file {path} is not UTF-8 text (byte {error.start})"
        raise ConfigurationError(msg, hint="Save it as UTF-8") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        problems.add(str(path), f"must be a mapping of keys, not {_type_name(content)}")
        return {}
    return content


def _parse_yaml(text: str, path: str, problems: _Problems) -> object:
    try:
        loader = _Loader(text)
        content = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        problems.add(place, f"not valid YAML ({error.problem or error.context})")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problems.add(path, f"not valid YAML ({type(error).__name__})")
    else:
        for line, key in loader.duplicates:
            problems.add(f"{path}:{line}: {key}", "key given twice")
        return content
    return None


class _Loader(yaml.SafeLoader):
    """YAML loader that notes duplicate keys, of which PyYAML would silently keep the last."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.duplicates: list[tuple[int, str]] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 -- PyYAML's signature
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                self.duplicates.append((key.start_mark.line + 1, name))
            seen.add(name)
        return super().construct_mapping(node, deep)


# --- problems --------------------------------------------------------------------------------


def _report(error: ValidationError, place: Callable[[str], str], problems: _Problems) -> None:
    for detail in error.errors(include_url=False):
        key, what = _explain(detail)
        problems.add(place(key), what)


def _explain(detail: ErrorDetails) -> tuple[str, str]:
    """Return the dotted key an error is about, and the error in our words."""
    if detail["type"] == TWO_VALUES:
        names = detail["ctx"]
        return names["key"], _differs(names["first"])
    model: type[BaseModel] = Settings
    path: list[str] = []
    for part in map(str, detail["loc"]):
        path.append(part)
        info = model.model_fields.get(part)
        if info is None:
            return ".".join(path), f"unknown key{_what_was_meant(path, model)}"
        block = _block(info)
        if block is None:
            # The rest of `loc` names a branch of a union, which is no key.
            return ".".join(path), _must_be(info.description or _shown(info), detail["input"])
        model = block
    if detail["type"] in {"value_error", "assertion_error"}:
        return ".".join(path), detail["msg"]  # by a validator of another package's block
    return ".".join(path), _must_be("a block of keys", detail["input"])


def _differs(first: str) -> str:
    return f"differs from {first}, which is the same setting"


def _keys(model: type[BaseModel], blocks: Sequence[str]) -> list[str]:
    """Return the keys of a block, aliases among them."""
    prefix = ".".join([*blocks, ""])
    aliases = [alias.removeprefix(prefix) for alias in ALIASES if alias.startswith(prefix)]
    return [*model.model_fields, *(alias for alias in aliases if prefix and "." not in alias)]


def _what_was_meant(path: Sequence[str], model: type[BaseModel]) -> str:
    """Return a hint on an unknown key, the last of a path."""
    *parents, key = path
    if not parents and key in other_backends().model_fields:
        return f", did you mean backends.{key}?"
    if parents == ["backends"] and key in Settings.model_fields:
        return f", did you mean {key}?"
    if parents == ["backends"] and key in map(block_key, [*installed(), *installed(TEXT_GROUP)]):
        return ": the backend has no settings, or does not load (veridical doctor says which)"
    return _did_you_mean(key, _keys(model, parents))


def _shown(info: FieldInfo) -> str:
    """Return the type of a value without a description."""
    return getattr(info.annotation, "__name__", str(info.annotation))


def _must_be(expected: str | None, value: object) -> str:
    # Numbers are shown; text might be a secret, so only its type is.
    if isinstance(value, str) and expected and expected.startswith("'"):
        return f"must be {expected}"  # text it is, but another one
    shown = f"{value!r}" if isinstance(value, int | float) else _type_name(value)
    return f"must be {expected}, not {shown}"


def _type_name(value: object) -> str:
    names = {dict: "a block of keys", list: "a list", str: "text", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, list(known), n=1)
    return f", did you mean {close[0]}?" if close else ""


# --- dotted keys -----------------------------------------------------------------------------


def _flatten(
    nested: Mapping[str, Any], model: type[BaseModel] = Settings, prefix: str = ""
) -> dict[str, Any]:
    """Return the values by dotted key; a mapping that is no block is a value."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        info = model.model_fields.get(key)
        block = _block(info) if info else None
        if block and isinstance(value, Mapping):
            flat |= _flatten(value, block, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _block(info: FieldInfo) -> type[SettingsBlock] | None:
    """Return the block of a key; None if it is a value."""
    kind = info.annotation
    if kind is OtherBackends:
        return other_backends()
    return kind if isinstance(kind, type) and issubclass(kind, SettingsBlock) else None


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        block = nested
        *parents, leaf = key.split(".")
        for parent in parents:
            block = block.setdefault(parent, {})
        block[leaf] = value
    return nested
