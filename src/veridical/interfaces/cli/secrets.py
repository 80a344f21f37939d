"""Redaction of secrets in settings."""

from __future__ import annotations

import re
from typing import Any

MASK = "***"

_SECRET_KEY = re.compile(
    r"(?:^|[._-])(?:api[_-]?key|token|password|passwd|secret|authorization)$", re.IGNORECASE
)
_SECRET_OPTION = re.compile(rf"{_SECRET_KEY.pattern}|^(?:key|sig|signature)$", re.IGNORECASE)
_OF_SITE = re.compile(r"^[^/?#\s]*@")
# The password of a database may hold characters that end the name of a server elsewhere.
_OF_DATABASE = re.compile(r"^[^:/@\s]*:.*@", re.DOTALL)
_OPTION = re.compile(r"(?<=[?&])([^=&#\s]+)=[^&#\s]+")


def shown_value(key: str, value: Any) -> Any:  # noqa: ANN401 -- whatever a setting may be
    """Return the value of the setting `key` (dotted) for people to see; a secret becomes `***`.

    Secrets are values of pydantic's secret types, values named like a secret, also among the
    options of a URL, and the credentials in one. A secret that is not set stays None.
    """
    if value is None:
        return None
    if hasattr(value, "get_secret_value") or _SECRET_KEY.search(key):
        return MASK
    if isinstance(value, list | tuple):
        return [shown_value(key, item) for item in value]
    if isinstance(value, dict):
        return {name: shown_value(f"{key}.{name}", item) for name, item in value.items()}
    if isinstance(value, str):
        return _shown_url(value)
    return value


def _shown_url(value: str) -> str:
    """Return a text in which URLs have neither credentials nor secret options."""

    def option(found: re.Match[str]) -> str:
        return f"{found[1]}={MASK}" if _SECRET_OPTION.search(found[1]) else found[0]

    scheme, there, rest = value.partition("://")
    if not there:
        return value
    credentials = _OF_SITE if scheme.lower() in {"http", "https"} else _OF_DATABASE
    return _OPTION.sub(option, f"{scheme}://{credentials.sub(f'{MASK}@', rest, count=1)}")
