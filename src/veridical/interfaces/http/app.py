"""ASGI application: routes, middleware, start and end."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.gzip import GZipMiddleware

from veridical.interfaces.http import (
    access,
    errors,
    job_routes,
    memory_routes,
    operations,
    replies,
    report_routes,
    routes,
)
from veridical.interfaces.http.auth import Scope
from veridical.interfaces.http.login import build_login_router
from veridical.interfaces.http.middleware import RequestMiddleware
from veridical.interfaces.http.page import build_page_router
from veridical.interfaces.http.service import Service

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from veridical.core.ports import Backend
    from veridical.settings import Settings
    from veridical.telemetry import Sink

_ABOUT = """Checks what a language model says against the evidence it was given, claim by claim.

Errors are problem documents (RFC 9457). With keys, send `Authorization: Bearer KEY`. When there is
too much to do the answer is 429 with `Retry-After`. `x-request-id` is in every answer, and in the
logs; you may send your own.
"""

COMPRESSED_FROM = 2048
"""Bytes of an answer from which on it is compressed, if the client takes that; streams are not."""
_FRAMEWORK_TELEMETRY: Any = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""Our spans are enough, and the framework's records of errors quote requests."""

_EXPOSED = (
    "x-request-id",
    "x-veridical-report",
    "x-veridical-outcome",
    "x-veridical-flagged",
    "x-veridical-action",
    "x-veridical-reason",
    "x-veridical-failing",
    "x-veridical-next",
    "location",
    # Of ours, or of the upstream: clients wait by them.
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    *(
        f"x-ratelimit-{what}-{unit}"
        for what in ("limit", "remaining", "reset")
        for unit in ("requests", "tokens")
    ),
)


def create_app(
    settings: Settings, *, backend: Backend | None = None, sinks: Sequence[Sink] = ()
) -> FastAPI:
    """Return the service as an ASGI app; its `state.service` holds the parts.

    `backend` overrides the one of the settings, `sinks` receive events besides logs and metrics.
    `ConfigurationError` if the settings describe no backend or no keys.
    """
    service = Service(settings, backend=backend, sinks=sinks)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="veridical",
        version=version("veridical"),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's load scripts of another host; see `api_docs`
        redoc_url=None,
        telemetry=_FRAMEWORK_TELEMETRY,
    )
    app.state.service = service
    errors.install(app)
    app.add_exception_handler(access.NotAllowedError, access.refuse)
    _add_routes(app, service)
    _add_middleware(app, service)
    setattr(app, "openapi", lambda: _openapi(app))  # noqa: B010 -- as FastAPI's documentation has it, in words that mypy takes
    return app


def _add_routes(app: FastAPI, service: Service) -> None:
    app.include_router(routes.checks)
    app.include_router(report_routes.page_routes)
    app.include_router(memory_routes.memory)
    app.include_router(job_routes.jobs)
    app.include_router(operations.operations)
    app.include_router(build_page_router())
    app.include_router(build_login_router(service.authentication.provider))
    if service.settings.server.docs:
        from veridical.interfaces.http.api_docs import build_docs_router

        app.include_router(build_docs_router())
    _add_proxy(app, service)


def _add_middleware(app: FastAPI, service: Service) -> None:
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_FROM, compresslevel=5)
    app.add_middleware(RequestMiddleware, service=service)
    if service.settings.server.origins:
        from starlette.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware,
            allow_origins=service.settings.server.origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],  # clients of models send many of their own; no cookie is sent
            expose_headers=_EXPOSED,
        )


def _add_proxy(app: FastAPI, service: Service) -> None:
    """Add the verifying proxy; without an upstream its routes name the missing setting."""
    from veridical.interfaces.http.proxy import build_proxy_router

    router = build_proxy_router(
        service.output,
        service.settings,
        dependencies=[Depends(access.needs(Scope.CHECK)), Depends(access.proxy_slot)],
        # With keys of its own, `Authorization` holds one of them, and no upstream may get it.
        forward_authorization=service.keyring.open,
        telemetry=service.telemetry,
    )
    app.include_router(router, responses=replies.problems(401, 403, 413, 421, 429, 500))


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the service, with every status that it answers."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for path, methods in schema["paths"].items():
            for operation in methods.values():
                if path.startswith("/v1") or path == "/metrics":
                    operation["security"] = [{"bearer": []}, {"key": []}, {}]
        app.openapi_schema = replies.with_components(schema)
    return app.openapi_schema
