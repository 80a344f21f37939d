"""Write the example of the service's page: `examples/bridge`, checked by the embedded verifier.

Run it when the weights or the rules change: a test compares the file with a check of that moment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import veridical
from veridical.core.types import Source

ROOT = Path(__file__).parents[1]
BRIDGE = ROOT / "examples" / "bridge"
FILE = ROOT / "src" / "veridical" / "interfaces" / "http" / "page" / "example.json"


def example() -> dict[str, Any]:
    """Return the texts of the example, and the report on them."""
    answer = (BRIDGE / "answer.md").read_text("utf-8")
    names = ("notice.txt", "minutes.md")
    sources = [Source(name, (BRIDGE / name).read_text("utf-8"), name) for name in names]
    report = veridical.check(answer, sources).to_dict()
    report["summary"]["latency_ms"] = 0.0
    texts = [{"id": one.id, "text": one.text, "name": one.path} for one in sources]
    whole = {"question": None, "answer": answer, "sources": texts, "report": report, "marks": {}}
    return {"schema": "veridical.page/1", **whole}


if __name__ == "__main__":
    FILE.write_text(json.dumps(example(), ensure_ascii=False, indent=1) + "\n", "utf-8")
