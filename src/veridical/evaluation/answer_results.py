"""Detection on whole answers: flags of a check against the labels of the claims."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from veridical.core.measurements import supported_probability
from veridical.core.verdicts import Certainty, Status
from veridical.evaluation.baselines import content_overlap
from veridical.evaluation.bootstrap import Resampling, interval
from veridical.evaluation.metrics import auroc, share
from veridical.evaluation.results import DECIDED_BY_RULE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from veridical.core.assessment import Assessment
    from veridical.core.measurements import BackendInfo
    from veridical.core.policy import Policy
    from veridical.core.types import Source, Span
    from veridical.core.verdicts import Interval, Verdict
    from veridical.evaluation.answers import AnswerSet, LabelledAnswer, LabelledClaim

LENGTHS = (100, 200, 300)
"""Bounds, in characters, between the groups of claims by length."""


class AnswerVerifier(Protocol):
    """Verifier under test; `SyncVerifier` is one."""

    def check(
        self,
        answer: str,
        sources: Sequence[Source],
        question: str | None = None,
        *,
        policy: Policy | None,
    ) -> Assessment:
        """Return the verdict on each claim of an answer."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """Labelled claim with the verdicts on the checked claims in its place.

    `score` is the least P(supported) of these verdicts, None if none was measured; `overlap` is
    the word-overlap baseline. A claim without a checked claim in its place is not `extracted`: it
    passes.
    """

    claim: LabelledClaim
    extracted: bool
    undetermined: bool
    flagged: bool
    surely_flagged: bool
    surely_passed: bool
    score: float | None
    overlap: float


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """Answer and the outcomes of its labelled claims."""

    answer: LabelledAnswer
    claims: tuple[ClaimOutcome, ...]
    probability_grounded: float | None


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Figures of a group of claims, and of their answers.

    Shares run from 0 to 1; None where the denominator is 0. `detection` is the share of
    unsupported claims that are flagged, `false_alarms` of supported ones, `flags_right` the share
    of flagged claims that are unsupported; fields with `sure_` count sure flags only.
    `passes_right` is the share of sure passes that are supported. `sound_pass` is the share of
    wholly sound answers without a flag; `errors_removed_pass` that of all answers in which no
    supported claim is flagged.
    """

    answers: int
    claims: int
    unsupported: int
    undetermined: int
    not_extracted: int
    detection: float | None
    false_alarms: float | None
    flags_right: float | None
    sound_pass: float | None
    errors_removed_pass: float | None
    auroc: float | None
    overlap_auroc: float | None
    sure_flags: int
    sure_detection: float | None
    sure_false_alarms: float | None
    sure_flags_right: float | None
    sure_passes: int
    sure_passes_right: float | None
    sure_sound_pass: float | None
    sure_errors_removed_pass: float | None


Groups: TypeAlias = "dict[str, AnswerScores]"


@dataclass(frozen=True, slots=True)
class AnswerEvaluation:
    """Results of an evaluation on whole answers; the policy is resolved."""

    backend: BackendInfo
    policy: Policy
    files: tuple[str, ...]
    total: AnswerScores
    intervals: Mapping[str, Interval | None]
    by_kind: Groups
    by_length: Groups
    by_error: Groups
    resampling: Resampling
    limit: int | None = None


