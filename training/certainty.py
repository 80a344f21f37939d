"""Fits how probable it is that a verdict is right, chooses what is sure, and writes the card.

    python training/certainty.py --answers benchmarks/answers/a --data ../shared/data/dev \
        --out src/veridical/pipeline/inference/weights/verifier-v5.json

Whole answers are checked, rows of labelled claims verified, each by the product as it stands. What
is known of each verdict is kept in a cache (numbers and names, never a text), so that another fit
takes seconds; the cache belongs to one state of the code and of the weights.

For each kind of verdict a logistic model is fitted by maximum likelihood; every file weighs the
same, and answers together weigh as much as rows. The weight of the score is 0 at least. A verdict
is sure from the least P(right) on at which, in probabilities from folds that were fitted without
its file, the lower confidence bound of the share that is right is `--precision` in whole answers
(in rows where there are no answers); where there is none, no verdict of the kind is sure. What that
means for the rows is printed, and stands in the card.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass
from math import log, prod, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.core.certainty import SCORE, UNCALIBRATED, VerdictKind, from_document
from veridical.evaluation.answer_results import same_place, supported_score
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.judgement.certainty import features, kind_of
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Verifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from veridical.core.verdicts import Verdict
    from veridical.evaluation.answers import LabelledAnswer

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".certainty"
NOT_PAIRS = ("p0__", "quote_", "traces_")
FOLDS = 5
RIDGE = 1e-3
"""What keeps weights small: this times the rows times the square of each standardised weight."""
Z = 1.28
"""For a lower bound with 90 % confidence on one side."""
FEWEST = 20
"""No threshold is chosen on fewer verdicts."""
RULES = ("quantity_differs", "stands_verbatim")
"""Rules that decide beside the model, and may be right whatever its score."""
NAMES = (SCORE, "coverage", "length")
RISING = {
    VerdictKind.SUPPORTED: (SCORE, "coverage"),
    VerdictKind.CONTRADICTED: (SCORE,),
    VerdictKind.NOT_SUPPORTED: (SCORE,),
}
"""Features whose weight is 0 at least, whatever the data say: errors that are small edits of the
evidence would make a pass the less sure, the more of its words stand there."""


@dataclass(frozen=True)
class Seen:
    """A verdict on a labelled claim: what is known of it, and whether the claim is supported.

    `group` is the file; `answer` the id of the answer that the claim stands in, "" for rows.
    """

    group: str
    answer: str
    kind: str | None
    rule: str
    supported: bool
    features: dict[str, float]

    @property
    def right(self) -> bool:
        """Whether the verdict is right: for flags, that the claim is not supported."""
        return (self.kind == VerdictKind.SUPPORTED) == self.supported


def main() -> None:
    """Read the options, look, fit, print, write."""
    options = parse()
    card = json.loads(options.out.read_text(encoding="utf-8"))
    seen = look(options, card["name"])
    certainty = fitted(seen, options.precision)
    from_document(certainty)  # what the product could not read is never written
    report(seen, certainty)
    card["certainty"] = certainty
    options.out.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=Path, help="folder of whole answers, *.jsonl")
    parser.add_argument("--data", type=Path, help="folder of labelled claims, *.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True, help="the card of the verifier")
    parser.add_argument("--rows", type=int, default=60, help="claims per file of --data")
    parser.add_argument("--precision", type=float, default=0.95)
    parser.add_argument("--threads", type=int, help="pairs that are read at once")
    options = parser.parse_args()
    if options.answers is None and options.data is None:
        parser.error("name --answers, --data or both")
    return options


# --- verdicts --------------------------------------------------------------------------------


def look(options: argparse.Namespace, model: str) -> list[Seen]:
    """Return the verdicts on all labelled claims, from the cache where it has them."""
    backend = EmbeddedVerifier(model, threads=options.threads)
    cache = Cache(f"{backend.info.fingerprint}-{state_of_the_code()}")
    found: list[Seen] = []
    with SyncVerifier(Verifier(backend)) as verifier:
        if options.answers is not None:
            found += answers(options.answers, verifier, cache)
        if options.data is not None:
            found += rows(options.data, options.rows, verifier, cache)
    return found


def state_of_the_code() -> str:
    """Return a hash of all code that verdicts depend on."""
    package = ROOT / "src" / "veridical"
    paths = [
        *package.glob("core/*.py"),
        *package.glob("pipeline/*/**/*.py"),
        *package.glob("verification/*.py"),
    ]
    digest = hashlib.sha256()
    for path in sorted(paths):
        if "reports" not in path.parts and path != package / "core" / "certainty.py":
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Cache:
    """What was seen before, by a key; a file that lines are appended to."""

    def __init__(self, name: str) -> None:
        CACHE.mkdir(exist_ok=True)
        self._path = CACHE / f"{name}.jsonl"
        self._known: dict[str, list[Seen]] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                key, found = json.loads(line)
                self._known[key] = [Seen(**one) for one in found]

    def get(self, key: str) -> list[Seen] | None:
        """Return what was seen under a key; None if nothing was kept."""
        return self._known.get(key)

    def put(self, key: str, found: list[Seen]) -> list[Seen]:
        """Keep what was seen, and return it."""
        with self._path.open("a", encoding="utf-8") as file:
            print(json.dumps([key, [asdict(one) for one in found]]), file=file)
        return found


def rows(folder: Path, limit: int, verifier: SyncVerifier, cache: Cache) -> Iterator[Seen]:
    """Yield the verdicts on labelled claims."""
    from veridical.evaluation.dataset import read_datasets

    paths = [
        path for path in sorted(folder.glob("*.jsonl*")) if not path.name.startswith(NOT_PAIRS)
    ]
    for dataset in read_datasets(paths):
        for row in dataset.sample(limit, seed=0).rows:
            key = f"{dataset.fingerprint}/{row.id}"
            found = cache.get(key)
            if found is None:
                verdict = verifier.verify(row.claim, row.sources, cites=row.cites)
                found = cache.put(key, [seen(dataset.name, "", verdict, supported=row.supported)])
            yield from found
        print(dataset.name, flush=True)


def answers(folder: Path, verifier: SyncVerifier, cache: Cache) -> Iterator[Seen]:
    """Yield the verdicts on the claims of whole answers."""
    from veridical.evaluation.answers import read_answers

    for one in read_answers(sorted(folder.glob("*.jsonl"))):
        for answer in one.answers:
            key = f"{one.fingerprint}/{answer.id}"
            found = cache.get(key)
            if found is None:
                report = verifier.check(answer.answer, answer.sources, answer.question)
                found = cache.put(key, list(labelled(one.name, answer, report.claims)))
            yield from found
        print(one.name, flush=True)


def labelled(group: str, answer: LabelledAnswer, verdicts: Sequence[Verdict]) -> Iterator[Seen]:
    """Yield the verdicts of an answer that have a label.

    A stretch that is supported labels every claim in its place. One that is not labels the least
    probable of several: which of the others are sound is not known.
    """
    for claim in answer.claims:
        found = [v for v in verdicts if v.checked and same_place(claim.span, v.claim.span)]
        if not claim.supported:
            found = sorted(found, key=least_supported)[:1]
        for verdict in found:
            yield seen(group, answer.id, verdict, supported=claim.supported)


def least_supported(verdict: Verdict) -> float:
    """Return P(supported); 0 where nothing was measured."""
    return supported_score(verdict) or 0.0


def seen(group: str, answer: str, verdict: Verdict, *, supported: bool) -> Seen:
    """Return what is known of a verdict."""
    kind = kind_of(verdict)
    known = {} if kind is None else features(verdict, kind)
    return Seen(group, answer, kind, verdict.rule, supported, known)


# --- fits ------------------------------------------------------------------------------------


def fitted(found: Sequence[Seen], precision: float) -> dict[str, Any]:
    """Return what the card holds under `certainty`."""
    rules = by_rule(found, precision)
    by_score = [one for one in found if one.kind is not None and one.rule not in rules]
    document: dict[str, Any] = {}
    for kind in VerdictKind:
        document[kind.value] = fit_of(kind, [x for x in by_score if x.kind == kind], precision)
    document["rules"] = rules
    document["exponent"] = 1.0
    document["exponent"] = exponent(found, document)
    return document | {"data": data(found, document, precision)}


def by_rule(found: Iterable[Seen], precision: float) -> dict[str, float]:
    """Return P(right), by Laplace's rule, of each rule that is sure whatever the score.

    A rule that is right too seldom, or that decided too few verdicts, is left to the score. That a
    source does not exist is no matter of probability.
    """
    listed = list(found)
    rules = dict(UNCALIBRATED.rules)
    for name in RULES:
        right = [one.right for one in listed if one.rule == name]
        counted = round((sum(right) + 1) / (len(right) + 2), 3)
        if len(right) >= FEWEST and counted >= precision:
            rules[name] = counted
    return rules


def fit_of(kind: VerdictKind, found: Sequence[Seen], precision: float) -> dict[str, Any]:
    """Return the fit of a kind of verdict and its threshold."""
    coefficients = logistic_fit(found, kind)
    out_of_fold = np.zeros(len(found))
    groups = sorted({one.group for one in found})
    fold = np.asarray([groups.index(one.group) % FOLDS for one in found])
    for number in range(FOLDS):
        rest = [one for one, mine in zip(found, fold, strict=True) if mine != number]
        if rest:
            part = logistic_fit(rest, kind)
            out_of_fold[fold == number] = predicted(found, part)[fold == number]
    limit = threshold(found, out_of_fold, precision)
    return {
        "intercept": round(float(coefficients[0]), 4),
        "weights": dict(zip(NAMES, (round(float(b), 4) for b in coefficients[1:]), strict=True)),
        "sure_from": limit,
        "sure_score": usual_score(found, coefficients, limit),
    }


def usual_score(
    found: Sequence[Seen], coefficients: np.ndarray, limit: float | None
) -> float | None:
    """Return the score from which on a verdict with mean features is sure; None if none is."""
    at = NAMES.index(SCORE) + 1
    if limit is None or not 0 < limit < 1 or coefficients[at] <= 0:
        return None
    usual = matrix(found).mean(axis=0)
    usual[at] = 0.0
    return round(float((log(limit / (1 - limit)) - usual @ coefficients) / coefficients[at]), 4)


def weights_of(found: Sequence[Seen]) -> np.ndarray:
    """Return weights: every file the same, answers together as much as rows; their mean is 1."""
    counts = Counter(one.group for one in found)
    files = {
        whole: {one.group for one in found if bool(one.answer) == whole} for whole in (True, False)
    }
    weights = np.asarray([1 / (counts[x.group] * len(files[bool(x.answer)])) for x in found])
    return weights * len(found) / weights.sum()


def matrix(found: Sequence[Seen]) -> np.ndarray:
    """Return a row for each verdict: 1, then its features."""
    return np.asarray([[1.0, *(one.features[name] for name in NAMES)] for one in found])


def predicted(found: Sequence[Seen], coefficients: np.ndarray) -> np.ndarray:
    """Return P(right) of each verdict."""
    return 1 / (1 + np.exp(-matrix(found) @ coefficients))


def logistic_fit(found: Sequence[Seen], kind: VerdictKind) -> np.ndarray:
    """Return the coefficients; what has to rise and would fall is left out."""
    x, weights = matrix(found), weights_of(found)
    y = np.asarray([one.right for one in found], dtype=float)
    scale = np.maximum(x.std(axis=0), 1e-6)
    scale[0] = 1.0
    rising = [NAMES.index(name) + 1 for name in RISING[kind]]
    used = list(range(x.shape[1]))
    while True:
        coefficients = np.zeros(x.shape[1])
        coefficients[used] = _newton(x[:, used] / scale[used], y, weights) / scale[used]
        falling = [at for at in rising if coefficients[at] < 0]
        if not falling:
            return coefficients
        used.remove(min(falling, key=lambda at: coefficients[at] * scale[at]))


def _newton(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    ridge = np.full(x.shape[1], RIDGE * len(y))
    ridge[0] = 1e-9
    coefficients = np.zeros(x.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-x @ coefficients))
        gradient = x.T @ (weights * (p - y)) + ridge * coefficients
        hessian = (x * (weights * p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        coefficients -= step
        if np.abs(step).max() < 1e-9:
            break
    return coefficients


def threshold(found: Sequence[Seen], p: np.ndarray, precision: float) -> float | None:
    """Return the least P(right) from which on enough verdicts are right; None if there is none."""
    chosen = np.asarray([bool(one.answer) for one in found])
    chosen = chosen if chosen.any() else ~chosen
    p, right = p[chosen], np.asarray([one.right for one in found])[chosen]
    order = np.argsort(-p)
    best = None
    for n in range(FEWEST, len(order) + 1):
        if lower_bound(int(right[order[:n]].sum()), n) >= precision:
            best = float(p[order[n - 1]])
    return None if best is None else min(1.0, float(np.ceil(best * 1000) / 1000))


def lower_bound(right: int, n: int) -> float:
    """Return the lower bound of a share (Wilson 1927)."""
    p, shrink = right / n, 1 + Z * Z / n
    return (p + Z * Z / (2 * n) - Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))) / shrink


def exponent(found: Sequence[Seen], document: dict[str, Any]) -> float:
    """Return the exponent that makes the labels of whole answers most likely; 1 without any."""
    model = from_document(document)
    cases = []
    for name in dict.fromkeys(one.answer for one in found if one.answer):
        claims = [one for one in found if one.answer == name]
        known = [supported(one, document) for one in claims if one.kind is not None]
        if known:
            cases.append((prod(known), all(one.supported for one in claims)))
    if not cases:
        return model.exponent
    grid = [round(0.05 * step, 2) for step in range(1, 61)]
    return min(grid, key=lambda power: _loss(cases, power))


def _loss(cases: Sequence[tuple[float, bool]], power: float) -> float:
    total = 0.0
    for product, sound in cases:
        p = min(max(product**power, 1e-6), 1 - 1e-6)
        total -= log(p if sound else 1 - p)
    return total


def supported(one: Seen, document: dict[str, Any]) -> float:
    """Return P(the claim is supported), given the verdict on it."""
    p = right_of(one, document)
    return p if one.kind == VerdictKind.SUPPORTED else 1 - p


def right_of(one: Seen, document: dict[str, Any]) -> float:
    """Return P(right) of a verdict as the product says it."""
    model = from_document(document)
    rule = dict(model.rules).get(one.rule)
    return model.of(VerdictKind(one.kind)).probability(one.features) if rule is None else rule


# --- what came of it -------------------------------------------------------------------------


def data(found: Sequence[Seen], document: dict[str, Any], precision: float) -> dict[str, Any]:
    """Return what it was fitted on, and how many verdicts are sure and right there."""
    parts = {
        "whole answers": [one for one in found if one.answer],
        "labelled claims": [one for one in found if not one.answer],
    }
    return {
        "asked": f"the lower 90 % bound of the share that is right is {precision} at least",
        **{name: shares(part, document) for name, part in parts.items() if part},
    }


def shares(found: Sequence[Seen], document: dict[str, Any]) -> dict[str, Any]:
    """Return for each kind how many verdicts there are, how many are sure, and of those right."""
    model = from_document(document)
    counted: dict[str, Any] = {
        "files": len({one.group for one in found}),
        "answers": len({one.answer for one in found if one.answer}),
    }
    for kind in VerdictKind:
        mine = [one for one in found if one.kind == kind]
        sure = [
            x
            for x in mine
            if x.rule in dict(model.rules) or model.of(kind).sure(right_of(x, document))
        ]
        counted[kind.value] = {
            "verdicts": len(mine),
            "right": share(mine),
            "sure": len(sure),
            "sure_right": share(sure),
        }
    return counted


def share(found: Sequence[Seen]) -> float | None:
    """Return the share of verdicts that are right."""
    return round(sum(one.right for one in found) / len(found), 3) if found else None


def report(found: Sequence[Seen], document: dict[str, Any]) -> None:
    """Print the fits and what they mean."""
    print(json.dumps(document, indent=1))
    for name, _ in UNCALIBRATED.rules:
        mine = [one for one in found if one.rule == name]
        print(f"{name}: {len(mine)} verdicts, right {share(mine)}")


if __name__ == "__main__":
    main()
