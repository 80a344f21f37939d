"""What a check leaves behind on the machine: nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = """
import veridical
report = veridical.check("It opened in 1998.", sources={"S1": "The bridge opened in 1998."})
print(report.summary.outcome)
"""


def left_behind(home: Path) -> list[Path]:
    """Return the files that a check of a fresh interpreter leaves in the user's folder."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "ORT_"))}
    run = subprocess.run(
        [sys.executable, "-c", CHECK],
        env=kept | {"HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "grounded", run.stderr
    return [path for path in home.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_a_check_leaves_no_file_behind(tmp_path: Path) -> None:
    assert left_behind(tmp_path) == []
