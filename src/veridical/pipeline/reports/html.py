"""The report as one HTML page: no other file, no network, readable without scripts.

The page runs under a policy that allows its own style and script, by their hash, and nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from veridical.pipeline.reports.meters import WIDTH
from veridical.pipeline.reports.page import to_page
from veridical.pipeline.reports.visible import visible
from veridical.pipeline.reports.words import count

if TYPE_CHECKING:
    from jinja2 import Template

    from veridical.core.assessment import Assessment


def to_html(assessment: Assessment) -> str:
    """Return the page; every text in it is escaped, and made visible where it would steer."""
    css, js = _resource("page.css"), _resource("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(js)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _template().render(
        page=to_page(assessment), policy=policy, css=css, js=js, meter_width=WIDTH
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _resource(name: str) -> str:
    return files("veridical.pipeline.reports").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = count
    return environment.from_string(_resource("page.html.j2"))


def _finalize(value: object) -> object:
    """Make every printed string visible, so that no expression can forget to."""
    if not isinstance(value, str) or hasattr(value, "__html__"):  # a number, or our own markup
        return value
    return visible(value)
