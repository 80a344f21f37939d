"""Arguments of the tools: the models are the schemas that an agent reads, with examples."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AllowInfNan, BaseModel, ConfigDict, Field

from veridical.interfaces.http.schemas import Id, SourceIn, at_most_quotes

MOST_QUOTES = 200
MOST_STEPS = 200
MOST_FACTS = 50

Text = Annotated[str, Field(min_length=1)]
Probability = Annotated[float, AllowInfNan(False), Field(ge=0, le=1)]
Sources = Annotated[
    dict[Id, str] | list[SourceIn | Text],
    Field(
        min_length=1,
        description="The evidence: texts by id, a list of {id, text}, or a list of texts, which "
        "are numbered from 1. Texts cite them by these ids, as in [S1].",
        examples=[{"S1": "The bridge opened in 1998. It carries eight lanes."}],
    ),
]
Question = Annotated[
    str | None, Field(description="The question that is answered, if there is one.")
]


class Arguments(BaseModel):
    """Arguments of a tool; an unknown one is an error, and errors quote none."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Check(Arguments):
    """Arguments of `check`."""

    answer: Text = Field(
        description="The text to check. It is taken apart into claims.",
        examples=["The bridge opened in 1998 [S1]. It has six lanes [S1]."],
    )
    sources: Sources
    question: Question = None
    fail_on: Literal["any", "sure", "contradicted"] | None = Field(
        default=None,
        description="Which flagged claims count as failing: all, those of which the verdict is "
        "sure, or those that the sources contradict. Left out: as configured.",
    )


class VerifyClaim(Arguments):
    """Arguments of `verify_claim`."""

    claim: Text = Field(
        description="One assertion, a whole sentence.", examples=["The bridge has six lanes."]
    )
    sources: Sources
    cites: list[str] = Field(
        default_factory=list,
        description="Ids of the sources that count for this claim; left out, all do.",
        examples=[["S1"]],
    )
    confidence: Probability = Field(
        default=0.95, description="How sure the claim is meant to be, from 0 to 1."
    )
    question: Question = None


class GroundQuotes(Arguments):
    """Arguments of `ground_quotes`."""

    quotes: Annotated[list[str] | dict[Id, list[str]], at_most_quotes(MOST_QUOTES)] = Field(
        min_length=1,
        max_length=MOST_QUOTES,
        description="Passages that are said to stand in the transcript, as a list, or as lists by "
        "a key of yours.",
        examples=[["It carries eight lanes."]],
    )
    transcript: Text = Field(
        description="The text that they are said to stand in.",
        examples=["The bridge opened in 1998. It carries eight lanes."],
    )
    strict: bool = Field(
        default=False, description="Reject quotes that are there but mislead, too."
    )
    speaker: list[str] = Field(
        default=[],
        description="Whose words count, by name: if labels tell, who is assessed; * for anyone.",
    )


class StepArgument(Arguments):
    """One step of a chain of reasoning."""

    claim: Text = Field(description="What the step asserts.")
    id: Id | None = Field(default=None, description="Its id; left out, step1, step2, ...")
    cites: list[str] | None = Field(
        default=None,
        description="What it rests on: ids of sources, or of earlier steps (step1, step2, ...).",
    )


class AuditTrace(Arguments):
    """Arguments of `audit_trace`."""

    steps: list[StepArgument | Text] = Field(
        min_length=1,
        max_length=MOST_STEPS,
        description="The steps, in order: texts, or objects with what a step cites.",
        examples=[[{"claim": "The bridge carries eight lanes.", "cites": ["S1"]}]],
    )
    sources: Sources
    question: Question = None
    answer: str | None = Field(
        default=None, description="The conclusion: does it follow from the steps that hold?"
    )


class Remember(Arguments):
    """Arguments of `remember`."""

    text: Text = Field(
        description="One assertion, a whole sentence that can be read on its own.",
        examples=["The bridge carries eight lanes."],
    )
    sources: Sources
    entities: list[str] = Field(
        default_factory=list, description="What it is about: names.", examples=[["bridge"]]
    )
    confidence: Probability | None = Field(
        default=None, description="How sure it is said to be, from 0 to 1."
    )
    tier: Literal["task", "session", "long_term"] = Field(
        default="long_term", description="How long it is meant to be remembered."
    )


class Recall(Arguments):
    """Arguments of `recall`."""

    text: str | None = Field(
        default=None, description="Words that a fact has, all of them.", examples=["bridge lanes"]
    )
    entities: list[str] = Field(
        default_factory=list, description="Names that it is about, all of them."
    )
    limit: int = Field(default=10, ge=1, le=MOST_FACTS, description="At most so many facts.")


def example_of(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the example of a tool's required arguments."""
    fields = arguments.model_fields.items()
    schema = arguments.model_json_schema()["properties"]
    return {name: schema[name]["examples"][0] for name, field in fields if field.is_required()}
