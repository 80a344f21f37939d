"""Verifiers within reach: API keys, model servers on this machine, downloaded presets; the best.

Nothing is sent but requests for a list of models, to 127.0.0.1. Of a key, only the name of its
variable is read out.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.pipeline.inference.presets import Preset
    from veridical.settings import Settings

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

    A model that is served here or reached with a key has no published figure for our prompt.
    """
    measured = [
        known[name]
        for name in found.presets
        if name in known and known[name].balanced_accuracy is not None
    ]
    if not measured:
        return Choice("embedded", _nothing_better(known), {"backend": "embedded"})
    best = max(measured, key=_accuracy)
    settings = {"backend": "cascade", "cascade": {"second": f"hub:{best.name}"}}
    reason = f"embedded first, hub:{best.name} where it is in doubt: {published(best)}"
    return Choice("cascade", reason, settings)


def _nothing_better(known: Mapping[str, Preset]) -> str:
    usable = [one for one in known.values() if one.balanced_accuracy is not None and _runs(one)]
    if not usable:
        return "no downloaded preset has a published figure"
    best = max(usable, key=_accuracy)
    return f"no preset is downloaded; the best one, {best.name}, has a {published(best)}"


def _runs(one: Preset) -> bool:
    """Return whether a preset is a classifier, which runs in this process."""
    return one.kind != "chat"


def _accuracy(one: Preset) -> float:
    return one.balanced_accuracy or 0.0


def published(one: Preset) -> str:
    """Return the published figure of a preset with its source."""
    source = one.balanced_accuracy_source
    return f"balanced accuracy {one.balanced_accuracy:.1%} on LLM-AggreFact ({source})"


def chosen(backend: str, servers: Sequence[ModelServer]) -> Choice:
    """Return the settings of a named backend; one that is served here comes with its address."""
    name, _, model = backend.partition(":")
    settings: dict[str, Any] = {"backend": backend}
    for server in servers if name == "openai" else ():
        if model in server.models:
            settings["openai"] = {"base_url": server.base_url}
            return Choice(backend, f"served by {server.kind} on this machine", settings)
    return Choice(backend, "chosen with --backend", settings)
