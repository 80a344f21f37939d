"""`veridical serve`: HTTP service."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported

EXAMPLES = """\b
Examples:
  veridical serve
  veridical serve --port 9000 --logs text
  veridical keys new app --file keys.json && veridical serve --host 0.0.0.0 --keys keys.json

\b
Exit codes:
  0  ended by SIGTERM or Ctrl-C, all that was accepted is answered
  2  wrong use or configuration, such as a public address without a key
  3  the backend cannot start
"""

Host = options.Host
Port = Annotated[int | None, typer.Option(metavar="N", help="The port (8642); 0 for a free one.")]
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
    from veridical.errors import MissingExtraError
    from veridical.interfaces.cli.output import print_address
    from veridical.settings import Settings

    settings = Settings.load(
        config,
        backend=backend,
        server={"host": host, "port": port, "keys": keys},
        telemetry={"logs": logs, "otel": otel},
    )
    try:
        from veridical.interfaces.http.server import run
    except ImportError as error:
        msg = f"the service needs the extra 'server' ({error.name} is missing)"
        raise MissingExtraError(msg, hint="pip install 'veridical[server]'") from None

    run(settings, listening=partial(print_address, "serve", json=json, quiet=quiet))
