"""Aliases of settings, SPEC-08's and SPEC-16's names among them: one value for all names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

V = TypeVar("V")

ALIASES = (
    ("policy.support_threshold", "verification.support_threshold"),
    ("policy.dependence_threshold", "verification.dependence_threshold"),
    (
        "policy.gap_threshold_bits",
        "verification.gap_threshold_bits",
        "hallucination.output_verification.flag_threshold_bits",
    ),
    ("policy.mode", "verification.mode"),
    ("policy.sample_rate", "verification.sample_rate"),
    ("policy.max_claims", "verification.max_claims_per_response"),
    ("policy.parallel", "verification.parallel_verification"),
    ("verification.enabled", "hallucination.output_verification.enabled"),
)
"""Names of one value each; setting one of them sets all."""


def spread(values: Mapping[str, V]) -> dict[str, V]:
    """Return values by dotted key, each under all its names; None means unset."""
    spread = dict(values)
    for names in ALIASES:
        said = [values[name] for name in names if values.get(name) is not None]
        if said:
            spread |= dict.fromkeys(names, said[0])
    return spread


def conflicts(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names of one setting with different values: the first, and another."""
    for names in ALIASES:
        said = [name for name in names if values.get(name) is not None]
        for other in said[1:]:
            if values[other] != values[said[0]]:
                yield said[0], other
