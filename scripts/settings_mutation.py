"""A mutation test of the settings: for every key, a test that fails if the key does nothing.

python scripts/settings_mutation.py [KEY ...]   # writes benchmarks/results/settings.md

A key does nothing if, whatever is given, the program reads its default. The tests that mention a
key run once, to see which of them give it a value; those run again, with the default in its place,
until one fails. Tests of the layers only read values back, and count for nothing. Rows of keys that
are not named are kept.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import defaultdict
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

import veridical.interfaces.http.app  # noqa: F401 -- imported here, it is so in each process
from veridical.settings import Settings, SettingsBlock, layers
from veridical.settings.aliases import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection

    from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "results" / "settings.md"
ROW = re.compile(r"^\| `([\w.]+)` \| (?:`(.+)`|-) \| (\S+) \|$", re.MULTILINE)
TESTS = ROOT / "tests"
DOCTOR = ("unit/interfaces/test_doctor.py", "unit/interfaces/test_surroundings.py")
READ_BACK = ("unit/settings/", *DOCTOR)
"""Tests of what only reports settings."""
NOTHING = "-"
LIMIT_S = 60
OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not live"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning", "--hypothesis-profile=quick"),
]
CONFIGURES = re.compile(r"Settings|VERIDICAL_|veridical\.yaml|: Open\b|: Start\b")
"""Marks of a test that configures; two fixtures of the HTTP tests take settings, too."""

HEAD = """# Settings

Settings that do something: for every key, a test that fails if the key does nothing.

The program is given the default of a key, whatever is configured. The tests that configure the key
run until one fails. Tests that only read settings back are left out.

- command: `python scripts/settings_mutation.py`
- keys: {keys}
- keys without a test: {unproved}

