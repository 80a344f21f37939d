"""Schema of extracted evidence: each key of a known set with a list of texts (Spec 054).

Nothing is coerced. All violations are reported at once, by key, index and type; never a value.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from veridical.core.strict_json import shown_key
from veridical.errors import ConfigurationError, EvidenceSchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

PHQ8_DOMAIN_KEYS = (
    "PHQ8_NoInterest",
    "PHQ8_Depressed",
    "PHQ8_Sleep",
    "PHQ8_Tired",
    "PHQ8_Appetite",
    "PHQ8_Failure",
    "PHQ8_Concentrating",
    "PHQ8_Moving",
)
ROOT = "__root__"
_SHOWN_ITEMS = 5


def validate_evidence_schema(
    obj: object, keys: Sequence[str] = PHQ8_DOMAIN_KEYS
) -> dict[str, list[str]]:
    """Return every one of `keys` with its quotes: stripped, no blank ones, none twice.

    A missing or null key means no evidence. `EvidenceSchemaError` lists all violations by key.
    `ConfigurationError` if `keys` are not names.
    """
    known = _checked(keys)
    if not isinstance(obj, dict):
        found = f"Expected object, got {type(obj).__name__}"
        msg = f"Expected JSON object at top level, got {type(obj).__name__}"
        raise EvidenceSchemaError(msg, {ROOT: found})
    violations = {key: says for key in known if (says := _violation(obj.get(key)))}
    if any(key not in known for key in obj):
        violations |= _unknown(obj, known)
    if violations:
        msg = f"Evidence schema violations in {len(violations)} fields"
        raise EvidenceSchemaError(msg, violations, hint="`violations` says what is wrong where")
    return {key: _quotes(obj.get(key) or ()) for key in known}


def _checked(keys: Sequence[str]) -> dict[str, None]:
    listed = isinstance(keys, Iterable) and not isinstance(keys, str)
    if not listed or not all(isinstance(key, str) and key for key in keys):
        msg = "the keys of evidence must be a list of names"
        raise ConfigurationError(msg, hint="Pass a tuple of texts such as PHQ8_DOMAIN_KEYS")
    return dict.fromkeys(keys)


def _violation(value: object) -> str:
    """Return the violation in the value of a key; empty if there is none."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return f"Expected list, got {type(value).__name__}"
    wrong = [(i, type(item).__name__) for i, item in enumerate(value) if not isinstance(item, str)]
    if not wrong:
        return ""
    shown = ", ".join(f"element {i} was {kind}" for i, kind in wrong[:_SHOWN_ITEMS])
    more = len(wrong) - _SHOWN_ITEMS
    return f"Expected list[str] but {shown}" + (f", and {more} more" if more > 0 else "")


def _unknown(obj: dict[object, object], known: dict[str, None]) -> dict[str, str]:
    return {
        shown_key(key, number): _unknown_key(key, known)
        for number, key in enumerate(obj)
        if key not in known
    }


def _unknown_key(key: object, known: dict[str, None]) -> str:
    near = get_close_matches(key[:80], known, n=1) if isinstance(key, str) else []
    return f"Unknown key; did you mean {near[0]}?" if near else "Unknown key"


def _quotes(items: Sequence[str]) -> list[str]:
    # A subclass of str may strip as it likes; a quote is a plain text.
    return list(dict.fromkeys(stripped for item in items if (stripped := str.strip(item))))
