"""`veridical serve`: HTTP service."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from veridical.settings import Settings

EXAMPLES = """\b
Examples:
  veridical serve
  veridical serve --port 9000 --logs text
  veridical serve --workers 4
  veridical keys new app --file keys.json && veridical serve --host 0.0.0.0 --keys keys.json

\b
Exit codes:
  0  ended by SIGTERM or Ctrl-C, all that was accepted is answered
  2  wrong use or configuration, such as a public address without a key
  3  the backend cannot start
  4  not ended within server.shutdown_s, and stopped
"""

Host = options.Host
Port = Annotated[int | None, typer.Option(metavar="N", help="The port (8642); 0 for a free one.")]
Workers = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Processes at this address (1).")
]
Keys = options.Keys
Backend = options.Backend
Logs = Annotated[str | None, typer.Option(metavar="json|text", help="Format of logs.")]
Otel = Annotated[
    bool | None, typer.Option("--otel/--no-otel", help="Send spans by OpenTelemetry (OTLP).")
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the address as a JSON document on stdout.")
]
Quiet = options.NoAddress
Config = options.Config


@reported
def serve(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    *,
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    keys: Keys = None,
    backend: Backend = None,
    logs: Logs = None,
    otel: Otel = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Serve an API, a page and a proxy over HTTP.

    The proxy verifies chat completions. Logs go to stderr.
    """
    from veridical.settings import Settings

    given = {
        "backend": backend,
        "server": {"host": host, "port": port, "keys": keys, "workers": workers},
        "telemetry": {"logs": logs, "otel": otel},
    }
    settings = Settings.load(config, **given)
    listening = partial(print_listening, json=json, quiet=quiet)
    if settings.server.workers > 1:
        raise typer.Exit(_supervise(settings, config, given, listening))
    _run()(settings, listening=listening)


def print_listening(address: str, *, json: bool, quiet: bool) -> None:
    """Write the address of the service to stdout."""
    from veridical.interfaces.cli.output import print_address

    print_address("serve", address, json=json, quiet=quiet)


def _run() -> Callable[..., None]:
    """Return the function that serves; `MissingExtraError` without the extra."""
    from veridical.errors import MissingExtraError

    try:
        from veridical.interfaces.http.server import run
    except ImportError as error:
        msg = f"the service needs the extra 'server' ({error.name} is missing)"
        raise MissingExtraError(msg, hint="pip install 'veridical[server]'") from None
    return run


# --- several processes ------------------------------------------------------------------------


def _supervise(
    settings: Settings,
    config: Path | None,
    given: dict[str, Any],
    listening: Callable[[str], None],
) -> int:
    """Serve in several processes; return the exit code."""
    _run()
    from veridical.interfaces.http.auth import ensure_guarded
    from veridical.interfaces.http.authentication import Authentication
    from veridical.interfaces.http.supervisor import Supervisor, ensure_shareable
    from veridical.interfaces.listening import address_of, reserve
    from veridical.telemetry import set_up_logs

    ensure_shareable()
    server = settings.server
    ensure_guarded(server.host, Authentication(server, settings.store.project).keyring)
    set_up_logs(settings.telemetry.logs)
    with reserve(server.host, server.port) as held:
        port = held.getsockname()[1]
        own = given | {"server": given["server"] | {"port": port}, "threads": _threads(settings)}
        supervisor = Supervisor(server.workers, work, (config, own), server.shutdown_s)
        return supervisor.run(lambda: listening(address_of(held)))


def _threads(settings: Settings) -> int:
    """Return the threads of one process: the processors are shared, unless that is configured."""
    from veridical.pipeline.inference.processors import usable_processors

    return settings.threads or max(1, usable_processors() // settings.server.workers)


def work(config: Path | None, given: dict[str, Any], announce: Callable[[object], None]) -> None:
    """Serve as one of several processes; `announce` is called once the address is open."""
    from veridical.interfaces.http.supervisor import end_with_parent
    from veridical.settings import Settings

    end_with_parent()
    try:
        settings = Settings.load(config, **given)
        reported(_run())(settings, listening=announce, shared=True)
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
