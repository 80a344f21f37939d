"""Cost of `import veridical` for its host: no module that is slow to load."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("numpy", "onnxruntime", "tokenizers", "pydantic", "rich", "typer", "jinja2")
SLOW += ("sqlalchemy", "alembic", "prompt_toolkit")


def loaded_after(code: str) -> set[str]:
    """Return the top-level modules of a fresh interpreter that has run `code`."""
    script = f"{code}\nimport sys\nprint(*(name.partition('.')[0] for name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("name", SLOW)
def test_the_module_is_known_by_that_name(name: str) -> None:
    assert name in loaded_after(f"import {name}")


def test_importing_veridical_loads_nothing_slow() -> None:
    loaded = loaded_after("import veridical")
    assert "veridical" in loaded
    assert loaded.isdisjoint(SLOW)


def test_listing_its_names_loads_nothing_slow() -> None:
    assert loaded_after("import veridical\ndir(veridical)").isdisjoint(SLOW)
