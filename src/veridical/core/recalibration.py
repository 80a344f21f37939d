"""Recalibration of a backend's probabilities by a user's own threshold and temperature.

A temperature divides the log-odds of "supported" (Guo et al. 2017, for two classes): above 1 it
makes a backend less sure, below 1 surer. The remaining probability is split between the other two
outcomes as before. As it keeps the order of claims, it moves a threshold along and decides nothing
by itself.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import exp, isfinite, log, log1p
from typing import TYPE_CHECKING, Any

from veridical.core.information import ensure_probability
from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.measurements import BackendInfo, Estimate

SCHEMA = "veridical.calibration/1"
_FIELDS = ("fingerprint", "backend", "model", "support_threshold", "temperature")


@dataclass(frozen=True, slots=True)
class Recalibration:
    """The support threshold and temperature that fit a user's own texts.

    It holds for one backend, the one with this `fingerprint`; name and model are for people. The
    threshold applies to probabilities after the temperature.
    """

    fingerprint: str
    backend: str
    model: str
    support_threshold: float
    temperature: float = 1.0

    def __post_init__(self) -> None:
        ensure_probability(self.support_threshold, "support_threshold")
        _ensure_temperature(self.temperature)

    @property
    def applied_fingerprint(self) -> str:
        """Fingerprint of the recalibrated estimates: another temperature makes other estimates."""
        if self.temperature == 1.0:
            return self.fingerprint
        parts = f"{self.fingerprint}\ntemperature {self.temperature!r}"
        return sha256(parts.encode()).hexdigest()[:12]

    def applied(self, info: BackendInfo) -> BackendInfo:
        """Return the backend's metadata with this recalibration in force."""
        return replace(
            info, fingerprint=self.applied_fingerprint, support_threshold=self.support_threshold
        )

    def measured(self, estimate: Estimate) -> Estimate:
        """Return the estimate with this recalibration in force."""
        read = tempered(estimate, self.temperature)
        return replace(read, fingerprint=self.applied_fingerprint)


def temper(p: float, temperature: float) -> float:
    """Return a probability with its log-odds divided by `temperature`, which is above 0.

    >>> round(temper(0.9, 2.0), 3)
    0.75
    """
    if p in {0.0, 1.0} or temperature == 1.0:
        return p
    odds = (log1p(-p) - log(p)) / temperature
    return 1.0 / (1.0 + exp(odds)) if odds < 0 else exp(-odds) / (1.0 + exp(-odds))


def tempered(estimate: Estimate, temperature: float) -> Estimate:
    """Return the estimate with `temperature` applied to its probability and its interval."""
    if temperature == 1.0:
        return estimate
    supported = temper(estimate.supported, temperature)
    contradicted, rest = estimate.contradicted, 1.0 - estimate.supported
    if contradicted is not None:
        # Rounded distributions may have more in one part than the rest of them adds up to.
        share = min(contradicted / rest, 1.0) if rest > 0 else 0.0
        contradicted = share * (1.0 - supported)
    return replace(
        estimate,
        supported=supported,
        contradicted=contradicted,
        not_in_context=None if contradicted is None else 1.0 - supported - contradicted,
        low=min(supported, temper(estimate.low, temperature)),
        high=max(supported, temper(estimate.high, temperature)),
    )


# --- as a file -------------------------------------------------------------------------------


def to_document(
    recalibration: Recalibration,
    grounds: Mapping[str, Any],
    others: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the JSON object of a calibration file; `grounds` are the data behind the numbers.

    The entries of `others`, such an object, for other backends are kept.
    """
    backends = dict(others["backends"]) if others else {}
    backends[recalibration.fingerprint] = asdict(recalibration) | {"grounds": dict(grounds)}
    return {"schema": SCHEMA, "backends": dict(sorted(backends.items()))}


def from_document(document: object, place: str) -> dict[str, Recalibration]:
    """Return the content of a calibration file, by the fingerprint of the backend.

    `ConfigurationError`, which names `place`, if it is none.
    """
    try:
        return dict(map(_entry, _backends(document).items()))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        msg = f"{place} is not a calibration file{why}"
        hint = "veridical calibrate --out FILE writes one"
        raise ConfigurationError(msg, hint=hint) from None


def _backends(document: object) -> Mapping[str, Any]:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        msg = f"its schema is not {SCHEMA}"
        raise ValueError(msg)
    backends = document["backends"]
    if not isinstance(backends, dict):
        raise TypeError
    return backends


def _entry(item: tuple[str, Any]) -> tuple[str, Recalibration]:
    key, value = item
    found = Recalibration(**{name: value[name] for name in _FIELDS})
    texts = (found.fingerprint, found.backend, found.model)
    if found.fingerprint != key or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return key, found


def _ensure_temperature(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = "temperature must be a number"
        raise TypeError(msg)
    if not isfinite(value) or value <= 0:
        msg = f"temperature must be a number above 0, not {value}"
        raise ValueError(msg)
