"""Schemas of requests. An unknown field is refused, so that a typing error shows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AllowInfNan,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictStr,
)
from pydantic_core import PydanticCustomError

from veridical.core.sources import new_source
from veridical.settings.blocks import PolicySettings

Text = Annotated[StrictStr, Field(min_length=1)]
Id = Annotated[StrictStr, Field(min_length=1, max_length=500)]
Share = Annotated[StrictFloat, AllowInfNan(False), Field(ge=0, le=1)]

MOST_QUOTES = 1000
"""Quotes in one request, those of all keys together."""


def at_most_quotes(most: int) -> AfterValidator:
    """Return a validator of quotes, as a list or as lists by key: all of them count."""

    def ensure_few(given: Any) -> Any:  # noqa: ANN401 -- one of two shapes
        count = sum(map(len, given.values())) if isinstance(given, dict) else len(given)
        if count > most:
            kind, says = "too_long", "there are more than {max_length} quotes"
            raise PydanticCustomError(kind, says, {"max_length": most})
        return given

    return AfterValidator(ensure_few)


class Body(BaseModel):
    """A body of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceIn(Body):
    """A source with its id."""

    id: Id = Field(description="What claims cite it by.")
    text: Text = Field(description="Its text.")
    name: Id | None = Field(default=None, description="The name of its file, shown in reports.")


SourcesIn = Annotated[
    dict[Id, Text] | list[SourceIn | Text],
    Field(
        description="Evidence: texts by id, a list of `{id, text, name}`, or a list of texts, "
        "which are numbered from 1.",
        min_length=1,
    ),
]


def plain_sources(given: Any) -> Any:  # noqa: ANN401 -- one of the shapes of `SourcesIn`
    """Return sources in a shape that the verifier takes."""
    if given is None or isinstance(given, dict):
        return given
    return [
        each if isinstance(each, str) else new_source(number, each.id, each.text, each.name)
        for number, each in enumerate(given, start=1)
    ]


PolicyIn = Annotated[
    PolicySettings | None,
    Field(description="Thresholds and limits for this request; what is left out is configured."),
]
QuestionIn = Annotated[Text | None, Field(description="The question that the answer answers.")]

_SOURCES: dict[str, Any] = {
    "S1": "The bridge was opened to traffic in 1998. It carries eight lanes."
}


class CheckIn(Body):
    """An answer to be checked claim by claim."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "answer": "The bridge opened in 1998 [S1]. It has six lanes [S1].",
                    "sources": _SOURCES,
                    "question": "What do we know of the bridge?",
                    "policy": {"windows": 2},
                }
            ]
        }
    )

    answer: Text = Field(description="What is checked; it may cite sources, as in `[S1]`.")
    sources: SourcesIn
    question: QuestionIn = None
    policy: PolicyIn = None


class RowIn(Body):
    """One answer of several."""

    id: Id = Field(description="Yours, to know its result by.")
    answer: Text = Field(description="What is checked; it may cite sources, as in `[S1]`.")
    sources: SourcesIn
    question: QuestionIn = None


_ROWS: Any = [
    {"id": "a", "answer": "The bridge opened in 1998 [S1].", "sources": _SOURCES},
    {"id": "b", "answer": "It has six lanes [S1].", "sources": _SOURCES},
]


class BatchIn(Body):
    """Answers to be checked in one request."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": _ROWS}]})

    rows: list[RowIn] = Field(
        min_length=1, description="At most `jobs.max_batch` in a batch, `jobs.max_rows` in a job."
    )
    policy: PolicyIn = None


class JobIn(BatchIn):
    """Answers to be checked later."""

    webhook: Annotated[StrictStr, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="An https:// address that is told of the end of the job."
    )


class ClaimIn(Body):
    """One claim, taken as it stands."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"claim": "It has six lanes.", "sources": _SOURCES, "confidence": 0.95}]
        }
    )

    claim: Text = Field(description="One assertion; nothing is parsed out of it.")
    sources: SourcesIn
    cites: list[Id] = Field(
        default=[], max_length=1000, description="Ids of the sources that count; none means all."
    )
    confidence: Share | None = Field(
        default=None, description="How sure the claim has to be: the evidence has to pay for it."
    )
    question: QuestionIn = None
    policy: PolicyIn = None


class QuotesIn(Body):
    """Quotes to be looked up in a transcript."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "quotes": {"PHQ8_Sleep": ["I can't sleep"]},
                    "transcript": "Ellie: How are you?\nParticipant: I can't sleep.",
                }
            ]
        }
    )

    quotes: Annotated[
        dict[Id, list[StrictStr]] | list[StrictStr],
        Field(description="Quotes, by a key of yours or as a list.", max_length=MOST_QUOTES),
        at_most_quotes(MOST_QUOTES),
    ]
    transcript: Text = Field(description="Where they should be: plain, VTT, SRT, CSV or JSON.")
    mode: Literal["substring", "fuzzy"] | None = Field(
        default=None, description="How quotes are looked for; the default is configured."
    )
    fuzzy_threshold: Annotated[StrictFloat, AllowInfNan(False), Field(ge=0.5, le=1)] | None = Field(
        default=None, description="The similarity that mode `fuzzy` asks for."
    )
    strict: StrictBool | None = Field(
        default=None, description="Whether a quote with caveats is rejected."
    )
    speaker: list[Id] = Field(
        default=[],
        max_length=100,
        description="Whose words count: by default who is assessed, if the roles tell; `*` anyone.",
    )


