"""Routes under `/v1/memory`: facts of the caller's project."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from veridical.errors import InputError, StoreError
from veridical.interfaces.http import replies, routes, schemas
from veridical.interfaces.http.access import ServiceDep, needs
from veridical.interfaces.http.auth import Scope
from veridical.interfaces.http.errors import MissingFactError
from veridical.interfaces.http.limits import Kind

memory = APIRouter(
    prefix="/v1/memory", tags=["memory"], dependencies=[Depends(needs(Scope.MEMORY))]
)


@memory.post(
    "/facts",
    summary="Remember a fact, if its evidence carries it",
    responses=replies.answers(replies.REMEMBERED, "What became of the fact.", 503),
    response_class=Response,
)
async def remember(body: schemas.FactIn, request: Request, service: ServiceDep) -> Response:
    """Store a fact, queue it, or reject it; a gate is never shed, and has its own two seconds."""
    from veridical.memory import FactOutcome
    from veridical.memory.documents import remembered_document

    entities = [each if isinstance(each, str) else (each.role, each.name) for each in body.entities]
    work = partial(
        service.remember,
        request.state.key.project,
        body.text,
        schemas.plain_sources(body.sources),
        entities=entities,
        relation=body.relation,
        confidence=body.confidence,
        tier=body.tier,
        depends_on=body.depends_on,
    )
    async with service.admission.slot(Kind.GATE):
        done = await work()
    if done.outcome is FactOutcome.FAILED:
        raise done.error or StoreError("the fact could not be stored")
    return routes.as_json(remembered_document(done))


@memory.get(
    "/facts",
    summary="Recall facts",
    responses=replies.answers(replies.FACTS, "Facts that are valid now.", 503),
    response_class=Response,
)
async def recall(
    request: Request,
    service: ServiceDep,
    text: Annotated[str | None, Query(description="Words that a fact has, all of them.")] = None,
    entity: Annotated[list[str] | None, Query(description="What it is about.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Return facts by their words or by their entities."""
    from veridical.memory import Memory
    from veridical.memory.documents import facts_document

    def find() -> dict[str, Any]:
        memory = Memory(service.store.of(request.state.key.project))  # nothing is verified here
        return facts_document(memory.facts(text=text, entities=entity or (), limit=limit))

    return routes.as_json(await anyio.to_thread.run_sync(find))


@memory.delete(
    "/facts/{fact_id}",
    summary="Delete a fact for good",
    responses=replies.answers(replies.DELETED, "What went with it.", 404, 503),
    response_class=Response,
)
async def delete(
    fact_id: Annotated[str, Path(description="Its id.", max_length=64)],
    request: Request,
    service: ServiceDep,
) -> Response:
    """Delete a fact and the sources that no other fact has, and retract what rests on it."""
    from veridical.memory import Memory
    from veridical.memory.documents import deleted_document

    def remove() -> dict[str, Any]:
        memory_ = Memory(service.store.of(request.state.key.project))
        try:
            return deleted_document(fact_id, memory_.delete(fact_id))
        except InputError:
            msg = "there is no such fact"
            raise MissingFactError(msg, hint="GET /v1/memory/facts lists those there are") from None

    return routes.as_json(await anyio.to_thread.run_sync(remove))
