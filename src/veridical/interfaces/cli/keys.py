"""`veridical keys`: API keys of the service."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.errors import ConfigurationError, InputError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported

if TYPE_CHECKING:
    from veridical.interfaces.http.auth import Key, Scope

NEW_EXAMPLES = """\b
Examples:
  veridical keys new app
  veridical keys new agent --scope check --scope memory --per-minute 600
  veridical keys new intake --scope memory --project clinic --expires 90d
  veridical keys new prometheus --scope admin --file keys.json --json
"""
ROTATE_EXAMPLES = """\b
Examples:
  veridical keys rotate app
  veridical keys rotate app --grace 1h --quiet
"""
LIST_EXAMPLES = """\b
Examples:
  veridical keys list
"""
REMOVE_EXAMPLES = """\b
Examples:
  veridical keys remove app
"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key's owner.")]
File = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The file of keys (default: server.keys, else keys.json)."),
]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="check|memory|admin",
        help="Permission (default: check). May be given several times.",
    ),
]
PerMinute = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Maximum requests per minute (default: server.per_minute)."
    ),
]
Project = Annotated[
    str, typer.Option(metavar="NAME", help="Project whose data the key reads and writes.")
]

Expires = Annotated[
    str | None,
    typer.Option(metavar="90d|12h|…", help="Time until the key expires (default: never)."),
]
Lifetime = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="90d|12h|…",
        help="Time until it expires (default: as the old one).",
    ),
]
Grace = Annotated[
    str, typer.Option(metavar="1d|30m|0s|…", help="Time for which the old key is still valid.")
]

KeyOnly = Annotated[bool, typer.Option("--quiet", help="Print the key, and nothing else.")]
Json = options.Json
Quiet = options.Quiet
Config = options.Config

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("new", epilog=NEW_EXAMPLES)
@reported
def new(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    name: Name,
    *,
    file: File = None,
    scope: Scopes = None,
    per_minute: PerMinute = None,
    project: Project = "default",
    expires: Expires = None,
    json: Json = False,
    quiet: KeyOnly = False,
    config: Config = None,
) -> None:
    """Create an API key and print it once.

    The file keeps its hash only.
    """
    from veridical.interfaces.http.auth import new_key, write_keys

    path = _file(file, config)
    kept = _read(path)
    if not name.strip() or name in {key.name for key in kept}:
        msg = "there is a key of that name already" if name.strip() else "a key needs a name"
        raise ConfigurationError(msg, hint="Choose another name, or remove that key")
    scopes, seconds = _scopes(scope or ["check"]), _seconds(expires)
    token, key = new_key(name, scopes, per_minute, _project(project), expires_s=seconds)
    write_keys(path, [*kept, key])
    _print_new(token, key, path, json=json, quiet=quiet)


@app.command("rotate", epilog=ROTATE_EXAMPLES)
@reported
def rotate(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    name: Name,
    *,
    file: File = None,
    grace: Grace = "1d",
    expires: Lifetime = None,
    json: Json = False,
    quiet: KeyOnly = False,
    config: Config = None,
) -> None:
    """Create another key of the same name, and let the old one expire.

    Scopes, rate and project stay the same. A running service applies it at once.
    """
    from veridical.interfaces.http.auth import rotated, write_keys

    path = _file(file, config)
    seconds = _seconds(grace) or 0.0
    try:
        token, key, keys = rotated(_read(path), name, grace_s=seconds, expires_s=_seconds(expires))
    except LookupError:
        raise _no_key() from None
    write_keys(path, keys)
    _print_new(token, key, path, json=json, quiet=quiet)


def _print_new(token: str, key: Key, path: Path, *, json: bool, quiet: bool) -> None:
    from veridical.interfaces.cli.output import print_json, print_text

    if json:
        document = {"schema": "veridical.key/1", "key": token, **_shown(key), "file": str(path)}
        print_json(json_module.dumps(document, indent=2))
    else:
        print_text(
            token + "\n" if quiet else f"{token}\nIts hash is in {path}; it is not shown again\n"
        )


@app.command("list", epilog=LIST_EXAMPLES)
@reported
def show(
    *,
    file: File = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """List the keys: names, permissions, projects, and when they expire."""
    from veridical.interfaces.cli.output import print_json, print_text

    path = _file(file, config)
    kept = _read(path)
    if json:
        shown = {"schema": "veridical.keys/1", "keys": [_shown(key) for key in kept]}
        print_json(json_module.dumps(shown, indent=2))
    elif not quiet:
        rows = ["  ".join(_row(key)) for key in kept]
        none = f"No keys in {path} yet: veridical keys new NAME --file {path}"
        print_text("\n".join(rows or [none]) + "\n")


@app.command("remove", epilog=REMOVE_EXAMPLES)
@reported
def remove(
    name: Name,
    *,
    file: File = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Revoke a key.

    A running service applies it at once.
    """
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.interfaces.http.auth import write_keys

    path = _file(file, config)
    kept = _read(path)
    left = [key for key in kept if key.name != name]
    if len(left) == len(kept):
        raise _no_key()
    write_keys(path, left)
    if json:
        print_json(json_module.dumps({"schema": "veridical.keys/1", "removed": [name]}))
    elif not quiet:
        print_text("Removed\n")


def _file(file: Path | None, config: Path | None) -> Path:
    from veridical.settings import Settings

    return file or Path(Settings.load(config).server.keys or "keys.json")


def _read(path: Path) -> tuple[Key, ...]:
    from veridical.interfaces.http.auth import read_keys

    return read_keys(path) if path.exists() else ()


def _scopes(named: list[str]) -> list[Scope]:
    from veridical.interfaces.http.auth import Scope

    try:
        return [Scope(one) for one in dict.fromkeys(named)]
    except ValueError:
        msg = "a scope is none of check, memory and admin"
        raise ConfigurationError(msg, hint="check is the default") from None


def _project(name: str) -> str:
    from veridical.core.projects import is_project

    if not is_project(name):
        msg = "a project's name has 1 to 64 characters: letters, digits, dots, hyphens, underscores"
        raise ConfigurationError(msg, hint="default is the project of the command line")
    return name


def _no_key() -> InputError:
    msg = "there is no key of that name"
    return InputError(msg, hint="veridical keys list shows the names")


def _seconds(duration: str | None) -> float | None:
    from veridical.settings.types import seconds_of

    try:
        return None if duration is None else float(str(seconds_of(duration)))
    except ValueError:
        msg = "a time is a number with a unit, such as 90d, 12h or 30m"
        raise ConfigurationError(msg, hint="d, h, m and s are the units") from None


def _expiry(key: Key) -> str:
    if key.expires is None:
        return "does not expire"
    return f"expired {key.expires}" if key.expired else f"expires {key.expires}"


def _row(key: Key) -> tuple[str, ...]:
    return key.name, ",".join(key.scopes), _rate(key), key.project, _expiry(key)


def _rate(key: Key) -> str:
    return "server.per_minute" if key.per_minute is None else f"{key.per_minute}/min"


def _shown(key: Key) -> dict[str, object]:
    return {
        "name": key.name,
        "scopes": list(key.scopes),
        "per_minute": key.per_minute,
        "created": key.created,
        "project": key.project,
        "expires": key.expires,
    }
