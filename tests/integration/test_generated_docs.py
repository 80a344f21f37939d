"""Generated pages and lists of the documentation: they agree with the program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from veridical.pipeline.inference.presets import presets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_start_page_is_short() -> None:
    pages = sorted((DOCS / "start").glob("*.md"))
    assert [page.name for page in pages] == ["agents.md", "clinical.md", "platform.md", "rag.md"]
    assert [p.name for p in pages if len(p.read_text(encoding="utf-8").splitlines()) >= 100] == []


@pytest.fixture
def script(load_script: Callable[[Path], ModuleType]) -> Callable[[str], ModuleType]:
    return lambda name: load_script(ROOT / "scripts" / f"{name}.py")


@pytest.mark.parametrize("page", ["cli", "http", "mcp"])
def test_the_reference_is_what_the_program_says(
    page: str, script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    committed = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert script("reference").PAGES[page]() == committed, "run python scripts/reference.py"


@pytest.mark.parametrize("words", [["check"], ["memory", "add"]])
def test_the_reference_shows_what_help_prints(words: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "veridical", *words, "--help"],
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    printed = "\n".join(line.rstrip() for line in run.stdout.strip().splitlines())
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    assert f"## veridical {' '.join(words)}\n\n```text\n{printed}\n```\n" in page


def test_the_reliability_plot_is_of_the_weights_that_ship(
    script: Callable[[str], ModuleType],
) -> None:
    plot = (DOCS / "images" / "reliability.svg").read_text(encoding="utf-8")
    (described,) = re.findall(r"<dc:description>(.*?)</dc:description>", plot, re.DOTALL)
    said = json.loads(described.strip().replace("&quot;", '"'))
    assert said == json.loads(script("plots").described()), "run python scripts/plots.py"


def test_every_decision_is_listed_by_its_number_and_title() -> None:
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+)\) \| .+\. \|$", index, re.MULTILINE)
    decisions = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    assert len(decisions) > 20
    assert listed == [(str(int(path.name[:4])), title(path), path.name) for path in decisions]


def test_the_table_of_choices_says_what_the_presets_do() -> None:
    page = (DOCS / "choices.md").read_text(encoding="utf-8")
    row = r"^\| `([\w.-]+)` \| (.+) \| (.+) \| (.+) \| (.+) \| (yes|no) \|$"
    listed = re.findall(row, page, re.MULTILINE)
    known = {name: one for name, one in presets().items() if one.kind != "card"}
    assert [name for name, *_ in listed] == ["embedded", *known]
    for name, licence, parameters, figure, source, contradicts in listed[1:]:
        one = known[name]
        assert (licence, parameters) == (one.licence, one.parameters)
        assert contradicts == ("yes" if one.contradicts else "no")
        accuracy = one.balanced_accuracy
        assert figure == ("—" if accuracy is None else f"{accuracy * 100:.1f} %")
        assert f"({one.balanced_accuracy_source})" in source or accuracy is None


def title(decision: Path) -> str:
    """Return the title of a decision, without its number."""
    heading = decision.read_text(encoding="utf-8").partition("\n")[0]
    return re.sub(r"^# \d+\.? ", "", heading)


def test_the_glossary_is_in_alphabetical_order() -> None:
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)[2:]
    assert len(terms) > 40
    assert terms == sorted(terms, key=str.lower)
