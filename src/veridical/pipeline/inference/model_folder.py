"""Folders of ONNX models: recognition, labels, fingerprints. Their files are data, never code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from veridical.errors import ConfigurationError
from veridical.pipeline.inference.card import load_card
from veridical.pipeline.inference.presets import (
    CARD_KIND,
    CHAT_KIND,
    CONTRADICTED,
    ID2LABEL,
    NOT_IN_CONTEXT,
    NOT_SUPPORTED,
    SUPPORTED,
    Preset,
    parse_preset,
    preset,
    presets,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from veridical.pipeline.inference.card import WeightsCard

DESCRIPTION, CONFIG, TOKENIZER = "veridical.json", "config.json", "tokenizer.json"
"""Files of a folder: the preset or its fields, the model's configuration, its tokenizer."""

NAMES: Mapping[str, str] = {
    "entailment": SUPPORTED,
    "supported": SUPPORTED,
    "grounded": SUPPORTED,
    "consistent": SUPPORTED,
    "contradiction": CONTRADICTED,
    "contradicted": CONTRADICTED,
    "neutral": NOT_IN_CONTEXT,
    "not_in_context": NOT_IN_CONTEXT,
    "not_entailment": NOT_SUPPORTED,
    "not_supported": NOT_SUPPORTED,
    "unsupported": NOT_SUPPORTED,
    "hallucinated": NOT_SUPPORTED,
    "hallucination": NOT_SUPPORTED,
    "inconsistent": NOT_SUPPORTED,
}
"""Names of classes in the `id2label` of public models, and their meaning."""

