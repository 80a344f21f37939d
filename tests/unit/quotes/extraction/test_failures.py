from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical.errors import ConfigurationError, InputError
from veridical.quotes.extraction import (
    ExtractionFailure,
    FailureCategory,
    FailureRegistry,
    FailureSeverity,
)

FAILURE = ExtractionFailure(FailureCategory.TEXT_MODEL, FailureSeverity.ERROR, "no answer")


def test_a_file_is_written_whole_and_again(tmp_path: Path) -> None:
    registry = FailureRegistry("r1")
    for count in range(3):
        path = registry.write(tmp_path / "deep" / "er")
        assert len(json.loads(path.read_text())["failures"]) == count
        registry.record(FAILURE)
    assert [each.name for each in path.parent.iterdir()] == ["failures_r1.json"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        FailureRegistry().write(tmp_path / "file")
    (tmp_path / "failures_r1.json").mkdir()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        FailureRegistry("r1").write(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["failures_r1.json", "file"]


def test_runs_have_names_of_their_own() -> None:
    assert FailureRegistry().run_id != FailureRegistry().run_id
    with pytest.raises(InputError, match="the id of a run"):
        FailureRegistry("../up")
