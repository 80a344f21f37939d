"""The page at `/`: files of this package, served as they are, for a browser without a network.

    app.include_router(build_page_router())

Its words are those of the reports (`/page/words.json`), and so is its style (`/page/report.css`,
with `/page/style.css` on top of it). The page itself holds nothing secret and asks for no key.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Header
from fastapi.responses import Response

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.pipeline.reports import phrases
from veridical.pipeline.reports.formats import FORMATS
from veridical.pipeline.reports.templates import SHARED_MODULES, page_style

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
}
_NOT_UNDER_PAGE = frozenset({"index.html", "__init__.py"})

# The report as it came, and the view of it that is open.
_MADE_BY_THE_PAGE = frozenset({"json", "html"})

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy: own files only, nothing inline, no other host."""

PAGE_HEADERS: Mapping[str, str] = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Headers of each answer of the page; `no-cache` means: ask first whether it changed."""


def build_page_router() -> APIRouter:
    """Return the routes of the page: `GET /` and one for each of its files."""
    router = APIRouter(include_in_schema=False)

    def add(path: str, content: bytes, media_type: str) -> None:
        async def serve(if_none_match: Annotated[str | None, Header()] = None) -> Response:
            return _answer(content, media_type, if_none_match)

        router.add_api_route(path, serve, methods=["GET", "HEAD"], response_class=Response)

    add("/", _read("veridical.interfaces.http.page", "index.html"), _TYPES["html"])
    for name in page_files():
        content = _read(_package(name), name)
        add(f"/page/{name}", content, _TYPES[name.rpartition(".")[2]])
    add("/page/report.css", page_style().encode(), _TYPES["css"])
    add("/page/words.json", vocabulary(), "application/json")
    return router


@cache
def page_files() -> tuple[str, ...]:
    """Return the names of the files under `/page/`: scripts, styles and data.

    They are those of this package, and the scripts that exported reports use as well.
    """
    own = {file.name for file in files("veridical.interfaces.http.page").iterdir()}
    names = own | {*SHARED_MODULES}
    known = {name for name in names if name.rpartition(".")[2] in _TYPES}
    return tuple(sorted(known - _NOT_UNDER_PAGE))


def _package(name: str) -> str:
    shared = name in SHARED_MODULES
    return "veridical.pipeline.reports" if shared else "veridical.interfaces.http.page"


def _answer(content: bytes, media_type: str, known: str | None) -> Response:
    tag = f'"{sha256(content).hexdigest()[:24]}"'
    headers = {**PAGE_HEADERS, "etag": tag}
    if known is not None and tag in known:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


@cache
def _read(package: str, name: str) -> bytes:
    return files(package).joinpath(name).read_bytes()


@cache
def vocabulary() -> bytes:
    """Return the words of the reports as JSON, so that the page says the same things."""
    words_of_reports = {
        "looks": {
            str(tone): {"label": look.label, "mark": look.mark, "meaning": look.meaning}
            for tone, look in phrases.LOOKS.items()
        },
        "urgency": phrases.URGENCY,
        "notes": phrases.NOTES,
        "unmeasured": {why.value: phrases.unmeasured(Unmeasured(why)) for why in UnmeasuredReason},
        "formats": {
            form.name: {"label": form.help, "suffix": form.suffix, "type": form.media_type}
            for form in FORMATS.values()
            if form.name not in _MADE_BY_THE_PAGE
        },
    }
    return json.dumps(words_of_reports, ensure_ascii=False).encode()
