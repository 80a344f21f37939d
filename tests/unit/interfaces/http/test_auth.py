from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from veridical.errors import ConfigurationError
from veridical.interfaces.cli.app import app
from veridical.interfaces.http.auth import (
    ANYONE,
    KeyRefusedError,
    Keyring,
    Scope,
    ensure_guarded,
    hash_of,
    is_loopback,
    new_key,
    read_keys,
    rotated,
    write_keys,
)


def test_a_key_is_kept_as_a_hash_that_only_its_owner_can_read(tmp_path: Path) -> None:
    token, key = new_key("app", [Scope.CHECK], 60)
    path = tmp_path / "keys.json"
    write_keys(path, [key])
    assert token not in path.read_text()
    assert hash_of(token) in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_keys(path) == (key,)
    assert Keyring(str(path)).find(token) == key
    for other in (token[:-1], ""):
        with pytest.raises(KeyRefusedError, match="no key that is known"):
            Keyring(str(path)).find(other)


def test_admin_allows_everything_and_the_others_what_they_say() -> None:
    _, check = new_key("a", [Scope.CHECK])
    _, admin = new_key("b", [Scope.ADMIN])
    assert [check.allows(scope) for scope in Scope] == [True, False, False]
    assert all(admin.allows(scope) for scope in Scope)


def test_a_key_that_has_expired_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    (old, expired), (new, valid) = new_key("a", expires_s=-1.0), new_key("b", expires_s=60.0)
    write_keys(path, [expired, valid])
    ring = Keyring(str(path))
    assert ring.find(new) == valid
    with pytest.raises(KeyRefusedError, match="the key has expired"):
        ring.find(old)


def test_a_rotated_key_is_the_same_but_for_its_token_and_the_old_one_ends(tmp_path: Path) -> None:
    _, first = new_key("app", [Scope.MEMORY], 60, "clinic", expires_s=600.0)
    _, other = new_key("other")
    token, second, keys = rotated([first, other], "app", grace_s=60.0)
    path = tmp_path / "keys.json"
    write_keys(path, keys)
    assert Keyring(str(path)).find(token) == second
    assert (second.scopes, second.per_minute, second.project) == ((Scope.MEMORY,), 60, "clinic")
    assert second.expires is not None
    assert first.expires is not None
    assert second.expires >= first.expires  # as long from now as the first one was from its start
    kept = {key.hash: key for key in keys}
    assert kept[other.hash] == other
    assert (kept[first.hash].expires or "") < first.expires
    assert not kept[first.hash].expired


def test_the_next_rotation_leaves_out_what_has_expired() -> None:
    _, first = new_key("app")
    _, second, keys = rotated([first], "app", grace_s=0.0)
    assert keys == [second]
    _, third, keys = rotated(keys, "app", grace_s=60.0, expires_s=600.0)
    assert [key.hash for key in keys] == [second.hash, third.hash]
    assert third.expires is not None
    with pytest.raises(LookupError):
        rotated(keys, "nobody", grace_s=0.0)


def test_a_key_without_a_project_belongs_to_the_default_one(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    entry = {"name": "a", "hash": "0" * 64, "scopes": ["check"]}
    path.write_text(json.dumps({"schema": "veridical.keys/1", "keys": [entry]}))
    assert [key.project for key in (*read_keys(path), ANYONE)] == ["default", "default"]


def test_a_key_that_is_revoked_is_none_any_more_while_the_service_runs(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    token, key = new_key("app")
    other, kept = new_key("other")
    write_keys(path, [key, kept])
    ring = Keyring(str(path))
    assert ring.find(token)
    write_keys(path, [kept])
    with pytest.raises(KeyRefusedError):
        ring.find(token)
    path.write_text("not JSON")
    assert ring.find(other) == kept  # a slip in the file locks nobody out
    assert ring.errors == 1


def test_without_keys_the_service_is_for_this_machine_only() -> None:
    ensure_guarded("127.0.0.1", Keyring(None))
    ensure_guarded("0.0.0.0", Keyring(None, SecretStr("a-key-of-many-letters")))  # noqa: S104 -- the point of it
    with pytest.raises(ConfigurationError, match="there is no key") as caught:
        ensure_guarded("0.0.0.0", Keyring(None))  # noqa: S104 -- the point of it
    assert "veridical keys new" in caught.value.hint


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("[::1]", True),
        ("0.0.0.0", False),  # noqa: S104 -- the point of it
        ("::", False),
        ("example.org", False),
        ("127.0.0.1.example.org", False),
        ("", False),
    ],
)
def test_loopback_is_this_machine(host: str, ours: bool) -> None:
    assert is_loopback(host) is ours


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "veridical.keys/2", "keys": []}',
        '{"schema": "veridical.keys/1", "keys": [{"name": "a"}]}',
        '{"schema": "veridical.keys/1", "keys": [{"name": "a", "hash": "x", "scopes": ["check"]}]}',
        json.dumps(
            {
                "schema": "veridical.keys/1",
                "keys": [{"name": "a", "hash": "0" * 64, "scopes": ["all"]}],
            }
        ),
        json.dumps(
            {
                "schema": "veridical.keys/1",
                "keys": [{"name": "a", "hash": "0" * 64, "scopes": ["check"], "project": "a/b"}],
            }
        ),
        json.dumps(
            {
                "schema": "veridical.keys/1",
                "keys": [{"name": "a", "hash": "0" * 64, "scopes": ["check"], "expires": "soon"}],
            }
        ),
    ],
)
def test_a_file_that_is_none_of_keys_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Keyring(str(path))


def test_keys_are_made_listed_and_removed_by_the_command() -> None:
    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["keys", *arguments])
        return result.exit_code, result.stdout

    code, text = run("new", "app", "--scope", "check", "--scope", "memory", "--json")
    made = json.loads(text)
    assert (code, made["scopes"]) == (0, ["check", "memory"])
    assert Keyring("keys.json").find(made["key"])
    assert run("new", "app")[0] == 2
    assert made["project"] == "default"
    assert run("new", "nurse", "--project", "clinic")[0] == 0
    assert run("new", "other", "--project", "a/b")[0] == 2
    assert [key.project for key in read_keys(Path("keys.json"))] == ["default", "clinic"]
    assert run("remove", "nurse")[0] == 0
    code, text = run("new", "ward", "--expires", "90d", "--json")
    assert code == 0
    code, again = run("rotate", "ward", "--grace", "1h", "--json")
    ring = Keyring("keys.json")
    old, new = (ring.find(json.loads(one)["key"]) for one in (text, again))
    assert (old.name, new.name) == ("ward", "ward")
    assert (old.expires or "") < (new.expires or "")
    assert run("list")[1].count("expires 20") == 2
    assert run("new", "other", "--expires", "soon")[0] == 2
    assert run("rotate", "nobody")[0] == 2
    assert run("remove", "ward")[0] == 0
    assert run("new", "other", "--scope", "everything")[0] == 2
    code, listed = run("list", "--json")
    assert (code, json.loads(listed)["keys"][0]["name"]) == (0, "app")
    assert made["key"] not in listed
    assert hash_of(made["key"]) not in listed
    assert run("remove", "app")[0] == 0
    assert run("remove", "app")[0] == 2
    with pytest.raises(KeyRefusedError):
        Keyring("keys.json").find(made["key"])
