"""Aliases of settings, SPEC-08's and SPEC-16's names among them.

A setting has one name of its own, one value and one default. Setting an alias sets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ALIASES: Mapping[str, str] = {
    "verification.support_threshold": "policy.support_threshold",
    "verification.dependence_threshold": "policy.dependence_threshold",
    "verification.gap_threshold_bits": "policy.gap_threshold_bits",
    "verification.mode": "policy.mode",
    "verification.sample_rate": "policy.sample_rate",
    "verification.max_claims_per_response": "policy.max_claims",
    "verification.parallel_verification": "policy.parallel",
    "verification.verification_model": "aliases.output",
    "hallucination.output_verification.enabled": "verification.enabled",
    "hallucination.output_verification.flag_threshold_bits": "policy.gap_threshold_bits",
    "hallucination.cache_ttl": "cache.ttl_s",
}
"""A setting's own name by its alias."""

_DEPTH = max(alias.count(".") for alias in ALIASES)


def resolved(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings with each value under its own name; null under an alias says nothing.

    An alias that cannot be resolved, for the block of its setting is no block, stays.
    """
    settings = _copied(given)
    for alias, name in ALIASES.items():
        *blocks, key = alias.split(".")
        old = _block(settings, blocks)
        if old is None or key not in old:
            continue
        *blocks, own_key = name.split(".")
        block = _block(settings, blocks, make=True)
        if block is not None and (value := old.pop(key)) is not None:
            block[own_key] = value
    return settings


def conflicts(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield an alias with a value and the name under which the setting has another value."""
    said = {name: (name, value_at(given, name)) for name in ALIASES.values()}
    for alias, name in ALIASES.items():
        value, (first, other) = value_at(given, alias), said[name]
        if value is not None and other is None:
            said[name] = (alias, value)
        elif value is not None and value != other:
            yield alias, first


def value_at(given: Mapping[str, Any], name: str) -> object:
    """Return the value of a dotted name in nested settings; None if there is none."""
    value: object = given
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _copied(given: Mapping[str, Any], depth: int = _DEPTH) -> dict[str, Any]:
    """Return a copy as deep as aliases go; below, a YAML file may hold itself."""
    return {
        key: _copied(value, depth - 1) if depth and isinstance(value, Mapping) else value
        for key, value in given.items()
    }


def _block(
    settings: dict[str, Any], blocks: list[str], *, make: bool = False
) -> dict[str, Any] | None:
    """Return a block, made if it is not there and is wanted; None if it is no block."""
    block: object = settings
    for name in blocks:
        if not isinstance(block, dict):
            return None
        block = block.setdefault(name, {}) if make else block.get(name)
    return block if isinstance(block, dict) else None
