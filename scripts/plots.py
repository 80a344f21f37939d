"""The plots of the documentation as SVG, out of the program and the card of its weights.

python scripts/plots.py            # writes docs/images/*.svg; needs the extra `plots`
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

import veridical
from veridical import budget_gap_bits, required_bits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

mpl.use("svg")
mpl.rcParams |= {"svg.hashsalt": "veridical", "svg.fonttype": "path", "font.size": 9}

FOLDER = Path(__file__).parents[1] / "docs" / "images"
TARGET = 0.95
BLUE, ORANGE, GREY = "#3f51b5", "#c75000", "#888888"


def bits() -> Figure:
    """Return the bits against the probabilities, for the default target."""
    figure, (left, right) = _axes(2)
    p = np.linspace(0.001, 0.999, 400)
    left.plot(p, [required_bits(TARGET, one) for one in p], color=BLUE)
    left.set(xlabel="p0", ylabel="required bits", title=f"to reach {TARGET}")
    for p0, colour in ((0.5, BLUE), (0.1, ORANGE)):
        gaps = [budget_gap_bits(TARGET, p0, one) for one in p]
        right.plot(p, gaps, color=colour, label=f"p0 = {p0}")
    right.axhline(0, color=GREY, linewidth=0.8)
    right.set(xlabel="p1", ylabel="budget gap, bits", title="0 or less: paid for")
    right.legend(frameon=False)
    return figure


def reliability() -> Figure:
    """Return the reliability table of the weights that ship, beside the diagonal."""
    figure, (axes,) = _axes(1)
    table = card()["calibration"]["reliability"]
    edges = np.linspace(0, 1, len(table) + 1)
    for low, high, (least, most) in zip(edges, edges[1:], table, strict=False):
        axes.fill_between([low, high], least, most, color=BLUE, alpha=0.5, linewidth=0)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    axes.set(xlabel="P(supported)", ylabel="share truly supported", xlim=(0, 1), ylim=(0, 1))
    return figure


def card() -> dict[str, Any]:
    """Return the card of the weights that ship."""
    model = veridical.check("It is.", {"S1": "It is."}).to_dict()["backend"]["model"]
    (path,) = Path(veridical.__file__).parent.rglob(f"{model}.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def described() -> str:
    """Return what the file of the reliability plot says of its data."""
    return json.dumps(
        {"model": card()["name"], "reliability": card()["calibration"]["reliability"]}
    )


def _axes(count: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * count, 2.8), layout="constrained")
    found = list(np.atleast_1d(figure.subplots(1, count)))
    for axes in found:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, found


def main() -> None:
    """Write the plots; the same program writes the same files."""
    for plot, says in ((bits, None), (reliability, described())):
        metadata = {"Date": None, "Description": says}
        path = FOLDER / f"{plot.__name__}.svg"
        plot().savefig(path, metadata=metadata, facecolor="white")


if __name__ == "__main__":
    main()
