"""Savings by reading a context once for all claims on it, with a language model on the CPU.

The claims are those of the development files below whose document serves at least four claims,
supported and other ones, and has 60 to 350 words: document by document, one from each file in
turn, up to eight claims of each, by a hash of their ids; the last document may be cut short. A
document is an answer: both ways take its claims, in turns, then comes the next document. The server
is llama.cpp in this process, the model Qwen2.5-Coder-Instruct (4 bits, of half a billion parameters
or, with `--model`, of 1.5 billion); either way has it loaded for itself, with the same settings,
and it reads one prompt at a time.

- gguf: the backend, P(supported) with the document and with `[EVIDENCE REMOVED]` instead.
- one by one: the method of pythea's strawberry. Two calls for each claim, with the document and
  with `[REDACTED]` instead, its own prompt (in our words), no call reuses computations of another.
  Its score is P(YES); it flags by its budget, so that the bits which the evidence gives beyond the
  required ones are shown, too.

Tokens are counted by llama.cpp as computed. Nothing is tuned on the rows. In brackets: 95 %
percentile bootstrap over rows, 2,000 replicates; the difference is paired.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from itertools import islice, zip_longest
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import anyio
import numpy as np

import _one_by_one
import _prompted
from _common import CORES, Page, Requirement, publish, table
from _paired import area, difference
from _sample import DEV, SEED
from veridical.core.measurements import Estimate, Query
from veridical.evaluation.dataset import read_datasets
from veridical.evaluation.metrics import auroc
from veridical.pipeline.inference.gguf import Gguf
from veridical.pipeline.inference.llama_cpp import LlamaModel, Load, Tokens, shared, start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from veridical.evaluation.dataset import Dataset
    from veridical.evaluation.metrics import Flags, Floats
    from veridical.evaluation.rows import Row

FILES = ("summedits", "summeval_true", "faithdial_audit", "fib", "bump", "frank_true", "xsumfaith")
FEWEST, MOST = 4, 8
WORDS = range(60, 351)
CLAIMS = 200
TIMES = 3.0
MODEL = "qwen-0.5b"
REMOVED = "[EVIDENCE REMOVED]"
CONTEXT_TOKENS = 2048
TIMEOUT_S = 600.0
HOME = Path.home() / ".cache" / "veridical"
OURS, THEIRS, SURPLUS = "gguf", "one by one", "one by one, bits beyond the required"


@dataclass
class Way:
    """Results of a method so far: a score per claim, None if there is none, and its cost."""

    scores: list[float | None] = field(default_factory=list)
    tokens: Tokens = field(default_factory=Tokens)
    seconds: float = 0.0


def main() -> None:
    """Put each document's claims both ways, print the page."""
    chosen = options()
    path = _prompted.MODELS[chosen.model].path(chosen.models)
    documents = sample(chosen.limit)
    ways = measure(documents, Load(path, CONTEXT_TOKENS, chosen.threads))
    rows = [row for document in documents for row in document]
    positive = np.array([row.supported for row in rows])
    page = [*head(documents, path, chosen.threads), *tables(ways, positive)]
    found = Page("Reading a context once", page, requirements(ways, positive))
    publish(found, __doc__, chosen, variant="" if chosen.model == MODEL else f"-{chosen.model}")


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=CLAIMS, help=f"claims, default {CLAIMS}")
    parser.add_argument("--threads", type=int, default=CORES, help=f"default {CORES}")
    parser.add_argument("--model", default=MODEL, choices=_prompted.MODELS)
    parser.add_argument("--models", type=Path, default=HOME / "models", help="keeps the downloads")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    if chosen.write and chosen.limit != CLAIMS:
        parser.error("--write keeps the whole sample only")
    return chosen


# --- the claims ------------------------------------------------------------------------------


def sample(limit: int) -> list[tuple[Row, ...]]:
    """Return documents, each as the claims on it, of `limit` claims in all."""
    paths = [DEV / f"{name}.jsonl.gz" for name in FILES]
    if not all(path.is_file() for path in paths):
        sys.exit("the labelled data is not here: ../shared/data/dev, seen from the checkout")
    rounds = zip_longest(*(documents(dataset) for dataset in read_datasets(paths)))
    found, left = [], limit
    for document in (one for each in rounds for one in each if one):
        found.append(document[:left])
        left -= len(found[-1])
        if not left:
            break
    return found


def documents(dataset: Dataset) -> Iterator[tuple[Row, ...]]:
    """Yield the claims on each document that serves enough of both kinds."""
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in sorted(dataset.rows, key=lambda row: _rank(row.id)):
        if len(row.evidence) == 1 and len(row.evidence[0].text.split()) in WORDS:
            groups[row.evidence[0].text].append(row)
    for rows in groups.values():
        kept = tuple(islice(rows, MOST))
        if len(kept) >= FEWEST and len({row.supported for row in kept}) == len((True, False)):
            yield kept


def _rank(row_id: str) -> bytes:
    return sha256(f"{SEED}\0{row_id}".encode()).digest()


# --- the measurement -------------------------------------------------------------------------


