"""Page of proof: veridical, trivial baselines and its peers from PyPI on the same rows.

Every checker runs in a process and a virtual environment of its own (`--envs DIR`, made once), as
`pip install` leaves it, at its defaults, and gets each claim with all of its sources. A checker
without its optional model is measured without it, and the page says so.

- answers a, answers b: labelled claims of `answers`. Half a served for tuning.
- quantities: `quantity_pairs.jsonl`. The rules of veridical were written with half of it at hand.
- dev: the sample of `comparison.py`, on which the embedded verifier was tuned in part.
- quotes: labelled quotes of dialogues, contracts and articles, by a rule of normalisation. Checkers
  of quotes say yes or no, so that AUROC and balanced accuracy are the same.

Undetermined rows, and rows at which a checker fails, are counted, and are in no other figure. In
brackets: 95 % percentile bootstrap over rows, 2,000 replicates; rows of one answer share sources,
so that the intervals are too narrow.
Scores are kept beside the environments, those of language models row by row, so that a stopped
run goes on; the time of a kept score is that of its run. Without `--models` no model is asked.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from _common import RESULTS
from _llama_server import LlamaServer, small_model
from _proof_checkers import CHECKERS
from _proof_measuring import TRIVIAL, length_seconds, measured, trivial
from _proof_models import Served
from _proof_page import MODEL_MARK, page
from _proof_rows import all_suites

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.evaluation.rows import Row

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
ASKED = ("dev", "answers b")
"""Suites whose first rows go to the language model, the shorter texts first."""


def main() -> None:
    """Measure every checker on every suite, write the page and its figures."""
    chosen = options()
    chosen.envs.mkdir(parents=True, exist_ok=True)
    suites = {name: rows[: chosen.rows] for name, rows in all_suites(chosen.rows).items()}
    figures = offline(suites, chosen)
    if chosen.models:
        found, asked = by_model(suites, chosen)
        figures, suites = figures + found, suites | asked
    lengths = length_seconds()
    text = page(figures, lengths, suites, chosen, __doc__)
    if chosen.write:
        (RESULTS / "proof.json").write_text(kept(figures, lengths), encoding="utf-8")
        PAGE.write_text(text, encoding="utf-8")
    print(text)


def kept(figures: Sequence[Mapping[str, object]], lengths: Mapping[str, float]) -> str:
    """Return the figures as JSON, those of a checker on a suite in one line."""
    quality = ",\n".join(map(json.dumps, figures))
    return f'{{"quality": [\n{quality}\n],\n"evidence_cpu_s": {json.dumps(lengths)}}}\n'


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=Path, required=True, metavar="DIR", help="environments")
    parser.add_argument("--rows", type=int, default=200, help="of each suite, default 200")
    parser.add_argument("--only", choices=[checker.name for checker in CHECKERS])
    models = parser.add_mutually_exclusive_group()
    models.add_argument("--models", action="store_true", help="language models too: 20 minutes")
    models.add_argument("--without-models", dest="models", action="store_false", help="default")
    parser.add_argument("--model-rows", type=int, default=40, help="of a suite, default 40")
    parser.add_argument("--model-minutes", type=float, default=30, help="to ask in, default 30")
    parser.add_argument("--write", action="store_true", help="keep page and figures")
    chosen = parser.parse_args()
    chosen.envs = chosen.envs.resolve()
    return chosen


def offline(
    suites: Mapping[str, Sequence[Row]], chosen: argparse.Namespace
) -> list[dict[str, object]]:
    """Return the figures of the checkers without a language model, and of the baselines."""
    figures = [
        measured(checker, name, rows, chosen.envs)
        for checker in CHECKERS
        if chosen.only in {None, checker.name} and not checker.model
        for name, rows in suites.items()
        if checker.quotes == (name == "quotes")
    ]
    return figures + [
        trivial(name, suite, rows) for name in TRIVIAL for suite, rows in suites.items()
    ]


def by_model(
    suites: Mapping[str, Sequence[Row]], chosen: argparse.Namespace
) -> tuple[list[dict[str, object]], dict[str, Sequence[Row]]]:
    """Return the figures on the rows that go to a language model, and those rows."""
    count = chosen.model_rows
    wanted = [c for c in CHECKERS if c.model or c.name == "veridical"]
    figures, asked = [], {}
    server = LlamaServer(small_model(), long_texts=True)  # starts if a score is missing
    served = Served(server, left_s=60 * chosen.model_minutes)
    try:
        for suite in (name for name in ASKED if name in suites):
            name = f"{suite}, {MODEL_MARK}"
            asked[name] = suites[suite][:count]
            figures += [
                measured(c, name, suites[suite], chosen.envs, served=served, first=count)
                for c in wanted
                if chosen.only in {None, c.name}
            ]
            figures.append(trivial("word overlap", name, asked[name]))
    finally:
        server.kill()
    return figures, asked


if __name__ == "__main__":
    main()
