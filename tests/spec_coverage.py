"""List of requirements without a test: `python tests/spec_coverage.py` rewrites it.

A test names its requirements with `@pytest.mark.spec("SPEC-08.16")` or in a module's `pytestmark`.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent
NOT_YET_COVERED = TESTS / "spec_not_yet_covered.txt"


def requirements() -> dict[str, str]:
    """Return the text of each requirement, by its id, in the order of the specifications."""
    lines = (TESTS / "spec_requirements.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("  ") for line in lines if line and not line.startswith("#")]
    if len({key for key, _, _ in pairs}) != len(pairs):
        msg = "spec_requirements.txt names a requirement twice"
        raise ValueError(msg)
    return {key: says.strip() for key, _, says in pairs}


def marked(source: str) -> Iterator[str]:
    """Yield the ids in the `pytest.mark.spec` markers of a Python file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
            yield from (ast.literal_eval(argument) for argument in node.args)


def covered() -> dict[str, set[str]]:
    """Return the files that mark each id."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for key in marked(path.read_text(encoding="utf-8")):
            found.setdefault(key, set()).add(path.relative_to(TESTS).as_posix())
    return found


def not_yet_covered() -> list[str]:
    """Return the requirements without a test, as lines of the list."""
    tested = covered()
    return [f"{key}  {says}" for key, says in requirements().items() if key not in tested]


def listed(*, reasons: bool = False) -> list[str]:
    """Return the lines of the list: the requirements, or the `reasons` that stand above them."""
    lines = NOT_YET_COVERED.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("#") is reasons]


if __name__ == "__main__":
    found = [*listed(reasons=True), *not_yet_covered()]
    NOT_YET_COVERED.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
