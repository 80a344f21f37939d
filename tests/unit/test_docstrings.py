"""The examples in docstrings: they do what is printed."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import veridical

SOURCE = Path(veridical.__file__).parent
LINES = {
    ".".join(["veridical", *path.relative_to(SOURCE).with_suffix("").parts]): number
    for path in sorted(SOURCE.rglob("*.py"))
    if (number := path.read_text(encoding="utf-8").count("    >>> "))
}


@pytest.mark.slow  # two ask the embedded verifier
@pytest.mark.parametrize("name", LINES)
def test_the_examples_of_a_module_do_what_is_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert (ran.attempted, ran.failed) == (LINES[name], 0)


def test_the_modules_with_examples_are_found() -> None:
    assert {"veridical.repl", "veridical.memory.decision"} <= set(LINES)
