"""Audit of a reasoning chain: verification of each step against its sources and earlier steps.

Premises of a step are the sources, the context given to it or to an earlier step, and earlier
steps labelled ENTAILED; its citations restrict them. Later steps are never premises. Afterwards the
answer is derived again from the entailed steps alone (`veridical.audit.derivation`).
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from dataclasses import dataclass, field, replace
from heapq import nlargest
from math import log
from typing import TYPE_CHECKING, Protocol

from veridical.audit.conclusion import overall
from veridical.audit.derivation import AnswerDeriver, check_post_hoc
from veridical.audit.steps import (
    CitationRules,
    Step,
    StepLike,
    StepTrace,
    parse_step,
    parse_trace,
    refuse_duplicates,
)
from veridical.audit.values import Cited, StepAudit, TraceAudit
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.sources import as_sources
from veridical.core.types import Citation, CitationRef, Claim, Exclusion, Source, Span
from veridical.core.verdicts import NOTHING_TO_REST_ON, Budget, Status, Verdict
from veridical.pipeline.claims import extract_claims
from veridical.pipeline.evidence import resolve_citations
from veridical.pipeline.judgement.contradictions import content_words
from veridical.pipeline.judgement.epistemic import deciding, step_label, verification

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.audit.values import StepCitation
    from veridical.core.policy import Policy
    from veridical.core.sources import Sources
    from veridical.core.status_table import StepLabel
    from veridical.traces.values import Trace as GoalTrace
    from veridical.verification.verifier import Verifier

__all__ = ["AnswerDeriver", "Step", "StepLike", "StepTrace", "audit", "parse_step", "parse_trace"]

RESTS_ON_A_STEP_THAT_FAILED = "rests_on_a_step_that_is_not_entailed"
RESTS_ON_AN_UNMEASURED_STEP = "rests_on_a_step_that_was_not_measured"
CITES_A_LATER_STEP = "cites_a_later_step"
CITES_IN_A_CIRCLE = "cites_in_a_circle"

READ = 64
"""Limit of the earlier steps and contexts among the premises of a step: the most similar.

The sources of the trace and the step's citations are always read.
"""

LATEST = 1000
"""Of the contexts and steps that share a word with a step, the latest so many are compared."""

_NOT_ASKED = Unmeasured(UnmeasuredReason.DISABLED, "nothing to read it against")


class StepProgress(Protocol):
    """Callback for the number of audited steps."""

    def __call__(self, done: int, total: int, /) -> None:
        """Report that `done` of `total` steps are audited."""
        ...


async def audit(  # noqa: PLR0913 -- trace, verifier and evidence: each option may be left out
    trace: StepTrace | GoalTrace | Mapping[str, object] | Iterable[StepLike],
    verifier: Verifier,
    *,
    sources: Sources | None = None,
    policy: Policy | None = None,
    executor: AnswerDeriver | None = None,
    progress: StepProgress | None = None,
) -> TraceAudit:
    """Return the audit of a chain of reasoning.

    A trace is a list of steps, an object of schema `veridical.steps/1`, or the result of
    `ReasoningTraces.tree`, whose claims are the steps. A step is a text or `{"claim", "cites",
    "context", "confidence", "id"}`, of which only the claim is required; without an id it is
    `step1`, `step2`, ... by its place. Texts cite as answers do (`[S1]`, `[step2]`). A citation of
    the step itself or of a later one is a phantom citation with the kind of fault noted. With an
    `executor` and an answer, the answer is derived again from the entailed steps. `InputError` if
    a step or a source has the wrong shape, or an id comes twice.
    """
    read = parse_trace(trace)
    given = {source.id: source for source in read.sources}
    if sources is not None:
        _add(given, as_sources(sources).values(), read)
    refuse_duplicates(read.steps, given)
    run = _Run(read.steps, given, verifier, policy)
    audited = []
    for step in read.steps:
        audited.append(await run.audit(step))
        if progress is not None:
            progress(len(audited), len(read.steps))
    checked = None
    if executor is not None and read.answer is not None:
        checked = await check_post_hoc(read, audited, verifier, executor, policy)
    return TraceAudit(
        steps=tuple(audited),
        overall=overall(audited, checked),
        post_hoc=checked,
        question=read.question,
        answer=read.answer,
        left_out=read.left_out,
    )


def _add(given: dict[str, Source], more: Iterable[Source], trace: StepTrace) -> None:
    """Add further sources to the trace's; `SourceError` if an id comes twice."""
    added = list(more)
    refuse_duplicates(trace.steps, [*given, *(source.id for source in added)])
    given.update((source.id, source) for source in added)


