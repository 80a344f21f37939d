"""Texts, claims and their evidence: the values that flow through the pipeline, in that order.

All are frozen. Offsets are code points into the original text, `start` inclusive, `end` exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from veridical.core.information import ensure_probability
from veridical.errors import SourceError, TextError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.core.measurements import UnmeasuredReason


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of text: code points, start inclusive, end exclusive."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            msg = f"not a span: {self.start}..{self.end}"
            raise ValueError(msg)

    def __len__(self) -> int:
        return self.end - self.start

    def of(self, text: str) -> str:
        """Return the text this span covers."""
        return text[self.start : self.end]

    def shift(self, offset: int) -> Span:
        """Return the span moved by `offset` code points."""
        return Span(self.start + offset, self.end + offset)

    def overlaps(self, other: Span) -> bool:
        """Return whether the two spans share at least one code point."""
        return self.start < other.end and other.start < self.end

    def common(self, other: Span) -> Span:
        """Return the intersection of two spans that overlap; `ValueError` if they do not meet."""
        return Span(max(self.start, other.start), min(self.end, other.end))


# --- inputs ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """One piece of evidence that a claim may cite by its `id`."""

    id: str
    text: str = field(repr=False)
    path: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip():
            msg = f"a source id must be a non-empty string, not {type(self.id).__name__}"
            raise SourceError(msg, hint="Give every source an id such as S1")
        ensure_text(self.id, "a source id")
        ensure_text(self.text, f"source {self.id!r}", unquoted="the text of a source")


def ensure_text(text: object, what: str, *, unquoted: str = "") -> None:
    """Raise `TextError` unless `text` is a non-blank string that can be encoded as UTF-8.

    `unquoted` takes the place of `what` where errors must not name what is the caller's own.
    """
    found = _fault(text)
    if found is not None:
        fault, hint = found
        error = TextError(f"{what} {fault}", hint=hint)
        error.unquoted = f"{unquoted or what} {fault}"
        raise error


def _fault(text: object) -> tuple[str, str] | None:
    """Return what is wrong with a text, and the remedy; None if nothing is."""
    if not isinstance(text, str):
        return f"must be text, not {type(text).__name__}", "Decode bytes first; pass a str"
    if not text.strip():
        return "is empty", "Give it some text"
    surrogate = _lone_surrogate(text)
    if surrogate is not None:
        fault = f"holds a lone surrogate at offset {surrogate}"
        return fault, "Decode the bytes with errors='replace' first"
    return None


def _lone_surrogate(text: str) -> int | None:
    """Return the offset of the first lone surrogate: an encoder finds it faster than a pattern."""
    try:
        text.encode()
    except UnicodeEncodeError as error:  # it holds the text: it must not be the context of another
        return error.start
    return None


# --- claims ----------------------------------------------------------------------------------


class Exclusion(StrEnum):
    """Reason for which a span of the answer is kept in the report but not verified."""

    QUESTION = "question"
    INSTRUCTION = "instruction"
    GREETING = "greeting"
    HEDGED = "hedged"
    HEADING = "heading"
    CODE = "code"


class Skip(StrEnum):
    """Reason for which an assertion of the answer was not verified."""

    NOT_SAMPLED = "not_sampled"
    NOT_CRITICAL = "not_critical"
    OVER_LIMIT = "over_limit"


class ClaimKind(StrEnum):
    """Place of a claim in the answer's structure."""

    SENTENCE = "sentence"
    BULLET = "bullet"
    TABLE_ROW = "table_row"
    HEADING = "heading"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class CitationRef:
    """A citation as it is written in the answer: `id` without brackets, `span` in the answer."""

    id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Confidence:
    """Confidence of the answer in a claim, in [0, 1].

    `stated` is true for an explicit figure ("80 % sure") and false for one inferred from hedges and
    certainty words.
    """

    value: float
    stated: bool = False

    def __post_init__(self) -> None:
        ensure_probability(self.value, "confidence")


@dataclass(frozen=True, slots=True)
class Part:
    """Conjunct or sentence of a claim, no claim of its own, in words that stand alone."""

    text: str = field(repr=False)
    span: Span


