"""Errors as problem documents (RFC 9457), with remedies and without quotes of a request."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from veridical.errors import (
    BackendError,
    ConfigurationError,
    EvidenceSchemaError,
    InputError,
    MissingExtraError,
    StoreError,
    TimeLimitError,
    VeridicalError,
)
from veridical.interfaces.http.limits import OverloadedError
from veridical.telemetry import request_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI
    from starlette.requests import Request

MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:veridical:problem:"


class FieldProblem(BaseModel):
    """One error in the body or a parameter."""

    model_config = ConfigDict(extra="forbid")

    place: list[str | int] = Field(
        description="Where: names of fields and numbers of items; a name of your own is `*`."
    )
    problem: str = Field(description="What: a short word such as `missing` or `string_type`.")
    allowed: str = Field(description="What is allowed there; never text from the request.")


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "type": f"{_TYPE}unprocessable",
                    "title": "The request cannot be processed",
                    "status": 422,
                    "detail": "the answer is empty",
                    "hint": "Give it some text",
                    "request_id": "5f0c1a9e6d7b4c83",
                    "errors": [],
                }
            ]
        },
    )

    type: str = Field(description="What kind of problem, as a URN.")
    title: str = Field(description="The same for people.")
    status: int = Field(description="The status code again.")
    detail: str = Field(description="What is wrong with this request; never text from it.")
    hint: str = Field(description="What to do.")
    request_id: str | None = Field(description="Say this when you ask somebody; logs have it.")
    errors: list[FieldProblem] = Field(description="One for each field that is wrong.")


_RENAMED = {"about": "entities"}
"""Names of fields of requests, by the name that they had before 0.1.0."""

KINDS: dict[int, tuple[str, str]] = {
    400: ("bad-request", "The request is malformed"),
    401: ("unauthenticated", "A key is needed"),
    403: ("forbidden", "The key may not do this"),
    404: ("not-found", "There is nothing here"),
    405: ("method-not-allowed", "This method is not for this address"),
    408: ("too-slow", "The request took too long to arrive"),
    413: ("too-large", "The request is too large"),
    415: ("unsupported-encoding", "The encoding of the body is not supported"),
    421: ("misdirected", "The request is for another host"),
    422: ("unprocessable", "The request cannot be processed"),
    429: ("overloaded", "There is too much to do"),
    431: ("header-too-large", "The header of the request is too large"),
    500: ("internal", "Something of ours failed"),
    501: ("not-installed", "A part is not installed"),
    503: ("unavailable", "A part is not available"),
    504: ("late", "The time of the request is up"),
}


class MissingReportError(VeridicalError):
    """Error for a report that is not kept, not any more, or not for this key."""


class MissingJobError(VeridicalError):
    """Error for a job that is not there, or not of this project."""


class MissingFactError(VeridicalError):
    """Error for a fact that is not there, or not for this key."""


def document(
    status: int, detail: str, hint: str = "", errors: Sequence[FieldProblem] = ()
) -> dict[str, Any]:
    """Return a problem as a JSON object."""
    kind, title = KINDS.get(status, ("http", HTTPStatus(status).phrase))
    return Problem(
        type=_TYPE + kind,
        title=title,
        status=status,
        detail=detail,
        hint=hint,
        request_id=request_id.get(),
        errors=list(errors),
    ).model_dump(mode="json")


def response(
    status: int,
    detail: str,
    hint: str = "",
    *,
    errors: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a problem as a response."""
    found = document(status, detail, hint, errors)
    return JSONResponse(found, status, dict(headers or {}), media_type=MEDIA_TYPE)


_STATUSES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], int], ...] = (
    (OverloadedError, 429),
    ((MissingReportError, MissingJobError, MissingFactError), 404),
    (MissingExtraError, 501),
    ((InputError, ConfigurationError), 422),
    ((BackendError, StoreError), 503),
    (TimeLimitError, 504),
)


