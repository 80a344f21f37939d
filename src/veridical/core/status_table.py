"""Table of claim statuses: words, marks, colours, severity and recommended action of each.

It is the only place for these. Terminal, pages, SARIF, JUnit, MCP and feedback read them from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from veridical.core.certainty import VerdictKind

if TYPE_CHECKING:
    from collections.abc import Mapping


GapType: TypeAlias = Literal[
    "unsupported",
    "partial_support",
    "phantom_citation",
    "contradicted",
    "over_extrapolation",
    "evidence_independent",
]
StepLabel: TypeAlias = Literal["ENTAILED", "CONTRADICTED", "NOT_IN_CONTEXT", "UNVERIFIABLE"]
Level: TypeAlias = Literal["error", "warning", "note"]
Underline: TypeAlias = Literal["solid", "wavy", "dashed", "dotted", "double"]


class Status(StrEnum):
    """Result for a claim; the order is the order of decision."""

    PHANTOM_CITATION = "phantom_citation"
    UNDETERMINED = "undetermined"
    UNVERIFIABLE = "unverifiable"
    CONTRADICTED = "contradicted"
    SUPPORTED = "supported"
    PARTIALLY_SUPPORTED = "partially_supported"
    UNSUPPORTED = "unsupported"


class Note(StrEnum):
    """Remark on a verdict that does not change its status."""

    EVIDENCE_INDEPENDENT = "evidence_independent"
    CONFIDENCE_NOT_JUSTIFIED = "confidence_not_justified"
    SUPPORTED_BY_UNCITED_SOURCE = "supported_by_uncited_source"
    PARTLY_SCORED = "partly_scored"
    OVER_EXTRAPOLATION = "over_extrapolation"
    ANSWER_CUT_OFF = "answer_cut_off"


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours of a status on a page: of text and of its background, in light and dark mode."""

    light: str
    light_tint: str
    dark: str
    dark_tint: str
    underline: Underline


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRow:
    """Properties of one status.

    - `meaning` is one sentence; `ascii_mark` is for terminals without Unicode; `style` is rich's.
    - `urgency` orders statuses, the lowest number is the worst.
    - `level` is that of SARIF, None for a pass. A claim of level `error` is always critical, one of
      level `note` never; otherwise its gap decides.
    - `gap_type` and `suggested_action` are those of SPEC-16, `step_label` that of SPEC-08.24.
    - `by_probability`: the evidence was read, so that verdicts are sure or unsure.
    - `kind` is the statement whose probability of being right is estimated, None without one.
    """

    label: str
    mark: str
    ascii_mark: str
    meaning: str
    style: str
    colours: Colours
    urgency: int
    level: Level | None
    gap_type: GapType | None
    step_label: StepLabel | None
    suggested_action: str | None
    flagged: bool
    by_probability: bool
    kind: VerdictKind | None


