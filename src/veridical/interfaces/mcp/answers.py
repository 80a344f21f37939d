"""Results of the tools: bounded, because they go into the context of a model.

Texts are cut at `MOST_CHARACTERS` and say so; of lists, the omitted items are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from veridical.core.measurements import Unmeasured, supported_probability
from veridical.core.printing import number
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Status, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.audit.values import TraceAudit
    from veridical.core.measurements import Measurement
    from veridical.core.verdicts import EvidenceSpan, Verdict
    from veridical.memory import Fact, RememberResult
    from veridical.pipeline.reports import Report
    from veridical.quotes.grounding import QuoteMatch

MOST_CHARACTERS = 500
MOST_CLAIMS = 40
MOST_PIECES = 2
MOST_NAMES = 20
_DECIMALS = 4

T = TypeVar("T")


def cut(text: str) -> str:
    """Return a text of at most `MOST_CHARACTERS`, with the number of missing ones."""
    over = len(text) - MOST_CHARACTERS
    return text if over <= 0 else f"{text[:MOST_CHARACTERS]} … ({over} more characters)"


def _cut(value: object) -> object:
    return cut(value) if isinstance(value, str) else value


def _rounded(value: object) -> object:
    return number(value, _DECIMALS) if isinstance(value, float) else value


Cut = Annotated[str, BeforeValidator(_cut)]
Number = Annotated[float, BeforeValidator(_rounded)]
Names = Annotated[list[Cut], Field(max_length=MOST_NAMES)]


class Output(BaseModel):
    """Result of a tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EvidenceAnswer(Output):
    """A place in a source, in code points, and its relation to the claim."""

    source: Cut = Field(description="The id of the source.")
    start: int = Field(description="Offset of the first character in the source, from 0.")
    end: int = Field(description="Offset behind the last character.")
    role: str = Field(description="supports, contradicts or nearest")
    text: Cut = Field(description="The words of the source.")


class ClaimAnswer(Output):
    """The verdict on one claim."""

    text: Cut = Field(description="The claim, as it stands in the answer.")
    status: str = Field(
        description=" ".join(f"{status}: {row.meaning}" for status, row in STATUS_TABLE.items())
    )
    flagged: bool = Field(description="Whether it did not come out as supported.")
    certainty: str = Field(
        description="sure: act on the verdict as it is; unsure: look at the evidence yourself "
        "before you do"
    )
    probability_right: Number | None = Field(
        description="Probability from 0 to 1 that the verdict is right; null where it is unknown."
    )
    rule: str = Field(description="What decided.")
    p1: Number | None = Field(
        description="Probability from 0 to 1 that the evidence supports the claim; null: not "
        "measured."
    )
    p0: Number | None = Field(
        description="The same probability with the cited evidence removed. Near p1: the evidence "
        "made no difference."
    )
    budget_gap_bits: Number | None = Field(
        description="Bits of information that the claim needs at its confidence, less those that "
        "the evidence adds. Above 0: evidence is missing; null: not measured."
    )
    unmeasured: str | None = Field(description="Why there is no p1.")
    phantom_citations: Names = Field(description="Cited ids that do not exist.")
    evidence: list[EvidenceAnswer] = Field(
        max_length=MOST_PIECES, description="The places that decided, or the nearest ones."
    )
    suggested_action: str | None = Field(description="What to do about it.")


class CheckAnswer(Output):
    """Result of `check`; claims to be corrected come first."""

    outcome: str = Field(
        description="grounded, flagged, undetermined or nothing_to_check; only grounded is a pass"
    )
    claims_checked: int = Field(description="Claims that were verified, of all in the answer.")
    claims_flagged: int = Field(description="Those that did not come out as supported.")
    claims_flagged_surely: int = Field(description="Those of which the verdict is sure.")
    failing: int = Field(description="Those that fail under fail_on: correct them.")
    claims_undetermined: int = Field(description="Those that could not be measured.")
    probability_grounded: Number | None = Field(
        description="Probability from 0 to 1 that every checked claim is supported; null: unknown."
    )
    claims: list[ClaimAnswer] = Field(
        max_length=MOST_CLAIMS, description="The verdicts, those to be corrected first."
    )
    claims_not_shown: int = Field(description="Claims that are not shown here.")


