"""Migration of a database to the newest revision, with its data in place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import text

from veridical.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0008"
"""The newest revision; a database that has it needs no Alembic, which takes a while to import."""

FOLDER = Path(__file__).parent / "migrations"

FOREIGN = """
SELECT count(*) FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name != 'estimates_v1'
AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'alembic_version')
"""
"""Counts the tables of another program; a cache of ours may be in the same file."""

_LOCK = 0x7E71D1CA
"""Advisory lock on PostgreSQL for processes that start at the same time."""


def revision_of(connection: Connection) -> str | None:
    """Return the revision that a database has; None of an empty one."""
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def upgrade(connection: Connection) -> None:
    """Migrate within the transaction under way, which has to hold SQLite's lock for writing.

    `StoreError` if the database was made by a later version, or by another program.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    found = revision_of(connection)  # again, now under the lock
    _ensure_ours(connection)
    if found != HEAD:
        _run(connection, found)


def _ensure_ours(connection: Connection) -> None:
    """Raise `StoreError` if a file has tables of another program; a server may be shared."""
    if connection.dialect.name == "sqlite" and connection.scalar(text(FOREIGN)):
        msg = "the store's file is a database of another program"
        raise StoreError(msg, hint="Set store.url to a file that is not there yet, or one of ours")


def _run(connection: Connection, found: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        msg = f"the store has revision {found}, which this version does not know"
        raise StoreError(msg, hint="Upgrade veridical, or set store.url to another database")
    command.upgrade(config, HEAD)
