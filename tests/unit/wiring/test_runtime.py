"""The parts that callers share: made when first needed, closed together."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.core.measurements import Query
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate
from veridical.wiring.runtime import Runtime


class ClosingBackend(FakeBackend):
    """A backend that counts how often it is closed."""

    def __init__(self) -> None:
        super().__init__(lambda _query: fake_estimate(0.95))
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.load(store={"url": f"sqlite:///{tmp_path}/store.db"})


def test_a_part_is_made_once_and_again_after_the_close(settings: Settings) -> None:
    parts = Runtime(settings=settings)
    backend, store = parts.backend, parts.store
    assert (parts.backend, parts.store) == (backend, store)
    parts.close()
    assert parts.backend is not backend
    assert parts.store is not store
    parts.close()


def test_nothing_is_made_before_it_is_needed(settings: Settings) -> None:
    parts = Runtime(settings=settings)
    assert not parts.made("store")
    assert parts.store
    assert parts.made("store")
    parts.close()
    assert not parts.made("store")


def test_a_backend_of_the_caller_is_closed_once_if_it_is_taken_over_and_else_never(
    settings: Settings,
) -> None:
    kept, handed_over = ClosingBackend(), ClosingBackend()
    for backend in (kept, handed_over):
        parts = Runtime(backend, settings=settings)
        assert parts.backend is backend
        if backend is handed_over:
            parts.take_over(backend)
        parts.close()
        parts.close()
    assert (kept.closed, handed_over.closed) == (0, 1)


def test_the_gate_of_the_gated_memory_is_there_whatever_the_settings_say(
    settings: Settings,
) -> None:
    parts = Runtime(settings=settings)
    assert parts.memory.gate is None
    assert parts.gated_memory.gate is not None
    parts.close()


def test_a_verifier_reads_with_the_backend_that_was_given(settings: Settings) -> None:
    backend = ClosingBackend()
    parts = Runtime(backend, settings=settings)
    parts.run(lambda: parts.verifier.verify("It is warm.", ["It is warm."]))
    parts.close()
    assert backend.queries[0] == Query("It is warm.", "It is warm.")
