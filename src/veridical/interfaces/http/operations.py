"""Routes for operators of the service: liveness, readiness, metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse, Response

from veridical.interfaces.http import replies
from veridical.interfaces.http.access import ServiceDep, needs
from veridical.interfaces.http.auth import Scope
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
