"""Configuration of answer verification: SPEC-16's VerificationConfig."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, get_args

from veridical.core.policy import Policy
from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from veridical.core.policy import Mode
    from veridical.settings import Settings

OnFailure: TypeAlias = Literal["flag", "retry", "ask"]
ON_FAILURE: tuple[OnFailure, ...] = get_args(OnFailure)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationConfig:
    """Configuration of answer verification: scope, thresholds and the action on failure.

    Names and defaults follow SPEC-16, with these deviations: every answer is verified, and
    wholly, unless `skip_short`, `mode` and `max_claims_per_response` restrict it; a
    `support_threshold` of None is the backend's own calibrated one; a `verification_model` of None
    is the backend of the settings (it is read only if the orchestrator is given no verifier).

    `enabled` off returns every answer unverified, `skip_short` answers under 100 characters.
    Claims whose gap is above `gap_threshold_bits` are critical, and so are contradicted ones and
    phantom citations: `on_failure` applies to critical claims. `max_retries` is the number of
    times an answer is generated again. `parallel_verification` off puts the claims of an answer to
    the backend one batch after the other. `ConfigurationError` if a value is out of range.
    """

    enabled: bool = True
    skip_short: bool = False
    support_threshold: float | None = None
    dependence_threshold: float = 0.3
    gap_threshold_bits: float = 2.0
    on_failure: OnFailure = "flag"
    max_retries: int = 2
    verification_model: str | None = None
    max_claims_per_response: int | None = None
    parallel_verification: bool = True
    mode: Mode = "full"
    sample_rate: float = 0.3

    def __post_init__(self) -> None:
        if self.on_failure not in ON_FAILURE:
            msg = f"on_failure must be one of {', '.join(ON_FAILURE)}"
            raise ConfigurationError(msg, hint="flag is the default")
        retries = self.max_retries
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            msg = "max_retries must be a whole number from 0"
            raise ConfigurationError(msg, hint="2 is the default")
        for name in ("enabled", "skip_short", "parallel_verification"):
            if not isinstance(getattr(self, name), bool):
                msg = f"{name} must be True or False"
                raise ConfigurationError(msg, hint=f"{not name.startswith('skip')} is the default")
        self.to_policy()  # the other values are checked there

    def to_policy(self, base: Policy | None = None) -> Policy:
        """Return the policy of a check; fields without a counterpart here are taken from `base`.

        A `support_threshold` of None leaves that of `base`.
        """
        base = Policy() if base is None else base
        own = self.support_threshold
        return replace(
            base,
            support_threshold=base.support_threshold if own is None else own,
            dependence_threshold=self.dependence_threshold,
            gap_threshold_bits=self.gap_threshold_bits,
            max_claims=self.max_claims_per_response,
            mode=self.mode,
            sample_rate=self.sample_rate,
            parallel=self.parallel_verification,
        )

    @classmethod
    def of(cls, settings: Settings, policy: Policy | None = None) -> Self:
        """Return the configuration in the settings; a `policy` overrides its fields."""
        said = settings.verification.model_dump() | {"enabled": settings.verifies_answers}
        return cls(**said) if policy is None else cls(**said).under(policy)

    def under(self, policy: Policy) -> Self:
        """Return this configuration with the fields of a policy that have a counterpart here."""
        return replace(
            self,
            support_threshold=policy.support_threshold,
            dependence_threshold=policy.dependence_threshold,
            gap_threshold_bits=policy.gap_threshold_bits,
            max_claims_per_response=policy.max_claims,
            mode=policy.mode,
            sample_rate=policy.sample_rate,
            parallel_verification=policy.parallel,
        )
