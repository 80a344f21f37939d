"""Policy of a check: thresholds, limits and gates; validated once, frozen afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from veridical.core.information import ensure_probability
from veridical.core.measurements import Reads
from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from veridical.core.measurements import BackendInfo


WINDOWS = {Reads.PASSAGES: 0, Reads.WHOLE: 2, Reads.BOTH: 2}
"""Default number of windows that are read, by the way in which a backend reads."""

Mode: TypeAlias = Literal["full", "sample", "critical_only"]
MODES: tuple[Mode, ...] = get_args(Mode)

FailOn: TypeAlias = Literal["any", "sure", "contradicted"]
FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Thresholds and limits of a check.

    A threshold of None means the backend's own calibrated one; `resolved` fills it in, and reports
    show the value in force. `windows` is how many windows of evidence are scored per claim beside a
    passage stitched from the best sentences, or "all"; with 0 the closest sentences are, which is
    the fastest. None is 0 for a backend that reads passages one by one, 2 for others.
    `target_confidence` applies to claims that state no confidence.

    `mode` selects the claims to verify: all (`full`), the share `sample_rate` of them, drawn by
    claim, answer and `seed` (`sample`), or claims with numbers, names, negations or words of
    certainty (`critical_only`); `max_claims` limits their number, and critical ones come first. A
    gap above `gap_threshold_bits` is a critical one. `parallel` puts several batches of queries to
    the backend at once, else one after the other.

    `fail_on` selects the flagged claims that fail a gate: all (`any`), claims with a sure verdict
    (`sure`), or claims that the evidence opposes, sure or not (`contradicted`). None is `sure`, but
    `any` for a backend whose calibration found no flag to be sure of: a gate that cannot tell
    closes (docs/decisions/0017-sure-and-unsure.md).
    """

    support_threshold: float | None = None
    contradiction_threshold: float | None = None
    dependence_threshold: float = 0.3
    target_confidence: float = 0.95
    windows: int | Literal["all"] | None = None
    mode: Mode = "full"
    sample_rate: float = 0.3
    max_claims: int | None = None
    gap_threshold_bits: float = 2.0
    fail_on: FailOn | None = None
    seed: int = 0
    parallel: bool = True

    def __post_init__(self) -> None:
        for name in ("support_threshold", "contradiction_threshold"):
            if getattr(self, name) is not None:
                self._require_probability(name)
        self._require_probability("dependence_threshold")
        self._require_probability("target_confidence")
        self._require_probability("sample_rate")
        windows = self.windows
        if windows not in (None, "all") and (
            isinstance(windows, bool) or not isinstance(windows, int) or windows < 0
        ):
            msg = f"windows must be a whole number from 0, 'all' or None, not {windows!r}"
            raise ConfigurationError(msg, hint="None is the default: what suits the backend")
        if self.mode not in MODES:
            msg = f"mode must be one of {', '.join(MODES)}"
            raise ConfigurationError(msg, hint="full is the default")
        if self.fail_on is not None:
            ensure_fail_on(self.fail_on)
        limit = self.max_claims
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int) or limit < 1
        ):
            msg = f"max_claims must be a whole number from 1, or None, not {limit!r}"
            raise ConfigurationError(msg, hint="None is the default: no limit")
        bits = self.gap_threshold_bits
        if isinstance(bits, bool) or not isinstance(bits, int | float) or not bits >= 0:
            msg = "gap_threshold_bits must be a number of bits from 0"
            raise ConfigurationError(msg, hint="2 is the default")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            msg = "seed must be a whole number from 0"
            raise ConfigurationError(msg, hint="0 is the default")
        parallel: object = self.parallel
        if not isinstance(parallel, bool):
            msg = "parallel must be True or False"
            raise ConfigurationError(msg, hint="True is the default")

    def _require_probability(self, name: str) -> None:
        try:
            ensure_probability(getattr(self, name), name)
        except ValueError as error:
            raise ConfigurationError(str(error), hint="Probabilities run from 0 to 1") from None

    def resolved(self, backend: BackendInfo) -> Policy:
        """Return the policy with the backend's defaults for every value that it does not set."""
        return replace(
            self,
            support_threshold=(
                backend.support_threshold
                if self.support_threshold is None
                else self.support_threshold
            ),
            contradiction_threshold=(
                backend.contradiction_threshold
                if self.contradiction_threshold is None
                else self.contradiction_threshold
            ),
            windows=WINDOWS[backend.reads] if self.windows is None else self.windows,
            fail_on=self.fail_on or ("sure" if backend.tells_sure_flags else "any"),
        )


def ensure_fail_on(value: object) -> None:
    """Raise `ConfigurationError` unless `value` is a valid `fail_on`."""
    if value not in FAIL_ON:
        msg = f"fail_on must be one of {', '.join(FAIL_ON)}"
        raise ConfigurationError(
            msg, hint="Leave it out for the default: sure, if the backend can tell"
        )
