"""Tables, Markdown and JSON of the figures on whole answers."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from veridical.evaluation.bootstrap import LEVEL
from veridical.evaluation.document import backend_document, rounded, rounded_interval
from veridical.evaluation.tables import NONE, Table, printable, ratio, with_interval

if TYPE_CHECKING:
    from rich.console import Console

    from veridical.core.printing import Document
    from veridical.evaluation.answer_results import AnswerEvaluation, AnswerScores, Groups

SCHEMA = "veridical.eval_answers/1"
TITLE = "Detection on whole answers"
DEFINITIONS = (
    "Detection: share of the unsupported claims that are flagged.",
    "False alarms: share of the supported claims that are flagged.",
    "Flags right: share of the flagged claims that are unsupported.",
    "Sound answers pass: share of the wholly sound answers without a flag.",
    "Pass with errors removed: share of all answers in which no supported claim is flagged.",
    "A claim in whose place nothing was checked passes; it counts as not extracted.",
    "Intervals are 95 % percentile bootstraps; answers are drawn, with all their claims.",
)
SHOWN = (
    ("detection", "detection"),
    ("false_alarms", "false alarms"),
    ("flags_right", "flags right"),
    ("sound_pass", "sound answers pass"),
    ("errors_removed_pass", "pass with errors removed"),
    ("auroc", "AUROC"),
    ("overlap_auroc", "AUROC of word overlap"),
)
SURE = (
    ("sure_detection", "detection"),
    ("sure_false_alarms", "false alarms"),
    ("sure_flags_right", "flags right"),
    ("sure_passes_right", "passes right"),
    ("sure_sound_pass", "sound answers pass"),
    ("sure_errors_removed_pass", "pass with errors removed"),
)


def answer_tables(evaluation: AnswerEvaluation) -> tuple[Table, ...]:
    """Return every table of the report on whole answers."""
    return (
        _totals(evaluation),
        _groups("By kind of text", "kind", evaluation.by_kind),
        _groups("By length of the claim, in characters", "length", evaluation.by_length),
        *([_errors(evaluation.by_error)] if evaluation.by_error else []),
    )


def _totals(evaluation: AnswerEvaluation) -> Table:
    total, intervals = evaluation.total, evaluation.intervals

    def row(label: str, everything: str | None, sure: str | None) -> tuple[str, ...]:
        cells = (
            NONE if name is None else with_interval(getattr(total, name), intervals[name])
            for name in (everything, sure)
        )
        return (label, *cells)

    sure = {label: name for name, label in SURE}
    rows = [row(label, name, sure.pop(label, None)) for name, label in SHOWN]
    rows += [row(label, None, name) for label, name in sure.items()]
    title = f"{TITLE}: {total.answers} answers, {total.claims} claims, {total.unsupported} wrong"
    return Table(title, ("", "all verdicts", "sure verdicts only"), tuple(rows))


def _groups(title: str, first: str, groups: Groups) -> Table:
    columns = (first, "claims", *(label for _, label in SHOWN), "sure flags right", "sure pass")
    rows = tuple((printable(name), *_cells(scores)) for name, scores in groups.items())
    return Table(title, columns, rows)


def _cells(scores: AnswerScores) -> tuple[str, ...]:
    figures = [ratio(getattr(scores, name)) for name, _ in SHOWN]
    sure = (ratio(scores.sure_flags_right), ratio(scores.sure_errors_removed_pass))
    return (str(scores.claims), *figures, *sure)


def _errors(groups: Groups) -> Table:
    rows = tuple(
        (printable(name), str(one.claims), ratio(one.detection), ratio(one.sure_detection))
        for name, one in groups.items()
    )
    return Table("By kind of error", ("error", "claims", "detection", "sure detection"), rows)


def coverage_note(evaluation: AnswerEvaluation) -> str:
    """Return how many claims the figures leave out or never met, in one sentence."""
    total = evaluation.total
    return (
        f"Claims that are undetermined and in no figure: {total.undetermined}. "
        f"Claims that were not extracted and pass: {total.not_extracted}. "
        f"Sure flags: {total.sure_flags}. Sure passes: {total.sure_passes}."
    )


def render_answers(evaluation: AnswerEvaluation, console: Console) -> None:
    """Print the tables and their coverage."""
    from rich.text import Text

    from veridical.evaluation.terminal import rich_table

    for table in answer_tables(evaluation):
        console.print(rich_table(table))
        console.print()
    for note in (coverage_note(evaluation), *DEFINITIONS):
        console.print(Text(note))


def answers_to_markdown(evaluation: AnswerEvaluation) -> str:
    """Return the report as Markdown with pipe tables."""
    from veridical.evaluation.pages import plain

    lines = [f"# {TITLE}", "", plain(coverage_note(evaluation))]
    for table in answer_tables(evaluation):
        heads = " | ".join(plain(column) for column in table.columns)
        lines += ["", f"## {plain(table.title)}", "", f"| {heads} |"]
        lines.append("|---|" + "---:|" * (len(table.columns) - 1))
        lines += [f"| {' | '.join(plain(cell) for cell in row)} |" for row in table.rows]
    lines += ["", "## Definitions", "", *(f"- {plain(one)}" for one in DEFINITIONS)]
    return "\n".join(lines) + "\n"


def answers_to_json(evaluation: AnswerEvaluation) -> str:
    """Return the document `veridical.eval_answers/1` as JSON text."""
    document = {
        "schema": SCHEMA,
        "backend": backend_document(evaluation.backend),
        "policy": asdict(evaluation.policy),
        "sample": {"limit": evaluation.limit, "seed": evaluation.resampling.seed},
        "bootstrap": {"replicates": evaluation.resampling.replicates, "level": LEVEL},
        "files": list(evaluation.files),
        "total": {
            **_figures(evaluation.total),
            "intervals": {k: rounded_interval(v) for k, v in evaluation.intervals.items()},
        },
        "by_kind": {name: _figures(one) for name, one in evaluation.by_kind.items()},
        "by_length": {name: _figures(one) for name, one in evaluation.by_length.items()},
        "by_error": {name: _figures(one) for name, one in evaluation.by_error.items()},
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def _figures(scores: AnswerScores) -> Document:
    values = asdict(scores).items()
    return {name: rounded(v) if isinstance(v, float) else v for name, v in values}
