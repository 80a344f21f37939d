"""ROC curves and the reliability diagram as SVG, if matplotlib is installed (extra `plots`)."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.evaluation import metrics
from veridical.evaluation.tables import pooled, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from veridical.evaluation.metrics import Flags, Floats
    from veridical.evaluation.results import Evaluation

MISSING = "The plots need matplotlib: pip install 'veridical[plots]'"
SIZE = (4.6, 4.4)
MOST_NAMED = 8
"""Curves that a legend can tell apart; more are drawn thin and without names."""

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "veridical",  # or the ids in the file would be random
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
INK, ACCENT, FAINT = "#333333", "#0b6e99", "#9a9a9a"


@dataclass(frozen=True, slots=True)
class Plot:
    """Picture with its alternative text."""

    name: str
    alt: str
    svg: bytes


@dataclass(frozen=True, slots=True)
class Curve:
    """ROC curve: the shares of claims called supported from each score on, falling."""

    false: Floats
    true: Floats


def plots(evaluation: Evaluation) -> tuple[Plot, ...] | None:
    """Return the plots of the available figures; None without matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError:
        return None
    with mpl.rc_context(STYLE):
        drawn = (_roc(evaluation), _reliability(evaluation))
        return tuple(plot for plot in drawn if plot is not None)


# --- ROC -------------------------------------------------------------------------------------


def roc_curve(scores: Floats, supported: Flags) -> Curve | None:
    """Return the curve from (0, 0) to (1, 1), one point per distinct score; None for one class."""
    if supported.all() or not supported.any():
        return None
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.r_[np.diff(scores[order]) < 0, True])
    hits, misses = np.cumsum(supported[order])[ends], np.cumsum(~supported[order])[ends]
    return Curve(np.r_[0.0, misses / misses[-1]], np.r_[0.0, hits / hits[-1]])


def _roc(evaluation: Evaluation) -> Plot | None:
    found = [(f.name, roc_curve(f.points.score, f.points.supported)) for f in evaluation.files]
    curves = {name: curve for name, curve in found if curve is not None}
    if not curves:
        return None
    figure, axes = _square(
        "ROC", "other claims called supported", "supported claims called supported"
    )
    named = len(curves) <= MOST_NAMED
    for name, curve in curves.items():
        label = short(name).replace("$", r"\$") if named else None  # "$" starts a formula
        axes.plot(curve.false, curve.true, linewidth=1.4 if named else 0.5, alpha=0.8, label=label)
    if not named:
        _mean_curve(axes, list(curves.values()))
    axes.legend(loc="lower right", frameon=False, fontsize=7)
    return Plot("roc", f"ROC curves of {len(curves)} files", _svg(figure))


def _mean_curve(axes: Any, curves: Sequence[Curve]) -> None:  # noqa: ANN401 -- untyped in matplotlib
    """Draw the vertical average of the curves (Fawcett 2006)."""
    grid = np.linspace(0, 1, 201)
    mean = np.mean([np.interp(grid, curve.false, curve.true) for curve in curves], axis=0)
    axes.plot(grid, mean, color=INK, linewidth=2, label=f"mean of {len(curves)} files")


# --- reliability -----------------------------------------------------------------------------


def _reliability(evaluation: Evaluation) -> Plot | None:
    probabilities, supported = pooled(evaluation)
    if not supported.size:
        return None
    filled = [
        (one.mean, one.supported, one.count / supported.size)
        for one in metrics.reliability(probabilities, supported)
        if one.mean is not None and one.supported is not None
    ]
    figure, axes = _square("Reliability", "mean P(supported) in the bin", "share supported")
    means, shares, weights = zip(*filled, strict=True)
    axes.bar(means, weights, width=0.06, color=FAINT, alpha=0.5, label="share of claims")
    axes.plot(means, shares, marker="o", color=ACCENT, label="share supported")
    axes.legend(loc="upper left", frameon=False, fontsize=7)
    return Plot("reliability", f"Reliability of {supported.size} claims", _svg(figure))


# --- drawing ---------------------------------------------------------------------------------


def _square(title: str, x: str, y: str) -> tuple[Figure, Any]:
    """Return a figure with unit axes and the diagonal; no global state of pyplot is touched."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot(aspect="equal", xlim=(0, 1), ylim=(0, 1), title=title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.plot([0, 1], [0, 1], color=FAINT, linestyle="--", linewidth=0.8)
    return figure, axes


def _svg(figure: Figure) -> bytes:
    out = BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
