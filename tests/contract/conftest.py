"""Empty databases of either kind: SQLite, and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

NewUrl = Callable[[], str]


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> NewUrl:
    """Return a function that makes the URL of an empty database."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path / uuid4().hex}.db"
    create: NewUrl = request.getfixturevalue("new_postgres_url")
    return create
