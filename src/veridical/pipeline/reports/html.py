"""The report as one HTML page: no other file, no network, readable without scripts.

A script draws the answer's Markdown, with the modules of the service's page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.cancellation import in_pieces
from veridical.core.status_table import STATUS_TABLE
from veridical.pipeline.reports.meters import WIDTH
from veridical.pipeline.reports.page import to_page
from veridical.pipeline.reports.templates import (
    SHARED_MODULES,
    content_policy,
    page_style,
    script,
    template,
)

if TYPE_CHECKING:
    from veridical.core.assessment import Assessment


_PACKAGE = "veridical.pipeline.reports"
_MODULES = (*SHARED_MODULES, "markdown_answer.js", "page.js")
_MOST_IN_NOTEBOOK = 50


def to_html(assessment: Assessment) -> str:
    """Return the page; every text in it is escaped, its control characters made visible."""
    css, js = page_style(), script(_MODULES)
    return in_pieces(
        template(_PACKAGE, "page.html.j2").generate(
            page=to_page(assessment),
            policy=content_policy(css, js),
            css=css,
            js=js,
            meter_width=WIDTH,
        )
    )


def to_fragment(assessment: Assessment) -> str:
    """Return the headline and the claims to look at as elements for a notebook's output.

    It has no script, no style sheet and no address; every text in it is escaped.
    """
    return in_pieces(
        template(_PACKAGE, "notebook.html.j2").generate(
            page=to_page(assessment),
            colours={status: row.colours.light for status, row in STATUS_TABLE.items()},
            most=_MOST_IN_NOTEBOOK,
        )
    )
