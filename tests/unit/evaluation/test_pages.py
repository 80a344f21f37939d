from __future__ import annotations

import io
import sys
from collections.abc import Callable
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from veridical.core.verdicts import Status
from veridical.evaluation.harness import Measured
from veridical.evaluation.metrics import auroc
from veridical.evaluation.pages import to_html, to_markdown
from veridical.evaluation.plots import MISSING, plots, roc_curve
from veridical.evaluation.results import Evaluation
from veridical.evaluation.terminal import render

Make = Callable[..., Measured]
Evaluate = Callable[..., Evaluation]
YES, NO = (True, Status.SUPPORTED, 0.9), (False, Status.UNSUPPORTED, 0.2)
MISSED = (False, Status.SUPPORTED, 0.8)
HOSTILE = "<script>|`$x_\u202e\x1b[31m.jsonl"


@pytest.fixture
def sample(measured: Make, evaluation: Evaluate) -> Evaluation:
    return evaluation(measured("first.jsonl.gz", YES, NO, MISSED), measured(HOSTILE, YES, NO))


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def terminal(sample: Evaluation, width: int = 80) -> str:
    out = io.StringIO()
    render(sample, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("show", [to_html, to_markdown, terminal])
def test_the_baselines_stand_beside_the_verifier(
    sample: Evaluation, show: Callable[[Evaluation], str]
) -> None:
    page = show(sample)
    for word in (
        "AUROC",
        "recall",
        "verifier",
        "length",
        "overlap",
        "claim only",
        "constant",
        "mean",
    ):
        assert word in page


@pytest.mark.parametrize("show", [to_html, to_markdown, terminal])
def test_a_file_name_does_not_steer(sample: Evaluation, show: Callable[[Evaluation], str]) -> None:
    page = show(sample)
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert show is terminal or "<script>" not in page.replace("\\<", "")


def test_markdown_tables_have_as_many_cells_as_heads(sample: Evaluation) -> None:
    page = to_markdown(sample).replace("\\|", "")
    for table in [part for part in page.split("\n\n") if part.startswith("| ")]:
        assert len({line.count("|") for line in table.splitlines()}) == 1


@pytest.mark.parametrize("show", [to_html, to_markdown])
def test_reports_hold_their_plots_and_repeat(
    sample: Evaluation, show: Callable[[Evaluation], str]
) -> None:
    page = show(sample)
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "://" not in page.split("base64", maxsplit=1)[0]
    assert show(sample) == page


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_report_says_what_to_install(sample: Evaluation) -> None:
    assert MISSING in to_markdown(sample)
    assert "pip install" in to_html(sample)


def test_the_plots_are_svg_with_a_text_for_each(sample: Evaluation) -> None:
    drawn = plots(sample)
    assert drawn is not None
    assert [plot.name for plot in drawn] == ["roc", "reliability"]
    for plot in drawn:
        assert ET.fromstring(plot.svg).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 -- ours
        assert plot.alt


def test_many_files_are_drawn_as_their_mean(measured: Make, evaluation: Evaluate) -> None:
    drawn = plots(evaluation(*(measured(f"{n}.jsonl", YES, NO) for n in range(9))))
    assert drawn is not None
    assert b"mean of 9 files" in drawn[0].svg


def test_what_was_not_measured_is_not_drawn(measured: Make, evaluation: Evaluate) -> None:
    nothing = evaluation(measured("a.jsonl", (True, Status.UNDETERMINED, None)))
    assert plots(nothing) == ()
    assert "<img" not in to_html(nothing)
    assert "–" in terminal(nothing)


def test_the_area_under_the_curve_is_the_auroc() -> None:
    rng = np.random.default_rng(1)
    scores, labels = np.round(rng.random(80), 1), rng.random(80) < 0.4
    curve = roc_curve(scores, labels)
    assert curve is not None
    assert np.trapezoid(curve.true, curve.false) == pytest.approx(auroc(scores, labels))


def test_one_class_has_no_curve() -> None:
    assert roc_curve(np.array([0.1, 0.2]), np.array([True, True])) is None


def test_one_file_needs_no_mean(measured: Make, evaluation: Evaluate) -> None:
    assert "| mean |" not in to_markdown(evaluation(measured("a.jsonl", YES, NO)))