def measure(documents: Sequence[Sequence[Row]], load: Load) -> dict[str, Way]:
    """Return what both ways make of the documents' claims, taken in turns."""
    ways = {name: Way() for name in (OURS, THEIRS, SURPLUS)}
    backend = Gguf(load, timeout_s=TIMEOUT_S)
    ours, theirs = shared(load), LlamaModel(start(load))  # loaded before anything is timed
    for number, rows in enumerate(documents, start=1):
        turns = [
            partial(together, backend, rows, ways[OURS]),
            partial(one_by_one, theirs, rows, ways[THEIRS], ways[SURPLUS]),
        ]
        for turn in turns if number % 2 else reversed(turns):
            turn()
        print(f"{number} of {len(documents)} documents", end="\r", file=sys.stderr)
    print(file=sys.stderr)
    del ours  # the backend had it from the process
    return ways


def together(backend: Gguf, rows: Sequence[Row], way: Way) -> None:
    """Ask the backend about the claims on one document."""
    queries = [
        Query(row.claim, context) for context in (rows[0].evidence[0].text, REMOVED) for row in rows
    ]
    before, started = backend.tokens, perf_counter()
    found = anyio.run(backend.estimate, queries)
    way.seconds += perf_counter() - started
    way.tokens += Tokens(
        backend.tokens.evaluated - before.evaluated, backend.tokens.reused - before.reused
    )
    for measurement in found[: len(rows)]:
        way.scores.append(measurement.supported if isinstance(measurement, Estimate) else None)


def one_by_one(engine: LlamaModel, rows: Sequence[Row], way: Way, surplus: Way) -> None:
    """Ask about each claim on one document on its own."""
    started = perf_counter()
    for row in rows:
        answer, tokens = _one_by_one.ask(engine, row.claim, row.evidence[0].text)
        way.tokens += tokens
        way.scores.append(answer.p1)
        surplus.scores.append(answer.surplus)
    way.seconds += perf_counter() - started


# --- the page --------------------------------------------------------------------------------


def head(documents: Sequence[Sequence[Row]], path: Path, threads: int) -> list[str]:
    """Say what was asked of what."""
    ids = [row.id for rows in documents for row in rows]
    positive = sum(row.supported for rows in documents for row in rows)
    listed = sha256(json.dumps(ids).encode()).hexdigest()
    return [
        f"{len(ids)} claims on {len(documents)} documents of {', '.join(FILES)},",
        f"{positive} of them supported; SHA-256 of the list of their ids",
        f"`{listed}`.",
        f"{path.name}, {threads} threads, xllamacpp {version('xllamacpp')}.",
        "",
    ]


def tables(ways: dict[str, Way], positive: Flags) -> list[str]:
    """Return cost and quality of each way."""
    cost = [_cost(name, ways[name]) for name in (OURS, THEIRS)]
    quality = [(name, *_quality(way, positive)) for name, way in ways.items()]
    return [
        *table(
            ("", "prompt tokens evaluated", "reused", "evaluated a claim", "seconds", "claims/s"),
            cost,
        ),
        *table(("", "AUROC", "undetermined"), quality),
    ]


def _cost(name: str, way: Way) -> tuple[object, ...]:
    claims = len(way.scores)
    evaluated = way.tokens.evaluated
    return (
        name,
        f"{evaluated:,}",
        f"{way.tokens.reused:,}",
        f"{evaluated / claims:.0f}",
        f"{way.seconds:.0f}",
        f"{claims / way.seconds:.2f}",
    )


def _quality(way: Way, positive: Flags) -> tuple[object, ...]:
    known = _known([way])
    return area(_scores(way, known), positive[known]), way.scores.count(None)


def requirements(ways: dict[str, Way], positive: Flags) -> list[Requirement]:
    """Hold the saving, and the quality beside the better of the other way's scores."""
    ours, theirs = ways[OURS], ways[THEIRS]
    fewer = theirs.tokens.evaluated / ours.tokens.evaluated
    faster = theirs.seconds / ours.seconds
    known = _known(ways.values())
    found = {name: auroc(_scores(way, known), positive[known]) or 0.0 for name, way in ways.items()}
    best = max((THEIRS, SURPLUS), key=lambda name: found[name])
    mine, others = (_scores(ways[name], known) for name in (OURS, best))
    above, shown = difference(mine, others, positive[known])
    return [
        Requirement(
            f"{TIMES:g} times fewer prompt tokens evaluated, or {TIMES:g} times the claims/s",
            f"{fewer:.1f} times fewer, {faster:.1f} times the claims/s",
            max(fewer, faster) >= TIMES,
        ),
        Requirement(
            f"AUROC no lower than that of {best}, on claims that all determine",
            shown,
            above >= 0,
        ),
    ]


def _known(ways: Iterable[Way]) -> Flags:
    columns = [[score is not None for score in way.scores] for way in ways]
    known: Flags = np.all(np.array(columns, dtype=bool), axis=0)
    return known


def _scores(way: Way, known: Flags) -> Floats:
    return np.array([score for score, kept in zip(way.scores, known, strict=True) if kept], float)


if __name__ == "__main__":
    main()
