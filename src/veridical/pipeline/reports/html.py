"""The report as one HTML page: no other file, no network, readable without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.cancellation import in_pieces
from veridical.core.status_table import STATUS_TABLE
from veridical.pipeline.reports.meters import WIDTH
from veridical.pipeline.reports.page import to_page
from veridical.pipeline.reports.templates import content_policy, page_style, resource, template

if TYPE_CHECKING:
    from veridical.core.assessment import Assessment


_PACKAGE = "veridical.pipeline.reports"
_MOST_IN_NOTEBOOK = 50


def to_html(assessment: Assessment) -> str:
    """Return the page; every text in it is escaped, its control characters made visible."""
    css, js = page_style(), resource(_PACKAGE, "page.js")
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
