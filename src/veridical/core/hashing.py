"""Hashes of texts, for logs and records that must not hold the texts themselves.

A plain hash can be recognised by anyone with the text; a keyed one only with the key.
"""

from __future__ import annotations

import hashlib
import hmac


def short_hash(text: str, key: str | bytes | None = None) -> str:
    """Return twelve hexadecimal digits of SHA-256, of HMAC-SHA-256 if there is a key."""
    data = text.encode("utf-8", "surrogatepass")
    if key is None:
        return hashlib.sha256(data).hexdigest()[:12]
    secret = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
    return hmac.new(secret, data, "sha256").hexdigest()[:12]
