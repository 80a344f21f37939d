"""Presets of public verifiers: the input each was trained on, and the meaning of its output.

A preset is a data file, `NAME.json`, without code. The same fields in a `veridical.json` describe a
model of one's own (docs/backends.md, Public verifiers).
"""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SUPPORTED, CONTRADICTED, NOT_IN_CONTEXT = "supported", "contradicted", "not_in_context"
NOT_SUPPORTED = "not_supported"
"""Label of two-class models for all that is not supported."""

ID2LABEL = "id2label"
"""Value of `labels` for names in the order that the model's `config.json` states."""

CARD_KIND = "card"
CHAT_KIND = "chat"
READINGS: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "pair": ("softmax",),
        "joined": ("softmax",),
        "seq2seq": ("softmax_of_ids",),
        "token_zero": ("softmax_of_token_zero",),
        "spans": ("softmax_of_answer_tokens",),
        CARD_KIND: ("calibrated_softmax",),
        CHAT_KIND: ("first_token", "word_after"),
    }
)
"""Kinds of input, each with the ways in which probabilities come out of the logits."""

_CHOICES: Mapping[str, Collection[object]] = MappingProxyType(
    {
        "kind": tuple(READINGS),
        "aggregation": ("max", "max_of_hallucinated", "min_of_max"),
        "window_unit": ("words", "words_and_marks", "tokens"),
        "window_joint": (" ", "\n"),
        "reads": ("passages", "whole"),
    }
)
_LABELS = (
    {SUPPORTED, NOT_SUPPORTED},
    {SUPPORTED, CONTRADICTED, NOT_IN_CONTEXT},
)
_JSON_TYPES: Mapping[str, type] = {"None": type(None), "str": str, "dict": dict}
_PLACES = re.compile(r"\{(\w*)\}")
_HINT = "docs/backends.md, Public verifiers, lists the fields"


@dataclass(frozen=True, slots=True)
class Preset:
    """Conventions of one public verifier.

    `template` is its input, or, for pairs, the first text; `question_template` is used instead
    where there is a question. `labels` are in the order of the logits. Evidence is cut into windows
    of `window_words` at most, counted in `window_unit` and joined by `window_joint`, and read as
    one where it is null. `files` are the names of its ONNX graphs. `balanced_accuracy` is the
    published one on LLM-AggreFact, from 0 to 1. `source` says where the conventions stand.

    The `template` of a chat model is a list of messages, its `labels` the word that supports a
    claim and the word that does not, and `answer_tokens` the length of its answer.
    """

    name: str
    kind: str
    template: str | tuple[dict[str, str], ...]
    labels: tuple[str, ...] | str
    read: str
    max_tokens: int | None = None
    repository: str | None = None
    revision: str | None = None
    question_template: str | None = None
    answer_ids: tuple[int, ...] | None = None
    window_words: int | None = None
    window_unit: str = "words"
    window_joint: str = " "
    aggregation: str = "max"
    threshold: float = 0.5
    reads: str = "passages"
    languages: tuple[str, ...] | None = None
    contradicts: bool = False
    licence: str | None = None
    parameters: str | None = None
    balanced_accuracy: float | None = None
    balanced_accuracy_source: str | None = None
    source: str | None = None
    answer_tokens: int = 1
    files: tuple[str, ...] = ()


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets of this package by name."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = parse_preset({"name": path.stem} | document, path.name)
    return MappingProxyType(found)


def preset(name: str) -> Preset:
    """Return the preset of a name; `ConfigurationError` with the known names if there is none."""
    if name not in presets():
        msg = f"there is no preset named {name!r}"
        raise ConfigurationError(msg, hint=f"Known here: {', '.join(presets())}")
    return presets()[name]


