"""`veridical calibrate`: calibration file from feedback, if held-out feedback shows a gain."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.errors import ConfigurationError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import UNDETERMINED, reported, say

if TYPE_CHECKING:
    from veridical.core.measurements import BackendInfo
    from veridical.core.recalibration import Recalibration
    from veridical.feedback import DecisionRule, Metric, NotEnoughFeedback, Refit, SortedLabels
    from veridical.settings import Settings

SCHEMA = "veridical.calibrate/1"
EXAMPLES = """\b
Examples:
  veridical calibrate
  veridical calibrate --out calibration.json
  veridical calibrate --backend openai:gpt-4.1-mini --target threshold --json

\b
Exit codes:
  0  something better was found, on marks that were held out
  2  wrong use or configuration
  3  too little feedback, or nothing better was found: nothing is written
"""


class Target(StrEnum):
    """Target of the calibration."""

    THRESHOLD = "threshold"
    TEMPERATURE = "temperature"
    BOTH = "both"


Backend = Annotated[
    str | None, typer.Option(metavar="NAME[:MODEL]", help="The backend to calibrate.")
]
Change = Annotated[Target, typer.Option("--target", help="The parameters to fit.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the calibration file; keeps its other backends."),
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config


@dataclass(frozen=True, slots=True)
class _Run:
    """Data of a calibration, and its result."""

    info: BackendInfo
    in_force: Recalibration | None
    marks: SortedLabels
    result: Refit | NotEnoughFeedback
    recalibration: Recalibration | None

    @property
    def supported(self) -> int:
        return sum(one.supported for one in self.marks.observations)

    @property
    def grounds(self) -> dict[str, Any]:
        """Data behind the numbers."""
        observations = self.marks.observations
        return {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "marks_supported": self.supported,
            "marks_not_supported": len(observations) - self.supported,
            "reports": len({one.group for one in observations}),
        }


@reported
def calibrate(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    *,
    backend: Backend = None,
    target: Change = Target.BOTH,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Fit a backend's calibration to feedback.

    It changes the support threshold and the temperature. Every figure after the change is measured
    on marks that it was not fitted to.
    """
    from veridical.interfaces.cli.output import ensure_writable, print_json, print_text, write_file
    from veridical.settings import Settings

    settings = Settings.load(config, backend=backend)
    ensure_writable([out] if out else [], [])
    others = _others(out)
    run = _run(settings, target)
    if run.recalibration and out:
        from veridical.core.recalibration import to_document

        document = to_document(run.recalibration, run.grounds, others)
        write_file(out, json_module.dumps(document, indent=2) + "\n")
    if json:
        print_json(json_module.dumps(_document(run, out), indent=2))
    elif not quiet:
        print_text(_page(run, out, settings))
    if run.recalibration is None:
        say("error", _refusal(run.result), "veridical feedback mark REPORT CLAIM right|wrong")
        raise typer.Exit(UNDETERMINED)


def _others(out: Path | None) -> dict[str, Any] | None:
    """Return the entries of the file for other backends."""
    from veridical.wiring.calibrations import read_calibrations

    if out is None or not out.exists():
        return None
    read_calibrations(str(out))  # or it reports the error in the file
    document: dict[str, Any] = json_module.loads(out.read_text(encoding="utf-8"))
    return document


def _run(settings: Settings, target: Target) -> _Run:
    from veridical.feedback import DecisionRule, Refit, refit, sort_labels
    from veridical.feedback.labels import Feedback
    from veridical.wiring.build import build_backend, build_store
    from veridical.wiring.calibrations import calibrations

    plain = settings.model_copy(update={"calibration": None})
    info = build_backend(plain, settings.backend).info
    if info.name == "cascade":
        msg = "a cascade has the thresholds of its backends"
        raise ConfigurationError(msg, hint="Name one of its two backends with --backend")
    in_force = calibrations(settings).get(info.fingerprint)
    marks = sort_labels(Feedback(build_store(settings)).list(), info, in_force)
    policy = settings.to_policy().resolved(in_force.applied(info) if in_force else info)
    before = DecisionRule(
        policy.support_threshold or 0.0,
        policy.contradiction_threshold or 0.0,
        in_force.temperature if in_force else 1.0,
    )
    result = refit(
        marks.observations,
        before,
        threshold=target is not Target.TEMPERATURE,
        temperature=target is not Target.THRESHOLD,
    )
    made = None
    if isinstance(result, Refit) and result.adopted:
        made = _recalibration(info, result.after)
    return _Run(info, in_force, marks, result, made)