class QuoteAnswer(Output):
    """Place of a quote, in code points of the source; null if it is not there."""

    number: int = Field(description="Which of the quotes that were handed in, from 1.")
    key: str | None = Field(description="The key it was handed in under, if there was one.")
    accepted: bool = Field(description="Whether it is there and, if strict, has no caveat.")
    reason: str | None = Field(description="Why it was rejected.")
    start: int | None = Field(description="Offset of its first character, from 0.")
    end: int | None = Field(description="Offset behind its last character.")
    grade: str | None = Field(description="exact, whitespace, typography, case or fuzzy")
    caveats: list[str] = Field(description="Why it may mislead although it is there.")
    speaker: str | None = Field(description="Who says it, if the source has speakers.")
    start_s: float | None = Field(description="Second at which it begins, if known.")
    end_s: float | None = Field(description="Second at which it ends, if known.")


class QuotesAnswer(Output):
    """Result of `ground_quotes`."""

    accepted: int = Field(description="How many quotes are accepted.")
    rejected: int = Field(description="How many are not.")
    quotes: list[QuoteAnswer] = Field(description="One result for each quote, in order.")


class AuditedStep(Output):
    """The label of one step."""

    id: str = Field(description="The id of the step.")
    label: str | None = Field(
        description="ENTAILED, CONTRADICTED, NOT_IN_CONTEXT or UNVERIFIABLE; null: not measured"
    )
    rule: str = Field(description="What decided.")
    text: Cut = Field(description="What the step asserts.")
    wrong_citations: Names = Field(description="Citations of later steps, of itself, of nothing.")


class Audited(Output):
    """Result of `audit_trace`."""

    soundness: str | None = Field(description="VALID, WARNING, INVALID or UNAUDITABLE")
    rule: str | None = Field(description="What decided the soundness.")
    first_error: str | None = Field(description="The first step that does not hold.")
    undetermined: int = Field(description="Steps that could not be measured.")
    post_hoc: str | None = Field(
        description="derivable, not_derivable, derives_something_else, undetermined; "
        "null if there was no answer"
    )
    steps: list[AuditedStep] = Field(description="The steps, in order.")


class Remembering(Output):
    """Result of `remember`."""

    outcome: str = Field(description="stored, queued, rejected or failed")
    reason: str = Field(description="Why, in words.")
    confidence: Number = Field(description="What is left of the stated confidence, from 0 to 1.")
    fact_id: str | None = Field(description="The id of the fact; null if it was not stored.")
    pending: bool = Field(description="Whether it waits to be verified again.")
    conflicts: Names = Field(description="Ids of remembered facts that contradict it.")


class RecalledFact(Output):
    """One fact."""

    id: str = Field(description="Its id.")
    text: Cut = Field(description="The fact.")
    state: str = Field(description="verified, unverified or rejected")
    confidence: Number = Field(description="How sure it is, from 0 to 1, after verification.")
    entities: Names = Field(description="Names that it is about.")
    sources: Names = Field(description="Ids of the sources it was verified against.")
    created: str = Field(description="When it was stored, ISO 8601.")


class Recalled(Output):
    """Result of `recall`."""

    facts: list[RecalledFact] = Field(description="The facts, newest or best first.")
    more: bool = Field(description="Whether there may be more than these.")


# --- from results of the library --------------------------------------------------------------


def checked(report: Report) -> CheckAnswer:
    """Return a report, the claims to be corrected first."""
    urgent = sorted(report.claims, key=_urgency)
    shown = urgent[:MOST_CLAIMS]
    return CheckAnswer(
        outcome=report.summary.outcome.value,
        claims_checked=report.summary.claims_checked,
        claims_flagged=len(report.flagged),
        claims_flagged_surely=report.summary.flagged.sure,
        failing=len(report.failing),
        claims_undetermined=report.summary.by_status.get(Status.UNDETERMINED, 0),
        probability_grounded=report.summary.probability_grounded,
        claims=[claim(verdict) for verdict in shown],
        claims_not_shown=len(urgent) - len(shown),
    )


def _urgency(verdict: Verdict) -> int:
    if verdict.flagged:
        return 0 if verdict.sure else 1
    if verdict.status is Status.UNDETERMINED:
        return 2
    return 3 if verdict.please_look else 4


