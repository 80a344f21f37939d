"""The command line: `main` is the console script `veridical`."""

from __future__ import annotations

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line; the exit code is in the `SystemExit` it ends with."""
    from veridical.interfaces.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character is no reason to stop.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="veridical")
