"""API keys and their permissions. A file holds their hashes; a key itself is shown once.

A key is 32 random bytes, so that a plain SHA-256 of it cannot be reversed by guessing.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.projects import DEFAULT_PROJECT, is_project
from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import SecretStr

SCHEMA = "veridical.keys/1"
PREFIX = "vd_"
_HEX = 64


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
    expires: str | None = None

    @property
    def expired(self) -> bool:
        """True if the key was valid only until a time that is over."""
        return self.expires is not None and datetime.fromisoformat(self.expires) <= _now()

    @property
    def id(self) -> str:
        """Unique identifier of the key where services meet whose files share a name."""
        return f"{self.name} {self.hash[:16]}".strip()

    def allows(self, scope: Scope) -> bool:
        """Return whether the key has a permission."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


UNKNOWN_KEY = "no key that is known"
EXPIRED_KEY = "the key has expired"


class KeyRefusedError(Exception):
    """Error for a request without a valid key; its text says which, and quotes nothing."""


ANYONE = Key("anyone", "", (Scope.ADMIN,))
"""Caller of a service without keys, which listens on this machine only."""


def new_key(
    name: str,
    scopes: Iterable[Scope] = (Scope.CHECK,),
    per_minute: int | None = None,
    project: str = DEFAULT_PROJECT,
    *,
    expires_s: float | None = None,
) -> tuple[str, Key]:
    """Return a new key, valid for so many seconds (default: for good), and its stored form."""
    token, created = PREFIX + secrets.token_urlsafe(32), _said(_now())
    expires = None if expires_s is None else _later(expires_s)
    return token, Key(name, hash_of(token), tuple(scopes), per_minute, created, project, expires)


def rotated(
    keys: Iterable[Key], name: str, *, grace_s: float, expires_s: float | None = None
) -> tuple[str, Key, list[Key]]:
    """Return a new key in place of the newest one of a name, its stored form, and all keys.

    The old one is valid for `grace_s` seconds, and those of the name that have expired are gone.
    The new one is valid as long as the old one was, or for `expires_s` seconds. `LookupError` if
    there is no key of the name.
    """
    kept = list(keys)
    *_, old = [None, *sorted((key for key in kept if key.name == name), key=lambda k: k.created)]
    if old is None:
        raise LookupError(name)
    seconds = _lifetime(old) if expires_s is None else expires_s
    token, new = new_key(name, old.scopes, old.per_minute, old.project, expires_s=seconds)
    last = _later(grace_s)
    over = replace(old, expires=last if old.expires is None else min(old.expires, last))
    all_keys = [over if key is old else key for key in kept]
    return token, new, [*(k for k in all_keys if k.name != name or not k.expired), new]


def _lifetime(key: Key) -> float | None:
    if key.expires is None:
        return None
    start, end = map(datetime.fromisoformat, (key.created, key.expires))
    return (end - start).total_seconds()


def _now() -> datetime:
    return datetime.now(UTC)


def _said(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _later(seconds: float) -> str:
    try:
        return _said(_now() + timedelta(seconds=seconds))
    except OverflowError:
        msg = "the time is longer than a calendar goes"
        raise ConfigurationError(msg, hint="Leave it out for a key that does not expire") from None


def hash_of(token: str) -> str:
    """Return the SHA-256 of a key, hexadecimal."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Keyring:
    """Keys of a service; a changed file is read again, so that a key can be revoked.

    `project` is that of `anyone`, the caller of a service without keys, and of `api_key`. `guarded`
    is true if callers may have something else than a key: without one, nobody gets in.
    """

    def __init__(
        self,
        path: str | None,
        api_key: SecretStr | None = None,
        project: str = DEFAULT_PROJECT,
        *,
        guarded: bool = False,
    ) -> None:
        self._guarded = guarded
        self._path = None if path is None else Path(path)
        secret = None if api_key is None else api_key.get_secret_value()
        own = Key("api_key", "", (Scope.ADMIN,), project=project)
        self._own = () if secret is None else (replace(own, hash=hash_of(secret)),)
        self.anyone = replace(ANYONE, project=project)
        self._stamp: tuple[int, int] | None = None
        self._kept: tuple[Key, ...] = ()
        self.errors = 0
        if self._path is not None:
            self._stamp = _stamp(self._path)
            self._kept = read_keys(self._path)

    @property
    def open(self) -> bool:
        """True if there are no keys at all: anyone who reaches the service may use it."""
        return self._path is None and not self._own and not self._guarded

    def find(self, token: str) -> Key:
        """Return the key of a token; `KeyRefusedError` if there is none, or one that has expired.

        Every hash is compared, each in constant time.
        """
        wanted = hash_of(token)
        found: Key | None = None
        for key in (*self._own, *self._read()):
            if hmac.compare_digest(key.hash, wanted):
                found = key
        if found is None:
            raise KeyRefusedError(UNKNOWN_KEY)
        if found.expired:
            raise KeyRefusedError(EXPIRED_KEY)
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
        entry.get("expires"),
    )
    if key.expires is not None and datetime.fromisoformat(key.expires).tzinfo is None:
        raise ValueError
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
