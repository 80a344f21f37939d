"""The page of licences: each package that the core and each extra install, from its metadata.

python scripts/licences.py             # writes docs/reference/licences.md

Read in the environment of the tests, which has every extra but `ray`.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "licences.md"
CORE = "core"
NOT_LISTED = {"all", "dev", "docs", "ray", "train"}
"""Extras that are others together, or not in the environment of the tests."""

_FREE = (
    *("MIT", "BSD", "ISC", "Apache", "Python Software Foundation", "PSF", "Zlib", "0BSD", "CC0"),
    *("Mozilla", "MPL"),
)
_COPYLEFT = ("GPL", "General Public", "AGPL", "EUPL", "SSPL", "Commons Clause")
REASONS = {
    "psycopg": "LGPL: a library that is loaded, not changed, and only by the extra",
    "psycopg-binary": "LGPL: a library that is loaded, not changed, and only by the extra",
    "tld": "MPL, GPL or LGPL: the MPL is chosen",
}
"""Packages of extras under a copyleft licence, and why each may be used."""


_INTRODUCTION = (
    "Packages that the core and each extra install, with the licence that each states in its"
    " metadata. A package stands where it comes first. Not listed: the extras `ray`, `docs` and"
    " `train`, and the tools of the tests."
)
_CORE = (
    "No package of the core is under a copyleft licence but the MPL, which concerns its own files"
    " only. A test refuses others."
)


def licences() -> dict[str, dict[str, str]]:
    """Return the licence of each package, under the core and the extra that first installs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    groups = {CORE: project["dependencies"]}
    groups |= {extra: extras[extra] for extra in sorted(extras.keys() - NOT_LISTED)}
    seen: set[tuple[str, str]] = set()
    named: set[str] = set()
    found: dict[str, dict[str, str]] = {}
    for group, lines in groups.items():
        names = {name for line in lines for name in _installed(Requirement(line), project, seen)}
        found[group] = {name: licence_of(distribution(name)) for name in sorted(names - named)}
        named |= names
    return found


def _installed(
    wanted: Requirement, project: dict[str, dict[str, list[str]]], seen: set[tuple[str, str]]
) -> Iterator[str]:
    """Yield the packages that a requirement installs here, and all that these require."""
    name = canonicalize_name(wanted.name)
    for extra in ("", *sorted(wanted.extras)):
        if (name, extra) in seen or (name == project["name"] and not extra):
            continue
        seen.add((name, extra))
        if name == project["name"]:
            lines = project["optional-dependencies"][extra]
        else:
            yield name
            lines = distribution(name).requires or []
        for line in lines:
            each = Requirement(line)
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                yield from _installed(each, project, seen)


def licence_of(package: Distribution) -> str:
    """Return a package's licence: its expression, its classifiers, or its text's first line."""
    fields = package.metadata
    if expression := fields.get("License-Expression"):
        return expression
    said = [
        each.rpartition(" :: ")[2]
        for each in fields.get_all("Classifier") or []
        if each.startswith("License :: ") and not each.endswith("OSI Approved")
    ]
    lines = (fields.get("License") or "unknown").splitlines()
    return ", ".join(said) or lines[0]


def is_free(licence: str) -> bool:
    """Return whether a program under any licence may use what is under this one."""
    words = "|".join(map(re.escape, _COPYLEFT))
    return any(name in licence for name in _FREE) and not re.search(words, licence)


def page(found: dict[str, dict[str, str]]) -> str:
    """Return the page."""
    parts = [
        "# Licences",
        "<!-- Made by scripts/licences.py: change the dependencies, and run it. -->",
        _INTRODUCTION,
        _CORE,
    ]
    for group, packages in found.items():
        if packages:
            parts += [f"## {group}" if group == CORE else f"## Extra `{group}`", _table(packages)]
    return "\n\n".join(parts) + "\n"


def _table(packages: dict[str, str]) -> str:
    notes = {
        name: f"{licence}. {REASONS[name]}" if name in REASONS else licence
        for name, licence in packages.items()
    }
    rows = [f"| {name} | {note} |" for name, note in notes.items()]
    return "\n".join(["| package | licence |", "|---|---|", *rows])


if __name__ == "__main__":
    PAGE.write_text(page(licences()), encoding="utf-8")
