"""Vocabulary of the reports: one for the terminal, the page, SARIF and JUnit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from veridical.core.assessment import Outcome
from veridical.core.measurements import Estimate, Unmeasured, UnmeasuredReason
from veridical.core.status_table import STATUS_TABLE
from veridical.core.types import Exclusion, Skip
from veridical.core.verdicts import Note, Status
from veridical.pipeline.reports.escaping import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from veridical.core.assessment import Assessment, CascadeUsage
    from veridical.core.types import Citation, ClaimExtraction
    from veridical.core.verdicts import QuantityDifference, Verdict

EXCLUDED = "excluded"
"""The tone of a span that is kept in the report but not verified."""

PLEASE_LOOK = "This is not sure: please look."
"""Note on every verdict that needs review."""


def unsure(status: str) -> str:
    """Return the tone of verdicts of a status that are not sure."""
    return f"{status}_unsure"


@dataclass(frozen=True, slots=True)
class StatusStyle:
    """Label, marks and terminal style of a tone; `ascii_mark` is for terminals without Unicode.

    A tone is a status, or a status with `_unsure` behind it.
    """

    label: str
    mark: str
    ascii_mark: str
    meaning: str
    style: str


def _sure(status: Status) -> StatusStyle:
    row = STATUS_TABLE[status]
    return StatusStyle(row.label, row.mark, row.ascii_mark, row.meaning, row.style)


def _unsure(status: Status) -> StatusStyle:
    row = STATUS_TABLE[status]
    return StatusStyle(
        f"{row.label}, unsure",
        f"?{row.mark}",
        f"?{row.ascii_mark}",
        f"{row.meaning} {PLEASE_LOOK}",
        f"not bold italic {row.style.removeprefix('bold ')}",
    )


def tones(status: Status) -> tuple[str, ...]:
    """Return the tones of a status: of sure verdicts and, where there are such, of unsure ones."""
    by_probability = STATUS_TABLE[status].by_probability
    return (status.value, unsure(status)) if by_probability else (status.value,)


def _looks() -> Iterator[tuple[str, StatusStyle]]:
    """Yield the tones and their looks: supported, then the worst status first."""
    for status in sorted(STATUS_TABLE, key=lambda status: status is not Status.SUPPORTED):
        yield from zip(tones(status), (_sure(status), _unsure(status)), strict=False)
    meaning = "No assertion, or left out by the mode; kept here."
    yield EXCLUDED, StatusStyle("not checked", "·", ".", meaning, "grey50")


LOOKS: Mapping[str, StatusStyle] = dict(_looks())


def _urgency(status: Status, tone: str) -> tuple[int, int, bool, str]:
    """Return what orders tones: sure verdicts against a claim, then unsure ones, then the rest."""
    row, sure = STATUS_TABLE[status], tone == status
    against = row.flagged and row.kind is not None
    return (int(not sure) if against else 2, row.urgency, sure, tone)


URGENCY = (
    *(tone for *_, tone in sorted(_urgency(s, tone) for s in STATUS_TABLE for tone in tones(s))),
    EXCLUDED,
)
"""The tones in the order in which they colour a stretch of text that several claims share."""

NOTES: Mapping[Note, str] = {
    Note.EVIDENCE_INDEPENDENT: (
        "As probable without the cited evidence as with it: the citation does no work."
    ),
    Note.CONFIDENCE_NOT_JUSTIFIED: "The evidence does not pay for the confidence of the claim.",
    Note.SUPPORTED_BY_UNCITED_SOURCE: "A source that the claim does not cite supports it.",
    Note.PARTLY_SCORED: "Only some of the evidence was scored for this claim.",
    Note.OVER_EXTRAPOLATION: (
        "Claims a stronger number, scope, quantifier or certainty than the evidence has."
    ),
    Note.ANSWER_CUT_OFF: "The answer was cut off here, at the model's limit on tokens.",
}

_UNMEASURED: Mapping[UnmeasuredReason, str] = {
    UnmeasuredReason.TIMEOUT: "the backend took too long",
    UnmeasuredReason.RATE_LIMITED: "the backend is rate limited",
    UnmeasuredReason.BACKEND_ERROR: "the backend failed",
    UnmeasuredReason.MALFORMED_REPLY: "the backend's reply made no sense",
    UnmeasuredReason.CONTEXT_TOO_LONG: "the evidence is too long for the backend",
    UnmeasuredReason.DISABLED: "switched off",
    UnmeasuredReason.LANGUAGE_NOT_SUPPORTED: (
        "it or its evidence is in a language that the backend does not read; a language model "
        "backend may"
    ),
}

_EXCLUSIONS: Mapping[Exclusion, str] = {
    Exclusion.QUESTION: "a question",
    Exclusion.INSTRUCTION: "an instruction",
    Exclusion.GREETING: "a greeting",
    Exclusion.HEDGED: "hedged, so it asserts nothing",
    Exclusion.HEADING: "a heading",
    Exclusion.CODE: "code",
}

_COUNTABLE = frozenset(
    {Exclusion.QUESTION, Exclusion.INSTRUCTION, Exclusion.GREETING, Exclusion.HEADING}
)
"""Exclusions whose value is a noun that has a plural."""

_SKIPS: Mapping[Skip, str] = {
    Skip.NOT_SAMPLED: "not in the sample",
    Skip.NOT_CRITICAL: "no number, name, negation or word of certainty in it",
    Skip.OVER_LIMIT: "over the limit of claims",
}


def tone(verdict: Verdict) -> str:
    """Return the key of `LOOKS` for a verdict: its status, sure or unsure, or `EXCLUDED`."""
    if not verdict.checked:
        return EXCLUDED
    return unsure(verdict.status) if verdict.please_look else verdict.status.value


def style(tone: str) -> str:
    """Return the style of a tone on a terminal."""
    return LOOKS[tone].style


def asked(verdict: Verdict) -> bool:
    """Return whether a backend was, or should have been, asked about the claim."""
    return isinstance(verdict.p1, Estimate) or verdict.status is Status.UNDETERMINED


def unmeasured(measurement: Unmeasured) -> str:
    """Return the reason for a missing number, with its code."""
    return f"{_UNMEASURED[measurement.reason]} ({measurement.reason.value})"


def rule(name: str) -> str:
    """Return the name of a rule in words."""
    return " ".join(name.replace("_", " ").replace(":", ": ").split())


def reason(verdict: Verdict) -> str:
    """Return the reason for the verdict in one sentence, and a second one if it is not sure."""
    return f"{_reason(verdict)} {PLEASE_LOOK}" if verdict.please_look else _reason(verdict)


def _reason(verdict: Verdict) -> str:
    if why := _not_checked(verdict):
        return f"Not checked: {why}."
    match verdict.status:
        case Status.UNDETERMINED:
            return _undetermined(verdict)
        case Status.PHANTOM_CITATION:
            return _phantom(verdict)
        case Status.PARTIALLY_SUPPORTED:
            return _partial(verdict)
        case Status.CONTRADICTED if verdict.difference:
            return _difference(verdict.difference)
        case Status.CONTRADICTED | Status.SUPPORTED | Status.UNSUPPORTED | Status.UNVERIFIABLE:
            return STATUS_TABLE[verdict.status].meaning
        case _:
            assert_never(verdict.status)


def _difference(found: QuantityDifference) -> str:
    claimed, stated = one_line(found.claimed), one_line(found.stated)
    return f"The claim says “{claimed}” where the evidence says “{stated}”."


def _not_checked(verdict: Verdict) -> str:
    claim = verdict.claim
    if claim.excluded is not None:
        return _EXCLUSIONS[claim.excluded]
    return "" if claim.skipped is None or verdict.checked else _SKIPS[claim.skipped]


def citation(cite: Citation) -> str:
    """Return the id of a citation, with a remark if no source has it."""
    return cite.id if cite.resolved else f"{cite.id} (no such source)"


def windows(verdict: Verdict) -> str:
    """Return the scored share of the evidence, and its place, in words."""
    places = [f"{p.source} {p.span.start:,}–{p.span.end:,}" for p in verdict.windows_scored]
    total = count(verdict.windows_total, "window")
    joined = len(verdict.stitched_scored)
    stitched = f"{count(joined, 'sentence')} joined into passages" if joined else ""
    if stitched and not places:
        return f"{stitched}, out of {total}"
    windows = f"{len(places)} of {total}: {'; '.join(places) or 'none'}"
    return f"{windows}; and {stitched}" if stitched else windows


def phantoms(verdict: Verdict) -> tuple[str, ...]:
    """Return the ids that the claim cites and no source has, in order, each once."""
    return tuple(dict.fromkeys(cite.id for cite in verdict.citations if not cite.resolved))


def _undetermined(verdict: Verdict) -> str:
    if verdict.rule == "derived_quantity":
        return "A quantity of the claim follows from two of the evidence: please look yourself."
    if verdict.rule == "only_mentioned":
        return "The evidence mentions the claim and may not state it: please look yourself."
    p1 = verdict.p1
    why = unmeasured(p1) if isinstance(p1, Unmeasured) else "no decision was reached"
    return f"Could not be measured: {why}."


def _phantom(verdict: Verdict) -> str:
    ids = phantoms(verdict)
    if not ids:
        return STATUS_TABLE[Status.PHANTOM_CITATION].meaning
    verb = "is not a source" if len(ids) == 1 else "are not sources"
    return f"Cites {', '.join(ids)}, which {verb} of this answer."


def _partial(verdict: Verdict) -> str:
    if Note.OVER_EXTRAPOLATION in verdict.notes:
        return "The evidence carries a weaker form of the claim only."
    if not verdict.parts:
        return STATUS_TABLE[Status.PARTIALLY_SUPPORTED].meaning
    supported = sum(part.status is Status.SUPPORTED for part in verdict.parts)
    verb = "is" if supported == 1 else "are"
    return f"{supported} of {len(verdict.parts)} parts {verb} supported."


def headline(assessment: Assessment) -> str:
    """Return the outcome in one sentence, with its denominator."""
    summary = assessment.summary
    checked = count(summary.claims_checked, "checked claim")
    left_out = sum(n for name, n in summary.skipped.items() if name in set(Skip))
    if left_out:
        checked += f" ({left_out:,} more not verified, by mode or limit)"
    if summary.hedged:
        checked += f" ({summary.hedged:,} more hedged, so not verified)"
    lost = summary.by_status.get(Status.UNDETERMINED, 0)
    match summary.outcome:
        case Outcome.FLAGGED:
            return f"{_flagged(assessment, checked)}{_lost(lost)}"
        case Outcome.UNDETERMINED if not lost:
            return f"Undetermined: most of the answer is hedged; {checked}, none flagged"
        case Outcome.UNDETERMINED:
            return f"Undetermined: {lost} of {checked} could not be decided"
        case Outcome.GROUNDED:
            unsure = summary.passed.unsure
            return f"Grounded: {checked}, none flagged{f'; {unsure:,} unsure' if unsure else ''}"
        case Outcome.NOTHING_TO_CHECK if summary.hedged:
            return f"Nothing to check: all that the answer states is hedged ({summary.hedged:,})"
        case Outcome.NOTHING_TO_CHECK:
            return "Nothing to check: no checkable claim in this answer"


def _flagged(assessment: Assessment, checked: str) -> str:
    """Return the number of flagged claims in words; without sure ones, that no error is sure."""
    unsure = sum(not verdict.sure for verdict in assessment.flagged)
    flagged = len(assessment.flagged)
    if unsure == flagged:
        verb = "needs" if unsure == 1 else "need"
        return f"No sure errors: {unsure:,} of {checked} {verb} a look"
    return f"Flagged: {flagged:,} of {checked}{f', {unsure:,} of them unsure' if unsure else ''}"


def _lost(lost: int) -> str:
    return f"; {lost:,} could not be decided" if lost else ""


def denominators(assessment: Assessment) -> str:
    """Return the number of checked claims of all in words, and the skipped ones with reasons."""
    summary = assessment.summary
    extracted = count(summary.claims_extracted, "claim")
    sentences = count(summary.sentences, "sentence")
    skipped = [_left_out(name, n) for name, n in summary.skipped.items() if n]
    tail = f"; skipped: {', '.join(skipped)}" if skipped else ""
    return f"{summary.claims_checked} of {extracted} checked, from {sentences}{tail}"


def _left_out(reason: str, n: int) -> str:
    words = reason.replace("_", " ")
    return count(n, words) if reason in _COUNTABLE else f"{n:,} {words}"


def coverage(assessment: Assessment) -> str:
    """Return `denominators`, with the number of claims without a measurement for each reason."""
    lost = [v for v in assessment.claims if v.checked and v.status is Status.UNDETERMINED]
    found = Counter(unmeasured(v.p1) for v in lost if isinstance(v.p1, Unmeasured))
    reasons = [f"{n:,} because {why}" for why, n in found.items()]
    tail = f"; not measured: {', '.join(reasons)}" if reasons else ""
    return denominators(assessment) + tail


def tally(assessment: Assessment) -> tuple[tuple[str, int], ...]:
    """Return the tones that occur among checked claims with their counts, supported first."""
    found = Counter(tone(verdict) for verdict in assessment.claims if verdict.checked)
    return tuple((key, found[key]) for key in LOOKS if key in found)


def savings(saved: CascadeUsage) -> str:
    """Return in words the share of a check that a cascade's second backend was spared."""
    asked = f"asked {saved.asked_second:,} of {count(saved.asked_first, 'time')}"
    stood_in = f", the first stood in for {saved.stood_in:,}" if saved.stood_in else ""
    return f"the second backend was spared {saved.saved or 0.0:.0%} ({asked}{stood_in})"


def extraction(found: ClaimExtraction) -> str:
    """Return the method of extraction, the model's dropped claims, and the rules' additions."""
    if found.pieces == 0:
        return f"claims by the rules, nothing for {found.model} to take apart"
    why = f" ({found.fallback.value})" if found.fallback else ""
    if found.fallen_back == found.pieces:
        return f"claims by the rules, as {found.model} gave none that could be read{why}"
    dropped = {
        "not in the answer": found.dropped_unanchored,
        "not what it says": found.dropped_unfaithful,
        "no assertion": found.dropped_excluded,
        "twice": found.dropped_repeated,
    }
    lost = [f"{n:,} {name}" for name, n in dropped.items() if n]
    said = f"claims by {found.model}: {found.proposed:,} proposed"
    said += f", dropped {', '.join(lost)}" if lost else ""
    said += f"; {found.filled:,} put back by the rules" if found.filled else ""
    fallen = f"{found.fallen_back:,} of {count(found.pieces, 'piece')} left to them{why}"
    return f"{said}; {fallen}" if found.fallen_back else said


def count(n: int, noun: str) -> str:
    """Return a number and its noun in the right number."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
