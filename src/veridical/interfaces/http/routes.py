"""Routes under `/v1`: conversion of requests to calls, and of results to responses."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import AfterValidator

from veridical.core.cancellation import remaining
from veridical.core.sources import as_sources
from veridical.core.types import Source, ensure_text
from veridical.errors import InputError
from veridical.interfaces.http import replies, schemas
from veridical.interfaces.http.access import ServiceDep, needs
from veridical.interfaces.http.auth import Scope
from veridical.interfaces.http.errors import MissingReportError
from veridical.interfaces.http.limits import Kind
from veridical.interfaces.http.report_cache import new_id
from veridical.interfaces.http.streaming import Stream
from veridical.pipeline.reports.document import to_compact_json
from veridical.pipeline.reports.formats import FORMATS, format_named
from veridical.telemetry import audited, quoted
from veridical.verification.worker_threads import in_worker_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from veridical.core.limits import Limits
    from veridical.core.policy import Policy
    from veridical.interfaces.http.service import Service
    from veridical.pipeline.reports import Report
    from veridical.pipeline.reports.formats import ReportFormat
    from veridical.settings.blocks import PolicySettings
    from veridical.store import Store

FormatName = Annotated[
    str,
    Query(
        alias="format",
        description="The format of the report.",
        json_schema_extra={"enum": list(FORMATS)},
    ),
    AfterValidator(lambda name: format_named(name).name),
]


checks = APIRouter(prefix="/v1", tags=["check"], dependencies=[Depends(needs(Scope.CHECK))])


def as_json(document: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return a document as a response."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, default=str)
    # Half a surrogate pair has no UTF-8 and goes out as JSON escapes it.
    data = text.encode(errors="backslashreplace")
    return Response(data, headers=dict(headers or {}), media_type="application/json")


def _policy(service: Service, given: PolicySettings | None) -> Policy:
    return service.policy(None if given is None else given.model_dump(exclude_unset=True))


# --- checking --------------------------------------------------------------------------------


@checks.post(
    "/check",
    summary="Check every claim of an answer against sources",
    responses=replies.answers(replies.REPORT, "The report.", 503, report=True),
    response_class=Response,
)
async def check(body: schemas.CheckIn, request: Request, service: ServiceDep) -> Response:
    """Return the verdict on each claim.

    A claim that is not measured before the deadline is `undetermined` in the report.
    """
    report = await service.admitted("check", _checking(body, service))
    headers = await _kept(service, request, report)
    text = await service.rendered(partial(to_compact_json, report))
    return Response(text.encode(), headers=headers, media_type="application/json")


def _checking(
    body: schemas.CheckIn,
    service: Service,
    **hearing: Any,  # noqa: ANN401 -- those of Verifier.check
) -> Callable[[], Awaitable[Report]]:
    """Return the check that a request asks for; its policy is validated now."""
    return partial(
        service.check,
        body.answer,
        schemas.plain_sources(body.sources),
        body.question,
        policy=_policy(service, body.policy),
        **hearing,
    )


async def _kept(
    service: Service, request: Request, report: Report, report_id: str | None = None
) -> dict[str, str]:
    named = report_id or new_id()
    await service.shelf.put(named, report, request.state.key)
    return {
        "x-veridical-report": named,
        "x-veridical-outcome": report.summary.outcome.value,
        "x-veridical-flagged": str(len(report.flagged)),
        "x-veridical-failing": str(len(report.failing)),
    }


@checks.post(
    "/check/stream",
    summary="Check an answer, and hear of each claim as it is decided",
    responses={
        **replies.answers(replies.REPORT, "", 503),
        200: {
            "description": "Server-sent events: `progress` {done, total}; `claim`, one as in the "
            "report, once for each; then `report`, or `error` with a problem document.",
            "content": {"text/event-stream": {"schema": replies.EVENT}},
            "headers": {"x-veridical-report": {"schema": {"type": "string"}}},
        },
    },
    response_class=StreamingResponse,
)
async def check_stream(body: schemas.CheckIn, request: Request, service: ServiceDep) -> Response:
    """Send claims as soon as their verdicts stand, not always in the answer's order."""
    stream, report_id = Stream(service), new_id()
    _ensure_checkable(body, service.limits)
    checking = _checking(body, service, progress=stream.progress, watcher=stream)

    async def work() -> Report:
        report = await checking()
        await _kept(service, request, report, report_id)
        return report

    with service.deadline():
        with service.shedding("stream"):
            await service.admission.enter(Kind.CHECK, wait_s=remaining())
        stream.start(work, after=lambda: service.admission.leave(None))
    return StreamingResponse(
        stream.lines(),
        media_type="text/event-stream",
        headers={"x-veridical-report": report_id, "x-accel-buffering": "no"},
    )


