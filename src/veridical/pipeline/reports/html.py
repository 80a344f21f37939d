"""The report as one HTML page: no other file, no network, readable without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.cancellation import in_pieces
from veridical.pipeline.reports.meters import WIDTH
from veridical.pipeline.reports.page import to_page
from veridical.pipeline.reports.templates import content_policy, page_style, resource, template

if TYPE_CHECKING:
    from veridical.core.assessment import Assessment


_PACKAGE = "veridical.pipeline.reports"


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
