"""Page of proof as Markdown."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from operator import eq, gt
from typing import TYPE_CHECKING

import numpy as np

from _common import CORES, processor, table
from _proof_alarms import at_equal_alarms
from _proof_checkers import ABSENT, CHECKERS, SHARES_ANSWERS
from _proof_measuring import HOW
from veridical.evaluation.metrics import balanced_accuracy
from veridical.evaluation.tables import ratio
from veridical.pipeline.inference.prices import Usage, cost_usd

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from veridical.evaluation.rows import Row

LIMITS = """**Where veridical is not ahead** (200 rows, 2026-11-27). The checkers without a
model take less processor time a claim. Its quotes in the default mode are level with gtrex, and in
mode fuzzy behind it. On answers b, at 10 % false alarms, the length of a claim finds as much as
veridical. On whole answers it is ahead of these peers, and still weak: at 28 % false alarms it
finds half of the unsupported claims.

**What this does not show.** The peers on all rows compare words, without a model. The answers and
the quantities were written so that words mislead: word overlap is below chance on them. Peers with
a language model ran on few rows and with a model that is close to chance: with better models they
may be better than all of these. Figures whose intervals overlap show no lead. A checker with
undetermined rows has its figure on easier or harder rows than the others: the last column is
veridical on just those."""
MODEL_MARK = "language model"
"""In the name of a suite whose rows go to a language model."""
MODELS = """The first rows of two suites once more, for the checkers that ask a language model. All
of them ask SmolLM2-135M-Instruct, 4 bits a weight, by a llama.cpp server on loopback. It is a weak
judge, and the rows are few: their intervals hold nearly everything. The tables tell who runs
offline and at what cost. They are no ranking of methods, which were made for models hundreds of
times as large. veridical (embedded) and word overlap are on exactly the same rows."""
EQUAL = """Share of the unsupported claims that are flagged if the threshold is set so that the
share above the column of the supported ones is: 10 %, 28 %, and as many as veridical flags at its
default. Between two scores the decision is drawn by lot, so that a checker of few scores has a
fair figure. Undetermined rows are left out. The thresholds are set on the same rows, for every
checker alike: at thresholds of practice all would find less."""
COST = """Medians over the suites; the size is that of the environment. The time includes that of
the language model's server, the memory does not."""
PRICED = (
    "Money is reckoned, not measured: 742 tokens a claim, from the page of cost, at the shipped "
    "prices."
)
PROMPTED = Usage(input_tokens=740, output_tokens=2)
"""Tokens of a claim with a language model: 5,196 in 14 requests for 7, by `verification_cost`."""


def page(
    figures: Sequence[dict],
    lengths: Mapping[str, float],
    suites: Mapping[str, Sequence[Row]],
    chosen: argparse.Namespace,
    doc: str,
) -> str:
    """Return the page as Markdown."""
    offline = {name: rows for name, rows in suites.items() if MODEL_MARK not in name}
    asked = {name: rows for name, rows in suites.items() if MODEL_MARK in name}
    lines = ["# Benchmarks", "", doc.strip(), "", "## Quality", "", LIMITS, ""]
    lines += suite_tables(figures, offline)
    if asked:
        lines += ["## With a language model", "", MODELS, "", *suite_tables(figures, asked)]
    lines += ["## At equal false alarms", "", EQUAL, "", *alarm_tables(figures, suites)]
    lines += ["## Cost", "", COST, ""]
    head = ("", "processor ms a claim", "tokens a claim", "peak MB", "MB installed", "import s")
    names = [c.name for c in CHECKERS if any(one["checker"] == c.name for one in figures)]
    lines += table(head, (cost_row(name, figures) for name in names))
    lines += ["## Unfair to whom", ""]
    lines += table(("checker", "note"), [(c.name, c.note) for c in CHECKERS if c.name in names])
    lines += ["## Not measured", "", *table(("name", "reason"), absent(names))]
    lines += ["## A thousand claims", "", PRICED, "", *table(("", "cost"), money_rows(figures))]
    lines += [
        "## Length of the evidence",
        "",
        "One claim of veridical, one source, not read before.",
        "",
    ]
    seconds = ((name, f"{value:.2f}") for name, value in lengths.items())
    lines += table(("source", "processor s"), seconds)
    lines += [
        "## Speed and scale",
        "",
        "Not measured in this run. Each has a page of its own:",
        "",
        *elsewhere(),
    ]
    return "\n".join([*lines, *end(chosen)])


