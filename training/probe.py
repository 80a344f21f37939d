"""How an exported verifier does on the probes, kind by kind.

    python training/probe.py --export DIR --name verifier-v3 --probes DATA/probes.jsonl.gz

Prints, and writes to `DIR/NAME.probes.json`, for each kind of probe the AUROC of P(supported) and
the share that is labelled right. Probes are drawn from words and templates that training never saw.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from calibrate import score
from model import LABELS
from prepare import read

from veridical.evaluation.metrics import auroc


def main() -> None:
    """Score the probes and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--export", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--probes", type=Path, required=True)
    options = parser.parse_args()
    probes = read(options.probes)
    logits = score(options.export, options.name, probes)[0].numpy()
    found = {
        kind: figures(logits, probes, kind) for kind in sorted({probe["kind"] for probe in probes})
    }
    text = json.dumps(found, indent=1)
    print(text)
    (options.export / f"{options.name}.probes.json").write_text(text + "\n", encoding="utf-8")


def figures(logits: np.ndarray, probes: list[dict], kind: str) -> dict[str, float]:
    """Return how many probes of a kind there are, and how well they are told apart."""
    rows = [i for i, probe in enumerate(probes) if probe["kind"] == kind]
    labels = [probes[i]["label"] for i in rows]
    truly = np.asarray([label == LABELS[0] for label in labels])
    margin = logits[rows, 0] - np.logaddexp(logits[rows, 1], logits[rows, 2])
    said = [LABELS[i] for i in logits[rows].argmax(axis=1)]
    return {
        "probes": len(rows),
        "auroc": round(auroc(margin.astype(float), truly) or 0.0, 3),
        "right": round(float(np.mean([a == b for a, b in zip(said, labels, strict=True)])), 3),
    }


if __name__ == "__main__":
    main()
