"""A short interview, and the six of `examples/phq8`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[4] / "examples" / "phq8"


@pytest.fixture
def transcript() -> str:
    return (
        "Ellie: how do you sleep\n"
        "Participant: i wake up at four and lie there worrying\n"
        "Ellie: and your mood\n"
        "Participant: i don't feel hopeless just tired\n"
    )


@pytest.fixture(params=sorted(path.stem for path in (EXAMPLES / "interviews").glob("*.json")))
def interview(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return one of the interviews: its id, its text as shipped, and the quotes with labels."""
    name: str = request.param
    labels = map(json.loads, (EXAMPLES / "labels.jsonl").read_text("utf-8").splitlines())
    return {
        "id": name,
        "text": (EXAMPLES / "interviews" / f"{name}.json").read_text("utf-8"),
        "evidence": json.loads((EXAMPLES / "evidence" / f"{name}.json").read_text("utf-8")),
        "labels": [row for row in labels if row["interview"] == name],
    }
