"""Settings as they may be shown: secrets are not."""

from __future__ import annotations

import re
from typing import Any

MASK = "***"

_SECRET_KEY = re.compile(r"(?:^|[._-])(?:api_?key|token|password|passwd|secret)$", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s@]*:[^/?#\s]*@")


def shown_value(key: str, value: Any) -> Any:  # noqa: ANN401 -- whatever a setting may be
    """Return the value of the setting `key` (dotted) for people to see; a secret becomes `***`.

    Secret is what has a type of pydantic's that hides it, what is named like a secret, and the
    credentials in a URL. A secret that is not set stays None.
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
        return _CREDENTIALS.sub(f"{MASK}@", value)
    return value
