"""Schemas of answers for OpenAPI; `docs/schemas` has the whole of report, audit and trace."""

from __future__ import annotations

from typing import Any

from veridical.core.assessment import Outcome
from veridical.core.measurements import UnmeasuredReason
from veridical.core.verdicts import Certainty, Status
from veridical.interfaces.http.errors import KINDS, MEDIA_TYPE, Problem
from veridical.jobs.documents import JobState
from veridical.pipeline.reports.formats import FORMATS

Schema = dict[str, Any]

_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_LIST = {"type": "array", "items": {"type": "object"}}
_SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}


def _object(says: str, **properties: Any) -> Schema:  # noqa: ANN401 -- schemas
    return {
        "type": "object",
        "description": says,
        "properties": properties,
        "required": list(properties),
    }


def _document(kind: str, says: str, **properties: Any) -> Schema:  # noqa: ANN401 -- schemas
    return _object(says, schema={"const": f"veridical.{kind}/1"}, **properties)


_SPAN = _object("Code points, end exclusive.", start=_COUNT, end=_COUNT)
_ESTIMATE = {
    "description": "What was measured, or why nothing was.",
    "anyOf": [
        _object(
            "A distribution, with an interval for supported.",
            supported=_SHARE,
            contradicted=_SHARE,
            not_in_context=_SHARE,
            low=_SHARE,
            high=_SHARE,
            estimator=_TEXT,
            samples=_COUNT,
            cached={"type": "boolean"},
        ),
        _object("Nothing.", unmeasured={"enum": [reason.value for reason in UnmeasuredReason]}),
    ],
}
CLAIM = _object(
    "A claim and its verdict.",
    id=_TEXT,
    text=_TEXT,
    span=_SPAN,
    kind=_TEXT,
    assertive={"type": "boolean"},
    status={"enum": [status.value for status in Status]},
    rule=_TEXT,
    flagged={"type": "boolean"},
    certainty={"enum": [certainty.value for certainty in Certainty]},
    probability_right=_NUMBER_OR_NULL,
    notes={"type": "array", "items": _TEXT},
    p1=_ESTIMATE,
    p0=_ESTIMATE,
    required_bits=_NUMBER_OR_NULL,
    observed_bits=_NUMBER_OR_NULL,
    budget_gap_bits=_NUMBER_OR_NULL,
    confidence_justified={"type": ["boolean", "null"]},
    evidence_dependence=_NUMBER_OR_NULL,
    citations=_LIST,
    evidence=_LIST,
    windows_scored=_LIST,
)
REPORT = _document(
    "report",
    "The verdict on an answer, claim by claim (docs/schemas/report-1.schema.json).",
    policy={"type": "object"},
    backend=_object("Who was asked.", name=_TEXT, model=_TEXT, estimator=_TEXT),
    summary=_object(
        "Totals with their denominators.",
        outcome={"enum": [outcome.value for outcome in Outcome]},
        sentences=_COUNT,
        claims_extracted=_COUNT,
        claims_checked=_COUNT,
        skipped={"type": "object"},
        by_status={"type": "object"},
        max_gap_bits=_NUMBER_OR_NULL,
        overall_confidence=_NUMBER_OR_NULL,
        latency_ms={"type": "number"},
        cost_usd=_NUMBER_OR_NULL,
        tokens={"type": ["integer", "null"]},
    ),
    claims={"type": "array", "items": CLAIM},
)
ROW_RESULT = _object(
    "The result of a row: its report, or a problem in its place.",
    id=_TEXT,
)
ROW_RESULT["oneOf"] = [
    {"properties": {"report": REPORT}, "required": ["report"]},
    {
        "properties": {"error": {"$ref": "#/components/schemas/Problem"}},
        "required": ["error"],
    },
]
BATCH = _document(
    "batch",
    "A result for each row, in order.",
    rows={"type": "array", "items": ROW_RESULT},
)
JOB = _document(
    "job",
    "The state of a job.",
    id=_TEXT,
    state={"enum": [state.value for state in JobState]},
    progress=_object("Rows.", total=_COUNT, done=_COUNT, failed=_COUNT),
    created=_TEXT,
    finished=_TEXT_OR_NULL,
    expires=_TEXT_OR_NULL,
    webhook={
        "anyOf": [
            _object(
                "The state of the webhook.",
                state={"enum": ["pending", "delivered", "failed"]},
                attempts=_COUNT,
            ),
            {"type": "null"},
        ]
    },
)
_OTHER_JSON = {"type": "object"}
REPORT_IN_A_FORMAT: Schema = {
    "description": "The report.",
    "content": {
        form.media_type: {"schema": _OTHER_JSON if form.media_type.endswith("json") else _TEXT}
        for form in FORMATS.values()
    }
    | {FORMATS["json"].media_type: {"schema": REPORT}},
}
REPORTS = _document(
    "reports",
    "Reports that are kept, the newest first.",
    total=_COUNT,
    reports={
        "type": "array",
        "items": _object(
            "A report in a list.",
            id=_TEXT,
            created=_TEXT,
            outcome={"enum": [outcome.value for outcome in Outcome]},
            headline=_TEXT,
            claims_checked=_COUNT,
            flagged=_COUNT,
            undetermined=_COUNT,
            question=_TEXT,
            answer={"type": "string", "description": "Its first 200 characters."},
            sources={"type": "string", "description": "Ids and names, with commas between them."},
        ),
    },
)
_SOURCES = {
    "type": "array",
    "items": _object("A source.", id=_TEXT, text=_TEXT, name=_TEXT_OR_NULL),
}
CHECK = _document(
    "page",
    "A report, with its texts and the marks on its verdicts by claim.",
    id=_TEXT,
    question=_TEXT_OR_NULL,
    answer=_TEXT,
    sources=_SOURCES,
    report=REPORT,
    marks={
        "type": "object",
        "additionalProperties": _object(
            "A mark.",
            right={"type": "boolean"},
            actual=_TEXT_OR_NULL,
            comment=_TEXT_OR_NULL,
        ),
    },
)
DOCUMENTS = _document(
    "documents",
    "The text of a document.",
    sources=_SOURCES,
    remarks={"type": "array", "items": _TEXT},
)
VERIFICATION = _document(
    "verification",
    "The verification of one claim.",
    claim_id=_TEXT,
    claim_text=_TEXT,
    status=_TEXT,
    certainty={"enum": [certainty.value for certainty in Certainty]},
    p1=_NUMBER_OR_NULL,
    p0=_NUMBER_OR_NULL,
    required_bits=_NUMBER_OR_NULL,
    observed_bits=_NUMBER_OR_NULL,
    budget_gap=_NUMBER_OR_NULL,
)
QUOTES = _document(
    "quotes",
    "A match for every quote.",
    mode={"enum": ["substring", "fuzzy"]},
    strict={"type": "boolean"},
    extracted_count=_COUNT,
    validated_count=_COUNT,
    rejected_count=_COUNT,
    rejected_by_domain={"type": "object"},
    items={"type": "object"},
)
AUDIT = _document(
    "audit",
    "The audit of a chain of reasoning (docs/schemas/audit-1.schema.json).",
    overall={"type": ["object", "null"]},
    first_error=_TEXT_OR_NULL,
    undetermined=_COUNT,
    question=_TEXT_OR_NULL,
    answer=_TEXT_OR_NULL,
    post_hoc={"type": ["object", "null"]},
    steps=_LIST,
)
REMEMBERED = _document(
    "remembered",
    "What became of a fact.",
    outcome={"enum": ["stored", "queued", "rejected"]},
    reason=_TEXT,
    confidence={"type": "number"},
    pending={"type": "boolean"},
    error={"type": ["object", "null"]},
    conflicts=_LIST,
    verification={"type": ["object", "null"]},
    fact={"type": ["object", "null"]},
)
FACTS = _document("facts", "Facts, the best match or the newest first.", facts=_LIST)
DELETED = _document(
    "deleted", "A fact that is gone, and those that rested on it.", deleted=_TEXT, retracted=_LIST
)
FEEDBACK = _document("feedback", "What is kept of the mark: numbers and hashes.", marks=_LIST)
USAGE = _document(
    "usage",
    "What the keys of a project used.",
    project=_TEXT,
    since=_TEXT,
    keys={
        "type": "array",
        "items": _object(
            "Sums of a key; unknown tokens and costs count as 0.",
            key=_TEXT,
            requests=_COUNT,
            claims=_COUNT,
            tokens=_COUNT,
            cost_usd={"type": "number", "minimum": 0},
        ),
    },
)
EVENT = _object(
    "One event of the stream; `data` is JSON.",
    event={"enum": ["progress", "claim", "report", "error"]},
    data=_TEXT,
)
HEALTH = _object("How the service is.", status={"enum": ["ok", "starting", "draining"]})

