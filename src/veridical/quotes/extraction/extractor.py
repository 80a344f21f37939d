"""Evidence extraction: prompt, strict JSON, schema validation and quote grounding."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from veridical.core.hashing import short_hash
from veridical.core.measurements import Generated, Unmeasured, UnmeasuredReason
from veridical.core.types import ensure_text
from veridical.errors import (
    ConfigurationError,
    EvidenceGroundingError,
    EvidenceJSONError,
    EvidenceSchemaError,
    VeridicalError,
)
from veridical.quotes.extraction.domains import DOMAINS
from veridical.quotes.extraction.failures import (
    ExtractionFailure,
    FailureCategory,
    FailureRegistry,
    FailureSeverity,
    checked_id,
)
from veridical.quotes.extraction.prompt import request_for
from veridical.quotes.extraction.results import Extraction, ExtractionUsage, ItemEvidence
from veridical.quotes.grounding import (
    Deviation,
    ground_evidence,
    ground_quotes,
    parse_evidence_json,
    parse_transcript,
    prepare,
    validate_evidence_schema,
)
from veridical.settings import Settings
from veridical.settings.blocks import ExtractionSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.ports import TextModel
    from veridical.quotes.grounding import PreparedSource, Speakers, Transcript

logger = logging.getLogger(__name__)

_NONE_GROUNDED = "none of the quotes extracted is in the transcript"
_SOME_REJECTED = "some of the quotes extracted are not in the transcript"


class EvidenceExtractor:
    """Extractor of evidence by the settings' blocks `extraction` and `quantitative`.

    `keys` are names, with a description each where it helps; without them the settings' keys,
    else the domains of the PHQ-8. Quotes of speakers other than `speaker`, one or more names, are
    rejected; by default only the assessed person counts, where labels identify one. Failures go
    into `failures`, and into a file after each transcript if the settings name a folder. Several
    transcripts may be processed at once. `ConfigurationError` if the keys are no names, or the
    file cannot be written.
    """

    def __init__(
        self,
        text_model: TextModel,
        settings: Settings | None = None,
        *,
        keys: Mapping[str, str] | Sequence[str] | None = None,
        speaker: Speakers = None,
        failures: FailureRegistry | None = None,
    ) -> None:
        settings = settings or Settings()
        self._model = text_model
        self._settings = settings
        self.keys: Mapping[str, str] = _checked(keys) or settings.extraction.keys or DOMAINS
        self._speaker = speaker
        self.failures = failures or FailureRegistry()
        folder = settings.extraction.failures
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            self.failures.write(self._folder)  # a folder that cannot be written is reported at once
        key = settings.extraction.hash_key
        self._hash_key = key.get_secret_value() if key else None

    async def extract(
        self, transcript: str | Transcript, *, participant_id: str | int | None = None
    ) -> Extraction | Unmeasured:
        """Return the evidence in a transcript; `Unmeasured` if the text model gave no answer.

        A text is read as `parse_transcript` reads it. `EvidenceSchemaError` if the answer has
        another shape (after the corrective retry, if there is one), `EvidenceGroundingError` if
        all quotes are rejected and the settings make that an error. `participant_id` goes into
        logs and files; `InputError` if it is no id, `TranscriptError` and `TextError` for an
        invalid transcript, `ConfigurationError` if the named speaker does not occur in it.
        """
        participant = None if participant_id is None else checked_id(participant_id, "a person")
        parsed = parse_transcript(transcript) if isinstance(transcript, str) else transcript
        ensure_text(parsed.text, "the transcript")
        run = _Run(participant, prepare(parsed), [], [])
        # A speaker without turns is reported before the text model is paid for.
        ground_quotes((), run.source, speaker=self._speaker)
        try:
            return await self._extract(run)
        finally:
            self._keep_failures()

    def _keep_failures(self) -> None:
        """Write the file of failures; a failure to write it must not cost the result."""
        if self._folder is not None:
            try:
                self.failures.write(self._folder)
            except ConfigurationError as error:
                logger.error("failures_not_written %s", error.message)  # noqa: TRY400 -- no traceback

    async def _extract(self, run: _Run) -> Extraction | Unmeasured:
        answer = await self._answer(run)
        if isinstance(answer, EvidenceSchemaError) and self._settings.extraction.corrective_retry:
            answer = await self._answer(run, answer)
        if isinstance(answer, EvidenceSchemaError):
            _raise(answer)
        if isinstance(answer, Unmeasured):
            return answer
        items = self._items(run, answer.evidence)
        return Extraction(
            items,
            _usage(run.generated),
            participant_id=run.participant,
            validated=self._settings.quantitative.evidence_quote_validation_enabled,
            retried=len(run.generated) > 1,
            deviations=answer.deviations,
            failures=tuple(run.failures),
        )

    # --- the text model's answer -------------------------------------------------------------

    async def _answer(
        self, run: _Run, before: EvidenceSchemaError | None = None
    ) -> _Answer | EvidenceSchemaError | Unmeasured:
        violations = before.violations if before else None
        request = request_for(run.source.text, self.keys, self._settings, violations)
        try:
            generated = await self._model.generate(request)
        except VeridicalError as error:
            self._unmeasured(run, Unmeasured(UnmeasuredReason.BACKEND_ERROR, type(error).__name__))
            raise
        except Exception as error:  # noqa: BLE001 -- a bug of the model must not break the host
            # Only the name: the message may quote the prompt.
            generated = Unmeasured(UnmeasuredReason.BACKEND_ERROR, type(error).__name__)
        if isinstance(generated, Unmeasured):
            return self._unmeasured(run, generated)
        run.generated.append(generated)
        try:
            parsed = parse_evidence_json(generated.text)
            evidence = validate_evidence_schema(parsed.obj, tuple(self.keys))
        except EvidenceSchemaError as error:
            if generated.cut_off and isinstance(error, EvidenceJSONError):
                detail = f"the text was cut off at {request.max_tokens} tokens"
                return self._unmeasured(run, Unmeasured(UnmeasuredReason.MALFORMED_REPLY, detail))
            self._violated(run, generated, error, last=before is not None)
            return error
        return _Answer(evidence, parsed.deviations)

    def _unmeasured(self, run: _Run, why: Unmeasured) -> Unmeasured:
        details = {"reason": why.reason.value, "detail": why.detail}
        self._record(
            run,
            FailureCategory.TEXT_MODEL,
            FailureSeverity.ERROR,
            "the text model gave no answer that could be read",
            details=details,
        )
        return why

    def _violated(
        self, run: _Run, generated: Generated, error: EvidenceSchemaError, *, last: bool
    ) -> None:
        again = self._settings.extraction.corrective_retry and not last
        json = isinstance(error, EvidenceJSONError)
        self._record(
            run,
            FailureCategory.EVIDENCE_JSON if json else FailureCategory.EVIDENCE_SCHEMA,
            FailureSeverity.WARNING if again else FailureSeverity.ERROR,
            "the answer is no strict JSON" if json else "the answer has another shape",
            counts={"violations": len(error.violations), "response_len": len(generated.text)},
            details={
                "violations": error.violations,
                "response_hash": short_hash(generated.text, self._hash_key),
            },
        )

    # --- grounding in the transcript ---------------------------------------------------------

    def _items(self, run: _Run, evidence: Mapping[str, list[str]]) -> dict[str, ItemEvidence]:
        """Return the evidence with the quotes that are in the transcript, and record the others."""
        rules, strict = self._settings.quantitative, self._settings.extraction.strict
        if not rules.evidence_quote_validation_enabled:
            return {
                key: ItemEvidence(tuple(quotes), (), len(quotes), 0)
                for key, quotes in evidence.items()
            }
        matches, stats = ground_evidence(
            evidence,
            run.source,
            mode=rules.evidence_quote_validation_mode,
            fuzzy_threshold=rules.evidence_quote_fuzzy_threshold,
            log_rejections=rules.evidence_quote_log_rejections,
            strict=strict,
            speaker=self._speaker,
            hash_key=self._hash_key,
        )
        if stats.rejected_count:
            self._rejected(run, stats.extracted_count, stats.rejected_by_domain)
        return {
            key: ItemEvidence(
                tuple(match.quote for match in found if match.accepted),
                tuple(found),
                len(found),
                stats.rejected_by_domain[key],
            )
            for key, found in matches.items()
        }

    def _rejected(self, run: _Run, extracted: int, by_key: Mapping[str, int]) -> None:
        """Record rejected quotes; `EvidenceGroundingError` if the settings require it."""
        rules = self._settings.quantitative
        rejected = sum(by_key.values())
        every = rejected == extracted
        message = _NONE_GROUNDED if every else _SOME_REJECTED
        self._record(
            run,
            FailureCategory.EVIDENCE_HALLUCINATION,
            FailureSeverity.ERROR if every else FailureSeverity.WARNING,
            message,
            counts={"extracted": extracted, "rejected": rejected}
            | {f"rejected.{key}": count for key, count in by_key.items() if count},
            details={"mode": rules.evidence_quote_validation_mode},
            log=rules.evidence_quote_log_rejections,
        )
        if every and rules.evidence_quote_fail_on_all_rejected:
            hint = "evidence_quote_fail_on_all_rejected makes this an error"
            raise EvidenceGroundingError(message, hint=hint)

    def _record(  # noqa: PLR0913 -- the parts of a failure
        self,
        run: _Run,
        category: FailureCategory,
        severity: FailureSeverity,
        message: str,
        *,
        counts: Mapping[str, int] | None = None,
        details: Mapping[str, str | Mapping[str, str]] | None = None,
        log: bool = True,
    ) -> None:
        transcript = {"transcript_hash": short_hash(run.source.text, self._hash_key)}
        failure = ExtractionFailure(
            category,
            severity,
            message,
            participant_id=run.participant,
            counts={**(counts or {}), "transcript_len": len(run.source.text)},
            details={**(details or {}), **transcript},
        )
        run.failures.append(failure)
        self.failures.record(failure, log=log)


def _checked(keys: Mapping[str, str] | Sequence[str] | None) -> Mapping[str, str] | None:
    """Return descriptions by key, by the rules of the settings."""
    if keys is None:
        return None
    given = dict(keys) if isinstance(keys, Mapping) else list(keys)
    try:
        found: Mapping[str, str] | None = ExtractionSettings(keys=given).keys
    except ValueError:
        found = None
    if not found:
        msg = "keys must be names of up to 40 letters, digits and underscores"
        raise ConfigurationError(msg, hint="Pass a list of names, or descriptions by name")
    return found


@dataclass(frozen=True, slots=True)
class _Run:
    """One transcript with its intermediate results."""

    participant: str | None
    source: PreparedSource
    generated: list[Generated]
    failures: list[ExtractionFailure]


@dataclass(frozen=True, slots=True)
class _Answer:
    """Evidence of the right shape, its quotes not looked up yet."""

    evidence: Mapping[str, list[str]] = field(repr=False)
    deviations: tuple[Deviation, ...]


def _raise(error: EvidenceSchemaError) -> NoReturn:
    # Without its traceback, whose frames hold the answer.
    raise error.with_traceback(None)


def _usage(generated: Sequence[Generated]) -> ExtractionUsage:
    tokens = [part for each in generated for part in (each.prompt_tokens, each.output_tokens)]
    costs = [each.cost_usd for each in generated]
    known_tokens = [count for count in tokens if count is not None]
    known_costs = [cost for cost in costs if cost is not None]
    return ExtractionUsage(
        generated[-1].model,
        len(generated),
        sum(known_tokens) if len(known_tokens) == len(tokens) else None,
        sum(known_costs) if len(known_costs) == len(costs) else None,
    )
