"""Queries to a backend or text model, and the measurements, texts and metadata it returns.

All are frozen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from veridical.core.information import ensure_probability
from veridical.core.printing import usd

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.core.certainty import CertaintyModel
    from veridical.core.printing import Document


@dataclass(frozen=True, slots=True)
class Query:
    """One question to a backend: the probability of `claim`, given `context`.

    `whole` is all the evidence chosen for the claim, `context` included, for a backend that reads
    both (`Reads.BOTH`).
    """

    claim: str = field(repr=False)
    context: str = field(repr=False)
    question: str | None = field(default=None, repr=False)
    whole: str | None = field(default=None, repr=False)


class Estimator(StrEnum):
    """Method by which a probability was obtained."""

    CROSS_ENCODER = "cross_encoder"
    LOGPROBS = "logprobs"
    DECISION = "decision"
    SAMPLING = "sampling"
    VERBALISED = "verbalised"


class UnmeasuredReason(StrEnum):
    """Reason for a missing estimate."""

    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    BACKEND_ERROR = "backend_error"
    MALFORMED_REPLY = "malformed_reply"
    CONTEXT_TOO_LONG = "context_too_long"
    DISABLED = "disabled"
    LANGUAGE_NOT_SUPPORTED = "language_not_supported"


class CascadeBranch(StrEnum):
    """Backend of a cascade that decided about a query, and use of the second one."""

    FIRST = "first"
    """The second was spared."""
    SECOND = "second"
    """The first was in doubt; both estimates pooled, or the failure of one, count."""
    STOOD_IN = "stood_in"
    """The first was in doubt, but the second could not measure it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """P(claim | context) as a distribution, with an interval for `supported`.

    The three probabilities sum to 1. A yes/no-only backend cannot tell the last two apart and
    leaves both None. `low` and `high` bound `supported`. `tokens` and `cost_usd` are None when
    unknown, `stage` outside of cascades.
    """

    supported: float
    contradicted: float | None
    not_in_context: float | None
    low: float
    high: float
    estimator: Estimator
    model: str
    fingerprint: str
    samples: int = 1
    latency_ms: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    cached: bool = False
    stage: CascadeBranch | None = None

    def __post_init__(self) -> None:
        for name in ("supported", "low", "high"):
            ensure_probability(getattr(self, name), name)
        if not self.low <= self.supported <= self.high:
            msg = f"interval [{self.low}, {self.high}] does not hold {self.supported}"
            raise ValueError(msg)
        if (self.contradicted is None) != (self.not_in_context is None):
            msg = "contradicted and not_in_context are known together or not at all"
            raise ValueError(msg)
        if self.contradicted is not None and self.not_in_context is not None:
            ensure_probability(self.contradicted, "contradicted")
            ensure_probability(self.not_in_context, "not_in_context")
            total = self.supported + self.contradicted + self.not_in_context
            if abs(total - 1.0) > 1e-4:  # noqa: PLR2004 -- float32 softmax rounding
                msg = f"the distribution sums to {total}"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Missing estimate, with its reason. `detail` carries no text of the claim or its context.

    `retry_after_s` is how many seconds the service asked to wait before it is asked again. `stage`
    is None outside of cascades.
    """

    reason: UnmeasuredReason
    detail: str = ""
    retry_after_s: float | None = None
    stage: CascadeBranch | None = None


@dataclass(frozen=True, slots=True)
class BilledFailure(Unmeasured):
    """Failure with its usage; tokens and cost are None where unknown."""

    tokens: int | None = None
    cost_usd: float | None = None

    @classmethod
    def of(cls, failure: Unmeasured, took: Taken) -> BilledFailure:
        """Return a failure with its usage."""
        return cls(
            failure.reason,
            failure.detail,
            failure.retry_after_s,
            failure.stage,
            tokens=took.tokens,
            cost_usd=took.cost_usd,
        )


MAY_BE_BILLED = frozenset({UnmeasuredReason.TIMEOUT, UnmeasuredReason.MALFORMED_REPLY})
"""Reasons of failures that may have been billed all the same."""

Measurement = Estimate | Unmeasured


class Reads(StrEnum):
    """Form in which a backend is shown the passages that were chosen for a claim."""

    PASSAGES = "passages"
    """One by one; the most decisive counts. For encoders, which read short texts best."""
    WHOLE = "whole"
    """As one text."""
    BOTH = "both"
    """One by one, each with the whole beside it."""


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """Metadata of a backend: names, thresholds, and the way to query it.

    The thresholds are those at which this backend's probabilities are to be read; they are
    calibrated per backend and apply unless the policy sets its own. `certainty` is the model fitted
    to tell sure verdicts; None if there is none. `languages` are the readable ones, as ISO 639-1
    codes; None for any. A claim surely in another one is `language_not_supported`.

    A backend of two classes, supported or not, has `tells_contradiction` False: its P(contradicted)
    is 0, whatever the evidence says. Where `measures_dependence` is False, p0 is not asked: such
    models were never shown a context without evidence.
    """

    name: str
    model: str
    estimator: Estimator
    fingerprint: str
    support_threshold: float = 0.7
    contradiction_threshold: float = 0.5
    reads: Reads = Reads.PASSAGES
    certainty: CertaintyModel | None = None
    languages: tuple[str, ...] | None = None
    tells_contradiction: bool = True
    measures_dependence: bool = True

    @property
    def tells_sure_flags(self) -> bool:
        """True if a flag can be sure; also where nothing was fitted and it is unknown."""
        return self.certainty is None or self.certainty.tells_sure_flags


@dataclass(frozen=True, slots=True)
class TextModelInfo:
    """Metadata of a text model: its registered name, and its model."""

    name: str
    model: str


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Request for a text: the instructions, and the user's message.

    `schema` is the JSON Schema of an object that the text is to be; a service that cannot enforce
    it may return any text. At most `max_tokens` are written. `seed` is for models that sample, that
    is at a `temperature` above 0.
    """

    system: str = field(repr=False)
    user: str = field(repr=False)
    schema: Mapping[str, object] | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or not self.temperature >= 0:
            msg = "a text needs a max_tokens of 1 or more and a temperature of 0 or more"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Generated:
    """Text written by a model; `cut_off` if the limit on its tokens ended it.

    Tokens and cost are None where unknown; a `cached` text took none.
    """

    text: str = field(repr=False)
    model: str
    cut_off: bool = False
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    cached: bool = False

    @property
    def tokens(self) -> int | None:
        """All tokens, read and written; None if one of both is unknown."""
        if self.prompt_tokens is None or self.output_tokens is None:
            return None
        return self.prompt_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Taken:
    """Usage: tokens, and cost in USD; None where unknown, which 0 is not."""

    tokens: int | None = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Taken) -> Taken:
        tokens, more = self.tokens, other.tokens
        cost, more_cost = self.cost_usd, other.cost_usd
        return Taken(
            None if tokens is None or more is None else tokens + more,
            None if cost is None or more_cost is None else cost + more_cost,
        )

    def body(self) -> Document:
        """Return both as they stand in a JSON object."""
        return {"tokens": self.tokens, "cost_usd": usd(self.cost_usd)}

    @classmethod
    def by(cls, found: Iterable[Measurement | Generated]) -> Taken:
        """Return the joint usage of measurements and texts, including billed failures."""
        return sum(map(taken, found), cls())


NOTHING = Taken()
UNKNOWN = Taken(None, None)


def taken(found: Measurement | Generated) -> Taken:
    """Return the usage of one measurement or text; one from a cache took nothing.

    The usage of a failure that does not state it is unknown if the service may have billed it.
    """
    if isinstance(found, Unmeasured) and not isinstance(found, BilledFailure):
        return UNKNOWN if found.reason in MAY_BE_BILLED else Taken()
    if isinstance(found, Estimate | Generated) and found.cached:
        return Taken()
    return Taken(found.tokens, found.cost_usd)


def supported_probability(found: Measurement) -> float | None:
    """Return how probable it is that a claim is supported; None if that was not measured."""
    return found.supported if isinstance(found, Estimate) else None