@dataclass(frozen=True, slots=True)
class EvidenceMap:
    """The sources that a text model holds to be the evidence of a claim without citations.

    A hint, no citation: `used` is true if the claim came out supported by these sources alone; else
    it was read with all of them, as if there were no hint.
    """

    sources: tuple[str, ...]
    used: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One verifiable assertion of the answer.

    `text` is the text to verify: `span.of(answer)` without citations and markup, sometimes with a
    shared subject put back. `read_as` is the same with a name in place of the word that it begins
    with and that points back, such as "It", if its meaning is certain. `parts` are its conjuncts,
    read only when the whole is not supported, or the sentences of one that has several. `weaker` is
    the claim with its quantifier or certainty word softened, if it has one. `skipped` is the reason
    for which an assertion is not verified, if the policy leaves it out.
    """

    id: str
    text: str = field(repr=False)
    span: Span
    sentence: int
    kind: ClaimKind = ClaimKind.SENTENCE
    citations: tuple[CitationRef, ...] = ()
    confidence: Confidence | None = None
    excluded: Exclusion | None = None
    skipped: Skip | None = None
    vague: bool = False
    parts: tuple[Part, ...] = ()
    weaker: str | None = field(default=None, repr=False)
    evidence_map: EvidenceMap | None = None
    read_as: str | None = field(default=None, repr=False)

    @classmethod
    def of_text(cls, text: str, claim_id: str = "c1", cites: Iterable[str] = ()) -> Self:
        """Return a claim that is a whole text; all of it cites the ids `cites`."""
        whole = Span(0, len(text))
        refs = tuple(CitationRef(cited, whole) for cited in cites)
        return cls(claim_id, text, whole, 0, citations=refs)

    @property
    def as_read(self) -> str:
        """Text for backends and for the search of evidence: pointers replaced by names."""
        return self.text if self.read_as is None else self.read_as

    @property
    def fragments(self) -> tuple[Part, ...]:
        """Texts of a second look: the parts, then the softened form if there is one."""
        softened = (Part(self.weaker, self.span),) if self.weaker else ()
        return (*self.parts, *softened)

    @property
    def assertive(self) -> bool:
        """True if the claim asserts something that can be checked."""
        return self.excluded is None

    @property
    def verifiable(self) -> bool:
        """True if the claim is to be verified: it asserts something and was not left out."""
        return self.excluded is None and self.skipped is None


class ExtractionMethod(StrEnum):
    """Method by which the answer was taken apart."""

    RULES = "rules"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class ClaimExtraction:
    """Record of the extraction of claims, and of the fate of a text model's proposals.

    `method` is `rules` if no model was set, or no reply of it could be read. An answer is put to
    the model in `pieces`; `fallen_back` of them were left to the rules, `fallback` is the reason
    (of the first). Of the claims `proposed`, some were dropped: claims that are not in the answer
    (`unanchored`), that say something else than the place they are from (`unfaithful`), that stand
    where the rules find no assertion (`excluded`), and that came before (`repeated`).
    `unknown_sources` counts the ids in the evidence of claims that no source has, `filled` the
    assertions that the model left out and the rules put back. Tokens and cost are None where
    unknown, the latency is that of all pieces together.
    """

    method: ExtractionMethod = ExtractionMethod.RULES
    model: str | None = None
    pieces: int = 0
    fallen_back: int = 0
    fallback: UnmeasuredReason | None = None
    proposed: int = 0
    dropped_unanchored: int = 0
    dropped_unfaithful: int = 0
    dropped_excluded: int = 0
    dropped_repeated: int = 0
    unknown_sources: int = 0
    filled: int = 0
    tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class ClaimSet:
    """The claims of one answer, in text order, and the number of sentences they came from."""

    claims: tuple[Claim, ...]
    sentences: int
    extraction: ClaimExtraction = field(default_factory=ClaimExtraction)


# --- evidence --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation bound to a source; `source` is None for a phantom.

    `region` narrows the source to the cited lines, for `path:line` citations.
    """

    id: str
    span: Span
    source: str | None
    region: Span | None = None

    @property
    def resolved(self) -> bool:
        """True if the cited id exists."""
        return self.source is not None


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A stretch of one source."""

    source: str
    span: Span

    def covers(self, other: SourceSpan) -> bool:
        """Return whether the other stretch lies within this one."""
        inside = self.span.start <= other.span.start and other.span.end <= self.span.end
        return self.source == other.source and inside

    def overlaps(self, other: SourceSpan) -> bool:
        """Return whether the two stretches share some text."""
        return self.source == other.source and self.span.overlaps(other.span)


FURTHER = 2
"""First turn of the passages that are further off."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Context for a backend: one window of a source, or several stitched together.

    `pieces` are the places its text comes from, `focus` the sentences of it nearest to the claim.
    `relevance` is the score it was ranked by. Passages of a later `turn` are read where earlier
    ones decide nothing; from turn `FURTHER` on they can support a claim, and not oppose it.
    """

    text: str = field(repr=False)
    pieces: tuple[SourceSpan, ...]
    focus: tuple[SourceSpan, ...] = ()
    relevance: float = 0.0
    turn: int = 0

    @property
    def stitched(self) -> bool:
        """True if the passage joins pieces that do not follow each other in one source."""
        return len(self.pieces) > 1


@dataclass(frozen=True, slots=True)
class Binding:
    """Evidence for a claim, once whole and once with the cited part scrubbed.

    `windows_total` counts the windows that the evidence has; `with_evidence` are the chosen ones.
    `nearest` are the sentences of the evidence that are nearest to the claim.
    """

    citations: tuple[Citation, ...]
    with_evidence: tuple[Passage, ...]
    without_evidence: tuple[Passage, ...]
    windows_total: int
    nearest: tuple[SourceSpan, ...] = ()
