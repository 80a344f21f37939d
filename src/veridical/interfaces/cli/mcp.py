"""`veridical mcp`: tools for agents."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say

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
Host = options.Host
Port = Annotated[int, typer.Option(metavar="N", help="The port; 0 for a free one.")]
Keys = options.Keys
Backend = options.Backend
Json = Annotated[
    bool, typer.Option("--json", help="With --http: print the address as a JSON document.")
]
Quiet = options.NoAddress
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
    """Serve checks and a memory to agents (MCP)."""
    from contextlib import closing

    from veridical.errors import MissingExtraError
    from veridical.interfaces.cli.output import print_address
    from veridical.settings import Settings

    settings = Settings.load(
        config, backend=backend, server={"host": host, "port": port, "keys": keys}
    )
    try:
        from veridical.interfaces.http.audit_log import AuditSink
        from veridical.interfaces.mcp.server import build_server
        from veridical.interfaces.mcp.tools import Toolbox
        from veridical.interfaces.mcp.transports import run_http, run_stdio
        from veridical.telemetry.prometheus import PrometheusSink
    except ImportError as error:
        msg = f"the tools for agents need the extra 'mcp' ({error.name} is missing)"
        raise MissingExtraError(msg, hint="pip install 'veridical[mcp]'") from None

    metrics = PrometheusSink()
    with (
        closing(AuditSink(settings.server.audit_log)) as audit_log,
        closing(Toolbox(settings, sinks=[metrics])) as toolbox,
    ):
        server = build_server(toolbox.tools, audit_log.tool_called, toolbox.usage.tool_called)
        if http:
            told = partial(print_address, "mcp", json=json, quiet=quiet)
            project = settings.store.project
            parts = (server, settings.server, metrics, toolbox.usage, project)
            run_http(*parts, listening=told)
        else:
            if sys.stdin.isatty() and not quiet:
                note = (
                    "an agent is to talk on standard input here; --http is for those that connect"
                )
                say("note", note)
            run_stdio(server, close=toolbox.close)
