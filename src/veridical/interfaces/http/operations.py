"""Routes for operators of the service: liveness, readiness, metrics, usage."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response

from veridical.interfaces.http import replies
from veridical.interfaces.http.access import ServiceDep, needs
from veridical.interfaces.http.auth import Scope
from veridical.interfaces.http.usage import day_before
from veridical.telemetry.prometheus import CONTENT_TYPE

operations = APIRouter(tags=["operation"])


def _health(says: str) -> dict[int | str, Any]:
    shape = {"application/json": {"schema": replies.HEALTH}}
    return {200: {"description": says, "content": shape}, **replies.problems(400, 421, 500)}


@operations.get("/healthz", summary="Does it live?", responses=_health("It lives."))
async def healthz() -> Response:
    """Return 200: the process answers."""
    return JSONResponse({"status": "ok"})


@operations.get(
    "/readyz",
    summary="Is it ready?",
    responses={**_health("It is ready."), 503: _health("Not yet, or not any more.")[200]},
)
async def readyz(service: ServiceDep) -> Response:
    """Return whether the model is loaded, and the service does not end."""
    if service.draining:
        return JSONResponse({"status": "draining"}, 503)
    if not service.ready:
        return JSONResponse({"status": "starting"}, 503)
    return JSONResponse({"status": "ok"})


@operations.get(
    "/metrics",
    summary="What did it do?",
    dependencies=[Depends(needs(Scope.ADMIN))],
    responses={
        200: {
            "description": "Metrics in the text format of Prometheus.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **replies.problems(400, 401, 403, 421, 500),
    },
    response_class=Response,
)
async def metrics(service: ServiceDep) -> Response:
    """Return the metrics."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE)


@operations.get(
    "/v1/usage",
    summary="What was used, by key",
    responses=replies.answers(replies.USAGE, "Sums since a day.", 503),
)
async def usage(
    request: Request,
    service: ServiceDep,
    days: Annotated[int, Query(ge=1, le=366, description="How many days back, with today.")] = 30,
) -> dict[str, Any]:
    """Return what this key used; an admin's key sees all keys of its project."""
    key = request.state.key
    day = day_before(days - 1)
    name = None if key.allows(Scope.ADMIN) else key.name
    keys = await service.usage.since(key.project, day, name)
    return {"schema": "veridical.usage/1", "project": key.project, "since": day, "keys": keys}
