"""Shell: lines of Python with the functions at hand, and commands that begin with a slash."""

from __future__ import annotations

import os
import sys
import traceback
from code import InteractiveConsole
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import veridical
from veridical import repl
from veridical.core.assessment import Assessment
from veridical.core.epistemic import ClaimVerification, HallucinationReport, Verifications
from veridical.errors import VeridicalError
from veridical.interfaces.cli.failures import DEBUG, say
from veridical.interfaces.repl.display import Display
from veridical.pipeline.judgement.epistemic import hallucinations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Any

    from veridical.core.types import Source
    from veridical.repl import VerifiedAnswer

OURS = Path(veridical.__file__).parent
FILENAME = "<repl>"


class Shell(InteractiveConsole):
    """Python's interactive console, with our functions, our display and our commands.

    `sources` are the texts that `/verify` and `llm` read; `claims` and `report` are of the last
    result.
    """

    def __init__(
        self,
        run_command: Callable[[Shell, str], None],
        *,
        display: Display | None = None,
        sources: Iterable[Source] = (),
    ) -> None:
        self._run_command = run_command
        self.display = display or Display()
        self.sources: dict[str, str] = {source.id: source.text for source in sources}
        self.simple = False
        self.answer: str | None = None
        self.report: HallucinationReport | None = None
        self.claims: Sequence[ClaimVerification] = ()
        self._waiting = False
        names: dict[str, Any] = {**repl.namespace(), "llm": self._llm, "sources": self.sources}
        names |= {"__name__": "__console__", "exit": sys.exit, "quit": sys.exit}
        super().__init__(names, FILENAME)

    # --- lines -------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """True if a statement has begun and goes on with the next line."""
        return self._waiting

    def take(self, line: str) -> bool:
        """Run a line; return whether more of it is to come. `SystemExit` ends the shell."""
        if not self._waiting and line.lstrip().startswith("/"):
            self.command(line.strip())
            return False
        with self._shown():
            self._waiting = self.push(line)
        return self._waiting

    def drop(self) -> None:
        """Forget a statement that has begun."""
        self.resetbuffer()
        self._waiting = False

    def finish(self) -> None:
        """Run a statement that has begun, as an empty line would."""
        if self._waiting:
            self.take("")

    def command(self, line: str) -> None:
        """Run a command such as `/verify`; failures are printed."""
        try:
            self._run_command(self, line)
        except VeridicalError as error:
            say("error", error.message, error.hint)
        except KeyboardInterrupt:
            say("note", "interrupted")

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Redirect the output of expressions to our display."""
        before = sys.displayhook
        sys.displayhook = self.keep
        try:
            yield
        finally:
            sys.displayhook = before

    # --- results -----------------------------------------------------------------------------

    def keep(self, value: object) -> None:
        """Print a result, and remember it for commands."""
        if value is None:
            return
        self.locals["_"] = value
        self._remember(value)
        self.display.show(value)

    def _remember(self, value: object) -> None:
        if isinstance(value, Assessment):
            value = hallucinations(value)
        if isinstance(value, repl.VerifiedAnswer):
            self.answer, value = str(value), value.report
        elif isinstance(value, str):
            self.answer = value
        if isinstance(value, HallucinationReport):
            self.report, self.claims = value, value.claims
        elif isinstance(value, Verifications):
            self.report, self.claims = None, tuple(value)
        elif isinstance(value, ClaimVerification):
            self.report, self.claims = None, (value,)

    def _llm(self, query: str, context: Any = None, verify: bool = True) -> VerifiedAnswer:  # noqa: FBT001, FBT002, ANN401 -- as `repl.llm`
        """Answer from the context, or else from the shell's sources; see `veridical.repl.llm`."""
        found = self.sources if context is None else context
        return repl.llm(query, found, verify=verify and not self.simple)

    # --- errors ------------------------------------------------------------------------------

    def showtraceback(self) -> None:
        """Print the error: our errors without a traceback, others without our frames."""
        _, error, trace = sys.exc_info()
        if isinstance(error, VeridicalError):
            say("error", error.message, error.hint)
        elif isinstance(error, KeyboardInterrupt):
            say("note", "interrupted")
        elif error is not None:
            _say_theirs(error, trace)

    def showsyntaxerror(self, *_args: object, **_options: object) -> None:
        """Print the syntax error, without frames of the compiler."""
        error = sys.exc_info()[1]
        if error is not None:
            sys.stderr.write("".join(traceback.format_exception_only(error)))


def _say_theirs(error: BaseException, trace: TracebackType | None) -> None:
    frames = traceback.extract_tb(trace)
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    elif frames and Path(frames[-1].filename).is_relative_to(OURS) and not _of_the_shell(frames):
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        hint = f"Please report this; {DEBUG}=1 prints the traceback, which may quote your texts"
        say("error", f"internal error: {type(error).__name__} at {place}", hint)
    else:
        theirs = [frame for frame in frames if not Path(frame.filename).is_relative_to(OURS)]
        theirs = [frame for frame in theirs if Path(frame.filename).name != "code.py"]
        lines = ["Traceback (most recent call last):\n"] if theirs else []
        lines += traceback.format_list(theirs)
        lines += traceback.format_exception_only(error)
        sys.stderr.write("".join(lines))


def _of_the_shell(frames: Sequence[traceback.FrameSummary]) -> bool:
    """Return whether the last line that is not ours called a function of ours in a wrong way."""
    return all(Path(frame.filename).name in {"code.py", "shell.py"} for frame in frames)
