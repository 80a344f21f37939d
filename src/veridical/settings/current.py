"""Settings in force for one-call checks, read again only when their file or variables change."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TypeAlias

from veridical.settings.layers import PREFIX, SPEC_053, Settings, config_path

_State: TypeAlias = tuple[object, ...]


def current_settings() -> Settings:
    """Return the settings in force, as `Settings.load` reads them."""
    return _loaded(_state())


@lru_cache(maxsize=1)
def _loaded(_state: _State) -> Settings:
    return Settings.load()


def _state() -> _State:
    """Return all that settings depend on: the variables, and the file with its time."""
    names = (name for name in os.environ if name.upper().startswith((PREFIX, SPEC_053)))
    variables = tuple(sorted((name, os.environ[name]) for name in names))
    path = config_path(None)
    if path is None or not path.exists():
        return (path, variables)
    found = path.stat()
    return (path.resolve(), found.st_mtime_ns, found.st_size, found.st_ino, variables)