def claim(verdict: Verdict) -> ClaimAnswer:
    """Return the verdict on a claim."""
    asked = verdict.claim.verifiable
    phantoms = [cite.id for cite in verdict.citations if not cite.resolved]
    return ClaimAnswer(
        text=verdict.claim.text,
        status=verdict.status.value,
        flagged=verdict.flagged,
        certainty=verdict.certainty.value,
        probability_right=verdict.probability_right,
        rule=verdict.rule,
        p1=supported_probability(verdict.p1),
        p0=supported_probability(verdict.p0),
        budget_gap_bits=verdict.budget.budget_gap_bits,
        unmeasured=_why(verdict.p1) if asked else None,
        phantom_citations=phantoms[:MOST_NAMES],
        evidence=[_evidence(piece) for piece in verdict.shown[:MOST_PIECES]],
        suggested_action=_action(verdict),
    )


def _action(verdict: Verdict) -> str | None:
    """Return the action for a claim; for an unsure one, to look first."""
    action = row_of(verdict).suggested_action
    if not verdict.please_look:
        return action
    look = "Not sure: look at the evidence yourself"
    return look if action is None else f"{look}. If the verdict is right: {action}"


def _why(found: Measurement) -> str | None:
    return found.reason.value if isinstance(found, Unmeasured) else None


def _evidence(piece: EvidenceSpan) -> EvidenceAnswer:
    place = {"start": piece.span.start, "end": piece.span.end}
    return EvidenceAnswer(source=piece.source, role=piece.role.value, text=piece.text, **place)


def grounded(matches: Sequence[QuoteMatch], keys: Sequence[str | None]) -> QuotesAnswer:
    """Return the places of quotes, with their keys; the caller knows the quotes themselves."""
    accepted = sum(match.accepted for match in matches)
    return QuotesAnswer(
        accepted=accepted,
        rejected=len(matches) - accepted,
        quotes=[
            _quote(number, key, match)
            for number, (key, match) in enumerate(zip(keys, matches, strict=True), start=1)
        ],
    )


def _quote(number: int, key: str | None, match: QuoteMatch) -> QuoteAnswer:
    return QuoteAnswer(
        number=number,
        key=key,
        accepted=match.accepted,
        reason=match.reason,
        start=match.start,
        end=match.end,
        grade=match.grade,
        caveats=[str(caveat) for caveat in match.caveats],
        speaker=match.speaker,
        start_s=match.start_s,
        end_s=match.end_s,
    )


def audited(audit: TraceAudit) -> Audited:
    """Return an audit."""
    first, overall, post_hoc = audit.first_error, audit.overall, audit.post_hoc
    return Audited(
        soundness=None if overall is None else overall.soundness.value,
        rule=None if overall is None else overall.rule,
        first_error=None if first is None else first.id,
        undetermined=audit.undetermined,
        post_hoc=None if post_hoc is None else post_hoc.verdict.value,
        steps=[
            AuditedStep(
                id=step.id,
                label=step.label,
                rule=step.verification.rule,
                text=step.text,
                wrong_citations=[cite.id for cite in step.citations if cite.fault][:MOST_NAMES],
            )
            for step in audit.steps
        ],
    )


def remembering(done: RememberResult) -> Remembering:
    """Return the outcome for a fact."""
    return Remembering(
        outcome=done.outcome.value,
        reason=done.reason,
        confidence=float(done.confidence),
        fact_id=None if done.fact is None else done.fact.id,
        pending=done.pending,
        conflicts=[conflict.fact_id for conflict in done.conflicts][:MOST_NAMES],
    )


def recalled(facts: Sequence[Fact], limit: int) -> Recalled:
    """Return facts, `limit` at most."""
    return Recalled(facts=[_fact(fact) for fact in facts[:limit]], more=len(facts) > limit)


def _fact(fact: Fact) -> RecalledFact:
    sources: list[Any] = list(dict.fromkeys(origin.source for origin in fact.provenance))
    return RecalledFact(
        id=fact.id,
        text=fact.text,
        state=fact.state.value,
        confidence=float(fact.confidence),
        entities=list(fact.entities[:MOST_NAMES]),
        sources=sources[:MOST_NAMES],
        created=fact.created.isoformat(),
    )
