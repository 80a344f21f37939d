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
    Keyring,
    Scope,
    ensure_guarded,
    hash_of,
    is_loopback,
    new_key,
    read_keys,
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
    assert Keyring(str(path)).find(token[:-1]) is None
    assert Keyring(str(path)).find("") is None


def test_admin_allows_everything_and_the_others_what_they_say() -> None:
    _, check = new_key("a", [Scope.CHECK])
    _, admin = new_key("b", [Scope.ADMIN])
    assert [check.allows(scope) for scope in Scope] == [True, False, False]
    assert all(admin.allows(scope) for scope in Scope)


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
    assert ring.find(token) is None
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
    assert run("new", "other", "--scope", "everything")[0] == 2
    code, listed = run("list", "--json")
    assert (code, json.loads(listed)["keys"][0]["name"]) == (0, "app")
    assert made["key"] not in listed
    assert hash_of(made["key"]) not in listed
    assert run("remove", "app")[0] == 0
    assert run("remove", "app")[0] == 2
    assert Keyring("keys.json").find(made["key"]) is None
