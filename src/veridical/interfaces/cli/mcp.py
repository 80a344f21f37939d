"""`veridical mcp`: the tools for agents."""

from __future__ import annotations

import json as json_module
from typing import Annotated

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported

EXAMPLES = """\b
Examples:
  veridical mcp
  veridical mcp --http --port 8643
  veridical keys new agent --file keys.json && veridical mcp --http --host 0.0.0.0 --keys keys.json

\b
Exit codes:
  0  the agent closed standard input, or ended by SIGTERM
  2  wrong use or configuration, such as a public address without a key
  3  the backend cannot start
"""
PORT = 8643

Http = Annotated[
    bool, typer.Option("--http", help="Serve streamable HTTP, not standard input and output.")
]
Host = Annotated[str | None, typer.Option(metavar="NAME", help="Where to listen (127.0.0.1).")]
Port = Annotated[int, typer.Option(metavar="N", help="The port; 0 for a free one.")]
Keys = Annotated[
    str | None, typer.Option(metavar="FILE", help="Let in who has a key of this file only.")
]
Backend = Annotated[
    str | None, typer.Option(metavar="NAME[:MODEL]", help="Who estimates the probabilities.")
]
Json = Annotated[
    bool, typer.Option("--json", help="With --http: print the address as a JSON document.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no address.")]
Config = options.Config


@reported
def mcp(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    *,
    http: Http = False,
    host: Host = None,
    port: Port = PORT,
    keys: Keys = None,
    backend: Backend = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Offer checks and a memory to agents, over the Model Context Protocol."""
    from contextlib import closing

    from veridical.errors import MissingExtraError
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.settings import Settings

    settings = Settings.load(
        config, backend=backend, server={"host": host, "port": port, "keys": keys}
    )
    try:
        from veridical.interfaces.mcp.server import build_server
        from veridical.interfaces.mcp.tools import Toolbox
        from veridical.interfaces.mcp.transports import run_http, run_stdio
    except ImportError as error:
        msg = f"the tools for agents need the extra 'mcp' ({error.name} is missing)"
        raise MissingExtraError(msg, hint="pip install 'veridical[mcp]'") from None

    def listening(address: str) -> None:
        if json:
            print_json(json_module.dumps({"schema": "veridical.mcp/1", "address": address}))
        elif not quiet:
            print_text(f"veridical listens on {address}\n")

    with closing(Toolbox(settings)) as toolbox:
        server = build_server(toolbox.tools)
        if http:
            run_http(server, settings.server, listening=listening)
        else:
            run_stdio(server)
