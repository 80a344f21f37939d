"""An assessment as the JSON document `veridical.report/1` (docs/schemas/report-1.schema.json)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.cancellation import checkpoint, in_pieces
from veridical.core.differences import marked
from veridical.core.information import EPSILON
from veridical.core.measurements import Estimate, UnmeasuredReason
from veridical.core.printing import number
from veridical.core.verdicts import Status, row_of

if TYPE_CHECKING:
    from veridical.core.assessment import Assessment, CascadeUsage, Counts
    from veridical.core.measurements import BackendInfo, Measurement
    from veridical.core.printing import Document
    from veridical.core.types import Claim, ClaimExtraction, EvidenceMap, SourceSpan, Span
    from veridical.core.verdicts import EvidenceSpan, PartVerdict, QuantityDifference, Verdict

SCHEMA = "veridical.report/1"


def to_document(assessment: Assessment) -> Document:
    """Return the assessment as a JSON object; offsets are code points, numbers are finite."""
    return {
        "schema": SCHEMA,
        "policy": _policy(assessment),
        "backend": _backend(assessment.backend),
        "summary": _summary(assessment),
        "claims": [_claim(verdict) for verdict in assessment.claims],
    }


def to_summary(assessment: Assessment) -> Document:
    """Return the totals as they are in the document."""
    return _summary(assessment)


def to_json(assessment: Assessment) -> str:
    """Return the document as JSON text in UTF-8 characters; the same input gives the same text."""
    return in_pieces(
        json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2).iterencode(
            to_document(assessment)
        )
    )


def to_compact_json(assessment: Assessment) -> str:
    """Return the document as JSON text on one line, made claim by claim."""
    head = to_document(replace(assessment, claims=()))
    head["summary"] = _summary(assessment)
    claims = ", ".join(_compact(_claim(verdict)) for verdict in assessment.claims)
    return f"{_compact(head).removesuffix(']}')}{claims}]}}"  # the claims come last


def _compact(document: Document) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def to_claim(verdict: Verdict) -> Document:
    """Return one claim with its verdict as it is in the document."""
    return _claim(verdict)


def _policy(assessment: Assessment) -> Document:
    policy = assessment.policy.resolved(assessment.backend)
    return {
        "support_threshold": policy.support_threshold,
        "contradiction_threshold": policy.contradiction_threshold,
        "dependence_threshold": policy.dependence_threshold,
        "target_confidence": policy.target_confidence,
        "windows": policy.windows,
        "mode": policy.mode,
        "sample_rate": policy.sample_rate,
        "max_claims": policy.max_claims,
        "gap_threshold_bits": policy.gap_threshold_bits,
        "fail_on": policy.fail_on,
        "seed": policy.seed,
        "epsilon": EPSILON,
    }


def _backend(backend: BackendInfo) -> Document:
    return {
        "name": backend.name,
        "model": backend.model,
        "estimator": backend.estimator.value,
        "fingerprint": backend.fingerprint,
    }


def _summary(assessment: Assessment) -> Document:
    summary = assessment.summary
    return {
        "outcome": summary.outcome.value,
        "sentences": summary.sentences,
        "claims_extracted": summary.claims_extracted,
        "claims_checked": summary.claims_checked,
        "skipped": {str(name): n for name, n in summary.skipped.items()},
        "by_status": {status.value: summary.by_status.get(status, 0) for status in Status},
        "by_certainty": {
            "flagged": _counts(summary.flagged),
            "passed": _counts(summary.passed),
        },
        "failing": len(assessment.failing),
        "probability_grounded": number(summary.probability_grounded),
        "max_gap_bits": number(summary.max_gap_bits),
        "overall_confidence": number(summary.overall_confidence),
        "latency_ms": number(summary.latency_ms),
        "cost_usd": number(summary.cost_usd),
        "tokens": summary.tokens,
        "cascade": _cascade(summary.cascade),
        "extraction": _extraction(summary.extraction),
    }


def _counts(counts: Counts) -> Document:
    return {"sure": counts.sure, "unsure": counts.unsure}


def _extraction(extraction: ClaimExtraction) -> Document:
    return {
        "method": extraction.method.value,
        "model": extraction.model,
        "pieces": extraction.pieces,
        "fallen_back": extraction.fallen_back,
        "fallback": extraction.fallback.value if extraction.fallback else None,
        "proposed": extraction.proposed,
        "dropped_unanchored": extraction.dropped_unanchored,
        "dropped_unfaithful": extraction.dropped_unfaithful,
        "dropped_excluded": extraction.dropped_excluded,
        "dropped_repeated": extraction.dropped_repeated,
        "unknown_sources": extraction.unknown_sources,
        "filled": extraction.filled,
        "tokens": extraction.tokens,
        "cost_usd": number(extraction.cost_usd),
        "latency_ms": number(extraction.latency_ms),
    }


def _cascade(savings: CascadeUsage | None) -> Document | None:
    if savings is None:
        return None
    return {
        "asked_first": savings.asked_first,
        "asked_second": savings.asked_second,
        "stood_in": savings.stood_in,
        "saved": number(savings.saved),
    }


def _claim(verdict: Verdict) -> Document:
    checkpoint()
    return _asserted(verdict.claim) | _judged(verdict) | _measured(verdict) | _grounds(verdict)


def _asserted(claim: Claim) -> Document:
    confidence = claim.confidence
    return {
        "id": claim.id,
        "text": claim.text,
        "span": _span(claim.span),
        "kind": claim.kind.value,
        "assertive": claim.assertive,
        "excluded": claim.excluded.value if claim.excluded else None,
        "skipped": claim.skipped.value if claim.skipped else None,
        "confidence": number(confidence.value) if confidence else None,
        "confidence_stated": bool(confidence and confidence.stated),
        **_hint(claim.evidence_map),
        **({} if claim.read_as is None else {"read_as": claim.read_as}),
    }


def _hint(found: EvidenceMap | None) -> Document:
    """Return the sources that a text model named; nothing if none was asked."""
    if found is None:
        return {}
    return {"evidence_map": {"sources": list(found.sources), "used": found.used}}


def _judged(verdict: Verdict) -> Document:
    words = row_of(verdict)
    return {
        "status": verdict.status.value,
        "rule": verdict.rule,
        "flagged": verdict.flagged,
        "certainty": verdict.certainty.value,
        "probability_right": number(verdict.probability_right),
        "notes": [note.value for note in verdict.notes],
        "gap_type": words.gap_type,
        "suggested_action": words.suggested_action,
    }


def _measured(verdict: Verdict) -> Document:
    budget = verdict.budget
    gap = budget.gap_interval_bits
    return {
        "p1": _measurement(verdict.p1, asked=verdict.claim.verifiable),
        "p0": _measurement(verdict.p0, asked=verdict.claim.verifiable),
        "target": number(budget.target),
        "required_bits": number(budget.required_bits),
        "observed_bits": number(budget.observed_bits),
        "budget_gap_bits": number(budget.budget_gap_bits),
        "gap_interval_bits": {"low": number(gap.low), "high": number(gap.high)} if gap else None,
        "confidence_justified": budget.confidence_justified,
        "evidence_dependence": number(verdict.evidence_dependence),
    }


def _grounds(verdict: Verdict) -> Document:
    return {
        "citations": [{"id": cite.id, "resolved": cite.resolved} for cite in verdict.citations],
        "evidence": [_evidence(verdict.claim.text, span) for span in verdict.shown],
        "parts": [_part(part) for part in verdict.parts],
        "windows_scored": [_piece(piece) for piece in verdict.windows_scored],
        "windows_total": verdict.windows_total,
        "stitched_scored": [_piece(piece) for piece in verdict.stitched_scored],
        **_difference(verdict.difference),
    }


def _difference(found: QuantityDifference | None) -> Document:
    """Return the quantities that differ; nothing unless a rule found some."""
    if found is None:
        return {}
    place = {"source": found.source, **_span(found.span)}
    named = {"claimed": found.claimed, "stated": found.stated, "dimension": found.dimension}
    return {"quantity_difference": named | place}


def _measurement(measurement: Measurement, *, asked: bool = True) -> Document:
    if not asked:  # an excluded or skipped claim is never put to a backend
        return {"unmeasured": UnmeasuredReason.DISABLED.value}
    if not isinstance(measurement, Estimate):
        return {"unmeasured": measurement.reason.value}
    return {
        "supported": number(measurement.supported),
        "contradicted": number(measurement.contradicted),
        "not_in_context": number(measurement.not_in_context),
        "low": number(measurement.low),
        "high": number(measurement.high),
        "estimator": measurement.estimator.value,
        "samples": measurement.samples,
        "cached": measurement.cached,
    }


def _evidence(claim: str, evidence: EvidenceSpan) -> Document:
    place = {"source": evidence.source, **_span(evidence.span)}
    found = {**place, "text": evidence.text, "role": evidence.role.value}
    differs = marked(claim, evidence)
    if differs:  # offsets into the claim's and the evidence's own text
        sides = {"claim": differs.claim, "evidence": differs.evidence}
        found["differs"] = {side: list(map(_span, spans)) for side, spans in sides.items()}
    return found


def _part(part: PartVerdict) -> Document:
    return {
        "text": part.text,
        "span": _span(part.span),
        "status": part.status.value,
        "p1": _measurement(part.p1),
    }


def _piece(piece: SourceSpan) -> Document:
    return {"source": piece.source, **_span(piece.span)}


def _span(span: Span) -> dict[str, int]:
    return {"start": span.start, "end": span.end}
