"""The locked environment: what pyproject.toml asks for, each release with its hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def entries(lock: Path) -> list[str]:
    """Return the lock's requirements, each with its hashes on one line."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", "")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def asked_for(*extras: str) -> list[Requirement]:
    """Return the requirements of the package and of these extras, without the package itself."""
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    found = [Requirement(line) for line in lines]
    more = {extra for each in found if each.name == PROJECT["name"] for extra in each.extras}
    rest = [each for each in found if each.name != PROJECT["name"]]
    return rest + (asked_for(*more) if more else [])


def test_every_requirement_of_the_extra_dev_is_locked_to_a_release_that_satisfies_it() -> None:
    pinned: dict[str, list[str]] = {}
    for entry in entries(ROOT / "requirements" / "dev.txt"):
        name, version = re.split(r"==|\s", entry, maxsplit=2)[:2]
        pinned.setdefault(canonicalize_name(re.sub(r"\[.*", "", name)), []).append(version)
    wanted = asked_for("dev")
    assert len(wanted) > 40
    missing = [each.name for each in wanted if canonicalize_name(each.name) not in pinned]
    assert missing == [], "run: make lock"
    for each in wanted:
        assert all(map(each.specifier.contains, pinned[canonicalize_name(each.name)])), each


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_release_has_hashes_and_no_lock_names_where_it_comes_from(lock: Path) -> None:
    found = entries(lock)
    assert found
    assert [entry for entry in found if "--hash=sha256:" not in entry] == []
    assert [entry for entry in found if "://" in entry or entry.startswith("-")] == []
