"""Conversion of errors to a message on stderr and an exit code; no traceback, no input text."""

from __future__ import annotations

import os
import sys
import traceback
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import typer

from veridical.errors import BackendError, VeridicalError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

WRONG_USE = 2
UNDETERMINED = CRASHED = 3
INTERRUPTED = 130
DEBUG = "VERIDICAL_DEBUG"


def reported(command: Callable[P, R]) -> Callable[P, R]:
    """Convert the errors of a command to a message and an exit code."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except VeridicalError as error:
            say("error", error.message, error.hint)
            raise typer.Exit(_code(error)) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:  # noqa: BLE001 -- the last line of defence
            _say_crash(error)
            raise typer.Exit(CRASHED) from None

    return run


def _code(error: VeridicalError) -> int:
    # A backend that cannot start is nobody's wrong use: the answer could not be determined.
    return UNDETERMINED if isinstance(error, BackendError) else WRONG_USE


def say(kind: str, message: str, hint: str = "") -> None:
    """Write a message and its hint to stderr, without terminal control characters."""
    lines = [f"{kind}: {message}"] + ([f"hint: {hint}"] if hint else [])
    sys.stderr.write(_visible("\n".join(lines)) + "\n")


def _say_crash(error: Exception) -> None:
    # The text of an unforeseen exception may quote an input: type and place only.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119 -- a bare name
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    say(
        "error",
        f"internal error: {type(error).__name__} at {place}",
        f"Please report this; {DEBUG}=1 prints the traceback, which may quote your texts",
    )


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