def _recalibration(info: BackendInfo, after: DecisionRule) -> Recalibration:
    from veridical.core.recalibration import Recalibration

    return Recalibration(
        info.fingerprint,
        info.name,
        info.model,
        round(after.support_threshold, 6),
        after.temperature,
    )


def _refusal(result: Refit | NotEnoughFeedback) -> str:
    from veridical.feedback import NotEnoughFeedback

    if not isinstance(result, NotEnoughFeedback):
        return "nothing better was found on held-out marks: what is in force stays"
    wanted = (
        (result.supported, "of claims that were truly supported"),
        (result.not_supported, "of claims that were not"),
    )
    needed = " and ".join(f"{n} more {what}" for n, what in wanted if n)
    return f"too little feedback: it takes {needed}"


# --- for a program ---------------------------------------------------------------------------


def _document(run: _Run, out: Path | None) -> dict[str, Any]:
    from veridical.feedback import Refit

    info = run.info
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "backend": {
            "name": info.name,
            "model": info.model,
            "estimator": info.estimator.value,
            "fingerprint": info.fingerprint,
        },
        "adopted": run.recalibration is not None,
        "calibration": asdict(run.recalibration) if run.recalibration else None,
        "file": str(out) if out and run.recalibration else None,
        "marks": run.grounds | {"unused": dict(run.marks.unused)},
        "needed": None,
        "refit": None,
    }
    key = "refit" if isinstance(run.result, Refit) else "needed"
    return document | {key: asdict(run.result)}


# --- for a person ----------------------------------------------------------------------------


def _page(run: _Run, out: Path | None, settings: Settings) -> str:
    from veridical.feedback import Refit

    lines = [*_marks(run)]
    if isinstance(run.result, Refit):
        lines += ["", *_figures(run.result), "", *_gains(run.result)]
    if run.recalibration:
        lines += ["", *_next(out, settings)]
    return "\n".join(lines) + "\n"


def _marks(run: _Run) -> list[str]:
    grounds, unused = run.grounds, run.marks.unused
    lines = [
        f"{run.info.name}, model {run.info.model}, fingerprint {run.info.fingerprint}",
        (
            f"{len(run.marks.observations)} marks on {grounds['reports']} reports: "
            f"{grounds['marks_supported']} claims were truly supported, "
            f"{grounds['marks_not_supported']} were not"
        ),
    ]
    if unused:
        reasons = (f"{n} {reason.value.replace('_', ' ')}" for reason, n in unused.items())
        lines.append(f"not used: {', '.join(reasons)}")
    if run.in_force:
        lines.append("in force now: a calibration; before is with it")
    return lines


def _figures(refit: Refit) -> list[str]:
    """Return the table of figures before and after."""
    before, after = refit.figures_before, refit.figures_after
    rows = [("", "before", "after, held out")]
    rows += [
        (name.replace("_", " "), _figure(getattr(before, name)), _figure(getattr(after, name)))
        for name in ("balanced_accuracy", "false_positive_rate", "recall", "log_loss", "ece")
    ]
    for name in ("support_threshold", "temperature"):
        old, new = getattr(refit.before, name), getattr(refit.after, name)
        rows.append((name.replace("_", " "), f"{old:.3f}", f"{new:.3f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _figure(figure: Metric, sign: str = "") -> str:
    span = figure.interval
    shown = f" [{span.low:{sign}.3f}, {span.high:{sign}.3f}]" if span else ""
    return f"{figure.value:{sign}.3f}{shown}"


def _gains(refit: Refit) -> list[str]:
    """Return the gain by another threshold and temperature, and whether they are adopted."""
    lines = [
        f"{what}: {figure} {_figure(gain, '+')}, {_verdict(gain)}"
        for what, figure, gain in (
            ("another threshold", "balanced accuracy", refit.threshold_gain),
            ("another temperature", "log loss lower by", refit.temperature_gain),
        )
        if gain is not None
    ]
    if not refit.grouped:
        lines.append("few reports: claims of one report were held out apart, which flatters")
    return lines


def _verdict(gain: Metric) -> str:
    clear = gain.interval is not None and gain.interval.low > 0
    return "adopted" if clear else "not adopted: not clearly above 0"


def _next(out: Path | None, settings: Settings) -> list[str]:
    if out is None:
        return ["Nothing is written: give --out FILE to keep it"]
    lines = [f"Written to {out}"]
    from veridical.wiring.calibrations import calibration_file

    in_force = calibration_file(settings, settings.store.project)
    if in_force is None or Path(in_force) != out:
        lines.append(f"Set calibration: {out} (or VERIDICAL_CALIBRATION={out}) to put it in force")
    if settings.policy.support_threshold is not None:
        lines.append("policy.support_threshold is set and wins over it: unset it")
    return lines
