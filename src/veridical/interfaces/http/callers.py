"""Caller of the request under way: the key, for the audit log and the usage, and its project."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from veridical.core.projects import within_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veridical.interfaces.http.auth import Key

_caller: ContextVar[Key | None] = ContextVar("veridical_caller", default=None)


def caller() -> Key | None:
    """Return the key of the request under way; None outside one, and before its key is known."""
    return _caller.get()


@contextmanager
def calling(key: Key | None) -> Iterator[None]:
    """Work for a key in this block, and in the tasks and threads that it starts."""
    token = _caller.set(key)
    try:
        with within_project(None if key is None else key.project):
            yield
    finally:
        _caller.reset(token)
