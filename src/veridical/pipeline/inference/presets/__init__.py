"""Presets of public verifiers: input, reading, limits and licence, one data file each."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Preset:
    """Conventions of one public verifier.

    The `template` of a chat model is a list of messages. Its `labels` are the word that supports a
    claim and the word that does not; `read` says where the word stands (`judges.py`), and
    `answer_tokens` how long the answer is.
    """

    name: str
    repository: str
    kind: str
    template: str | Sequence[Mapping[str, str]]
    labels: Sequence[str] | str
    read: str
    threshold: float
    licence: str
    parameters: str
    source: str
    revision: str | None = None
    answer_tokens: int = 1
    max_tokens: int | None = None
    window_words: int | None = None
    aggregation: str = "max"
    languages: Sequence[str] | None = None
    contradicts: bool = False
    balanced_accuracy: float | None = None
    files: Sequence[str] = ()


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets by name."""
    known = [field.name for field in fields(Preset)]
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        found[raw["name"]] = Preset(**{key: raw[key] for key in known if key in raw})
    return MappingProxyType(found)


def preset(name: str) -> Preset:
    """Return a preset; `ConfigurationError` with the known names if there is none."""
    if name not in presets():
        msg = f"there is no preset {name!r}"
        raise ConfigurationError(msg, hint=f"Known: {', '.join(presets())}")
    return presets()[name]
