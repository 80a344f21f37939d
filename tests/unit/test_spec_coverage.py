"""Every marker names a requirement, and the list of requirements without a test is current."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SCRIPT = Path(__file__).parents[1] / "spec_coverage.py"


@pytest.fixture(scope="module")
def coverage(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(SCRIPT)


def test_every_marker_names_a_requirement(coverage: ModuleType) -> None:
    known = coverage.requirements()
    assert {key: files for key, files in coverage.covered().items() if key not in known} == {}


def test_the_list_of_requirements_without_a_test_is_up_to_date(coverage: ModuleType) -> None:
    assert coverage.listed() == coverage.not_yet_covered(), "run: python tests/spec_coverage.py"


def test_there_is_a_reason_for_every_requirement_without_a_test(coverage: ModuleType) -> None:
    reasons = " ".join(coverage.listed(reasons=True))
    assert all(line.split()[0] in reasons for line in coverage.listed())


def test_the_numbered_requirements_are_complete(coverage: ModuleType) -> None:
    numbered = [f"SPEC-08.{n:02}" for n in range(1, 44)]
    numbered += [f"SPEC-16.{n:02}" for n in range(1, 41)]
    numbered += [f"SPEC-16.SC{n:02}" for n in range(1, 6)]
    assert [key for key in coverage.requirements() if key.startswith("SPEC-")] == numbered


def test_markers_are_found_on_functions_classes_modules_and_parameters(
    coverage: ModuleType,
) -> None:
    source = """
pytestmark = [pytest.mark.spec("a")]
@pytest.mark.spec("b", "c")
class TestIt:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.spec("d"))])
    def test_it(self, x): ...
"""
    assert set(coverage.marked(source)) == {"a", "b", "c", "d"}