_REPORT_HEADERS = {
    "x-veridical-report": {
        "description": "The report's id, for GET /v1/reports/{id} and /v1/feedback.",
        "schema": _TEXT,
    },
    "x-veridical-outcome": {"description": "The outcome of the summary.", "schema": _TEXT},
    "x-veridical-flagged": {"description": "How many claims are flagged.", "schema": _TEXT},
    "x-veridical-failing": {
        "description": "How many of them fail under the policy's `fail_on`.",
        "schema": _TEXT,
    },
}
_RETRY = {"retry-after": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_ALWAYS = (400, 401, 403, 413, 415, 421, 422, 429, 500, 504)


def answers(schema: Schema, says: str, *more: int, report: bool = False) -> dict[int | str, Any]:
    """Return the possible answers of a route under `/v1`: a document, or a problem."""
    headers = {"headers": _REPORT_HEADERS} if report else {}
    found = {"description": says, "content": {"application/json": {"schema": schema}}, **headers}
    return {200: found, **problems(*_ALWAYS, *more)}


def accepted(schema: Schema, says: str, *more: int) -> dict[int | str, Any]:
    """Return the possible answers of a route that stores work for later."""
    found = answers(schema, says, *more)
    headers = {"location": {"description": "Its address.", "schema": _TEXT}}
    return {202: found.pop(200) | {"headers": headers}, **found}


def nothing(says: str, *more: int) -> dict[int | str, Any]:
    """Return the possible answers of a route without a document."""
    return {204: {"description": says}, **problems(*_ALWAYS, *more)}


def results(media_type: str, *more: int) -> dict[int | str, Any]:
    """Return the possible answers of a route with a page of results."""
    following = {"description": "`first` of the next page.", "schema": _COUNT}
    found = {
        "description": "A JSON object in each line: the result of a row.",
        "content": {media_type: {"schema": ROW_RESULT}},
        "headers": {"x-veridical-next": following},
    }
    return {200: found, **problems(*_ALWAYS, *more)}


def problems(*statuses: int) -> dict[int | str, Any]:
    """Return problem documents by status."""
    return {
        status: {
            "description": KINDS[status][1],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            **({"headers": _RETRY} if status == 429 else {}),  # noqa: PLR2004 -- the one to come back from
        }
        for status in sorted(statuses)
    }


def with_components(schema: Schema) -> Schema:
    """Add the schemas that answers refer to, and the security scheme of keys."""
    components = schema.setdefault("components", {})
    shapes = components.setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    shapes |= problem.pop("$defs", {})
    shapes["Problem"] = problem
    for name in ("HTTPValidationError", "ValidationError"):
        shapes.pop(name, None)
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Veridical-Key"},
    }
    return schema