# --- premises of a step ----------------------------------------------------------------------


class _Pool:
    """Contexts and entailed steps so far, in order, with an index of their words."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self._having: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, source: Source) -> None:
        for word in content_words(source.text):
            self._having[word].append(len(self.sources))
        self.sources[source.id] = source

    def nearest(self, text: str, always: Iterable[str]) -> list[Source]:
        """Return the whole pool if it is small, else the texts with most words in common.

        Words are weighted by inverse document frequency (Spärck Jones 1972). Later texts win ties.
        """
        if len(self.sources) <= READ:
            return list(self.sources.values())
        scores: defaultdict[int, float] = defaultdict(float)
        for word in sorted(content_words(text) & self._having.keys()):
            having = self._having[word]
            weight = log(1 + len(self.sources) / len(having))
            for number in having[-LATEST:]:
                scores[number] += weight
        latest = range(len(self.sources) - READ, len(self.sources))
        ranked = nlargest(
            READ, {*scores, *latest}, key=lambda number: (scores.get(number, 0.0), number)
        )
        held = list(self.sources)
        kept = dict.fromkeys(held[number] for number in sorted(ranked))
        kept.update((one, None) for one in always if one in self.sources)
        return [self.sources[one] for one in kept]


@dataclass(slots=True)
class _Run:
    """State of one audit: the premises and labels so far."""

    steps: tuple[Step, ...]
    given: dict[str, Source]
    verifier: Verifier
    policy: Policy | None
    labels: dict[str, StepLabel | None] = field(default_factory=dict)
    pool: _Pool = field(default_factory=_Pool)
    claims: dict[str, list[Claim]] = field(init=False)
    rules: CitationRules = field(init=False)
    ids: dict[str, Source] = field(init=False)

    def __post_init__(self) -> None:
        contexts = [source for step in self.steps for source in step.context]
        texts = [*self.given.values(), *contexts]
        self.ids = {source.id: source for source in texts}
        named = {**self.ids, **{step.id: Source(step.id, step.claim) for step in self.steps}}
        self.claims = {step.id: _claims(step, named) for step in self.steps}
        cites = {
            step.id: [self._meant(one, named) for claim in claims for one in _written(step, claim)]
            for step, claims in zip(self.steps, self.claims.values(), strict=True)
        }
        self.rules = CitationRules.of(self.steps, self.given, cites)
        self.ids = named

    def _meant(self, cited: str, named: Mapping[str, Source]) -> str:
        """Return the id that a citation means: exactly, `[1]` for `S1`, else for `step1`."""
        if cited in named or not cited.isdecimal():
            return cited
        ref = CitationRef(cited, Span(0, 0))
        for known in (self.given, named):
            (found,) = resolve_citations([ref], known)
            if found.source is not None:
                return found.source
        return cited

    async def audit(self, step: Step) -> StepAudit:
        for source in step.context:
            self.pool.add(source)
        verdicts = [await self._verify(claim, step) for claim in self.claims[step.id]]
        decided = deciding(verdicts)
        label = step_label(decided)
        cited = dict.fromkeys(
            self._cited(step, one)
            for claim in self.claims[step.id]
            for one in (_written(step, claim))
        )
        if label == "ENTAILED":
            self.pool.add(Source(step.id, step.claim))
        self.labels[step.id] = label
        whole = _whole(step, excluded=decided.claim.excluded)
        return StepAudit(
            id=step.id,
            text=step.claim,
            label=label,
            verification=replace(verification(decided), claim_id=whole.id, claim_text=whole.text),
            claims=tuple(verification(verdict) for verdict in verdicts),
            read_against=_read_against(verdicts),
            citations=tuple(cited),
            final=step.final,
        )

    def _cited(self, step: Step, written: str) -> StepCitation:
        meant = self._meant(written, self.ids)
        readable = ChainMap(self.given, self.pool.sources)
        found = self.rules.cited(step.id, meant, self.labels, readable)
        if found.kind is Cited.PHANTOM and ":" in meant:  # lines of a source, `a.py:42`
            (place,) = resolve_citations([CitationRef(meant, Span(0, 0))], readable)
            found = found if place.source is None else replace(found, kind=Cited.SOURCE)
        return replace(found, id=written)

    # --- one claim ---------------------------------------------------------------------------

    async def _verify(self, claim: Claim, step: Step) -> Verdict:
        policy = self._policy(step)
        target = policy.target_confidence
        if not claim.assertive or claim.vague:
            why = _why_unverifiable(claim.excluded)
            return _unasked(claim, Status.UNVERIFIABLE, why, target)
        cites = tuple(self._meant(one, self.ids) for one in _written(step, claim))
        if not cites and step.cites is None:
            return await self._read(claim, (), policy)
        # A step that failed exists, but nothing can rest on it; a later one does not exist yet.
        failed = [cite for cite in cites if self.labels.get(cite, "ENTAILED") != "ENTAILED"]
        sound = tuple(cite for cite in cites if cite not in failed)
        if failed and not sound:
            lost = any(self.labels[cite] is None for cite in failed)
            status = Status.UNDETERMINED if lost else Status.UNSUPPORTED
            rule = RESTS_ON_AN_UNMEASURED_STEP if lost else RESTS_ON_A_STEP_THAT_FAILED
            return _unasked(claim, status, rule, target, cites, exist=True)
        return self._with_fault(await self._read(claim, sound, policy), step, cites)

    def _policy(self, step: Step) -> Policy:
        """Return the thresholds for a step: its stated confidence is its target confidence."""
        policy = self.policy or self.verifier.policy
        stated = step.confidence
        return policy if stated is None else replace(policy, target_confidence=stated)

    async def _read(self, claim: Claim, cites: tuple[str, ...], policy: Policy) -> Verdict:
        readable = [*self.given.values(), *self.pool.nearest(claim.as_read, cites)]
        if not readable:
            status = Status.PHANTOM_CITATION if cites else Status.UNSUPPORTED
            rule = "cited_id_does_not_exist" if cites else NOTHING_TO_REST_ON
            return _unasked(claim, status, rule, policy.target_confidence, cites)
        verdict = await self.verifier.verify(
            claim.as_read, readable, cites=cites, always_read=self._before(), policy=policy
        )
        return replace(verdict, claim=replace(claim, citations=verdict.claim.citations))

    def _before(self) -> tuple[str, ...]:
        """Return the last entailed step, if there is one: the likeliest premise of the next."""
        entailed = [one for one, label in self.labels.items() if label == "ENTAILED"]
        return tuple(entailed[-1:])

    def _with_fault(self, verdict: Verdict, step: Step, cites: Iterable[str]) -> Verdict:
        """Return a verdict with the fault of its phantom citation: a later step, or a circle."""
        if verdict.status is not Status.PHANTOM_CITATION:
            return verdict
        kinds = {self._cited(step, cite).kind for cite in cites}
        if Cited.PHANTOM in kinds or not kinds & {Cited.FORWARD, Cited.CYCLIC}:
            return verdict
        rule = CITES_IN_A_CIRCLE if Cited.CYCLIC in kinds else CITES_A_LATER_STEP
        return replace(verdict, rule=rule)


def _written(step: Step, claim: Claim) -> tuple[str, ...]:
    """Return the ids that a claim of a step cites, as they are written."""
    return tuple(ref.id for ref in claim.citations) if step.cites is None else step.cites


def _claims(step: Step, named: Mapping[str, Source]) -> list[Claim]:
    """Return the checkable claims of a step, or its uncheckable ones if it has no others."""
    found = extract_claims(step.claim, known_ids=named.keys() if "[" in step.claim else ()).claims
    checkable = [claim for claim in found if claim.assertive and not claim.vague]
    return checkable or list(found) or [_whole(step, vague=True)]


def _whole(step: Step, *, vague: bool = False, excluded: Exclusion | None = None) -> Claim:
    return replace(Claim.of_text(step.claim, step.id), vague=vague, excluded=excluded)


def _read_against(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    pieces = [p for v in verdicts for p in (*v.windows_scored, *v.stitched_scored)]
    return tuple(dict.fromkeys(piece.source for piece in pieces))


def _why_unverifiable(excluded: Exclusion | None) -> str:
    return "no_checkable_content" if excluded is None else f"not_assertive:{excluded}"


def _unasked(  # noqa: PLR0913 -- a verdict has that many parts
    claim: Claim,
    status: Status,
    rule: str,
    target: float,
    cites: Sequence[str] = (),
    *,
    exist: bool = False,
) -> Verdict:
    """Return the verdict on a claim decided without a model; `exist`: the cited ids exist."""
    refs = tuple(CitationRef(cite, claim.span) for cite in cites)
    return Verdict(
        claim=replace(claim, citations=refs),
        status=status,
        rule=rule,
        citations=tuple(Citation(ref.id, ref.span, ref.id if exist else None) for ref in refs),
        p1=_NOT_ASKED,
        p0=_NOT_ASKED,
        budget=Budget(target),
        evidence_dependence=None,
    )
