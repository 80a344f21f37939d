from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from veridical.core.measurements import Measurement, Query
from veridical.core.ports import Backend
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.service import Service
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate

BRIDGE = "The bridge was opened to traffic in 1998. It carries eight lanes."

Opened = AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]
Open = Callable[..., Opened]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder, with no settings around and a store of its own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_STORE__URL", f"sqlite:///{tmp_path}/store.db")
    return tmp_path


def read(query: Query) -> Measurement:
    """Support claims with their last word in the context, oppose claims with "six"."""
    if "six" in query.claim:
        return fake_estimate(0.02, 0.95)
    last = query.claim.strip(".").split()[-1]
    return fake_estimate(0.95 if last in query.context else 0.02)


@pytest.fixture
def opened() -> Open:
    """Open a service that is asked in this process."""

    @asynccontextmanager
    async def open_it(
        backend: Backend | str | None = None,
        **overrides: Any,  # noqa: ANN401
    ) -> AsyncIterator[tuple[httpx.AsyncClient, Service]]:
        asked = FakeBackend(read) if backend is None else backend
        app = create_app(
            Settings.load(**overrides), backend=None if isinstance(asked, str) else asked
        )
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
        ):
            yield client, app.state.service

    return open_it
