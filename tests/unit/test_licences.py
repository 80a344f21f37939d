"""Licences of what the core and each extra install."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import Distribution
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(ROOT / "scripts" / "licences.py")


@pytest.fixture(scope="module")
def found(script: ModuleType) -> dict[str, dict[str, str]]:
    licences: dict[str, dict[str, str]] = script.licences()
    return licences


def test_every_package_is_under_a_licence_that_any_program_may_use(
    script: ModuleType, found: dict[str, dict[str, str]]
) -> None:
    core = found[script.CORE]
    assert [name for name, licence in core.items() if not script.is_free(licence)] == []
    extras = {
        name: each
        for group, packages in found.items()
        if group != script.CORE
        for name, each in packages.items()
    }
    bound = {name for name, licence in extras.items() if not script.is_free(licence)}
    assert bound == set(script.REASONS)


@pytest.mark.parametrize(
    ("licence", "free"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-2-Clause", True),
        ("MPL-2.0 AND MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND LGPL-2.1-or-later", False),
        ("GNU Affero General Public License v3", False),
        ("Proprietary", False),
        ("unknown", False),
    ],
)
def test_copyleft_and_unknown_licences_are_not_free(
    script: ModuleType, licence: str, free: bool
) -> None:
    assert script.is_free(licence) is free


def test_a_package_without_a_stated_licence_is_unknown(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "METADATA").write_text("Metadata-Version: 2.1\nName: none\nVersion: 1\n\n")
    assert script.licence_of(Distribution.at(tmp_path)) == "unknown"


def test_the_page_lists_what_is_installed(
    script: ModuleType, found: dict[str, dict[str, str]]
) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.page(found) == page, "run: python scripts/licences.py"
