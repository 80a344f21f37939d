"""Verification of language-model answers against their evidence, claim by claim.

    import veridical

    report = veridical.check(answer, sources={"S1": text})
    print(report)

Names are imported when they are first used.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.core.information import budget_gap_bits, observed_bits, required_bits
    from veridical.core.policy import Policy
    from veridical.core.types import Source
    from veridical.errors import VeridicalError
    from veridical.pipeline.reports import Report
    from veridical.settings import Settings
    from veridical.verification.sync import SyncVerifier
    from veridical.verification.verifier import Case, Verifier
    from veridical.wiring.api import acheck, check

__version__ = "0.1.0"

# Without a handler the standard library would print warnings; the host decides on that.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "Case",
    "Policy",
    "Report",
    "Settings",
    "Source",
    "SyncVerifier",
    "VeridicalError",
    "Verifier",
    "acheck",
    "budget_gap_bits",
    "check",
    "observed_bits",
    "required_bits",
]

# Names are imported when first used: a host that imports veridical pays nothing until then.
_HOMES = {
    "Case": "veridical.verification.verifier",
    "Policy": "veridical.core.policy",
    "Report": "veridical.pipeline.reports",
    "Settings": "veridical.settings",
    "Source": "veridical.core.types",
    "SyncVerifier": "veridical.verification.sync",
    "VeridicalError": "veridical.errors",
    "Verifier": "veridical.verification.verifier",
    "acheck": "veridical.wiring.api",
    "budget_gap_bits": "veridical.core.information",
    "check": "veridical.wiring.api",
    "observed_bits": "veridical.core.information",
    "required_bits": "veridical.core.information",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        msg = f"module 'veridical' has no attribute {name!r}"
        raise AttributeError(msg)
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