class StepIn(Body):
    """A step of a trace."""

    claim: Text
    id: Id | None = None
    cites: list[Id] | None = None
    context: Text | dict[Id, Text] | list[SourceIn | Text] | None = None
    confidence: Share | None = None


class AuditIn(Body):
    """A chain of reasoning to be audited step by step."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "steps": [
                        "The bridge was opened in 1998.",
                        {"claim": "So it is 28 years old."},
                    ],
                    "sources": _SOURCES,
                    "answer": "The bridge was opened in 1998.",
                }
            ]
        }
    )

    steps: Annotated[list[StepIn | Text], Field(min_length=1, max_length=10_000)] = Field(
        description="Texts, or objects with what a step cites and what it was given."
    )
    sources: SourcesIn | None = None
    question: QuestionIn = None
    answer: Text | None = Field(default=None, description="Derived again from the entailed steps.")
    post_hoc: StrictBool | None = Field(
        default=None, description="Whether the answer has to follow; the default is configured."
    )
    policy: PolicyIn = None


class EntityIn(Body):
    """An entity, and its role in a fact."""

    name: Id
    role: Annotated[StrictStr, Field(max_length=500)] = ""


class FactIn(Body):
    """A fact to be stored if its evidence supports it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "The bridge has eight lanes.", "sources": _SOURCES, "entities": ["bridge"]}
            ]
        }
    )

    text: Text = Field(description="One assertion.")
    sources: SourcesIn | None = None
    entities: list[EntityIn | Id] = Field(
        default=[], max_length=100, description="Entities that it is about."
    )
    relation: Id | None = Field(default=None, description="How the entities are related.")
    confidence: Share | None = Field(default=None, description="How sure it is said to be.")
    tier: Literal["task", "session", "long_term"] = Field(
        default="long_term", description="How long it is meant to be remembered."
    )
    depends_on: list[Id] = Field(
        default=[], max_length=1000, description="Ids of facts that it rests on."
    )


_NO_CLAIM: dict[str, Any] = {
    "schema": "veridical.report/1",
    "policy": {"fail_on": "sure"},
    "backend": {
        "name": "embedded",
        "model": "base",
        "estimator": "cross_encoder",
        "fingerprint": "0",
    },
    "summary": {
        "outcome": "nothing_to_check",
        "sentences": 1,
        "claims_extracted": 0,
        "claims_checked": 0,
        "skipped": {},
        "by_status": {},
        "latency_ms": 3.1,
        "extraction": {"method": "rules"},
    },
    "claims": [],
}


class ReportIn(Body):
    """A report, and the texts that it is about."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"report": _NO_CLAIM, "answer": "Would you like more?"}]}
    )

    report: dict[str, Any] = Field(description="A document `veridical.report/1`.")
    answer: Text | None = Field(
        default=None, description="Without it, places in it are offsets only."
    )
    sources: SourcesIn | None = None
    question: QuestionIn = None


class FeedbackIn(Body):
    """Mark on a verdict: right or wrong."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"report": "0f3c5b7a1e204d689f3c5b7a1e204d68", "claim_id": "c3", "right": False}
            ]
        }
    )

    report: Id | dict[str, Any] = Field(
        description="The id of a report (header x-veridical-report), or the report itself."
    )
    claim_id: Id = Field(description="The claim's id, such as c3.")
    right: StrictBool | None = Field(
        description="Whether its verdict was right; null removes an earlier mark."
    )
    actual: Id | None = Field(default=None, description="The status that would have been right.")
    comment: Annotated[StrictStr, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="The reason in words; it is stored as it is written."
    )


class UploadIn(Body):
    """A document whose text is wanted."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "notice.html", "data": "PHA+T3Blbi48L3A+"}]}
    )

    name: Id = Field(description="The name of its file: the suffix tells the format.")
    data: Annotated[Base64Bytes, Field(min_length=1)] = Field(description="Its bytes, in base64.")
