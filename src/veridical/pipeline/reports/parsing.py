"""Reports read back from JSON documents `veridical.report/1` and the texts they are about.

Figures have the six decimals of a document. A document does not hold the place of a citation, the
calibration of the backend, or the failure of a second look; no report format shows these.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any

from veridical.core.assessment import CascadeUsage, Counts, Outcome, Summary
from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Estimator,
    Measurement,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import Policy
from veridical.core.types import (
    Citation,
    Claim,
    ClaimExtraction,
    ClaimKind,
    Confidence,
    EvidenceMap,
    Exclusion,
    ExtractionMethod,
    Skip,
    SourceSpan,
    Span,
)
from veridical.core.verdicts import (
    Budget,
    Certainty,
    EvidenceSpan,
    Interval,
    Note,
    PartVerdict,
    QuantityDifference,
    Role,
    Status,
    Verdict,
)
from veridical.errors import InputError, VeridicalError
from veridical.pipeline.reports.document import SCHEMA
from veridical.pipeline.reports.report import Report

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

    from veridical.core.types import Source

_Object = dict[str, Any]
_FAILURES = (AttributeError, KeyError, TypeError, ValueError, VeridicalError)
_NUMBER = (int, float, NoneType)
_ENDS = ("low", "high")
_MOST = 2**53  # more is no number that JSON programs agree on
# Documents of earlier versions lack these.
_SUMMARY: _Object = {"by_certainty": {"flagged": {}, "passed": {}}}
_CLAIM = {"certainty": Certainty.UNSURE.value}


def from_document(
    document: object,
    answer: str = "",
    sources: Mapping[str, Source] | None = None,
    question: str | None = None,
) -> Report:
    """Return the report of a JSON object; `InputError` if it is not of schema `veridical.report/1`.

    Without the texts, formats that show them have the offsets of the document only.
    """
    try:
        _ensure(isinstance(document, dict) and document["schema"] == SCHEMA)
        return _report(document, answer, sources or {}, question)  # type: ignore[arg-type]
    except _FAILURES:
        msg = f"this is no report of schema {SCHEMA}"
        raise InputError(msg, hint="`veridical check --json` prints such a report") from None


def _report(
    document: _Object, answer: str, sources: Mapping[str, Source], question: str | None
) -> Report:
    backend = _backend(_get(document, "backend", dict))
    policy = _get(document, "policy", dict)
    return Report(
        answer=answer,
        sources=sources,
        claims=tuple(_verdict(_CLAIM | one, backend) for one in _get(document, "claims", list)),
        summary=_summary(_SUMMARY | _get(document, "summary", dict)),
        policy=Policy(**{key: value for key, value in policy.items() if key != "epsilon"}),
        backend=backend,
        question=question,
    )


def _backend(node: _Object) -> BackendInfo:
    name, model, fingerprint = (_get(node, key, str) for key in ("name", "model", "fingerprint"))
    return BackendInfo(name, model, Estimator(node["estimator"]), fingerprint)


def _summary(node: _Object) -> Summary:
    cascade = _get(node, "cascade", dict, NoneType)
    certainty = _get(node, "by_certainty", dict)
    counts = ("sentences", "claims_extracted", "claims_checked")
    figures = ("max_gap_bits", "overall_confidence", "cost_usd", "tokens", "probability_grounded")
    return Summary(
        outcome=Outcome(node["outcome"]),
        **{key: _get(node, key, int) for key in counts},
        skipped=_counts(_get(node, "skipped", dict)),
        by_status={Status(key): n for key, n in _counts(_get(node, "by_status", dict)).items()},
        latency_ms=_get(node, "latency_ms", int, float),
        **{key: _get(node, key, *_NUMBER) for key in figures},
        cascade=None if cascade is None else _cascade(cascade),
        extraction=_extraction(_get(node, "extraction", dict)),
        flagged=Counts(**_counts(_get(certainty, "flagged", dict))),
        passed=Counts(**_counts(_get(certainty, "passed", dict))),
    )


def _counts(node: _Object) -> dict[str, int]:
    return {key: _get(node, key, int) for key in node}


def _cascade(node: _Object) -> CascadeUsage:
    return CascadeUsage(**_counts({key: n for key, n in node.items() if key != "saved"}))


def _extraction(node: _Object) -> ClaimExtraction:
    figures = {key: _get(node, key, *_NUMBER) for key in ("tokens", "cost_usd", "latency_ms")}
    named = {
        "method": ExtractionMethod(node["method"]),
        "model": _get(node, "model", str, NoneType),
    }
    named["fallback"] = _optional(UnmeasuredReason, node.get("fallback"))
    left = {key: n for key, n in node.items() if key not in figures | named}
    return ClaimExtraction(**named, **figures, **_counts(left))  # type: ignore[arg-type]


def _verdict(node: _Object, backend: BackendInfo) -> Verdict:
    return Verdict(
        claim=_claim(node),
        status=Status(node["status"]),
        rule=_get(node, "rule", str),
        citations=tuple(map(_citation, _get(node, "citations", list))),
        p1=_measurement(_get(node, "p1", dict), backend),
        p0=_measurement(_get(node, "p0", dict), backend),
        budget=_budget(node),
        evidence_dependence=_get(node, "evidence_dependence", *_NUMBER),
        notes=tuple(map(Note, _get(node, "notes", list))),
        evidence=tuple(map(_evidence, _get(node, "evidence", list))),
        parts=tuple(_part(one, backend) for one in _get(node, "parts", list)),
        windows_scored=tuple(map(_piece, _get(node, "windows_scored", list))),
        windows_total=_get(node, "windows_total", int),
        stitched_scored=tuple(map(_piece, _get(node, "stitched_scored", list))),
        certainty=Certainty(node["certainty"]),
        probability_right=_get(node, "probability_right", *_NUMBER),
        difference=_difference(node.get("quantity_difference")),
    )


def _claim(node: _Object) -> Claim:
    confidence = _get(node, "confidence", *_NUMBER)
    stated = _get(node, "confidence_stated", bool)
    return Claim(
        id=_get(node, "id", str),
        text=_get(node, "text", str),
        span=_span(_get(node, "span", dict)),
        sentence=0,
        kind=ClaimKind(node["kind"]),
        confidence=None if confidence is None else Confidence(confidence, stated),
        excluded=_optional(Exclusion, node.get("excluded")),
        skipped=_optional(Skip, node.get("skipped")),
        evidence_map=_evidence_map(node.get("evidence_map")),
        read_as=_get(node, "read_as", str, NoneType),
    )


def _evidence_map(node: _Object | None) -> EvidenceMap | None:
    return None if node is None else EvidenceMap(tuple(node["sources"]), _get(node, "used", bool))


def _budget(node: _Object) -> Budget:
    between = _get(node, "gap_interval_bits", dict, NoneType)
    return Budget(
        target=_get(node, "target", int, float),
        required_bits=_get(node, "required_bits", *_NUMBER),
        observed_bits=_get(node, "observed_bits", *_NUMBER),
        budget_gap_bits=_get(node, "budget_gap_bits", *_NUMBER),
        gap_interval_bits=None
        if between is None
        else Interval(*(_get(between, key, int, float) for key in _ENDS)),
        confidence_justified=_get(node, "confidence_justified", bool, NoneType),
    )


def _measurement(node: _Object, backend: BackendInfo) -> Measurement:
    if "unmeasured" in node:
        return Unmeasured(UnmeasuredReason(node["unmeasured"]))
    figures = ("supported", "contradicted", "not_in_context", "low", "high")
    return Estimate(
        **{key: _get(node, key, *_NUMBER) for key in figures},
        estimator=Estimator(node["estimator"]),
        model=backend.model,
        fingerprint=backend.fingerprint,
        samples=_get(node, "samples", int),
        cached=_get(node, "cached", bool),
    )


def _part(node: _Object, backend: BackendInfo) -> PartVerdict:
    text, p1 = _get(node, "text", str), _measurement(_get(node, "p1", dict), backend)
    return PartVerdict(text, _span(node["span"]), Status(node["status"]), p1)


def _citation(node: _Object) -> Citation:
    cited = _get(node, "id", str)
    return Citation(cited, Span(0, 0), cited if _get(node, "resolved", bool) else None)


def _evidence(node: _Object) -> EvidenceSpan:
    place = _piece(node)
    return EvidenceSpan(place.source, place.span, _get(node, "text", str), Role(node["role"]))


def _difference(node: _Object | None) -> QuantityDifference | None:
    if node is None:
        return None
    claimed, stated, dimension = (
        _get(node, key, str) for key in ("claimed", "stated", "dimension")
    )
    place = _piece(node)
    return QuantityDifference(claimed, stated, dimension, place.source, place.span)


def _piece(node: _Object) -> SourceSpan:
    return SourceSpan(_get(node, "source", str), _span(node))


def _span(node: _Object) -> Span:
    return Span(_get(node, "start", int), _get(node, "end", int))


def _optional(kind: type[StrEnum], value: Any) -> Any:  # noqa: ANN401 -- one of that enum, or None
    return None if value is None else kind(value)


def _get(node: _Object, key: str, *kinds: type) -> Any:  # noqa: ANN401 -- one of the kinds
    """Return a value of one of these types: no boolean for a number, no number beyond `_MOST`.

    A key that is not there is null.
    """
    value = node.get(key)
    _ensure(isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)))
    _ensure(not isinstance(value, int | float) or abs(value) <= _MOST)
    if isinstance(value, str):
        value.encode()  # raises ValueError for a lone surrogate
    return value


def _ensure(holds: bool) -> None:  # noqa: FBT001 -- the condition is all there is to say
    if not holds:
        raise TypeError
