"""Templates of HTML pages that need no other file and no network.

A page runs under a policy that allows its own style and script, by their hash, and nothing else.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from veridical.core.status_table import STATUS_TABLE
from veridical.pipeline.reports.escaping import visible
from veridical.pipeline.reports.phrases import count, tones

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Template

    from veridical.core.status_table import Status


def content_policy(css: str, js: str | None = None) -> str:
    """Return the Content-Security-Policy of a page with this style and, if any, this script."""
    script = "" if js is None else f"script-src '{_digest(js)}'; "
    return (
        f"default-src 'none'; style-src '{_digest(css)}'; {script}"
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def resource(package: str, name: str) -> str:
    """Return the text of a file of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


SHARED_MODULES = ("dom.js", "markdown_inline.js", "markdown.js", "markdown_elements.js")
"""Modules of JavaScript in this package that the page of the service uses as well."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const|function|class)", re.MULTILINE)


@cache
def script(modules: Sequence[str]) -> str:
    """Return modules of this package as one script; each comes after those that it imports."""
    texts = (resource("veridical.pipeline.reports", name) for name in modules)
    joined = "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)
    return f'"use strict";\n(() => {{\n{joined}}})();\n'


@cache
def page_style() -> str:
    """Return the style of the report's page: the colours of the tones, then `page.css`."""
    return _tones() + resource("veridical.pipeline.reports", "page.css")


def _tones() -> str:
    colours = {status: row.colours for status, row in STATUS_TABLE.items()}
    light = " ".join(_inks(each, of.light, of.light_tint) for each, of in colours.items())
    dark = " ".join(_inks(each, of.dark, of.dark_tint) for each, of in colours.items())
    rules = "\n".join(_rule(each, of.underline) for each, of in colours.items())
    in_the_dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return f":root {{ {light} }}\n{in_the_dark}\n{rules}\n"


def _inks(status: Status, ink: str, tint: str) -> str:
    return f"--{status}: {ink}; --{status}-tint: {tint};"


def _rule(status: Status, underline: str) -> str:
    names = ", ".join(f".t-{tone}" for tone in tones(status))
    inks = f"--tone: var(--{status}); --tint: var(--{status}-tint)"
    return f"{names} {{ {inks}; --rule: {underline}; }}"


@cache
def template(package: str, name: str) -> Template:
    """Return a template of a package, with its values escaped and control characters shown."""
    environment = Environment(
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = count
    return environment.from_string(resource(package, name))


def _finalize(value: object) -> object:
    """Make every printed string visible, so that no expression can forget to."""
    if not isinstance(value, str) or hasattr(value, "__html__"):  # a number, or our own markup
        return value
    return visible(value)
