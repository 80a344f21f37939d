"""Makes pairs of the groups in `written/`.

    python training/written.py --out WRITTEN.jsonl.gz --probes PROBES.jsonl.gz

A group is a line of JSON: `e`, the evidence; `edit`, replacements [old, new] that make a second
evidence of it; `c`, claims with their labels under the first and under the second (S supported, C
contradicted, N not in context). Every tenth group of a file is kept for probes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from prepare import write

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parent / "written"
LABELS = {"S": "supported", "C": "contradicted", "N": "not_in_context"}
PROBE_EVERY = 10


def main() -> None:
    """Read the options, write the pairs, and print how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--probes", type=Path, required=True)
    options = parser.parse_args()
    found = {probe: list(rows(probe=probe)) for probe in (False, True)}
    write(options.out, found[False])
    write(options.probes, found[True])
    for rows_of in found.values():
        print(len(rows_of), dict(Counter(row["label"] for row in rows_of)))


def rows(*, probe: bool) -> Iterator[dict[str, str]]:
    """Yield the pairs for training or for probes, those of one claim behind each other."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        for number, group in enumerate(groups(path)):
            if (number % PROBE_EVERY == PROBE_EVERY - 1) is probe:
                yield from pairs(group, path.stem)


def groups(path: Path) -> list[dict]:
    """Return the groups of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def pairs(group: dict, name: str) -> Iterator[dict[str, str]]:
    """Yield each claim of a group with its evidence, and with the second one."""
    kind = f"written/{name}"
    for claim, *labels in group["c"]:
        for evidence, label in zip((group["e"], edited(group)), labels, strict=True):
            yield {
                "evidence": evidence,
                "claim": claim,
                "label": LABELS[label],
                "source": kind,
                "kind": kind,
            }


def edited(group: dict) -> str:
    """Return the second evidence of a group."""
    text = group["e"]
    for old, new in group["edit"]:
        text = text.replace(old, new)
    return text


if __name__ == "__main__":
    main()
