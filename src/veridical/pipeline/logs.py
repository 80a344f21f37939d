"""Events as records of standard logging: names, numbers, ids and hashes, never a text.

The library adds no handler of its own but a `NullHandler`: the host decides about the output.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from veridical.core.hashing import short_hash

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping


_PROCESS_KEY = secrets.token_bytes(32)


def claim_hash(text: str, key: str | None = None) -> str:
    """Return the hash of a claim for logs; without a key it is good for this process only.

    A plain hash would tell anyone with a list of likely claims which of them was made.
    """
    return short_hash(text, key or _PROCESS_KEY)


def log_event(to: logging.Logger, level: int, name: str, fields: Mapping[str, object]) -> None:
    """Log an event with its fields, in the message and as `record.fields`."""
    if to.isEnabledFor(level):
        shown = " ".join(f"{key}={value}" for key, value in fields.items())
        to.log(level, "%s %s", name, shown, extra={"event": name, "fields": fields})