def _ensure_checkable(body: schemas.CheckIn, limits: Limits) -> None:
    """Raise now the errors that would otherwise be events of a stream with the status 200."""
    ensure_text(body.answer, "the answer")
    limits.ensure_answer(body.answer)
    if body.question is not None:
        ensure_text(body.question, "the question")
    limits.ensure_sources(as_sources(schemas.plain_sources(body.sources)).values())


@checks.post(
    "/verify_claim",
    summary="Verify one claim, taken as it stands",
    responses=replies.answers(replies.VERIFICATION, "The verification.", 503),
    response_class=Response,
)
async def verify_claim(body: schemas.ClaimIn, service: ServiceDep) -> Response:
    """Return p1, p0, the bits and the status of one claim."""
    from veridical.pipeline.judgement.epistemic import verification

    policy = _policy(service, body.policy)
    if body.confidence is not None:
        policy = replace(policy, target_confidence=body.confidence)
    work = partial(
        service.verify,
        body.claim,
        schemas.plain_sources(body.sources),
        body.question,
        cites=body.cites,
        policy=policy,
    )
    return as_json(verification(await service.admitted("verify_claim", work)).to_dict())


@checks.post(
    "/quotes",
    summary="Look quotes up in a transcript",
    responses=replies.answers(replies.QUOTES, "A match for every quote.", 501),
    response_class=Response,
)
async def quotes(body: schemas.QuotesIn, service: ServiceDep) -> Response:
    """Return the place of each quote, its fidelity, and its caveats."""
    service.limits.ensure_sources([Source("transcript", body.transcript)], "the transcript has")
    work = partial(in_worker_thread, partial(_quoted, body, service))
    return as_json(await service.admitted("quotes", work))


def _quoted(body: schemas.QuotesIn, service: Service) -> dict[str, Any]:
    from veridical.quotes.grounding import ground_evidence, parse_transcript

    settings, rules = service.settings.extraction, service.settings.quantitative
    mode = body.mode or rules.evidence_quote_validation_mode
    threshold = body.fuzzy_threshold or rules.evidence_quote_fuzzy_threshold
    strict = settings.strict if body.strict is None else body.strict
    key = settings.hash_key
    started = perf_counter()
    given = body.quotes if isinstance(body.quotes, dict) else {"quotes": body.quotes}
    matches, stats = ground_evidence(
        given,
        parse_transcript(body.transcript),
        mode=mode,
        fuzzy_threshold=threshold,
        log_rejections=rules.evidence_quote_log_rejections,
        strict=strict,
        speaker=tuple(body.speaker) or None,
        hash_key=None if key is None else key.get_secret_value(),
    )
    service.telemetry.take(quoted(chain.from_iterable(matches.values()), perf_counter() - started))
    return {
        "schema": "veridical.quotes/1",
        "mode": mode,
        "strict": strict,
        **asdict(stats),
        "items": {key: [asdict(match) for match in found] for key, found in matches.items()},
    }


