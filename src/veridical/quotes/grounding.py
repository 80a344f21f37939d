"""Validation of model-extracted evidence: its schema, and the grounding of its quotes.

    evidence = validate_evidence_schema(parse_evidence_json(reply).obj)
    evidence, stats = validate_evidence_grounding(evidence, transcript)

Logs carry hashes, lengths and counts, never a text. A plain hash can be recognised by any holder of
the transcript; with a `hash_key` only holders of the key can.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, compress, islice
from typing import TYPE_CHECKING

from veridical.core.hashing import short_hash
from veridical.core.strict_json import (
    Deviation,
    ParsedEvidence,
    parse_evidence_json,
    shown_key,
)
from veridical.core.text import normal_form as normalize_for_quote_match
from veridical.errors import (
    ConfigurationError,
    EvidenceGroundingError,
    EvidenceJSONError,
    EvidenceSchemaError,
    TranscriptError,
)
from veridical.pipeline.logs import log_event
from veridical.quotes.caveats import Caveat
from veridical.quotes.grades import Grade
from veridical.quotes.matching import (
    ANYONE,
    Grounder,
    MatchMode,
    QuoteMatch,
    Rejection,
    Rules,
    Speakers,
    ground_quotes,
    speaker_names,
)
from veridical.quotes.prepared import PreparedSource, prepare
from veridical.quotes.schema import PHQ8_DOMAIN_KEYS, ROOT, validate_evidence_schema
from veridical.quotes.transcripts import (
    Transcript,
    TranscriptKind,
    Turn,
    parse_transcript,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.quotes.prepared import Quotable

__all__ = [
    "ANYONE",
    "PHQ8_DOMAIN_KEYS",
    "Caveat",
    "Deviation",
    "EvidenceGroundingError",
    "EvidenceGroundingStats",
    "EvidenceJSONError",
    "EvidenceSchemaError",
    "Grade",
    "MatchMode",
    "ParsedEvidence",
    "PreparedSource",
    "QuoteMatch",
    "Rejection",
    "Speakers",
    "Transcript",
    "TranscriptError",
    "TranscriptKind",
    "Turn",
    "ground_evidence",
    "ground_quotes",
    "log_event",
    "normalize_for_quote_match",
    "parse_evidence_json",
    "parse_transcript",
    "prepare",
    "validate_evidence_grounding",
    "validate_evidence_schema",
]

logger = logging.getLogger("veridical.evidence")  # a documented name


@dataclass(frozen=True, slots=True)
class EvidenceGroundingStats:
    """Numbers of extracted, accepted and rejected quotes, the last also by domain."""

    extracted_count: int
    validated_count: int
    rejected_count: int
    rejected_by_domain: dict[str, int]


def validate_evidence_grounding(  # noqa: PLR0913 -- Spec 053's own, and three more
    evidence: Mapping[str, Sequence[str]],
    transcript_text: Quotable,
    *,
    mode: str = MatchMode.SUBSTRING,
    fuzzy_threshold: float = 0.85,
    log_rejections: bool = True,
    strict: bool = False,
    speaker: Speakers = None,
    hash_key: str | bytes | None = None,
) -> tuple[dict[str, list[str]], EvidenceGroundingStats]:
    """Return the evidence with the quotes that are in the transcript, and counts.

    `transcript_text` is a text, a `Transcript` or, for many calls, `prepare(...)` of one; the
    rules are as for `ground_quotes`: quotes of speakers other than `speaker` are rejected; by
    default only the assessed person counts, where labels identify one; with `ANYONE` all words
    count. Hashes in logs are keyed if there is a `hash_key`. `EvidenceSchemaError` if `evidence`
    is not lists of texts by domain; the errors of `ground_quotes`.
    """
    rules = Rules(mode, fuzzy_threshold, strict, speakers=speaker_names(speaker))
    call = _Call.of(evidence, transcript_text, rules, hash_key)
    decided = iter(call.grounder.accepts(list(chain.from_iterable(call.evidence.values()))))
    validated = {
        key: list(compress(quotes, islice(decided, len(quotes))))
        for key, quotes in call.evidence.items()
    }
    return validated, _counted(call, validated, log=log_rejections)


def ground_evidence(  # noqa: PLR0913 -- the rules, one by one, are the interface
    evidence: Mapping[str, Sequence[str]],
    transcript_text: Quotable,
    *,
    mode: str = MatchMode.SUBSTRING,
    fuzzy_threshold: float = 0.85,
    log_rejections: bool = True,
    strict: bool = False,
    speaker: Speakers = None,
    hash_key: str | bytes | None = None,
) -> tuple[dict[str, list[QuoteMatch]], EvidenceGroundingStats]:
    """Return a match for every quote, also for rejected ones, and counts.

    Decisions, logs and errors are as for `validate_evidence_grounding`, which takes less time.
    """
    rules = Rules(mode, fuzzy_threshold, strict, speakers=speaker_names(speaker))
    call = _Call.of(evidence, transcript_text, rules, hash_key)
    matches = {key: list(map(call.grounder.match, call.evidence[key])) for key in call.evidence}
    validated = {
        key: [match.quote for match in found if match.accepted] for key, found in matches.items()
    }
    return matches, _counted(call, validated, log=log_rejections)


@dataclass(frozen=True, slots=True)
class _Call:
    """Evidence of the right shape, with source and rules; the hasher is for its logs."""

    evidence: Mapping[str, Sequence[str]] = field(repr=False)
    source: PreparedSource
    rules: Rules
    hasher: _Hasher
    grounder: Grounder

    @classmethod
    def of(
        cls, evidence: object, source: Quotable, rules: Rules, hash_key: str | bytes | None
    ) -> _Call:
        """Return the call; the errors of `validate_evidence_grounding`."""
        shaped, hasher, prepared = _shaped(evidence), _Hasher(hash_key), prepare(source)
        return cls(shaped, prepared, rules, hasher, Grounder(prepared, rules))


def _shaped(evidence: object) -> Mapping[str, Sequence[str]]:
    if not isinstance(evidence, Mapping):
        msg = f"Expected evidence by domain, got {type(evidence).__name__}"
        raise EvidenceSchemaError(msg, {ROOT: msg})
    violations = {
        shown_key(key, number): f"Expected list[str], got {_kind(quotes)}"
        for number, (key, quotes) in enumerate(evidence.items())
        if not isinstance(key, str)
        or not isinstance(quotes, list | tuple)
        or not all(isinstance(quote, str) for quote in quotes)
    }
    if violations:
        msg = f"Evidence schema violations in {len(violations)} fields"
        raise EvidenceSchemaError(msg, violations, hint="Validate the schema first")
    return evidence


def _kind(quotes: object) -> str:
    """Return the type of what stands for the quotes; of a list, that of its first wrong item."""
    if isinstance(quotes, list | tuple):
        for index, quote in enumerate(quotes):
            if not isinstance(quote, str):
                return f"{type(quote).__name__} at index {index}"
    return type(quotes).__name__


def _counted(
    call: _Call, validated: Mapping[str, Sequence[str]], *, log: bool
) -> EvidenceGroundingStats:
    """Return the counts; rejected quotes are logged if `log` is true."""
    extracted = {key: len(quotes) for key, quotes in call.evidence.items()}
    rejected = {key: count - len(validated[key]) for key, count in extracted.items()}
    total, missing = sum(extracted.values()), sum(rejected.values())
    stats = EvidenceGroundingStats(total, total - missing, missing, rejected)
    if log and missing:
        _log_rejections(call, validated, stats)
    return stats


# --- logs ------------------------------------------------------------------------------------


class _Hasher:
    """Stable hashes of texts, keyed if there is a key."""

    def __init__(self, key: str | bytes | None) -> None:
        if key is not None and not (isinstance(key, str | bytes) and key):
            msg = f"the key of hashes must be text or bytes, not empty; got {type(key).__name__}"
            raise ConfigurationError(msg, hint="Leave it out for plain hashes")
        self._key = key

    def of(self, name: str, text: str) -> dict[str, object]:
        """Return hash and length of a text as the fields `<name>_hash` and `<name>_len`."""
        return {f"{name}_hash": short_hash(text, self._key), f"{name}_len": len(text)}


def _log_rejections(
    call: _Call, validated: Mapping[str, Sequence[str]], stats: EvidenceGroundingStats
) -> None:
    """Log each rejected quote, then the counts."""
    common = {**call.hasher.of("transcript", call.source.text), "mode": str(call.rules.mode)}
    for number, (key, quotes) in enumerate(call.evidence.items()):
        kept = set(validated[key])
        for quote in quotes:
            if quote not in kept:
                fields = {"domain": shown_key(key, number), **call.hasher.of("quote", quote)}
                log_event(logger, logging.WARNING, "evidence_quote_rejected", fields | common)
    fields = asdict(stats) | common
    fields["rejected_by_domain"] = {
        shown_key(key, number): count
        for number, (key, count) in enumerate(stats.rejected_by_domain.items())
    }
    log_event(logger, logging.INFO, "evidence_grounding_complete", fields)
