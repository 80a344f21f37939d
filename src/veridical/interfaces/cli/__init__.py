"""Command line: `main` is the console script `veridical`."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import TextIOWrapper


def main() -> None:
    """Run the command line; the exit code is in the `SystemExit` it ends with."""
    from veridical.interfaces.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character is no reason to stop.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="veridical")
    except OSError as error:  # commands report theirs: this is of a help or a version
        _say_unwritten(error)
        sys.exit(2)


def _say_unwritten(error: OSError) -> None:
    from veridical.interfaces.cli.failures import say
    from veridical.interfaces.cli.output import drop_stdout, not_written

    with suppress(OSError):  # nor can stderr be written, it may be
        drop_stdout()
        failed = not_written(error.strerror)
        say("error", failed.message, failed.hint)
