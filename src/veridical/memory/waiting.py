"""Facts that wait for the database's lock: one file each, beside the database, never locked.

A file is written whole or not at all, and is deleted once its fact is in the database. Two
processes that write down the same file store one fact: it has its id already. A fact that is stored
already under another id is merged into that one.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any

from veridical.errors import InputError, StoreError, StoreLockedError
from veridical.memory.writing import write
from veridical.store.memory import NewFact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from veridical.store.memory import MemoryTables, Row
    from veridical.store.memory_queue import MemoryQueue

logger = logging.getLogger(__name__)

STORE_LOCKED = "store_locked"
"""Reason of a fact, decided or not, that waits because the store is locked."""

_TIMES = ("created", "valid_from", "valid_to", "retracted")


class Waiting:
    """Waiting facts in a folder; a database server has no folder, and no waiting facts."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def keep(self, new: NewFact) -> None:
        """Keep a fact until the database can be written.

        `StoreLockedError` if it has no folder, `StoreError` if that cannot be written either.
        """
        if self._folder is None:
            msg = "the store stayed locked, and there is no folder beside it to wait in"
            hint = "Remember the fact again; only SQLite's file has such one"
            raise StoreLockedError(msg, hint=hint)
        path = self._folder / f"{time_ns()}-{new.fact['id']}.json"
        draft = path.with_suffix(".tmp")
        try:
            for folder in (self._folder.parent, self._folder):
                folder.mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                json.dump(_to_document(new), out)
                out.flush()
                os.fsync(out.fileno())
            draft.replace(path)
        except OSError as error:
            msg = f"the store stayed locked, and a fact cannot wait beside it: {error.strerror}"
            raise StoreError(msg, hint="Check the folder that store.url names") from None

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the waiting facts, the oldest first."""
        for path in self._files():
            if (new := _read(path)) is not None:
                yield new.fact

    def write_down(self, facts: MemoryTables, queue: MemoryQueue, seconds: float) -> int:
        """Write the waiting facts into the database for some seconds, and return their number.

        The rest goes on waiting. `StoreError` if the database cannot be written now either.
        """
        due = perf_counter() + seconds
        written, files = 0, self._files()
        for path in files:
            if perf_counter() >= due:
                break
            new = _read(path)
            if new is not None:
                try:
                    write(facts, queue, new)
                except InputError:
                    logger.warning("a fact that waited rests on one that is gone, and was dropped")
                written += 1
                with suppress(OSError):
                    path.unlink()
        if written:
            logger.info("facts that waited for the store's lock were written: %d", written)
            with suppress(OSError):  # other processes may be writing there
                files[0].parent.rmdir()
        return written

    def _files(self) -> list[Path]:
        folder = self._folder
        return [] if folder is None or not folder.is_dir() else sorted(folder.glob("*.json"))


def _to_document(new: NewFact) -> dict[str, Any]:
    fact = {**new.fact, **{name: _said(new.fact[name]) for name in _TIMES}}
    origins = [{**row, "text": row["text"].decode()} for row in new.origins]
    return asdict(replace(new, fact=fact, origins=origins))


def _said(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read(path: Path) -> NewFact | None:
    """Return the fact of a file; None if another process has just written it down."""
    try:
        found = json.loads(path.read_text())
        fact = found["fact"]
        times = {name: fact[name] and datetime.fromisoformat(fact[name]) for name in _TIMES}
        return NewFact(
            fact=fact | times,
            roles=[(role, key, name) for role, key, name in found["roles"]],
            origins=[row | {"text": row["text"].encode()} for row in found["origins"]],
            links=[(label, target) for label, target in found["links"]],
            queue=found["queue"],
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.error("a fact that waits cannot be read: %s", type(error).__name__)  # noqa: TRY400 -- no text
        return None