def status_of(error: Exception) -> int:
    """Return the status code of the answer to an error."""
    return next((status for kinds, status in _STATUSES if isinstance(error, kinds)), 500)


def document_of(error: Exception) -> dict[str, Any]:
    """Return an error as a problem document."""
    status = status_of(error)
    if isinstance(error, OverloadedError):
        return document(status, error.reason, "Come again after the seconds in Retry-After")
    if isinstance(error, EvidenceSchemaError):
        # The keys of its violations are the request's own.
        wrong = len(error.violations)
        return document(status, f"{wrong} fields of the evidence have a wrong shape", error.hint)
    if isinstance(error, VeridicalError):
        return document(status, error.unquoted, error.hint)
    return document(500, "the request could not be answered", "The logs say where it failed")


def response_of(error: Exception) -> JSONResponse:
    """Return an error as a response."""
    found = document_of(error)
    headers = error.headers if isinstance(error, OverloadedError) else {}
    return JSONResponse(found, found["status"], headers, media_type=MEDIA_TYPE)


# --- exceptions of FastAPI --------------------------------------------------------------------


def install(app: FastAPI) -> None:
    """Install handlers that answer errors with problem documents."""
    app.add_exception_handler(VeridicalError, _ours)
    app.add_exception_handler(OverloadedError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


_ALLOWED = {
    "missing": "a value: the field is required",
    "extra_forbidden": "only the fields that /openapi.json names",
    "string_type": "a text",
    "string_too_short": "a text of {min_length} characters or more",
    "string_too_long": "a text of {max_length} characters or fewer",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "finite_number": "a number other than NaN and the infinities",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "too_short": "{min_length} items or more",
    "too_long": "{max_length} items or fewer",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "json_invalid": "JSON",
    "base64_decode": "bytes in base64",
}
"""Descriptions of what is allowed, by type of error; their values come from our schemas."""


def allowed_by(kind: str, context: Mapping[str, Any]) -> str:
    """Return what is allowed in place of a value with an error."""
    return _ALLOWED.get(kind, "a value of the kind that /openapi.json names").format_map(context)


async def _ours(_request: Request, error: Exception) -> JSONResponse:
    return response_of(error)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 -- for mypy; FastAPI dispatches by type
    found = [
        FieldProblem(
            place=_place(detail["loc"]),
            problem=str(detail["type"]),
            allowed=allowed_by(detail["type"], detail.get("ctx", {})),
        )
        for detail in error.errors()[:50]
    ]
    renamed = {str(detail["loc"][-1]) for detail in error.errors()} & _RENAMED.keys()
    hint = "See /openapi.json for the shape of requests, and send application/json"
    hint = ". ".join([*(f"`{old}` is called `{_RENAMED[old]}`" for old in sorted(renamed)), hint])
    return response(422, "the request has another shape than it should", hint, errors=found)


def _place(loc: Sequence[str | int]) -> list[str | int]:
    """Return the place without names that are the request's own, such as ids of sources."""
    if loc[0] in {"query", "path", "header"}:  # only parameters of ours are looked at
        return list(loc[:2])
    known = {"body", *_fields()}
    return [part if isinstance(part, int) or part in known else "*" for part in loc]


def _fields() -> set[str]:
    from veridical.interfaces.http import schemas

    return {
        name
        for model in vars(schemas).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name in model.model_fields
    }


async def _http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 -- for mypy; Starlette dispatches by type
    hints = {
        400: "Send a JSON object in UTF-8",
        404: "The addresses are in /openapi.json",
        405: "The header Allow names the methods",
        413: "Send less, or raise server.max_request_bytes",
    }
    says = {
        400: "the body cannot be read",
        404: "there is nothing at this address",
        405: "this address does not know the method",
        413: "the body is larger than is allowed",
    }
    status = error.status_code
    detail = says.get(status, HTTPStatus(status).phrase)
    return response(status, detail, hints.get(status, ""), headers=error.headers)