def parse_preset(document: Mapping[str, Any], file: str) -> Preset:
    """Return the preset of a JSON object; `ConfigurationError` names the field that is wrong."""
    known = {one.name: one for one in fields(Preset)}
    missing = [key for key, one in known.items() if _is_required(one) and key not in document]
    unknown = [key for key in document if key not in known]
    if missing or unknown:
        what = f"lacks {', '.join(missing)}" if missing else f"has an unknown {unknown[0]!r}"
        msg = f"{file} {what}"
        raise ConfigurationError(msg, hint=_HINT)
    for key, value in document.items():
        if not _fits(str(known[key].type), value):
            msg = f"{file}: {key} must be {known[key].type}, as JSON"
            raise ConfigurationError(msg, hint=_HINT)
    values: dict[str, Any] = {
        key: tuple(one) if isinstance(one, list) else one for key, one in document.items()
    }
    return _consistent(Preset(**values), file)


def _is_required(one: Any) -> bool:  # noqa: ANN401 -- a dataclass field is generic
    return one.default is MISSING


def _fits(kind: str, value: object) -> bool:
    """Return whether a JSON value has the type that a field is annotated with."""
    return any(_is_a(part, value) for part in kind.split(" | "))


def _is_a(kind: str, value: object) -> bool:
    if kind.startswith("tuple["):
        item = kind.removeprefix("tuple[").removesuffix(", ...]")
        return isinstance(value, list) and all(_is_a(item, one) for one in value)
    if isinstance(value, bool):
        return kind == "bool"
    if isinstance(value, int | float):
        least = isinstance(value, int) and value >= 1
        return (kind == "int" and least) or (kind == "float" and 0 <= value <= 1)
    return isinstance(value, _JSON_TYPES.get(kind.partition("[")[0], ()))


def _consistent(made: Preset, file: str) -> Preset:
    """Return a preset; `ConfigurationError` if its fields do not fit each other."""
    problem = _wrong_choice(made) or _wrong_labels(made) or _wrong_template(made)
    if problem is not None:
        msg = f"{file}: {problem}"
        raise ConfigurationError(msg, hint=_HINT)
    return made


def _wrong_choice(made: Preset) -> str | None:
    for key, choices in _CHOICES.items():
        if getattr(made, key) not in choices:
            return f"{key} must be one of {', '.join(map(repr, choices))}"
    if made.read.partition(":")[0] not in READINGS[made.kind]:
        return f"read must be {' or '.join(READINGS[made.kind])} for {made.kind}"
    if not 0 < made.threshold < 1:
        return "threshold must be between 0 and 1"
    if (made.kind == CHAT_KIND) == isinstance(made.template, str):
        return "template must be a list of messages for chat, and else a text"
    if (made.kind == "seq2seq") != (made.answer_ids is not None):
        return "answer_ids go with seq2seq, and with nothing else"
    return None


def _wrong_labels(made: Preset) -> str | None:
    if made.kind == CHAT_KIND:
        return None if len(made.labels) == 2 else "labels must be two words"  # noqa: PLR2004 -- two
    if isinstance(made.labels, str):
        return None if made.labels == ID2LABEL else f"labels must be names or {ID2LABEL!r}"
    if len(set(made.labels)) != len(made.labels) or set(made.labels) not in _LABELS:
        choices = " or ".join("/".join(sorted(names)) for names in _LABELS)
        return f"labels must be {choices}, in the order of the logits"
    if made.contradicts != (CONTRADICTED in made.labels):
        return "contradicts must say whether there is the label contradicted"
    if made.answer_ids is not None and len(made.answer_ids) != len(made.labels):
        return "answer_ids must be one for each label"
    return None


def _wrong_template(made: Preset) -> str | None:
    if made.kind == CHAT_KIND:
        return None
    own = {"context"} if made.kind in {"pair", "spans", CARD_KIND} else {"context", "claim"}
    for key, places in (("template", own), ("question_template", own | {"question"})):
        text = getattr(made, key)
        if text is not None and sorted(_PLACES.findall(text)) != sorted(places):
            return f"{key} must hold {', '.join(f'{{{place}}}' for place in sorted(places))} once"
    return None
