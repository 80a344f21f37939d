"""Shared parts of the tests of several backends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from veridical.pipeline.inference import llama_cpp

T = TypeVar("T")


class Crowd:
    """Counter of the most concurrent threads in `joined`; each stays for a while."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def joined(self, work: Callable[[], T]) -> T:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.02)
        with self._lock:
            self._now -= 1
        return work()


@pytest.fixture
def crowd() -> Crowd:
    """Count the requests that a server works on at once, before it replies."""
    return Crowd()


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """Return a file that begins as a GGUF file does; a stand-in is loaded in its place."""
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


@pytest.fixture
def load_instead(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], None]]:
    """Let models be loaded by another function, none of them loaded before or kept after."""
    llama_cpp._engines.clear()
    yield lambda load: monkeypatch.setattr(llama_cpp, "start", load)
    llama_cpp._engines.clear()
