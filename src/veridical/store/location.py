"""Default location of the database; standard library only."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FILE = "veridical.db"


def default_url() -> str:
    """Return the URL of an SQLite file in the user's folder for data.

    `$XDG_DATA_HOME` or `~/.local/share`, on macOS `~/Library/Application Support`, on Windows
    `%LOCALAPPDATA%`.
    """
    return f"sqlite:///{(_data_folder() / 'veridical' / FILE).as_posix()}"


def _data_folder() -> Path:
    if sys.platform == "win32":
        return _named("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return _named("XDG_DATA_HOME") or Path.home() / ".local" / "share"


def _named(variable: str) -> Path | None:
    """Return the folder a variable names; as XDG has it, a relative one counts as not set."""
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else None
