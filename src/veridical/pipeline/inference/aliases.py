"""Aliases of backends: `self`, `haiku`, `external`, `configurable` (SPEC-08.27)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

Operation = Literal["check", "memory", "output", "trace"]

CONFIGURABLE = "configurable"
HAIKU = "anthropic:haiku"
MEANINGS = {
    "self": "the backend of the model that wrote the answer",
    "haiku": "Claude Haiku",
    "external": "the remote service that is configured",
    CONFIGURABLE: "chosen for each operation",
}


def resolve_alias(
    name: str,
    *,
    aliases: Mapping[str, str | None],
    operation: Operation = "check",
) -> str:
    """Return the `NAME[:MODEL]` of an alias; any other name is returned unchanged.

    `aliases` holds the backends of `self` and `external` and, for `configurable`, the backend of
    each operation; `haiku` may be set too. Each may be an alias in its turn. `ConfigurationError`
    if one that is needed is not set, has a model of its own (`self:x`), or leads back to itself.
    """
    seen: list[str] = []
    while (alias := name.partition(":")[0]) in MEANINGS:
        if alias != name:
            msg = f"the backend {alias!r} takes no model"
            raise ConfigurationError(msg, hint=f"It stands for {MEANINGS[alias]}")
        if alias in seen:
            msg = f"the backend {seen[0]!r} stands for itself: {' -> '.join([*seen, alias])}"
            raise ConfigurationError(msg, hint="Let one of them be NAME or NAME:MODEL")
        seen.append(alias)
        name = _meaning(alias, aliases, operation)
    return name


def _meaning(alias: str, aliases: Mapping[str, str | None], operation: Operation) -> str:
    key = operation if alias == CONFIGURABLE else alias
    meaning = aliases.get(key) or (HAIKU if alias == "haiku" else None)
    if meaning is None:
        what = f" for the operation {operation!r}" if alias == CONFIGURABLE else ""
        msg = f"the backend {alias!r} is not set{what}"
        hint = f"It stands for {MEANINGS[alias]}: set {key!r} to NAME or NAME:MODEL"
        raise ConfigurationError(msg, hint=hint)
    return meaning
