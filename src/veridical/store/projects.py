"""Projects: each row is of one, and a query sees the rows of the project in force only.

`Store.read` and `Store.write` put a project in force. A module reads `rows_of(table)`, never the
table itself, and changes it by `update_of` and `delete_of`: a filter cannot be forgotten. A new row
gets the project in force by itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, String, bindparam, delete, select, update

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Delete, Subquery, Table, Update

DEFAULT_PROJECT = "default"
"""Project of the library, of the command line, and of rows from before there were projects."""

_in_force: ContextVar[str] = ContextVar("veridical_store_project")


def _current() -> str:
    return _in_force.get()


_PROJECT: Any = bindparam("project_in_force", callable_=_current, type_=String)


@contextmanager
def in_force(project: str) -> Iterator[None]:
    """Put a project in force for the queries of this block."""
    token = _in_force.set(project)
    try:
        yield
    finally:
        _in_force.reset(token)


def project_column(*, primary_key: bool = False) -> Column[str]:
    """Return the column of a row's project."""
    return Column(
        "project",
        String,
        primary_key=primary_key,
        nullable=False,
        default=_current,
        server_default=DEFAULT_PROJECT,
    )


def rows_of(table: Table) -> Subquery:
    """Return the rows of the project in force, without their column `project`."""
    shown = [column for column in table.c if column.name != "project"]
    return select(*shown).where(table.c.project == _PROJECT).subquery(table.name)


def update_of(table: Table) -> Update:
    """Return a statement that changes rows of the project in force."""
    return update(table).where(table.c.project == _PROJECT)


def delete_of(table: Table) -> Delete:
    """Return a statement that removes rows of the project in force."""
    return delete(table).where(table.c.project == _PROJECT)
