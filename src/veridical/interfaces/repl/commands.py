"""Commands that begin with a slash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical import repl
from veridical.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.core.epistemic import ClaimVerification
    from veridical.interfaces.repl.shell import Shell

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Command:
    """Command: its argument, its function, and its description."""

    usage: str
    does: str
    run: Callable[[Shell, str], None]


def run_command(shell: Shell, line: str) -> None:
    """Run `/name argument`; `InputError` if there is no such command."""
    name, _, argument = line.partition(" ")
    if name not in COMMANDS:
        msg = "there is no such command"
        raise InputError(msg, hint=f"There are {', '.join(COMMANDS)}")
    COMMANDS[name].run(shell, argument.strip())


# --- checking --------------------------------------------------------------------------------


def _verify(shell: Shell, argument: str) -> None:
    text = shell.answer if argument in {"", "last"} else argument
    if text is None:
        msg = "there is no answer yet"
        raise InputError(msg, hint="Give the text: /verify TEXT")
    if not shell.sources:
        msg = "there are no sources"
        raise InputError(msg, hint="Add one: /sources add [ID=]PATH")
    shell.keep(repl.detect_hallucinations(text, shell.sources))


def _explain(shell: Shell, argument: str) -> None:
    shell.display.show(_claim(shell, argument))


def _claim(shell: Shell, argument: str) -> ClaimVerification:
    """Return the claim of the last result with a number or an id."""
    wanted = f"c{argument}" if argument.isdecimal() else argument
    for claim in shell.claims:
        if claim.claim_id == wanted:
            return claim
    if not shell.claims:
        msg = "there is no result with claims yet"
        raise InputError(msg, hint="Verify something first: /verify TEXT")
    ids = ", ".join(claim.claim_id for claim in shell.claims)
    msg = "the last result has no such claim"
    raise InputError(msg, hint=f"It has {ids}")


def _simple(shell: Shell, _argument: str) -> None:
    shell.simple = not shell.simple
    state = "off: answers of llm are not verified" if shell.simple else "on"
    shell.display.say(f"Verification is {state}")


# --- backend and sources ----------------------------------------------------------------------


def _sources(shell: Shell, argument: str) -> None:
    action, _, path = argument.partition(" ")
    if action == "add" and path.strip():
        _add(shell, path.strip())
    elif argument == "clear":
        shell.sources.clear()
    elif argument:
        msg = "/sources takes nothing, 'add [ID=]PATH' or 'clear'"
        raise InputError(msg, hint="Write /sources add notes.txt")
    _list(shell)


def _add(shell: Shell, path: str) -> None:
    from veridical.readers.documents import STDIN, read_sources

    found = read_sources([path], checked=STDIN)
    taken = [source.id for source in found.sources if source.id in shell.sources]
    if taken:
        msg = f"there are sources with these ids already: {', '.join(taken)}"
        raise InputError(msg, hint="Name it otherwise: /sources add ID=PATH")
    shell.sources.update((source.id, source.text) for source in found.sources)
    for notice in found.notices[:_SHOWN]:
        shell.display.say(f"note: {notice}")
    if more := len(found.notices[_SHOWN:]):
        shell.display.say(f"note: and {more} more files like these")


def _list(shell: Shell) -> None:
    for source_id, text in shell.sources.items():
        shell.display.say(f"{source_id}: {len(text):,} characters")
    if not shell.sources:
        shell.display.say("There are no sources")


def _backend(shell: Shell, argument: str) -> None:
    if argument:
        repl.configure(backend=argument)
    backend, model = repl.current()
    shell.display.say(f"backend {backend}; text model {model or 'none'}")


# --- feedback --------------------------------------------------------------------------------


def _right(shell: Shell, argument: str) -> None:
    _mark(shell, argument, right=True)


def _wrong(shell: Shell, argument: str) -> None:
    _mark(shell, argument, right=False)


def _mark(shell: Shell, argument: str, *, right: bool) -> None:
    from veridical.feedback.labels import Feedback
    from veridical.pipeline.reports import Report
    from veridical.wiring.build import build_store

    claim = _claim(shell, argument)
    report = None if shell.report is None else shell.report.report
    if not isinstance(report, Report):
        msg = "only claims of a whole answer can be marked"
        raise InputError(msg, hint="Verify an answer first: /verify TEXT")
    feedback = Feedback(build_store(repl.current_settings()))
    feedback.mark(report, claim.claim_id, right=right)
    shell.display.say(f"Marked {claim.claim_id} as {'right' if right else 'wrong'}")


# --- the shell itself ------------------------------------------------------------------------


def _help(shell: Shell, _argument: str) -> None:
    width = max(len(command.usage) for command in COMMANDS.values())
    for command in COMMANDS.values():
        shell.display.say(f"{command.usage:{width}}  {command.does}")
    functions = ", ".join(sorted(repl.namespace()))
    shell.display.say(f"\nEverything else is Python, with {functions} and sources at hand.")
    shell.display.say("help(verify_claim) says what a function takes.")


def _quit(_shell: Shell, _argument: str) -> None:
    raise SystemExit


COMMANDS = {
    "/verify": Command("/verify [TEXT|last]", "check a text, or the last answer", _verify),
    "/explain": Command("/explain N", "all that is known of claim N of the last result", _explain),
    "/sources": Command(
        "/sources [add [ID=]PATH|clear]", "what answers are checked with", _sources
    ),
    "/simple": Command("/simple", "switch the verification of llm's answers off or on", _simple),
    "/backend": Command("/backend [NAME[:MODEL]]", "who estimates the probabilities", _backend),
    "/right": Command("/right N", "say that the verdict on claim N is right", _right),
    "/wrong": Command("/wrong N", "say that the verdict on claim N is wrong", _wrong),
    "/help": Command("/help", "this list", _help),
    "/quit": Command("/quit", "leave, as Ctrl-D does", _quit),
}