| key | test that fails without it | date |
| --- | --- | --- |
"""


# --- keys ------------------------------------------------------------------------------------


def keys() -> list[str]:
    """Return every key of the settings but those of other packages."""
    found = layers.load_layers(None).layers[0].values
    return [key for key in found if not key.startswith("backends.")]


def blocks(
    model: type[SettingsBlock] = Settings, prefix: str = ""
) -> Iterator[tuple[str, type[SettingsBlock]]]:
    """Yield the blocks of the settings, each with the beginning of its keys."""
    yield prefix, model
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, SettingsBlock):
            yield from blocks(kind, f"{prefix}{name}.")


# --- tests -----------------------------------------------------------------------------------


class Tests:
    """Plugin for pytest that notes the keys that each test gives a value, and disables one."""

    def __init__(self, disabled: str | None = None) -> None:
        self.disabled = disabled
        self.given: defaultdict[str, list[str]] = defaultdict(list)
        self.failed: str | None = None
        self.failing: set[str] = set()
        self.test = ""
        self.suspended = False

    def install(self) -> None:
        """Watch settings as a whole, and blocks that stand under one key only."""
        found = list(blocks())
        kinds = [kind for _, kind in found]
        for prefix, kind in found:
            if kinds.count(kind) == 1:
                self._watch(kind, prefix)
        load = layers.load_layers

        def load_layers(*args: Any, **kwargs: Any) -> layers.Layers:  # noqa: ANN401 -- as they come
            # The layers stay as they are: `veridical config show` reports, and obeys nothing.
            with self._off():
                return load(*args, **kwargs)

        layers.load_layers = load_layers

    @contextmanager
    def _off(self) -> Iterator[None]:
        self.suspended = True
        try:
            yield
        finally:
            self.suspended = False

    def _watch(self, model: type[BaseModel], prefix: str) -> None:
        inner: Any = model.__pydantic_validator__
        seen = self.seen

        class Validator:
            """The validator of a model, whose result is seen."""

            def __getattr__(self, name: str) -> object:
                return getattr(inner, name)

            def validate_python(self, *args: object, **kwargs: object) -> object:
                found = inner.validate_python(*args, **kwargs)
                seen(found, prefix)
                return found

        model.__pydantic_validator__ = Validator()

    def seen(self, block: Any, prefix: str) -> None:  # noqa: ANN401 -- a block of any class
        """Note the keys of a block, and of those within it, that have values of their own."""
        if self.suspended:
            return
        for name, info in type(block).model_fields.items():
            value, key = getattr(block, name), f"{prefix}{name}"
            if isinstance(value, SettingsBlock):
                self.seen(value, f"{key}.")
            elif value != (default := info.get_default(call_default_factory=True)):
                self.given[key].append(self.test)
                if key == self.disabled:
                    block.__dict__[name] = default  # blocks are frozen

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note which test runs; a test that waits for what a key no longer does fails."""
        self.test = item.nodeid
        signal.alarm(LIMIT_S if self.disabled else 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Stop at the first test that fails after the default took the place of a value."""
        report: Any = yield
        if report.failed:
            self.failing.add(item.nodeid)
        if report.failed and self.disabled and self.given[self.disabled] and not self.failed:
            file = item.path.relative_to(TESTS).as_posix()
            self.failed = f"{file}::{getattr(item, 'originalname', item.name)}"
            item.session.shouldstop = "proved"
        return report

    def given_in_passing_tests(self) -> dict[str, list[str]]:
        """Return, by key, the tests that give it a value; those that fail anyway prove nothing."""
        found = self.given.items()
        return {key: [test for test in tests if test not in self.failing] for key, tests in found}


def _too_long(*_: object) -> None:
    raise TimeoutError


def _run(disabled: str | None, tests: Iterable[str], home: str, sender: Connection) -> None:
    plugin = Tests(disabled)
    plugin.install()
    signal.signal(signal.SIGALRM, _too_long)
    # Without a key for a place, the place is one of the user's: here of a user without any files.
    os.environ |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), home)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 -- no path of ours
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    code = pytest.main([*OPTIONS, *tests], plugins=[plugin])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}:
        raise RuntimeError(code)
    sender.send((plugin.failed, plugin.given_in_passing_tests()))


def run(disabled: str | None, tests: Iterable[str]) -> tuple[str | None, dict[str, list[str]]]:
    """Return the test that fails while a key is disabled, and the tests that give keys values."""
    # A process of its own: the settings that it changes are those of nobody else.
    processes = get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)
    with TemporaryDirectory() as home:
        process = processes.Process(target=_run, args=(disabled, tests, home, sender))
        process.start()
        sender.close()
        found: tuple[str | None, dict[str, list[str]]] = receiver.recv()
        process.join()
    return found


def failing_test(key: str, given: Iterable[str]) -> str | None:
    """Return the first test that fails while a key does nothing, of those that give it a value."""
    tests = list(dict.fromkeys(given))
    return run(key, tests)[0] if tests else None


def files(key: str) -> Iterator[str]:
    """Yield the files of tests that configure and mention a key under one of its names."""
    names = [key, *(alias for alias, name in ALIASES.items() if name == key)]
    for path in sorted(TESTS.rglob("test_*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(TESTS).as_posix()
        # Integration tests that take long start processes of their own, which keep the value.
        far = name.startswith("integration/") and "mark.slow" in text
        if far or name.startswith(READ_BACK) or not CONFIGURES.search(text):
            continue
        if any(_mentions(f"{name}\n{text}".lower(), one) for one in names):
            yield f"tests/{name}"


def _mentions(text: str, key: str) -> bool:
    block = key.partition(".")[0].removesuffix("s")
    wanted = {block, key.rpartition(".")[2]} if "." in key else {key}
    return all(re.search(name.replace("_", "[_-]?"), text) for name in wanted)


# --- page ------------------------------------------------------------------------------------


def page(rows: dict[str, tuple[str, str]]) -> str:
    """Return the page: keys that nothing proves come first."""
    unproved = [key for key, (test, _) in rows.items() if test == NOTHING]
    order = [*unproved, *(key for key in rows if key not in unproved)]
    shown = {key: test if test == NOTHING else f"`{test}`" for key, (test, _) in rows.items()}
    table = [f"| `{key}` | {shown[key]} | {rows[key][1]} |\n" for key in order]
    return HEAD.format(keys=len(rows), unproved=len(unproved)) + "".join(table)


def kept() -> dict[str, tuple[str, str]]:
    """Return the rows of the page as it is."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return {key: (test or NOTHING, date) for key, test, date in ROW.findall(text)}


def main(named: list[str]) -> None:
    """Find a test for every key, or the named ones, and write the page."""
    os.chdir(ROOT)
    known = keys()
    today = datetime.now(tz=UTC).date().isoformat()
    _, given = run(None, sorted({file for key in named or known for file in files(key)}))
    for key in named or known:
        test = failing_test(key, given.get(key, ())) or NOTHING
        print(f"{key}: {test}", flush=True)
        rows = kept() | {key: (test, today)}
        PAGE.write_text(page({one: rows[one] for one in known if one in rows}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
