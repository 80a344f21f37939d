"""Installed backends and text models: entry points, specs, and the settings of other packages."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError, create_model

from veridical.core.specs import BackendSpec, TextModelSpec
from veridical.errors import ConfigurationError
from veridical.settings.types import SettingsBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import ValidationInfo

GROUP = "veridical.backends"
TEXT_GROUP = "veridical.text_models"

SUPPLIED = frozenset({"model", "price", "threads", "threshold"})
"""Arguments of `create` that are no settings of the backend."""

S = TypeVar("S", BackendSpec, TextModelSpec)


class OtherBackends(SettingsBlock):
    """Block `backends:`, with a block for each installed backend of another package."""


def installed(group: str = GROUP) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name."""
    return {entry.name: entry for entry in entry_points(group=group)}


def find(group: str, name: str) -> EntryPoint | None:
    """Return the entry point of a name; `ConfigurationError` if two packages have one."""
    found = [entry for entry in entry_points(group=group) if entry.name == name]
    if len({entry.value for entry in found}) > 1:
        msg = f"the name {name!r} is taken by {_packages(found)}"
        raise ConfigurationError(msg, hint="Uninstall one of them")
    return found[0] if found else None


def backend_spec(entry: EntryPoint) -> BackendSpec:
    """Return the spec of a backend; `ConfigurationError` if it is none, or has no proper settings.

    Errors of the import of its module are not caught.
    """
    return _spec(entry, BackendSpec)


def text_model_spec(entry: EntryPoint) -> TextModelSpec:
    """Return the spec of a text model; errors as those of `backend_spec`."""
    return _spec(entry, TextModelSpec)


def block_key(name: str) -> str:
    """Return the key of a backend below `backends`: its name, with the characters of a variable."""
    return re.sub(r"\W", "_", name)


def other_backends() -> type[OtherBackends]:
    """Return the block `backends` for the packages that are installed now.

    A backend that does not load has none; `veridical doctor` says why. `ConfigurationError` if two
    packages have different settings under one key.
    """
    found: dict[str, tuple[EntryPoint, type[SettingsBlock]]] = {}
    for entry, settings in _settings_of_others():
        other, kept = found.setdefault(block_key(entry.name), (entry, settings))
        if kept is not settings:
            msg = f"the settings backends.{block_key(entry.name)} are of two classes"
            hint = f"Rename a backend or text model of {_packages([other, entry])}"
            raise ConfigurationError(msg, hint=hint)
    fields: dict[str, Any] = {key: (kind, kind()) for key, (_, kind) in found.items()}
    return create_model("OtherBackends", __base__=OtherBackends, **fields)


def validated(value: object, info: ValidationInfo) -> OtherBackends:
    """Return the block `backends` of a value; the errors of all its blocks are raised at once."""
    if isinstance(value, OtherBackends):
        return value
    block = other_backends()
    # The values of the environment are texts.
    if str(info.mode) == "string":
        return block.model_validate_strings(value)
    return block.model_validate(value)


def _settings_of_others() -> Iterator[tuple[EntryPoint, type[SettingsBlock]]]:
    for group, load in ((GROUP, backend_spec), (TEXT_GROUP, text_model_spec)):
        for entry in entry_points(group=group):
            # The package's own backends have blocks at the top level, and need not be imported.
            if entry.value.startswith("veridical."):
                continue
            settings = _loadable_settings(entry, load)
            if settings is not None:
                yield entry, settings


def _loadable_settings(
    entry: EntryPoint, load: Callable[[EntryPoint], BackendSpec | TextModelSpec]
) -> type[SettingsBlock] | None:
    try:
        settings = load(entry).settings
    except Exception:  # noqa: BLE001 -- a module of somebody else's may raise anything
        return None
    return settings if isinstance(settings, type) else None


def _spec(entry: EntryPoint, kind: type[S]) -> S:
    loaded = entry.load()
    if callable(loaded):
        loaded = kind(loaded)
    if not isinstance(loaded, kind):
        msg = f"the entry point {entry.name!r} of {_packages([entry])} is no {kind.__name__}"
        raise ConfigurationError(msg, hint=f"Its value is a {kind.__name__} or a function create")
    if isinstance(loaded.settings, type):
        _refuse_unusable(entry, loaded.settings)
    return loaded


def _refuse_unusable(entry: EntryPoint, settings: type) -> None:
    """Raise `ConfigurationError` if a class cannot be the settings of a backend."""
    problem = _problem(entry, settings)
    if problem is not None:
        msg = f"the settings of {entry.name!r} ({_packages([entry])}) cannot be used: {problem}"
        raise ConfigurationError(msg, hint="docs/backends.md, Write your own backend")


def _problem(entry: EntryPoint, settings: type) -> str | None:
    if not issubclass(settings, SettingsBlock):
        return f"{settings.__name__} is no SettingsBlock"
    if hasattr(SettingsBlock, block_key(entry.name)):
        return f"no block can be named {entry.name}"
    taken = sorted(SUPPLIED & settings.model_fields.keys())
    if taken:
        return f"{', '.join(taken)} is supplied by veridical"
    try:
        settings()
    except ValidationError:
        return "a key has no default"
    return None


def _packages(entries: list[EntryPoint]) -> str:
    names = {entry.dist.name if entry.dist else "an unknown package" for entry in entries}
    return " and ".join(sorted(names))