@checks.post(
    "/audit",
    summary="Audit a chain of reasoning step by step",
    responses=replies.answers(replies.AUDIT, "The audit.", 503),
    response_class=Response,
)
async def audit(body: schemas.AuditIn, service: ServiceDep) -> Response:
    """Return the label of each step, and whether the answer follows from the valid ones."""
    from veridical.audit import auditing

    given = body.model_dump(include={"steps", "question", "answer"}, exclude_none=True)
    trace = auditing.parse_trace(given)
    configured = service.settings.hallucination.trace_auditing.check_post_hoc
    wanted = configured if body.post_hoc is None else body.post_hoc
    work = partial(
        auditing.audit,
        trace,
        service.verifier,
        sources=schemas.plain_sources(body.sources),
        policy=_policy(service, body.policy),
        executor=auditing.AnswerDeriver(service.backend, service.text_model) if wanted else None,
    )
    started = perf_counter()
    found = await service.admitted("audit", work)
    service.telemetry.take(audited(found, perf_counter() - started))
    return as_json(found.to_dict())


# --- afterwards ------------------------------------------------------------------------------


@checks.get(
    "/reports/{report_id}",
    summary="Get a report again, in another format if you like",
    responses={**replies.answers(replies.REPORT, "", 404), 200: replies.REPORT_IN_A_FORMAT},
    response_class=Response,
)
async def get_report(
    report_id: Annotated[str, Path(description="From the header x-veridical-report.")],
    request: Request,
    service: ServiceDep,
    *,
    name: FormatName = "json",
) -> Response:
    """Return a report that a key of this project asked for, if it is still kept."""
    report = await _found(service, request, report_id)
    return await service.rendered(partial(_rendered, report, format_named(name)))


@checks.post(
    "/reports",
    summary="Convert a report to another format",
    responses={**replies.answers(replies.REPORT, ""), 200: replies.REPORT_IN_A_FORMAT},
    response_class=Response,
)
async def convert_report(
    body: schemas.ReportIn, service: ServiceDep, *, name: FormatName = "json"
) -> Response:
    """Return a report that need not be kept here, in another format; nothing is checked again."""
    return await service.rendered(partial(_converted, body, format_named(name)))


def _converted(body: schemas.ReportIn, form: ReportFormat) -> Response:
    from veridical.pipeline.reports.parsing import from_document

    sources = {} if body.sources is None else as_sources(schemas.plain_sources(body.sources))
    report = from_document(body.report, body.answer or "", sources, body.question)
    return _rendered(report, form)


def _rendered(report: Report, form: ReportFormat) -> Response:
    name = f'attachment; filename="report.{form.suffix}"'
    headers = {} if form.name == "json" else {"content-disposition": name}
    return Response(report.render(form.name).encode(), media_type=form.media_type, headers=headers)


@checks.post(
    "/feedback",
    summary="Say whether a verdict was right",
    responses=replies.answers(replies.FEEDBACK, "What is kept.", 404, 503),
    response_class=Response,
)
async def feedback(body: schemas.FeedbackIn, request: Request, service: ServiceDep) -> Response:
    """Store whether the verdict on a claim was right, in place of an earlier mark."""
    given: Any = body.report
    if isinstance(given, str):
        given = await _found(service, request, given)
    store = service.store.of(request.state.key.project)
    return as_json(await anyio.to_thread.run_sync(partial(_marked, given, body, store)))


async def _found(service: Service, request: Request, report_id: str) -> Report:
    report = await service.shelf.get(report_id, request.state.key.project)
    if report is None:
        msg = "there is no such report any more"
        hint = "Check the answer again; for feedback, the report itself will do, too"
        raise MissingReportError(msg, hint=hint)
    return report


def _marked(report: Any, body: schemas.FeedbackIn, store: Store) -> dict[str, Any]:  # noqa: ANN401 -- a report or its document
    from veridical.feedback.labels import Feedback, to_document

    try:
        mark = Feedback(store).mark(report, body.claim_id, right=body.right, actual=body.actual)
    except InputError as error:
        # Its words may name claims of the report that was sent, which are the request's own.
        msg = "there is no such claim or status in the report, or it is no report"
        raise InputError(msg, hint="" if isinstance(report, dict) else error.hint) from None
    return to_document([mark])
