"""Gate for every new model: MultiNLI three-way accuracy, and plain truths.

    python training/gate.py                                        # the shipped weights
    python training/gate.py --export OUT --name verifier-v6        # exported and calibrated ones

Reads pairs with the product's own backend. `plain_truths.jsonl` has fifty short texts, each with a
sentence that follows from it at once and one that it excludes. Ends with 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import Estimate, Query
from veridical.pipeline.inference import card
from veridical.pipeline.inference.embedded import DEFAULT_MODEL, EmbeddedVerifier

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path(__file__).resolve().parent
MNLI = FOLDER.parents[1] / "shared" / "data" / "dev" / "mnli_dev15.jsonl.gz"
LEAST_THREE_WAY, MOST_REFUSED = 0.80, 0


def main() -> None:
    """Read the options, measure, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--export", type=Path, help="folder of exported weights with their card")
    parser.add_argument("--name", default=DEFAULT_MODEL)
    parser.add_argument("--mnli", type=Path, default=MNLI)
    parser.add_argument("--rows", type=int, help="rows of MultiNLI; all by default")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.export:
        card.WEIGHTS = options.export
    verifier = EmbeddedVerifier(options.name, threads=options.threads)
    found = {"model": options.name} | plain(verifier) | three_way(verifier, options)
    print(json.dumps(found, indent=1))
    right = found.get("mnli_three_way", 1.0)
    sys.exit(int(right < LEAST_THREE_WAY or len(found["truths_refused"]) > MOST_REFUSED))


def plain(verifier: EmbeddedVerifier) -> dict[str, list[str]]:
    """Return the truths that are refused, and the falsehoods that pass."""
    rows = [json.loads(line) for line in (FOLDER / "plain_truths.jsonl").read_text().splitlines()]
    pairs = [(row["evidence"], row[side]) for side in ("true", "false") for row in rows]
    threshold = verifier.info.support_threshold
    passed = [estimate.supported >= threshold for estimate in read(verifier, pairs)]
    truths = zip(pairs[: len(rows)], passed[: len(rows)], strict=True)
    falsehoods = zip(pairs[len(rows) :], passed[len(rows) :], strict=True)
    return {
        "truths_refused": [claim for (_, claim), ok in truths if not ok],
        "falsehoods_passed": [claim for (_, claim), ok in falsehoods if ok],
    }


def three_way(verifier: EmbeddedVerifier, options: argparse.Namespace) -> dict[str, float]:
    """Return the share of MultiNLI's rows whose most probable label is theirs."""
    if not options.mnli.exists():
        return {}
    import labelled

    rows = list(labelled.read(options.mnli))[: options.rows]
    estimates = read(verifier, [(row["evidence"], row["claim"]) for row in rows])
    right = [label(e) == row["label3"] for e, row in zip(estimates, rows, strict=True)]
    return {"mnli_rows": len(rows), "mnli_three_way": round(sum(right) / len(rows), 4)}


def label(estimate: Estimate) -> str:
    """Return the most probable label."""
    shares = {
        "supported": estimate.supported,
        "contradicted": estimate.contradicted or 0.0,
        "not_in_context": estimate.not_in_context or 0.0,
    }
    return max(shares, key=lambda name: shares[name])


def read(verifier: EmbeddedVerifier, pairs: Sequence[tuple[str, str]]) -> list[Estimate]:
    """Return what the backend says of each pair."""
    queries = [Query(claim=claim, context=evidence) for evidence, claim in pairs]
    found = anyio.run(verifier.estimate, queries)
    return [entry for entry in found if isinstance(entry, Estimate)]


if __name__ == "__main__":
    main()
