"""Public benchmarks: LLM-AggreFact and RAGTruth, by any backend, from files that you downloaded.

- LLM-AggreFact (https://huggingface.co/datasets/lytang/LLM-AggreFact, behind a form): a Parquet,
  CSV or JSONL file of rows `dataset`, `doc`, `claim`, `label` (1: supported). A row is one claim
  that is verified on its document. The metric is the balanced accuracy of a data set, and the mean
  over the data sets.
- RAGTruth (https://github.com/ParticleMedia/RAGTruth, MIT): a folder with `response.jsonl` and
  `source_info.jsonl`, of which one split is read (`test`). A response with an annotated span is a
  hallucination. It is called one if a claim of it is below the threshold. The metrics are
  precision, recall and F1 over responses.

Every figure is given twice: "score" reads P(supported) at one threshold for everything, as the
published figures do; "verdict" is the status that a user gets, rules and second reading included.
An example without an estimate counts as not supported. In brackets: 95 % percentile bootstrap over
examples, 2,000 replicates; for the mean, within each data set.

Scores are kept by backend and policy, ids and figures only, so that a stopped run goes on.
`--limit` takes that many examples of each data set or task, the same ones every time. Parquet needs
`pip install pyarrow`.

Neither corpus was downloaded where this script was written: no result of it is published here, and
its readers were tested on small files of the same form. The corpora may be in the training data of
the models compared.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _common import Page, publish, table
from _ledger import Ledger, Method
from veridical import Policy, Settings, SyncVerifier, Verifier
from veridical.core.measurements import supported_probability
from veridical.core.verdicts import Status
from veridical.evaluation.bootstrap import interval
from veridical.evaluation.tables import ratio
from veridical.wiring.build import build_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from _ledger import Decide, Score
    from veridical.core.measurements import BackendInfo
    from veridical.core.ports import Backend
    from veridical.evaluation.metrics import Floats

HOME = Path.home() / ".cache" / "veridical" / "public"
REPLICATES = 2000
AGGREFACT, RAGTRUTH = "LLM-AggreFact", "RAGTruth"
COLUMNS = ("dataset", "doc", "claim", "label")
LABELS = {"1": True, "0": False}
LARGEST_CELL = 2**31 - 1


@dataclass(frozen=True)
class Example:
    """A labelled text and its evidence: a claim, or (`whole`) a response of several."""

    file: str
    id: str
    text: str = field(repr=False)
    evidence: str = field(repr=False)
    supported: bool
    question: str | None = field(default=None, repr=False)
    whole: bool = False

    @cached_property
    def key(self) -> str:
        """Identify the example without a word of it."""
        return sha256(json.dumps(asdict(self)).encode()).hexdigest()[:24]


class WrongFileError(Exception):
    """File of another form; the message names the place, never a text."""


# --- the files -------------------------------------------------------------------------------


def read_aggrefact(path: Path) -> list[Example]:
    """Return the rows of a file of LLM-AggreFact."""
    readers = {".parquet": _parquet, ".csv": _csv, ".jsonl": _jsonl}
    if path.suffix not in readers:
        msg = f"{path.name} is none of {', '.join(readers)}"
        raise WrongFileError(msg)
    rows = enumerate(readers[path.suffix](path), start=1)
    return [_claim(f"{path.name}, row {number}", str(number), row) for number, row in rows]


def _claim(place: str, number: str, row: Mapping[str, Any]) -> Example:
    if missing := [name for name in COLUMNS if row.get(name) in (None, "")]:
        msg = f"{place}: no {', '.join(missing)}"
        raise WrongFileError(msg)
    label = str(row["label"])
    if label not in LABELS:
        msg = f"{place}: the label is neither 0 nor 1"
        raise WrongFileError(msg)
    return Example(row["dataset"], number, row["claim"], row["doc"], LABELS[label])


def read_ragtruth(folder: Path, split: str) -> list[Example]:
    """Return the responses of one split of RAGTruth."""
    sources = {row.get("source_id"): row for row in _jsonl(folder / "source_info.jsonl")}
    found = []
    for number, row in enumerate(_jsonl(folder / "response.jsonl"), start=1):
        try:
            if row["split"] == split:
                found.append(_response(row, sources[row["source_id"]]))
        except KeyError:
            msg = f"response.jsonl, row {number}: a key is missing, or its source is"
            raise WrongFileError(msg) from None
    return found


def _response(row: Mapping[str, Any], source: Mapping[str, Any]) -> Example:
    info, question = source["source_info"], None
    if isinstance(info, dict) and "passages" in info:
        info, question = info["passages"], info.get("question")
    evidence = info if isinstance(info, str) else json.dumps(info, ensure_ascii=False, indent=1)
    task, supported = source["task_type"], not row["labels"]
    return Example(task, row["id"], row["response"], evidence, supported, question, whole=True)


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                msg = f"{path.name}, line {number}: no JSON object"
                raise WrongFileError(msg)
            yield row


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(LARGEST_CELL)  # documents are longer than the default allows
    with _opened(path) as file:
        yield from csv.DictReader(file)


def _opened(path: Path) -> Any:  # noqa: ANN401 -- a text file
    try:
        return path.open(encoding="utf-8", newline="")
    except OSError as error:
        msg = f"{path.name}: {error.strerror}"
        raise WrongFileError(msg) from None


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow.parquet import read_table
    except ImportError:
        msg = f"{path.name}: Parquet is read with pyarrow (pip install pyarrow)"
        raise WrongFileError(msg) from None
    yield from read_table(path, columns=list(COLUMNS)).to_pylist()


def drawn(examples: Iterable[Example], limit: int | None) -> list[Example]:
    """Return up to `limit` examples of each data set, drawn by their digests."""
    by_file: defaultdict[str, list[Example]] = defaultdict(list)
    for example in sorted(examples, key=lambda one: (one.file, one.key)):
        by_file[example.file].append(example)
    return [example for some in by_file.values() for example in some[:limit]]


# --- scores ----------------------------------------------------------------------------------


def method(backend: Backend, policy: Policy) -> Method:
    """Return the way to score an example with a backend."""
    info = backend.info
    name = re.sub(r"[^\w.@-]+", "-", f"{info.name}-{info.model}")
    rules = policy.resolved(info)
    read_by = json.dumps([info.name, info.model, info.fingerprint, asdict(rules)])
    return Method(name, read_by, 0, rules.support_threshold, partial(_open, backend, policy))


@contextmanager
def _open(backend: Backend, policy: Policy) -> Iterator[Decide]:
    with SyncVerifier(Verifier(backend, policy=policy)) as verifier:
        yield partial(_decide, verifier)


def _decide(verifier: SyncVerifier, example: Example) -> tuple[float | None, bool]:
    """Return the lowest P(supported) of the claims, and whether all verdicts are `supported`."""
    sources = {"doc": example.evidence}
    if example.whole:
        report = verifier.check(example.text, sources, example.question)
        verdicts = [verdict for verdict in report.claims if verdict.checked]
    else:
        verdicts = [verifier.verify(example.text, sources)]
    scores = [supported_probability(verdict.p1) for verdict in verdicts]
    known = [score for score in scores if score is not None]
    # A response without a checked claim asserts nothing that could be unsupported.
    lowest = min(known, default=None) if scores else 1.0
    return lowest, all(verdict.status is Status.SUPPORTED for verdict in verdicts)


def scored(folder: Path, how: Method, examples: Sequence[Example]) -> list[Score]:
    """Return the score of each example; those that have none yet are verified."""
    ledger = Ledger(folder, how)
    ledger.known = {key: score for key, score in ledger.known.items() if score.score is not None}
    ledger.fill(how, examples)
    return [ledger.known[example.key] for example in examples]


# --- metrics ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcomes:
    """Numbers of examples: supported ones called so or not, and the same of the others."""

    passed: int
    false_alarms: int
    missed: int
    caught: int

    @classmethod
    def of(cls, examples: Sequence[Example], called: Sequence[bool]) -> Outcomes:
        """Count; `called` is whether each example was called supported."""
        pairs = [(e.supported, is_called) for e, is_called in zip(examples, called, strict=True)]
        cells = ((True, True), (True, False), (False, True), (False, False))
        return cls(*(pairs.count(cell) for cell in cells))

    def replicates(self, key: str) -> Floats:
        """Return the counts of each bootstrap replicate, one row a cell.

        To draw examples anew is to draw the four counts from a multinomial distribution.
        """
        counts = np.array(list(vars(self).values()), dtype=np.float64)
        seed = int.from_bytes(sha256(key.encode()).digest()[:8])
        rng = np.random.default_rng(seed)
        draws = rng.multinomial(int(counts.sum()), counts / counts.sum(), REPLICATES)
        return draws.T.astype(np.float64)

    @property
    def cells(self) -> Floats:
        """The counts as they are, in the form of `replicates`."""
        return np.array([list(vars(self).values())], dtype=np.float64).T


def balanced_accuracy(cells: Floats) -> Floats:
    """Return the mean recall of both classes; NaN where one is missing."""
    passed, false_alarms, missed, caught = cells
    return (_ratio(passed, passed + false_alarms) + _ratio(caught, caught + missed)) / 2


def precision(cells: Floats) -> Floats:
    """Return the share of hallucinations among those called one."""
    _, false_alarms, _, caught = cells
    return _ratio(caught, caught + false_alarms)


def recall(cells: Floats) -> Floats:
    """Return the share of the hallucinations that were called one."""
    _, _, missed, caught = cells
    return _ratio(caught, caught + missed)


def f1(cells: Floats) -> Floats:
    """Return the harmonic mean of precision and recall of hallucinations."""
    _, false_alarms, missed, caught = cells
    return _ratio(2 * caught, 2 * caught + false_alarms + missed)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


# --- the page --------------------------------------------------------------------------------


def lines(
    title: str, examples: Sequence[Example], scores: Sequence[Score], threshold: float
) -> list[str]:
    """Return the section of a benchmark: its table, read at the threshold and by the verdicts."""
    readings = {
        f"score at {threshold:g}": [s.score is not None and s.score >= threshold for s in scores],
        "verdict": [score.supported and score.score is not None for score in scores],
    }
    rows = aggrefact_rows if title == AGGREFACT else ragtruth_rows
    head, cells = rows(examples, readings)
    lost = sum(score.score is None for score in scores)
    note = f"{len(examples)} examples, {sum(e.supported for e in examples)} of them supported;"
    return [f"## {title}", "", f"{note} {lost} without an estimate.", "", *table(head, cells)]


Readings = "Mapping[str, Sequence[bool]]"


def aggrefact_rows(examples: Sequence[Example], readings: Readings) -> tuple[Any, Any]:
    """Return the balanced accuracy of each data set, and their mean."""
    parts = {name: _by_file(examples, called) for name, called in readings.items()}
    files = list(dict.fromkeys(example.file for example in examples))
    sizes = [sum(e.file == file for e in examples) for file in files]
    rows = [
        (file, n, *(_cell(part[file], file, balanced_accuracy) for part in parts.values()))
        for file, n in zip(files, sizes, strict=True)
    ]
    means = [_mean(part) for part in parts.values()]
    return ("data set", "n", *readings), [*rows, ("mean", sum(sizes), *means)]


def ragtruth_rows(examples: Sequence[Example], readings: Readings) -> tuple[Any, Any]:
    """Return precision, recall and F1 of each task, and of all."""
    rows = []
    for name, called in readings.items():
        parts = _by_file(examples, called) | {"all": Outcomes.of(examples, called)}
        for task, found in parts.items():
            figures = (_cell(found, task, metric) for metric in (precision, recall, f1))
            rows.append((task, name, int(found.cells.sum()), *figures))
    return ("task", "reading", "n", "precision", "recall", "F1"), rows


def _by_file(examples: Sequence[Example], called: Sequence[bool]) -> dict[str, Outcomes]:
    chosen: defaultdict[str, list[tuple[Example, bool]]] = defaultdict(list)
    for pair in zip(examples, called, strict=True):
        chosen[pair[0].file].append(pair)
    return {file: Outcomes.of(*zip(*pairs, strict=True)) for file, pairs in chosen.items()}


def _cell(found: Outcomes, key: str, metric: Callable[[Floats], Floats]) -> str:
    return _shown(float(metric(found.cells)[0]), metric(found.replicates(key)))


def _mean(parts: Mapping[str, Outcomes]) -> str:
    """Return the mean over the data sets that have both classes."""
    values = {file: float(balanced_accuracy(one.cells)[0]) for file, one in parts.items()}
    kept = [file for file, value in values.items() if not np.isnan(value)]
    if not kept:
        return _shown(np.nan, np.array([]))
    draws = np.array([balanced_accuracy(parts[file].replicates(file)) for file in kept])
    return _shown(float(np.mean([values[file] for file in kept])), draws.mean(axis=0))


def _shown(value: float, draws: Floats) -> str:
    spread = interval(draws)
    ends = f" ({ratio(spread.low)}–{ratio(spread.high)})" if spread else ""
    return f"{ratio(None if np.isnan(value) else value)}{ends}"


# --- the command -----------------------------------------------------------------------------


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--aggrefact", type=Path, metavar="FILE", help="Parquet, CSV or JSONL")
    parser.add_argument("--ragtruth", type=Path, metavar="FOLDER", help="with both JSONL files")
    parser.add_argument("--split", default="test", help="of RAGTruth, default test")
    parser.add_argument("--backend", help="NAME[:MODEL], default the configured one")
    parser.add_argument("--config", type=Path, help="read this file, not ./veridical.yaml")
    parser.add_argument("--threshold", type=float, help="of the score, default the backend's own")
    parser.add_argument("--limit", type=int, help="examples of each data set or task")
    parser.add_argument("--cache", type=Path, default=HOME, help="keeps the scores")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    if chosen.aggrefact is None and chosen.ragtruth is None:
        parser.error("name a file: --aggrefact, --ragtruth or both")
    return chosen


def corpora(chosen: argparse.Namespace) -> dict[str, list[Example]]:
    """Return the examples of the benchmarks that were named."""
    found = {}
    if chosen.aggrefact is not None:
        found[AGGREFACT] = read_aggrefact(chosen.aggrefact)
    if chosen.ragtruth is not None:
        found[RAGTRUTH] = read_ragtruth(chosen.ragtruth, chosen.split)
    if empty := [name for name, examples in found.items() if not examples]:
        msg = f"no examples of {', '.join(empty)}"
        raise WrongFileError(msg)
    return {name: drawn(examples, chosen.limit) for name, examples in found.items()}


def main() -> None:
    """Score what is missing, print the page."""
    chosen = options()
    try:
        found = corpora(chosen)
    except WrongFileError as error:
        sys.exit(f"error: {error}")
    settings = Settings.load(chosen.config, backend=chosen.backend)
    backend = build_backend(settings, settings.backend)
    how = method(backend, settings.to_policy())
    threshold = how.threshold if chosen.threshold is None else chosen.threshold
    page = [_described(backend.info), ""]
    for title, examples in found.items():
        scores = scored(chosen.cache / title, how, examples)
        page += lines(title, examples, scores, threshold)
    publish(Page("Public benchmarks", page, ()), __doc__, chosen, variant=f"-{how.name}")


def _described(info: BackendInfo) -> str:
    return f"Backend `{info.name}`, model `{info.model}`, weights and prompts `{info.fingerprint}`."


if __name__ == "__main__":
    main()
