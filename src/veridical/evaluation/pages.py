"""Evaluation as Markdown and as one HTML page, both self-contained with their plots."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from veridical.evaluation.notes import DEFINITIONS, notes
from veridical.evaluation.plots import MISSING, Plot, plots
from veridical.evaluation.tables import MEAN, tables

if TYPE_CHECKING:
    from veridical.evaluation.results import Evaluation

SPECIAL = "\\`*_{}[]<>#|&~$"
TITLE = "Detection quality"


def to_html(evaluation: Evaluation) -> str:
    """Return the page; every text in it is escaped, and it may load nothing."""
    css = _resource("page.css")
    digest = b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    return _render("page.html.j2", evaluation, css=css, policy=policy, escaped=True)


def to_markdown(evaluation: Evaluation) -> str:
    """Return the report as Markdown with pipe tables."""
    return _render("page.md.j2", evaluation, escaped=False)


def _render(template: str, evaluation: Evaluation, *, escaped: bool, **more: str) -> str:
    environment = Environment(
        autoescape=escaped,  # noqa: S701 -- Markdown is escaped by the filter `plain`
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(plain=plain, data_uri=data_uri)
    return environment.from_string(_resource(template)).render(
        title=TITLE,
        notes=notes(evaluation),
        definitions=DEFINITIONS,
        tables=tables(evaluation),
        mean=MEAN,
        plots=plots(evaluation),
        missing=MISSING,
        **more,
    )


def plain(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in SPECIAL else c for c in text)


def data_uri(plot: Plot) -> str:
    """Return the picture as a data URI."""
    return f"data:image/svg+xml;base64,{b64encode(plot.svg).decode()}"


@cache
def _resource(name: str) -> str:
    return files("veridical.evaluation").joinpath(name).read_text(encoding="utf-8")
