"""Input of the shell: a terminal with completion and history, or standard input."""

from __future__ import annotations

import os
import rlcompleter
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.interfaces.repl.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History

    from veridical.interfaces.repl.shell import Shell

FIRST, NEXT = ">>> ", "... "
_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700
_MOST = 200


def run(shell: Shell) -> None:
    """Take lines until they end; `SystemExit` if one of them says so."""
    if sys.stdin.isatty():
        converse(shell)
        return
    for line in sys.stdin:
        shell.take(line.rstrip("\r\n"))
        shell.display.flush()
    shell.finish()


def converse(shell: Shell) -> None:
    """Ask for lines until there are no more; Ctrl-C drops one, Ctrl-D ends."""
    ask = _prompt(shell)
    while True:
        try:
            line = ask(NEXT if shell.waiting else FIRST)
        except KeyboardInterrupt:
            shell.drop()
            continue
        except EOFError:
            return
        shell.take(line)


def _prompt(shell: Shell) -> Callable[[str], str]:
    try:
        from prompt_toolkit import PromptSession
    except ImportError:
        shell.display.say("note: completion and history need pip install 'veridical[repl]'")
        return input
    session: PromptSession[str] = PromptSession(
        history=_history(shell),
        completer=_completer(shell),
        complete_while_typing=False,
    )
    return session.prompt


# --- completion ------------------------------------------------------------------------------


def _completer(shell: Shell) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class ShellCompleter(Completer):
        def get_completions(
            self, document: Document, _event: CompleteEvent
        ) -> Iterator[Completion]:
            typed = document.text_before_cursor
            for word, length in completions(shell, typed):
                yield Completion(word, start_position=-length)

    return ShellCompleter()


def completions(shell: Shell, typed: str) -> Iterator[tuple[str, int]]:
    """Yield completions of the typed text, each with the number of characters it replaces."""
    if not typed.startswith("/"):
        yield from _names(shell, typed)
    elif " " not in typed:
        yield from ((name, len(typed)) for name in COMMANDS if name.startswith(typed))
    elif typed.startswith("/sources add "):
        yield from _paths(typed.removeprefix("/sources add ").rpartition("=")[2])
    elif typed.startswith("/sources "):
        part = typed.removeprefix("/sources ")
        yield from ((word, len(part)) for word in ("add ", "clear") if word.startswith(part))
    elif typed.startswith(("/explain ", "/right ", "/wrong ")):
        part = typed.partition(" ")[2]
        ids = (claim.claim_id for claim in shell.claims)
        yield from ((name, len(part)) for name in ids if name.startswith(part))


def _names(shell: Shell, typed: str) -> Iterator[tuple[str, int]]:
    stem = typed
    for index in range(len(typed) - 1, -1, -1):
        if not (typed[index].isalnum() or typed[index] in "._"):
            stem = typed[index + 1 :]
            break
    if not stem:
        return
    completer = rlcompleter.Completer(shell.locals)
    for state in range(_MOST):
        word = completer.complete(stem, state)
        if word is None:
            return
        yield word, len(stem)


def _paths(part: str) -> Iterator[tuple[str, int]]:
    folder, _, name = part.rpartition("/")
    base = Path(f"{folder}/" if folder or part.startswith("/") else ".")
    try:
        found = sorted(base.iterdir())
    except OSError:
        return
    for path in found[:_MOST]:
        if path.name.startswith(name) and (name or not path.name.startswith(".")):
            yield f"{path.name}{'/' if path.is_dir() else ''}", len(name)


# --- history ---------------------------------------------------------------------------------


def history_path() -> Path:
    """Return the path of the history: in `$XDG_STATE_HOME` or `~/.local/state`."""
    named = os.environ.get("XDG_STATE_HOME", "")
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "state"
    return base / "veridical" / "repl_history"


def _history(shell: Shell) -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = history_path()
    try:
        private_file(path)
    except OSError as error:
        shell.display.say(f"note: no history is kept: {error.strerror}")
        return InMemoryHistory()
    return FileHistory(path)


def private_file(path: Path) -> None:
    """Create a file, unless it exists, and restrict it to its owner: lines hold texts."""
    path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, _PRIVATE_FILE))
    path.chmod(_PRIVATE_FILE)