def check_answers(
    sets: Sequence[AnswerSet],
    verifier: AnswerVerifier,
    *,
    policy: Policy | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[AnswerOutcome, ...]:
    """Return the outcome of every answer, one check after the other."""
    answers = [answer for one in sets for answer in one.answers]
    found = []
    for done, answer in enumerate(answers, start=1):
        report = verifier.check(answer.answer, answer.sources, answer.question, policy=policy)
        found.append(outcome(answer, report))
        if progress is not None:
            progress(done, len(answers))
    return tuple(found)


def outcome(answer: LabelledAnswer, report: Assessment) -> AnswerOutcome:
    """Return the outcome of each labelled claim in a report."""
    claims = tuple(_claim_outcome(answer, claim, report.claims) for claim in answer.claims)
    return AnswerOutcome(answer, claims, report.summary.probability_grounded)


def _claim_outcome(
    answer: LabelledAnswer, claim: LabelledClaim, verdicts: Iterable[Verdict]
) -> ClaimOutcome:
    found = [
        verdict
        for verdict in verdicts
        if verdict.checked and same_place(claim.span, verdict.claim.span)
    ]
    flags = [verdict for verdict in found if verdict.flagged]
    sure = {verdict.certainty is Certainty.SURE for verdict in found}
    scores = [score for verdict in found if (score := supported_score(verdict)) is not None]
    unknown = any(verdict.status is Status.UNDETERMINED for verdict in found)
    return ClaimOutcome(
        claim=claim,
        extracted=bool(found),
        undetermined=unknown and not flags,
        flagged=bool(flags),
        surely_flagged=any(verdict.certainty is Certainty.SURE for verdict in flags),
        surely_passed=bool(found) and not flags and not unknown and sure == {True},
        score=min(scores, default=None),
        overlap=content_overlap(claim.span.of(answer.answer), answer.sources),
    )


def same_place(one: Span, other: Span) -> bool:
    """Return whether two stretches share at least half of the shorter one."""
    shorter = min(len(one), len(other))
    return one.overlaps(other) and 2 * len(one.common(other)) >= shorter


def supported_score(verdict: Verdict) -> float | None:
    """Return P(supported), 0 where a rule decided without it; None if it was not measured."""
    if verdict.status in DECIDED_BY_RULE:
        return 0.0
    return supported_probability(verdict.p1)


# --- figures ---------------------------------------------------------------------------------


def evaluate_answers(  # noqa: PLR0913 -- what was measured, with what, and how to resample it
    outcomes: Sequence[AnswerOutcome],
    files: Sequence[str],
    *,
    backend: BackendInfo,
    policy: Policy,
    resampling: Resampling,
    limit: int | None = None,
) -> AnswerEvaluation:
    """Return the figures of all answers together, by kind, by length of claim, by error."""
    return AnswerEvaluation(
        backend=backend,
        policy=policy.resolved(backend),
        files=tuple(files),
        total=scores(outcomes),
        intervals=_intervals(outcomes, resampling),
        by_kind=_by_answer(outcomes),
        by_length=_by_claim(outcomes, _length_group, _length_groups()),
        by_error=_by_claim(outcomes, lambda one: one.claim.error, _errors(outcomes)),
        resampling=resampling,
        limit=limit,
    )


def scores(outcomes: Sequence[AnswerOutcome]) -> AnswerScores:
    """Return the figures of some answers."""
    claims = [claim for one in outcomes for claim in one.claims]
    decided = [claim for claim in claims if not claim.undetermined]
    sound = [one for one in outcomes if one.answer.sound]
    good = [claim for claim in decided if claim.claim.supported]
    bad = [claim for claim in decided if not claim.claim.supported]
    flags = [claim for claim in decided if claim.flagged]
    sure_flags = [claim for claim in decided if claim.surely_flagged]
    sure_passes = [claim for claim in decided if claim.surely_passed]
    return AnswerScores(
        answers=len(outcomes),
        claims=len(claims),
        unsupported=sum(not claim.claim.supported for claim in claims),
        undetermined=len(claims) - len(decided),
        not_extracted=sum(not claim.extracted for claim in claims),
        detection=_share(claim.flagged for claim in bad),
        false_alarms=_share(claim.flagged for claim in good),
        flags_right=_share(not claim.claim.supported for claim in flags),
        sound_pass=_share(_passes(one, "flagged") for one in sound),
        errors_removed_pass=_share(_passes(one, "flagged") for one in outcomes),
        auroc=_auroc(decided, [claim.score for claim in decided]),
        overlap_auroc=_auroc(decided, [claim.overlap for claim in decided]),
        sure_flags=len(sure_flags),
        sure_detection=_share(claim.surely_flagged for claim in bad),
        sure_false_alarms=_share(claim.surely_flagged for claim in good),
        sure_flags_right=_share(not claim.claim.supported for claim in sure_flags),
        sure_passes=len(sure_passes),
        sure_passes_right=_share(claim.claim.supported for claim in sure_passes),
        sure_sound_pass=_share(_passes(one, "surely_flagged") for one in sound),
        sure_errors_removed_pass=_share(_passes(one, "surely_flagged") for one in outcomes),
    )


def _passes(one: AnswerOutcome, flag: str) -> bool:
    """Return whether no supported claim of the answer has the flag."""
    return not any(getattr(claim, flag) for claim in one.claims if claim.claim.supported)


def _share(flags: Iterable[bool]) -> float | None:
    return share(np.array(list(flags), dtype=np.bool_))


def _auroc(claims: Sequence[ClaimOutcome], found: Sequence[float | None]) -> float | None:
    pairs = [(score, c.claim.supported) for c, score in zip(claims, found, strict=True)]
    known = [(score, label) for score, label in pairs if score is not None]
    values = np.array([score for score, _ in known], dtype=np.float64)
    return auroc(values, np.array([label for _, label in known], dtype=np.bool_))


def _by_answer(outcomes: Sequence[AnswerOutcome]) -> Groups:
    kinds = sorted({one.answer.kind for one in outcomes})
    return {k: scores([one for one in outcomes if one.answer.kind == k]) for k in kinds}


def _by_claim(
    outcomes: Sequence[AnswerOutcome],
    group: Callable[[ClaimOutcome], str | None],
    names: Sequence[str],
) -> Groups:
    """Return the figures of the claims in each group; an answer counts where it has one."""

    def only(one: AnswerOutcome, name: str) -> AnswerOutcome:
        kept = tuple(claim for claim in one.claims if group(claim) == name)
        return AnswerOutcome(one.answer, kept, one.probability_grounded)

    cut = {name: [only(one, name) for one in outcomes] for name in names}
    return {name: scores([one for one in kept if one.claims]) for name, kept in cut.items()}


def _length_groups() -> list[str]:
    bounds = [0, *LENGTHS]
    return [
        *(f"{low}-{high}" for low, high in zip(bounds, LENGTHS, strict=False)),
        f">{LENGTHS[-1]}",
    ]


def _length_group(one: ClaimOutcome) -> str:
    reached = sum(len(one.claim.span) > bound for bound in LENGTHS)
    return _length_groups()[reached]


def _errors(outcomes: Sequence[AnswerOutcome]) -> list[str]:
    found = {claim.claim.error for one in outcomes for claim in one.claims}
    return sorted(error for error in found if error is not None)


def _intervals(outcomes: Sequence[AnswerOutcome], how: Resampling) -> dict[str, Interval | None]:
    """Return percentile intervals: answers are drawn with replacement, their claims together."""
    shares = [f.name for f in fields(AnswerScores) if f.type == "float | None"]
    if not outcomes or not how.replicates:
        return dict.fromkeys(shares)
    rng = np.random.default_rng(how.seed)
    drawn = [
        scores([outcomes[index] for index in rng.integers(0, len(outcomes), len(outcomes))])
        for _ in range(how.replicates)
    ]
    return {name: interval(_values(drawn, name)) for name in shares}


def _values(drawn: Sequence[AnswerScores], name: str) -> np.ndarray:
    found = (getattr(one, name) for one in drawn)
    return np.array([np.nan if value is None else value for value in found])
