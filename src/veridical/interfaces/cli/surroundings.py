"""Verifiers within reach: API keys, model servers on this machine, downloaded presets; the best.

Nothing is sent but requests for a list of models, to 127.0.0.1. Of a key, only the name of its
variable is read out.
"""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.pipeline.inference.presets import CHAT_KIND

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.pipeline.inference.presets import Preset
    from veridical.settings import Settings

_SIZE = re.compile(r"-\d+b$")
LOOPBACK = "127.0.0.1"
TIMEOUT_S = 0.5
LARGEST_REPLY = 2**20
KEYS = (
    "ANTHROPIC_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_OPENAI_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "VERIDICAL_ANTHROPIC__API_KEY",
    "VERIDICAL_OPENAI__API_KEY",
)
OLLAMA = "Ollama"
PORTS = {OLLAMA: 11434, "llama.cpp": 8080, "vLLM": 8000}
"""Ports that the servers listen on by default."""
OWNERS = {"llamacpp": "llama.cpp", "vllm": "vLLM"}
"""Servers by the owner that they give for their models."""


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Server of models on this machine; `base_url` is that of its OpenAI-compatible API."""

    kind: str
    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Names of the variables with a key, model servers, and names of the downloaded presets."""

    keys: tuple[str, ...] = ()
    servers: tuple[ModelServer, ...] = ()
    presets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Backend to configure: its settings, nested, and the reason in one line."""

    backend: str
    reason: str
    settings: Mapping[str, Any] = field(default_factory=dict)


# --- what is there ---------------------------------------------------------------------------


def look_for_verifiers(settings: Settings) -> Surroundings:
    """Return what could verify here; asks the servers for their models, all at once."""
    with ThreadPoolExecutor(len(PORTS)) as threads:
        servers = threads.map(_server, PORTS, PORTS.values())
        found = tuple(server for server in servers if server is not None)
    keys = tuple(name for name in KEYS if os.environ.get(name, "").strip())
    return Surroundings(keys, found, _downloaded(settings))


def _downloaded(settings: Settings) -> tuple[str, ...]:
    from veridical.pipeline.inference.model_store import installed_models

    folder = settings.models.folder
    models = installed_models(folder=None if folder is None else Path(folder))
    return tuple(dict.fromkeys(model.name for model in models))


def _server(kind: str, port: int) -> ModelServer | None:
    """Return the server that listens on a port, with its models; None if there is none."""
    try:
        models = list(_models(_got(port, "/api/tags" if kind == OLLAMA else "/v1/models")))
    except (OSError, HTTPException, ValueError, RecursionError):
        return None
    if kind != OLLAMA:
        owners = (OWNERS[owner] for _, owner in models if owner in OWNERS)
        kind = next(owners, "OpenAI-compatible")
    names = tuple(dict.fromkeys(name for name, _ in models))
    return ModelServer(kind, f"http://{LOOPBACK}:{port}/v1", names)


def _got(port: int, path: str) -> Any:  # noqa: ANN401 -- a JSON document
    # Not urllib: it would ask a proxy for an address on this machine, and follow it elsewhere.
    connection = HTTPConnection(LOOPBACK, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != 200:  # noqa: PLR2004 -- OK
            raise ValueError
        return json.loads(response.read(LARGEST_REPLY))
    finally:
        connection.close()


def _models(document: object) -> Iterator[tuple[str, str]]:
    """Yield the name and the owner of each model in a list of Ollama or OpenAI."""
    # llama.cpp sends both lists, with owners in the one of OpenAI.
    listed = document.get("data", document.get("models")) if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError  # noqa: TRY004 -- a reply of another service, as one that is no JSON
    for one in listed:
        if isinstance(one, dict) and isinstance(name := one.get("id", one.get("name")), str):
            # The name goes to a terminal.
            yield "".join(filter(str.isprintable, name)), str(one.get("owned_by", ""))


# --- the best of it --------------------------------------------------------------------------


def best_choice(found: Surroundings, known: Mapping[str, Preset]) -> Choice:
    """Return the best backend by published figures among those that keep texts on this machine.

    Such are downloaded presets, and judges with a prompt of their own that are served here. Other
    language models have no published figure for the prompt of this package.
    """
    options = [*_downloaded_options(found, known), *_served_options(found, known)]
    measured = [option for option in options if option[0].balanced_accuracy is not None]
    if not measured:
        return Choice("embedded", _nothing_better(known), {"backend": "embedded"})
    preset, second, more = max(measured, key=lambda option: _accuracy(option[0]))
    settings = {"backend": "cascade", "cascade": {"second": second}, **more}
    reason = f"embedded first, {second} where it is in doubt: {preset.name}, {published(preset)}"
    return Choice("cascade", reason, settings)


_Option = tuple["Preset", str, dict[str, Any]]
"""Preset, the backend that runs it, and the settings that this needs."""


def _downloaded_options(found: Surroundings, known: Mapping[str, Preset]) -> Iterator[_Option]:
    for name in found.presets:
        if name in known:
            yield known[name], f"hub:{name}", {}


def _served_options(found: Surroundings, known: Mapping[str, Preset]) -> Iterator[_Option]:
    if find_spec("openai") is None:
        return
    judges = [one for one in known.values() if one.kind == CHAT_KIND]
    for server in found.servers:
        for model, judge in product(server.models, judges):
            if _is_served_as(judge, model):
                settings = {"base_url": server.base_url, "preset": judge.name}
                yield judge, f"openai:{model}", {"openai": settings}


def _is_served_as(judge: Preset, model: str) -> bool:
    """Return whether a server's name of a model is that of a judge, or of its repository."""
    served = model.rpartition("/")[2].lower().removesuffix(":latest").replace(":", "-")
    repository = (judge.repository or "").rpartition("/")[2].lower()
    names = {judge.name, repository}
    return served in names | {_SIZE.sub("", name) for name in names}


def _nothing_better(known: Mapping[str, Preset]) -> str:
    classifiers = [one for one in known.values() if one.kind != CHAT_KIND]
    best = max(classifiers, key=_accuracy)
    return f"no preset is downloaded; the best one is {best.name}, {published(best)}"


def _accuracy(one: Preset) -> float:
    return one.balanced_accuracy or 0.0


def published(one: Preset) -> str:
    """Return the published figure of a preset with its source, and its licence."""
    figure = f"balanced accuracy {one.balanced_accuracy:.1%} on LLM-AggreFact"
    return f"{figure} ({one.balanced_accuracy_source}), licence {one.licence}"


def chosen(backend: str, servers: Sequence[ModelServer]) -> Choice:
    """Return the settings of a named backend; one that is served here comes with its address."""
    name, _, model = backend.partition(":")
    settings: dict[str, Any] = {"backend": backend}
    for server in servers if name == "openai" else ():
        if model in server.models:
            settings["openai"] = {"base_url": server.base_url}
            return Choice(backend, f"served by {server.kind} on this machine", settings)
    return Choice(backend, "chosen with --backend", settings)
