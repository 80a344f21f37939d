from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import veridical

ROOT = Path(__file__).parents[2]
DAY = date(2026, 12, 1)
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- One thing.\n"


@pytest.fixture(scope="module")
def script(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(ROOT / "scripts" / "release.py")


def test_the_version_stands_in_one_place(script: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]
    stated = script.version_of(script.PACKAGE.read_text(encoding="utf-8"))
    assert stated == veridical.__version__ == version("veridical")


def test_unreleased_changes_come_under_their_version_and_date(script: ModuleType) -> None:
    assert script.with_release(CHANGELOG, "0.1.0", DAY) == (
        "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n\n### Added\n\n- One thing.\n"
    )


def test_a_version_is_released_once(script: ModuleType) -> None:
    once = script.with_release(CHANGELOG, "0.1.0", DAY)
    with pytest.raises(script.ReleaseError, match=r"has 0\.1\.0 already"):
        script.with_release(once, "0.1.0", DAY)
    with pytest.raises(script.ReleaseError, match="no unreleased changes"):
        script.with_release(once, "0.2.0", DAY)


def test_a_changelog_without_an_unreleased_section_is_an_error(script: ModuleType) -> None:
    with pytest.raises(script.ReleaseError, match="no unreleased changes"):
        script.with_release("# Changelog\n\n- One thing.\n", "0.1.0", DAY)


def test_a_package_without_a_version_is_an_error(script: ModuleType) -> None:
    with pytest.raises(script.ReleaseError, match="states no version"):
        script.version_of("version = '0.1.0'\n")


@pytest.mark.parametrize(
    ("stated", "changed", "tags", "reason"),
    [
        ("0.2.0", "", [], r"states version 0\.2\.0, not 0\.1\.0"),
        ("0.1.0", " M README.md\n", [], "uncommitted changes"),
        ("0.1.0", "", ["v0.1.0"], r"tag v0\.1\.0 exists"),
    ],
)
def test_nothing_is_released_from_a_tree_that_is_not_ready(
    script: ModuleType, stated: str, changed: str, tags: list[str], reason: str
) -> None:
    with pytest.raises(script.ReleaseError, match=reason):
        script.ensure_releasable("0.1.0", stated, changed, tags)


def test_a_clean_tree_with_the_version_that_is_asked_for_is_ready(script: ModuleType) -> None:
    script.ensure_releasable("0.1.0", "0.1.0", "", ["v0.0.9"])
