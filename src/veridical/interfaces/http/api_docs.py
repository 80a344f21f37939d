"""Interactive API documentation at `/docs`: Swagger UI from a package, without a network.

It reads `/openapi.json` and calls this service only. Like the page at `/` it holds nothing secret.
"""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import Response

from veridical.errors import MissingExtraError
from veridical.interfaces.http.page import PAGE_HEADERS

_FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

# React sets styles of elements, which only 'unsafe-inline' allows; scripts stay files.
_POLICY = PAGE_HEADERS["content-security-policy"].replace(
    "style-src 'self'", "style-src 'self' 'unsafe-inline'"
)
_HEADERS = {**PAGE_HEADERS, "content-security-policy": _POLICY}

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>veridical: HTTP API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
"""

_START = """SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
});
"""


def build_docs_router() -> APIRouter:
    """Return the routes of `/docs`; `MissingExtraError` without Swagger UI's package."""
    try:
        folder = files("fastapi_swagger.resources")
    except ModuleNotFoundError:
        msg = "server.docs needs the package fastapi-swagger"
        raise MissingExtraError(msg, hint="pip install 'veridical[server]'") from None
    router = APIRouter(include_in_schema=False)
    _add(router, "/docs", _PAGE.encode(), "text/html")
    _add(router, "/docs/start.js", _START.encode(), "text/javascript")
    for name, media_type in _FILES.items():
        _add(router, f"/docs/{name}", folder.joinpath(name).read_bytes(), media_type)
    return router


def _add(router: APIRouter, path: str, content: bytes, media_type: str) -> None:
    async def serve() -> Response:
        return Response(content, media_type=media_type, headers=_HEADERS)

    router.add_api_route(path, serve, methods=["GET", "HEAD"], response_class=Response)
