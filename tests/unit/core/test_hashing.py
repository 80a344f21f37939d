from __future__ import annotations

import hashlib
import hmac

from veridical.core.hashing import short_hash


def test_a_hash_is_that_of_spec_053() -> None:
    assert short_hash("text") == hashlib.sha256(b"text").hexdigest()[:12]


def test_a_key_makes_it_another_that_needs_the_key() -> None:
    keyed = hmac.new(b"key", b"text", "sha256").hexdigest()[:12]
    assert short_hash("text", "key") == short_hash("text", b"key") == keyed
    assert short_hash("text", "other") != keyed != short_hash("text")


def test_a_lone_surrogate_is_no_crash() -> None:
    assert len(short_hash("\ud800", "\ud800")) == 12
