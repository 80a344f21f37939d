"""Routes of the page under `/v1`: the list of kept reports, a whole check, text of a document."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from veridical.errors import VeridicalError
from veridical.interfaces.http import replies, schemas
from veridical.interfaces.http.access import ServiceDep, needs
from veridical.interfaces.http.auth import Scope
from veridical.interfaces.http.errors import MissingReportError
from veridical.readers.isolated import ReadingLimits, read_isolated

if TYPE_CHECKING:
    from veridical.interfaces.http.service import Service
    from veridical.pipeline.reports import Report

page_routes = APIRouter(prefix="/v1", tags=["check"], dependencies=[Depends(needs(Scope.CHECK))])


@page_routes.get(
    "/reports",
    summary="List the reports that are kept",
    responses=replies.answers(replies.REPORTS, "The newest first."),
    response_class=Response,
)
async def list_reports(
    request: Request,
    service: ServiceDep,
    q: Annotated[
        str, Query(description="Words, all of which question, answer, sources or headline have.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """Return the reports of the project; of long answers the beginning is searched."""
    entries = await service.shelf.entries(request.state.key.project)
    found = [entry.to_dict() for entry in entries if entry.matches(q)]
    document = {"schema": "veridical.reports/1", "total": len(found), "reports": found[:limit]}
    return JSONResponse(document)


@page_routes.get(
    "/reports/{report_id}/check",
    summary="Get a report again, with the texts and the marks on its verdicts",
    responses=replies.answers(replies.CHECK, "The check.", 404),
    response_class=Response,
)
async def get_check(
    report_id: Annotated[str, Path(description="From the header x-veridical-report.")],
    request: Request,
    service: ServiceDep,
) -> Response:
    """Return all that a page needs to show a check that a key of this project asked for."""
    report = await service.shelf.get(report_id, request.state.key.project)
    if report is None:
        msg = "this report is not kept any more, or is another project's"
        raise MissingReportError(msg, hint="Check the answer again; server.reports_s is how long")
    return await service.rendered(
        partial(_whole, report_id, report, service, request.state.key.project)
    )


def _whole(report_id: str, report: Report, service: Service, project: str) -> Response:
    sources = [{"id": s.id, "text": s.text, "name": s.path} for s in report.sources.values()]
    texts = {"question": report.question, "answer": report.answer, "sources": sources}
    shown = {"schema": "veridical.page/1", "id": report_id, "report": report.to_dict()}
    return JSONResponse(shown | texts | {"marks": _marks(report, service, project)})


def _marks(report: Report, service: Service, project: str) -> dict[str, dict[str, Any]]:
    """Return the marks on a report by claim; none if there is no reading them."""
    from veridical.feedback.labels import Feedback

    try:
        found = Feedback(service.store.of(project)).list(report)
    except VeridicalError as error:
        service.failed("feedback", error)
        return {}
    return {m.claim_id: {"right": m.right, "actual": m.actual, "comment": m.comment} for m in found}


@page_routes.post(
    "/documents",
    summary="Get the text of a PDF, DOCX, HTML or text document",
    responses=replies.answers(replies.DOCUMENTS, "Its text, and remarks.", 501),
    response_class=Response,
)
async def read_document(body: schemas.UploadIn, service: ServiceDep) -> Response:
    """Return the text of a document as a source; a JSON document may hold several.

    A process of its own reads it, with limits on time and memory.
    """
    limits = ReadingLimits(characters=service.settings.server.max_request_bytes)
    read = partial(read_isolated, body.data, _base_name(body.name), limits)
    found = await service.admitted("documents", partial(anyio.to_thread.run_sync, read))
    sources = [{"id": s.id, "text": s.text, "name": s.path} for s in found.sources]
    remarks = [notice.reason for notice in found.notices]
    document = {"schema": "veridical.documents/1", "sources": sources, "remarks": remarks}
    return JSONResponse(document)


def _base_name(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2] or "document"
