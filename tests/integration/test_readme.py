from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"[+-]?\d[\d.,]* ms|[+-]?\d+\.\d+")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def shape(text: str) -> list[str]:
    """Leave out measured figures, which differ a little from one processor to another."""
    return [re.sub(r"\s+", " ", NUMBER.sub("N", line)).strip() for line in text.splitlines()]


@pytest.mark.slow
def test_the_readme_shows_what_the_demo_prints(demo_output: str) -> None:
    assert shape(demo_output) == shape(blocks("text")[0])


@pytest.mark.slow
def test_the_python_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", blocks("python")[0]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == blocks("text")[1]


@pytest.mark.slow
def test_every_verdict_of_the_demo_is_right(demo_output: str) -> None:
    assert re.findall(r"(\S)(c\d)\b", demo_output.split("\nFlagged\n", maxsplit=1)[0]) == [
        ("✓", "c1"),
        ("✗", "c2"),
        ("✓", "c3"),
        ("†", "c4"),
    ]


@pytest.fixture(scope="module")
def demo_output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run the demo's own command line, as the Makefile has it."""
    example = ROOT / "examples" / "bridge"
    sources = [f"--source={example / name}" for name in ("notice.txt", "minutes.md")]
    answer = example / "answer.md"
    page = tmp_path_factory.mktemp("demo") / "report.html"
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "veridical",
            "check",
            answer,
            "--html",
            page,
            *sources,
        ],
        env={"COLUMNS": "100", "PATH": "", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 1, run.stderr
    assert "<!doctype html>" in page.read_text(encoding="utf-8")[:200].lower()
    return run.stdout.rstrip("\n") + "\n"
