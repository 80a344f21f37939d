"""Access control and access to the service: dependencies of the routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from veridical.interfaces.http.errors import response
from veridical.interfaces.http.service import Service

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from fastapi.responses import Response

    from veridical.interfaces.http.auth import Scope


# Dependencies are `async`, though they wait for nothing: others go through a thread each.
async def service_of(request: Request) -> Service:
    """Return the service behind a request."""
    found: Service = request.app.state.service
    return found


ServiceDep = Annotated[Service, Depends(service_of)]


class NotAllowedError(Exception):
    """Error for a key without the permission."""


def needs(scope: Scope) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency that requires a key with a scope."""

    async def check(request: Request) -> None:
        if not request.state.key.allows(scope):
            raise NotAllowedError(scope.value)

    return check


async def proxy_slot(service: ServiceDep) -> AsyncGenerator[None]:
    """Count a forwarded request until its answer is sent; `OverloadedError` above the limit."""
    with service.passing():
        yield


async def refuse(_request: Request, error: Exception) -> Response:
    """Return the response to a request whose key does not allow it."""
    return response(403, f"the key has not the scope {error}", "Ask with a key that has it")
