"""Domains of the PHQ-8, by the keys of Spec 054, each with a short description for a model."""

from __future__ import annotations

from types import MappingProxyType

from veridical.quotes.grounding import PHQ8_DOMAIN_KEYS

_WORDS = (
    "little interest in doing things, or little pleasure in them",
    "low mood: feeling down, sad, empty or without hope",
    "sleep: trouble falling asleep, waking up, or sleeping too much",
    "being tired, or having little energy",
    "appetite: eating too little, or too much",
    "thinking badly of oneself: a failure, guilt, having let others down",
    "trouble concentrating, for example on reading or on a film",
    "moving or speaking slowly, or being restless, so that others could notice",
)

DOMAINS = MappingProxyType(dict(zip(PHQ8_DOMAIN_KEYS, _WORDS, strict=True)))
"""Description of each key."""
