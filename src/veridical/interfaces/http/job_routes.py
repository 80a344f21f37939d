"""Routes for many answers: a batch in one request, and jobs in the store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from veridical.errors import InputError
from veridical.interfaces.http import replies, schemas
from veridical.interfaces.http.access import ServiceDep, needs
from veridical.interfaces.http.auth import Scope
from veridical.interfaces.http.batch_checks import check_rows
from veridical.interfaces.http.errors import MissingJobError
from veridical.interfaces.http.limits import OverloadedError
from veridical.interfaces.http.report_cache import new_id
from veridical.jobs.documents import JobState, dumped, job_document, state_of
from veridical.jobs.webhooks import WebhookRules, checked_url
from veridical.store import NewJob

if TYPE_CHECKING:
    from veridical.interfaces.http.service import Service

JSON_LINES = "application/jsonl"
RETRY_S = 30.0

jobs = APIRouter(prefix="/v1", tags=["jobs"], dependencies=[Depends(needs(Scope.CHECK))])

JobId = Annotated[str, Path(description="From the answer to POST /v1/jobs.")]


def project_of(request: Request) -> str:
    """Return the project of the key that asks."""
    found: str = request.state.key.project
    return found


def webhook_rules(service: Service) -> WebhookRules:
    """Return where webhooks may go: to this machine only from a service that others cannot ask."""
    return WebhookRules(service.keyring.open, service.settings.jobs.webhook_private)


@jobs.post(
    "/check/batch",
    summary="Check several answers in one request",
    responses=replies.answers(replies.BATCH, "A report or a problem for each row.", 503),
    response_class=Response,
)
async def check_batch(body: schemas.BatchIn, service: ServiceDep) -> Response:
    """Return a result for each row, in order; the deadline is that of one request."""
    _ensure_few(body, service.settings.jobs.max_batch, "jobs.max_batch")
    policy = service.policy(_policy(body))
    work = partial(check_rows, service, _rows(body), policy)
    found = await service.admitted("batch", work)
    document = {"schema": "veridical.batch/1", "rows": found}
    return Response(dumped(document), media_type="application/json")


@jobs.post(
    "/jobs",
    status_code=202,
    summary="Check many answers later",
    responses=replies.accepted(replies.JOB, "The job is stored.", 503),
    response_class=Response,
)
async def create_job(body: schemas.JobIn, request: Request, service: ServiceDep) -> Response:
    """Store a job, which any process on this database works off, row by row."""
    _ensure_few(body, service.settings.jobs.max_rows, "jobs.max_rows")
    service.policy(_policy(body))
    _ensure_webhook(body.webhook, service)
    job = NewJob(new_id(), project_of(request), _policy(body), body.webhook)
    counted = {"key": request.state.key.name}  # whose usage the claims are
    kept = [dumped(row | counted) for row in _rows(body)]
    most = service.settings.jobs.max_open
    create = partial(service.job_tables.create, job, kept, most_open=most)
    if not await anyio.to_thread.run_sync(create):
        msg = "the project has too many jobs that are not done"
        raise OverloadedError(msg, RETRY_S)
    service.job_worker.wake()
    document = await _found(service, job.id, job.project)
    headers = {"location": f"/v1/jobs/{job.id}"}
    return Response(dumped(_shown(service, document)), 202, headers, "application/json")


@jobs.get(
    "/jobs/{job_id}",
    summary="Get the state of a job",
    responses=replies.answers(replies.JOB, "The job.", 404, 503),
    response_class=Response,
)
async def get_job(job_id: JobId, request: Request, service: ServiceDep) -> Response:
    """Return the state and the progress of a job of this key's project."""
    found = await _found(service, job_id, project_of(request))
    return Response(dumped(_shown(service, found)), media_type="application/json")


@jobs.delete(
    "/jobs/{job_id}",
    status_code=204,
    summary="Cancel a job, and remove it",
    responses=replies.nothing("The job is gone, with its texts and results.", 404, 503),
    response_class=Response,
)
async def remove_job(job_id: JobId, request: Request, service: ServiceDep) -> Response:
    """End the work on a job, and remove its texts and its results."""
    remove = partial(service.job_tables.remove, job_id, project_of(request))
    if not await anyio.to_thread.run_sync(remove):
        raise _missing()
    return Response(status_code=204)


@jobs.get(
    "/jobs/{job_id}/results",
    summary="Get results of a job",
    responses=replies.results(JSON_LINES, 404, 503),
    response_class=Response,
)
async def job_results(
    job_id: JobId,
    request: Request,
    service: ServiceDep,
    *,
    first: Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of a row, from 0.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Return results in the order of the rows, as far as they are there without a gap.

    `x-veridical-next` is the `first` of the next page; the last page has none.
    """
    found = await _found(service, job_id, project_of(request))
    read = partial(service.job_tables.results, job_id, first, limit)
    lines = await anyio.to_thread.run_sync(read)
    following = first + len(lines)
    over = state_of(found) is JobState.DONE and following >= found["total"]
    headers = {} if over else {"x-veridical-next": str(following)}
    return Response(b"".join(line + b"\n" for line in lines), 200, headers, JSON_LINES)


def _rows(body: schemas.BatchIn) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json") for row in body.rows]


def _policy(body: schemas.BatchIn) -> dict[str, Any] | None:
    return None if body.policy is None else body.policy.model_dump(exclude_unset=True)


def _ensure_few(body: schemas.BatchIn, most: int, setting: str) -> None:
    if len(body.rows) > most:
        msg = f"there are {len(body.rows)} rows, and {most} are allowed"
        raise InputError(msg, hint=f"Send them in parts, or raise {setting}")


def _ensure_webhook(url: str | None, service: Service) -> None:
    if url is None:
        return
    if service.settings.jobs.webhook_secret is None:
        msg = "there is no secret to sign webhooks with"
        raise InputError(msg, hint="Set jobs.webhook_secret, or leave `webhook` out")
    checked_url(url, webhook_rules(service))


def _shown(service: Service, row: dict[str, Any]) -> dict[str, Any]:
    return job_document(row, service.settings.jobs.kept_s)


async def _found(service: Service, job_id: str, project: str) -> dict[str, Any]:
    get = partial(service.job_tables.get, job_id, project)
    found = await anyio.to_thread.run_sync(get)
    if found is None:
        raise _missing()
    return found


def _missing() -> MissingJobError:
    return MissingJobError("there is no such job", hint="It was removed, or is another project's")
