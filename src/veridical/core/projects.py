"""Projects: names, and the project in whose name estimates are cached and calibrated."""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_PROJECT = "default"
"""Project of the library, of the command line, and of keys without another one."""

_NAME = re.compile(r"(?!\.+\Z)[A-Za-z0-9._-]{1,64}")

_in_force: ContextVar[str | None] = ContextVar("veridical_project", default=None)


def is_project(name: object) -> bool:
    """Return whether a value is the name of a project: 1 to 64 of A-Z, a-z, 0-9, `.`, `_`, `-`.

    A name of dots only would be a folder.
    """
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


@contextmanager
def within_project(name: str | None) -> Iterator[None]:
    """Put a project in force for this block, and for the tasks that it starts."""
    token = _in_force.set(name)
    try:
        yield
    finally:
        _in_force.reset(token)


def project_in_force() -> str | None:
    """Return the project of the block `within_project`; None outside: the settings' own."""
    return _in_force.get()