_SECTION = "docs/backends.md, Public verifiers"
_EXPORT = (
    "Export the model once: optimum-cli export onnx --model REPOSITORY FOLDER "
    f"({_SECTION}), and check with onnx:FOLDER"
)
_MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Folder of one model: its conventions, graphs, tokenizer, and labels in order of the logits.

    The fingerprint holds the preset and, of each file, its size and its first and last MiB.
    """

    path: Path
    preset: Preset
    graphs: tuple[Path, ...]
    tokenizer: Path
    labels: tuple[str, ...]
    fingerprint: str


def read_card(path: Path) -> WeightsCard | None:
    """Return the card of a folder in the layout of this package's own weights; None if it has none.

    `ConfigurationError` if there is no such folder.
    """
    if not path.is_dir():
        msg = f"there is no model folder {path}"
        raise ConfigurationError(msg, hint="Give the path of a folder: onnx:FOLDER")
    if (path / CONFIG).exists():
        return None
    cards = [one for one in sorted(path.glob("*.json")) if _is_card(one)]
    return load_card(cards[-1].stem, path) if cards else None


def _is_card(path: Path) -> bool:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and {"calibration", "weights", "tokenizer"} <= set(document)


def read_folder(path: Path, named: Preset | None = None) -> ModelFolder:
    """Return the model of a folder, with the conventions `named` unless it has its own.

    `ConfigurationError` if a file is missing, is malformed, or does not fit the preset.
    """
    config = _object(path / CONFIG)
    found = _preset(path, config, named)
    if found.kind in {CARD_KIND, CHAT_KIND}:
        msg = f"{path} has a {CONFIG}, which the preset {found.name!r} has no use for"
        raise ConfigurationError(msg, hint=f"Name another preset in {DESCRIPTION}")
    tokenizer = path / TOKENIZER
    if not tokenizer.is_file():
        raise _lacks(path, TOKENIZER)
    graphs = _graphs(path, found)
    labels = _labels(found, config, path)
    made = replace(found, labels=labels, contradicts=CONTRADICTED in labels)
    fingerprint = _fingerprint(path, made, (*graphs, tokenizer))
    return ModelFolder(path, made, graphs, tokenizer, labels, fingerprint)


def _lacks(path: Path, file: str) -> ConfigurationError:
    return ConfigurationError(f"{path} has no {file}", hint=_EXPORT)


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; `ConfigurationError` if there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _lacks(path.parent, path.name) from None
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{path} cannot be read ({type(error).__name__})"
        raise ConfigurationError(msg, hint=f"It holds one JSON object ({_SECTION})") from None
    if not isinstance(document, dict):
        msg = f"{path} holds no JSON object"
        raise ConfigurationError(msg, hint=_SECTION)
    return document


def _preset(path: Path, config: Mapping[str, Any], named: Preset | None) -> Preset:
    """Return the conventions of `veridical.json`, of a name, or of the names of the labels."""
    if (path / DESCRIPTION).exists():
        return _described(path, _object(path / DESCRIPTION))
    if named is not None:
        return named
    if path.name in presets():
        return preset(path.name)
    if set(_known_names(config)) == {SUPPORTED, CONTRADICTED, NOT_IN_CONTEXT}:
        return replace(preset("nli-deberta-v3"), name=path.name, files=(), languages=None)
    msg = f"{path} does not say how it is asked"
    hint = f'Write {{"preset": "NAME"}} to {path / DESCRIPTION}: {", ".join(presets())}'
    raise ConfigurationError(msg, hint=hint)


def _described(path: Path, document: dict[str, Any]) -> Preset:
    """Return the preset that is named, with the fields that are given, or the fields alone."""
    fields = {key: value for key, value in document.items() if key != "preset"}
    base: dict[str, Any] = {"name": path.name}
    if "preset" in document:
        base |= _as_json(preset(str(document["preset"])))
    return parse_preset(base | fields, DESCRIPTION)


def _as_json(known: Preset) -> dict[str, Any]:
    values = {key: getattr(known, key) for key in known.__dataclass_fields__}
    return {key: list(one) if isinstance(one, tuple) else one for key, one in values.items()}


def _graphs(path: Path, found: Preset) -> tuple[Path, ...]:
    """Return the graphs of a model: the files of the preset, `model.onnx`, or the only one."""
    places = (path, path / "onnx")
    for place in places:
        named = tuple(place / file for file in found.files)
        if named and all(one.is_file() for one in named):
            return named
    if found.kind != "seq2seq":
        for place in places:
            if (place / "model.onnx").is_file():
                return (place / "model.onnx",)
        only = [one for place in places for one in sorted(place.glob("*.onnx"))]
        if len(only) == 1:
            return (only[0],)
        if only:
            msg = f"{path} has {len(only)} graphs: {', '.join(one.name for one in only)}"
            raise ConfigurationError(msg, hint=f'Name one in {DESCRIPTION}: "files": ["NAME"]')
    raise _lacks(path, " or ".join(found.files or ("*.onnx",)))


def _labels(found: Preset, config: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """Return the labels in the order of the logits; `ConfigurationError` if they are in doubt."""
    stated = _known_names(config)
    if not isinstance(found.labels, str):
        if None not in stated and stated and tuple(stated) != found.labels:
            msg = f"{path / CONFIG} and the preset {found.name!r} have the labels in another order"
            raise ConfigurationError(msg, hint=f'State "labels" in {DESCRIPTION}')
        return found.labels
    labels = tuple(one for one in stated if one is not None)
    allowed = ({SUPPORTED, NOT_SUPPORTED}, {SUPPORTED, CONTRADICTED, NOT_IN_CONTEXT})
    if len(labels) != len(stated) or len(set(labels)) != len(labels) or set(labels) not in allowed:
        msg = f"{path / CONFIG} has an {ID2LABEL} of unknown names, or none"
        hint = f'State "labels" in {DESCRIPTION}, in the order of the logits'
        raise ConfigurationError(msg, hint=hint)
    return labels


def _known_names(config: Mapping[str, Any]) -> list[str | None]:
    """Return the meaning of each name in `id2label`, in order; None for an unknown one."""
    names = config.get(ID2LABEL)
    if not isinstance(names, dict) or sorted(names) != sorted(map(str, range(len(names)))):
        return []
    ordered = [str(names[str(i)]) for i in range(len(names))]
    return [NAMES.get(name.strip().lower().replace("-", "_").replace(" ", "_")) for name in ordered]


def _fingerprint(path: Path, found: Preset, files: tuple[Path, ...]) -> str:
    made = hashlib.sha256(repr(replace(found, name="")).encode())
    beside = [one for graph in files for one in sorted(graph.parent.glob(f"{graph.name}[._]*"))]
    for file in dict.fromkeys([*files, *beside]):
        made.update(file.relative_to(path).as_posix().encode())
        made.update(_ends(file))
    return made.hexdigest()[:12]


def _ends(path: Path) -> bytes:
    """Return the size of a file, and its first and last MiB: all of it would take seconds."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            first = file.read(_MEBIBYTE)
            file.seek(max(0, size - _MEBIBYTE))
            return b"%d\n" % size + first + file.read()
    except OSError as error:
        msg = f"{path} cannot be read ({type(error).__name__})"
        raise ConfigurationError(msg, hint="Copy the folder again") from None
