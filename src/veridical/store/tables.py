"""Tables as this version reads and writes them; `migrations` are the way there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    func,
    literal,
    or_,
)
from sqlalchemy.dialects import postgresql, sqlite

from veridical.store.projects import project_column, rows_of

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Select

metadata = MetaData(
    # Named, so that later migrations can drop or change them on either database.
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# A table `all_...` has rows of all projects; the name without it those of the project in force.
all_feedback = Table(
    "feedback",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    project_column(),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("report", String, nullable=False),
    Column("claim", String, nullable=False),
    Column("claim_hash", String, nullable=False),
    Column("backend", String, nullable=False),
    Column("model", String, nullable=False),
    Column("estimator", String, nullable=False),
    Column("fingerprint", String, index=True),
    Column("p1", JSON(none_as_null=True)),
    Column("p0", JSON(none_as_null=True)),
    Column("status", String, nullable=False),
    Column("support_threshold", Float(53), nullable=False),
    Column("contradiction_threshold", Float(53), nullable=False),
    Column("right", Boolean, nullable=False),
    Column("actual", String),
    Column("comment", String),
    UniqueConstraint("project", "report", "claim"),
    sqlite_autoincrement=True,  # a number that was removed never means another mark
)
feedback = rows_of(all_feedback)

rates = Table(
    "rates",
    metadata,
    Column("key", String, primary_key=True),
    Column("full_until", Float(53), nullable=False),
)

cache_entries = Table(
    "cache_entries",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("created", Float(53), nullable=False, index=True),  # seconds since 1970
    Column("value", LargeBinary, nullable=False),
)
all_reports = Table(
    "reports",
    metadata,
    Column("id", String, primary_key=True),
    project_column(),
    Column("owner", String, nullable=False),
    Column("created", Float(53), nullable=False, index=True),  # seconds since 1970
    Column("data", LargeBinary, nullable=False),
    Index("ix_reports_project_created", "project", "created"),
)
reports = rows_of(all_reports)


def dialect(connection: Connection) -> Any:  # noqa: ANN401 -- two modules with the same functions
    """Return the module with the `insert` of this database."""
    return postgresql if connection.dialect.name == "postgresql" else sqlite


def clock(connection: Connection) -> ColumnElement[Any]:
    """Return the seconds since 1970 by the clock of the database."""
    if connection.dialect.name == "postgresql":
        return func.extract("epoch", func.clock_timestamp())
    return (func.julianday("now") - literal(2_440_587.5)) * literal(86_400.0)


LONGEST_WAIT_S = 86_400.0
"""Seconds in which every claim ends, and every wait."""


def has_passed(moment: ColumnElement[Any], now: Any) -> ColumnElement[bool]:  # noqa: ANN401 -- a number, or a clock
    """Return whether a stored time has passed.

    One that is further off than any wait was written by a clock that was ahead: it has passed, too.
    """
    return or_(moment <= now, moment > now + LONGEST_WAIT_S)


def fetched(connection: Connection, query: Select[Any]) -> list[dict[str, Any]]:
    """Return rows as dictionaries; by their keys at once, in a third of the time of `mappings`."""
    found = connection.execute(query)
    names = list(found.keys())
    return [dict(zip(names, row, strict=True)) for row in found.all()]
