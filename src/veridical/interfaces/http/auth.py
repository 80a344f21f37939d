"""API keys and their permissions. A file holds their hashes; a key itself is shown once.

A key is 32 random bytes, so that a plain SHA-256 of it cannot be reversed by guessing.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import SecretStr

SCHEMA = "veridical.keys/1"
PREFIX = "vd_"
_HEX = 64

DEFAULT_PROJECT = "default"
_PROJECT = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Scope(StrEnum):
    """Permission of a key."""

    CHECK = "check"
    MEMORY = "memory"
    ADMIN = "admin"
    """All of it, and the metrics."""


@dataclass(frozen=True, slots=True)
class Key:
    """Stored form of a key: its hash and permissions. `per_minute` None is the setting's."""

    name: str
    hash: str
    scopes: tuple[Scope, ...]
    per_minute: int | None = None
    created: str = ""
    project: str = DEFAULT_PROJECT
    """Name of the project whose data the key reads and writes."""

    @property
    def id(self) -> str:
        """Unique identifier of the key where services meet whose files share a name."""
        return f"{self.name} {self.hash[:16]}".strip()

    def allows(self, scope: Scope) -> bool:
        """Return whether the key has a permission."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


ANYONE = Key("anyone", "", (Scope.ADMIN,))
"""Caller of a service without keys, which listens on this machine only."""


def is_project(name: object) -> bool:
    """Return whether a value is the name of a project: 1 to 64 of A-Z, a-z, 0-9, `.`, `_`, `-`."""
    return isinstance(name, str) and _PROJECT.fullmatch(name) is not None


def new_key(
    name: str,
    scopes: Iterable[Scope] = (Scope.CHECK,),
    per_minute: int | None = None,
    project: str = DEFAULT_PROJECT,
) -> tuple[str, Key]:
    """Return a new key, and its stored form."""
    token = PREFIX + secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return token, Key(name, hash_of(token), tuple(scopes), per_minute, created, project)


def hash_of(token: str) -> str:
    """Return the SHA-256 of a key, hexadecimal."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Keyring:
    """Keys of a service; a changed file is read again, so that a key can be revoked."""

    def __init__(self, path: str | None, api_key: SecretStr | None = None) -> None:
        self._path = None if path is None else Path(path)
        secret = None if api_key is None else api_key.get_secret_value()
        self._own = () if secret is None else (Key("api_key", hash_of(secret), (Scope.ADMIN,)),)
        self._stamp: tuple[int, int] | None = None
        self._kept: tuple[Key, ...] = ()
        self.errors = 0
        if self._path is not None:
            self._stamp = _stamp(self._path)
            self._kept = read_keys(self._path)

    @property
    def open(self) -> bool:
        """True if there are no keys at all: anyone who reaches the service may use it."""
        return self._path is None and not self._own

    def find(self, token: str) -> Key | None:
        """Return the key of a token; every hash is compared, each in constant time."""
        wanted, found = hash_of(token), None
        for key in (*self._own, *self._read()):
            if hmac.compare_digest(key.hash, wanted):
                found = key
        return found

    def _read(self) -> tuple[Key, ...]:
        if self._path is None:
            return ()
        try:
            stamp = _stamp(self._path)
            if stamp != self._stamp:
                self._kept, self._stamp = read_keys(self._path), stamp
        except (OSError, ConfigurationError):
            self.errors += 1  # the last valid file holds: a slip in the file locks nobody out
        return self._kept


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


# --- the file --------------------------------------------------------------------------------


def read_keys(path: Path) -> tuple[Key, ...]:
    """Return the keys of a file; `ConfigurationError` if it is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError  # noqa: TRY301 -- one answer to all that is wrong with it
        return tuple(map(_key, document["keys"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        msg = f"the file of keys {path} cannot be read ({type(error).__name__})"
        made = "veridical keys new NAME --file FILE makes one"
        lost = isinstance(error, FileNotFoundError)
        hint = made if lost else f"Mend it, or move it out of the way: {made}"
        raise ConfigurationError(msg, hint=hint) from None


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Write a file of keys that only its owner can read; `ConfigurationError` if that fails."""
    document = {"schema": SCHEMA, "keys": [asdict(key) for key in keys]}
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(json.dumps(document, indent=2) + "\n")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        msg = f"cannot write the file of keys {path}: {error.strerror}"
        raise ConfigurationError(msg, hint="Check its folder and permissions") from None


def _key(entry: dict[str, Any]) -> Key:
    key = Key(
        entry["name"],
        entry["hash"],
        tuple(map(Scope, entry["scopes"])),
        entry.get("per_minute"),
        entry.get("created", ""),
        entry.get("project", DEFAULT_PROJECT),
    )
    if not (_is_hash(key.hash) and isinstance(key.name, str) and is_project(key.project)):
        raise ValueError
    if not isinstance(key.per_minute, int | None):
        raise TypeError
    return key


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == _HEX and value.isascii()


# --- addresses -------------------------------------------------------------------------------


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, and nobody else can reach it."""
    bare = host.strip("[]")
    if bare.lower() == "localhost" or bare.lower().endswith(".localhost"):
        return True
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return False


def ensure_guarded(host: str, keyring: Keyring) -> None:
    """Raise `ConfigurationError` if others could reach a service that asks for no key."""
    if keyring.open and not is_loopback(host):
        msg = f"the service would listen on {host} and let everybody in: there is no key"
        hint = (
            "veridical keys new NAME, then --keys keys.json; or one key in"
            " VERIDICAL_SERVER__API_KEY; or listen on 127.0.0.1"
        )
        raise ConfigurationError(msg, hint=hint)
