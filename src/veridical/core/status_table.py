"""Table from a status to other vocabularies and to words for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.verdicts import Note, Status

if TYPE_CHECKING:
    from veridical.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class View:
    """One status in other vocabularies.

    `gap_type` is SPEC-16's, `step_label` that of SPEC-08.24; `action` is the recommended action.
    """

    gap_type: str | None
    step_label: str | None
    action: str | None


VIEWS = {
    Status.UNDETERMINED: View(None, None, "Check again: the verifier could not measure this claim"),
    Status.PHANTOM_CITATION: View(
        "phantom_citation", "NOT_IN_CONTEXT", "Cite a source that exists, or remove the citation"
    ),
    Status.UNVERIFIABLE: View(None, "UNVERIFIABLE", "Say what exactly is claimed, or drop it"),
    Status.CONTRADICTED: View(
        "contradicted", "CONTRADICTED", "Correct the claim to what the evidence says"
    ),
    Status.SUPPORTED: View(None, "ENTAILED", None),
    Status.PARTIALLY_SUPPORTED: View(
        "partial_support", "NOT_IN_CONTEXT", "Keep the supported part, drop or source the rest"
    ),
    Status.UNSUPPORTED: View(
        "unsupported", "NOT_IN_CONTEXT", "Remove the claim, or cite evidence that states it"
    ),
}

NOT_CARRIED = "State it with less confidence, or cite evidence that carries it"
"""Recommended action for a supported claim whose gap is above the threshold."""

_NOTED = {
    (Status.PARTIALLY_SUPPORTED, Note.OVER_EXTRAPOLATION): View(
        "over_extrapolation", "NOT_IN_CONTEXT", "Soften the claim to what the evidence carries"
    ),
    (Status.SUPPORTED, Note.EVIDENCE_INDEPENDENT): View(
        "evidence_independent", "ENTAILED", "Check that the cited source is what the claim rests on"
    ),
    (Status.UNSUPPORTED, Note.SUPPORTED_BY_UNCITED_SOURCE): View(
        "unsupported", "NOT_IN_CONTEXT", "Cite the source that supports it"
    ),
    (Status.CONTRADICTED, Note.SUPPORTED_BY_UNCITED_SOURCE): View(
        "contradicted", "CONTRADICTED", "Check which holds: a source that is not cited supports it"
    ),
}

_NOT_ASSERTIVE = View(None, None, None)


def view(verdict: Verdict) -> View:
    """Return the view of a verdict: that of its status, refined by its notes."""
    if not verdict.checked:
        return _NOT_ASSERTIVE
    refined = (_NOTED.get((verdict.status, note)) for note in verdict.notes)
    return next((entry for entry in refined if entry), VIEWS[verdict.status])