def absent(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return who was not measured, and why."""
    left = [c.name for c in CHECKERS if c.model and c.name not in names]
    return [*ABSENT, *([(", ".join(left), "no language model in this run")] if left else [])]


def suite_tables(figures: Sequence[dict], suites: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return the quality of each checker on each suite."""
    lines = []
    head = ("", "balanced accuracy", "AUROC", "undetermined", "veridical on its rows")
    for suite, rows in suites.items():
        supported = sum(row.supported for row in rows)
        lines += [f"### {suite}", "", f"{len(rows)} rows, {supported} supported.", ""]
        found = [one for one in figures if one["suite"] == suite]
        labels = [row.supported for row in rows]
        lines += table(head, ((*quality_row(o), same_rows(o, found, labels)) for o in found))
        lines += [behind(found), ""]
    return lines


def alarm_tables(figures: Sequence[dict], suites: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return what each checker with a score finds at equal false alarms, and who is ahead."""
    lines = []
    for suite, rows in suites.items():
        found = [one for one in figures if one["suite"] == suite]
        shares = at_equal_alarms(found, [row.supported for row in rows], HOW)
        cells = [
            (one["checker"], *(alarm_cell(one["found"][name]) for name in shares))
            for one in found
            if "found" in one
        ]
        lines += [f"### {suite}: found at", "", *table(("", *shares), cells)]
        lines += [ahead_at(found, shares), ""]
    return lines


def alarm_cell(found: list[float] | None) -> str:
    """Return a share found with its interval."""
    return cell(found[0], found[1:]) if found else ""


def ahead_at(found: Sequence[dict], shares: Mapping[str, float]) -> str:
    """Return a sentence for each share that names who finds more than veridical."""
    ours, *others = [one for one in found if "found" in one] or [None]
    if ours is None or not ours["checker"].startswith("veridical"):
        return "veridical was not measured here."
    return " ".join(
        f"Ahead of veridical at {name}: {', '.join(names_above(ours, others, name)) or 'none'}."
        for name in shares
    )


def names_above(ours: dict, others: Sequence[dict], share: str) -> list[str]:
    """Return the checkers that find more at a share of false alarms."""
    if ours["found"][share] is None:
        return []
    least = ours["found"][share][0]
    return [o["checker"] for o in others if o["found"][share] and o["found"][share][0] > least]


def quality_row(one: dict) -> tuple[object, ...]:
    """Return the row of a checker on a suite."""
    if "failed" in one:
        return one["checker"], one["failed"], "", ""
    cells = (cell(one[m], one[f"{m}_interval"]) for m in ("balanced_accuracy", "auroc"))
    return one["checker"], *cells, one["undetermined"]


def same_rows(one: dict, found: Sequence[dict], labels: list[bool]) -> str:
    """Return veridical's balanced accuracy on the rows that another checker determines."""
    ours = found[0].get("flags")
    if ours is None or None not in one.get("flags", ()) or one is found[0]:
        return ""
    both = [
        i for i, (a, b) in enumerate(zip(ours, one["flags"], strict=True)) if None not in (a, b)
    ]
    flagged = np.array([ours[i] for i in both], dtype=bool)
    positive = np.array([labels[i] for i in both], dtype=bool)
    return f"{ratio(balanced_accuracy(~flagged, positive))}, {len(both)} rows"


def cell(value: float | None, ends: list[float] | None) -> str:
    """Return a figure with its interval."""
    return f"{ratio(value)} ({ratio(ends[0])}–{ratio(ends[1])})" if ends else ratio(value)


def behind(found: Sequence[dict]) -> str:
    """Return a sentence that names who is ahead of veridical, by either metric."""
    ours = next((one for one in found if one["checker"].startswith("veridical")), None)
    if ours is None or "failed" in ours:
        return "veridical was not measured here."
    others = [other for other in found if other is not ours and "failed" not in other]
    ahead, level = (
        [
            f"{other['checker']} ({label})"
            for metric, label in (("balanced_accuracy", "balanced accuracy"), ("auroc", "AUROC"))
            for other in others
            if None not in (other[metric], ours[metric]) and compares(other[metric], ours[metric])
        ]
        for compares in (gt, eq)
    )
    parts = [f"Ahead of veridical: {', '.join(ahead) or 'none'}."]
    unknown = [other["checker"] for other in others if other["auroc"] is None]
    parts += [f"Level with it: {', '.join(level)}."] if level else []
    parts += [f"Without a figure: {', '.join(unknown)}."] if unknown else []
    return " ".join(parts)


def cost_row(name: str, figures: Sequence[dict]) -> tuple[object, ...]:
    """Return the medians of a checker's cost."""
    found = [one for one in figures if one["checker"] == name and "failed" not in one]
    if not found:
        return name, "failed", "", "", "", ""
    keys = ("cpu_ms", "tokens", "peak_mb", "install_mb", "import_s")
    cpu, tokens, peak, size, imported = (np.median([one[key] for one in found]) for key in keys)
    asked = ("cached", "cached") if name in SHARES_ANSWERS else (f"{cpu:.1f}", f"{tokens:.0f}")
    return name, *asked, f"{peak:.0f}", f"{size:.0f}", f"{imported:.2f}"


def money_rows(figures: Sequence[dict]) -> list[tuple[str, str]]:
    """Return the cost of a thousand claims: processor time, or tokens times their price."""
    found = [one["cpu_ms"] for one in figures if one["checker"] == "veridical" and "cpu_ms" in one]
    rows = [("embedded verifier", f"{np.median(found):.0f} processor seconds")] if found else []

    return rows + [(model, priced(model)) for model in ("gpt-4o-mini", "gpt-6-luna", "gpt-4.1")]


def priced(model: str) -> str:
    """Return the price of a thousand claims by a model, or that it has none."""
    cost = cost_usd(model, PROMPTED)
    return "no price" if cost is None else f"${1000 * cost:.2f}, reckoned"


def elsewhere() -> list[str]:
    """Return where stages, scaling and money are measured."""
    names = {
        "scaling": "every stage beside its bare limit; claims, callers, one call before and after",
        "batch": "processes, memory of a data set",
        "batch_ray": "a data set on Ray",
        "throughput": "`check` beside the bare ONNX session",
        "quotes": "quotes beside rapidfuzz",
        "latency": "claims",
        "large_source": "evidence of 10 MB",
        "bounds": "growth with the size of answers and sources",
        "service_load": "concurrent requests",
        "verification_cost": "tokens and prices by backend",
    }
    rows = [(text, f"[{name}](../benchmarks/results/{name}.md)") for name, text in names.items()]
    return table(("of", "page"), rows)


def end(chosen: argparse.Namespace) -> list[str]:
    """Return the command, the date and the machine."""
    models = f" --models --model-rows {chosen.model_rows}" if chosen.models else ""
    return [
        f"`.venv/bin/python benchmarks/proof.py --envs DIR --rows {chosen.rows}{models} --write`,",
        f"{datetime.now(UTC):%Y-%m-%d}, {processor()}, {CORES} cores,",
        f"Python {platform.python_version()}.",
        f"Load of the machine at the end: {os.getloadavg()[0]:.1f}.",
        "",
    ]