def _row(status: Status) -> StatusRow:  # noqa: PLR0911 -- one row for each status
    # Terminal styles are middle tones of the 256-colour cube: they read on light and on dark.
    match status:
        case Status.CONTRADICTED:
            return StatusRow(
                label="contradicted",
                mark="✗",
                ascii_mark="x",
                meaning="The evidence opposes the claim.",
                style="bold red3",
                colours=Colours("#c0273f", "#fdeaed", "#ff8a99", "#3b1820", "wavy"),
                urgency=10,
                level="error",
                gap_type="contradicted",
                step_label="CONTRADICTED",
                suggested_action="Correct the claim to what the evidence says",
                flagged=True,
                by_probability=True,
                kind=VerdictKind.CONTRADICTED,
            )
        case Status.PHANTOM_CITATION:
            return StatusRow(
                label="phantom citation",
                mark="†",
                ascii_mark="!",
                meaning="The claim cites a source that does not exist.",
                style="bold medium_violet_red",
                colours=Colours("#a3267f", "#fbeaf6", "#f291d4", "#371a30", "double"),
                urgency=20,
                level="error",
                gap_type="phantom_citation",
                step_label="NOT_IN_CONTEXT",
                suggested_action="Cite a source that exists, or remove the citation",
                flagged=True,
                by_probability=False,
                kind=VerdictKind.NOT_SUPPORTED,
            )
        case Status.UNSUPPORTED:
            return StatusRow(
                label="unsupported",
                mark="○",
                ascii_mark="o",
                meaning="The evidence neither states nor opposes the claim.",
                style="dark_orange3",
                colours=Colours("#b4460f", "#fdeee4", "#ffa672", "#3a2215", "dotted"),
                urgency=30,
                level="warning",
                gap_type="unsupported",
                step_label="NOT_IN_CONTEXT",
                suggested_action="Remove the claim, or cite evidence that states it",
                flagged=True,
                by_probability=True,
                kind=VerdictKind.NOT_SUPPORTED,
            )
        case Status.PARTIALLY_SUPPORTED:
            return StatusRow(
                label="partially supported",
                mark="◐",
                ascii_mark="%",
                meaning="The evidence carries some of the claim, not all of it.",
                style="dark_goldenrod",
                colours=Colours("#8a5a00", "#fdf3dc", "#f0c05a", "#33280f", "dashed"),
                urgency=40,
                level="warning",
                gap_type="partial_support",
                step_label="NOT_IN_CONTEXT",
                suggested_action="Keep the supported part, drop or source the rest",
                flagged=True,
                by_probability=True,
                kind=VerdictKind.NOT_SUPPORTED,
            )
        case Status.UNVERIFIABLE:
            return StatusRow(
                label="unverifiable",
                mark="≈",
                ascii_mark="~",
                meaning="The claim is too vague to be true or false.",
                style="steel_blue",
                colours=Colours("#35628f", "#e8f0f9", "#8fbdec", "#162739", "dotted"),
                urgency=50,
                level="note",
                gap_type=None,
                step_label="UNVERIFIABLE",
                suggested_action="Say what exactly is claimed, or drop it",
                flagged=True,
                by_probability=False,
                kind=None,
            )
        case Status.UNDETERMINED:
            return StatusRow(
                label="undetermined",
                mark="?",
                ascii_mark="?",
                meaning="The claim could not be measured: neither a pass nor a fail.",
                style="medium_purple3",
                colours=Colours("#6547b5", "#f0ecfb", "#b9a3ff", "#261f40", "dashed"),
                urgency=60,
                level="note",
                gap_type=None,
                step_label=None,
                suggested_action="Look at it yourself, or check it again with another verifier",
                flagged=False,
                by_probability=False,
                kind=None,
            )
        case Status.SUPPORTED:
            return StatusRow(
                label="supported",
                mark="✓",
                ascii_mark="+",
                meaning="The evidence states the claim.",
                style="green4",
                colours=Colours("#1a7f4b", "#e8f6ee", "#5fd39a", "#12291f", "solid"),
                urgency=70,
                level=None,
                gap_type=None,
                step_label="ENTAILED",
                suggested_action=None,
                flagged=False,
                by_probability=True,
                kind=VerdictKind.SUPPORTED,
            )
        case _:
            assert_never(status)


STATUS_TABLE: Mapping[Status, StatusRow] = {
    status: _row(status) for status in sorted(Status, key=lambda status: _row(status).urgency)
}
"""Row of each status, the worst status first."""

NOT_CARRIED = "State it with less confidence, or cite evidence that carries it"
"""Recommended action for a supported claim whose gap is above the threshold."""

NOTED_ROWS: Mapping[tuple[Status, Note], StatusRow] = {
    (Status.PARTIALLY_SUPPORTED, Note.OVER_EXTRAPOLATION): replace(
        STATUS_TABLE[Status.PARTIALLY_SUPPORTED],
        gap_type="over_extrapolation",
        suggested_action="Soften the claim to what the evidence carries",
    ),
    (Status.SUPPORTED, Note.EVIDENCE_INDEPENDENT): replace(
        STATUS_TABLE[Status.SUPPORTED],
        gap_type="evidence_independent",
        suggested_action="Check that the cited source is what the claim rests on",
    ),
    (Status.UNSUPPORTED, Note.SUPPORTED_BY_UNCITED_SOURCE): replace(
        STATUS_TABLE[Status.UNSUPPORTED], suggested_action="Cite the source that supports it"
    ),
    (Status.CONTRADICTED, Note.SUPPORTED_BY_UNCITED_SOURCE): replace(
        STATUS_TABLE[Status.CONTRADICTED],
        suggested_action="Check which holds: a source that is not cited supports it",
    ),
}
