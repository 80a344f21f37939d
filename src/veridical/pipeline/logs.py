"""Events as records of standard logging: names, numbers, ids and hashes, never a text.

The library adds no handler of its own but a `NullHandler`: the host decides about the output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping


def log_event(to: logging.Logger, level: int, name: str, fields: Mapping[str, object]) -> None:
    """Log an event with its fields, in the message and as `record.fields`."""
    if to.isEnabledFor(level):
        shown = " ".join(f"{key}={value}" for key, value in fields.items())
        to.log(level, "%s %s", name, shown, extra={"event": name, "fields": fields})
