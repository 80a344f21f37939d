from __future__ import annotations

import hmac
from base64 import b64encode
from hashlib import sha256

import pytest

from veridical.errors import InputError
from veridical.jobs.webhooks import (
    DELAYS_S,
    WebhookRules,
    checked_url,
    delay_s,
    permitted,
    signature,
)

PUBLIC = WebhookRules()
LOOPBACK = WebhookRules(loopback=True)
PRIVATE = WebhookRules(private=True)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "//example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "https:///path",
        "https://user:password@example.org/",
        "https://example.org\\@10.0.0.1/",
        "https://exa mple.org/",
        "https://example.org/\r\nhost: b",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://[::1/",
        "https://ex\u00e4mple.org/",
        "https://example.org/" + "x" * 2000,
    ],
)
@pytest.mark.parametrize("rules", [PUBLIC, PRIVATE])
def test_what_is_no_address_is_refused(url: str, rules: WebhookRules) -> None:
    with pytest.raises(InputError):
        checked_url(url, rules)


INSIDE = [
    "127.0.0.1",
    "127.9.9.9",
    "[::1]",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "[fd00::1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::a00:1]",
    "[2002:a00:1::]",
]
NEVER = [
    "169.254.169.254",
    "[fe80::1]",
    "[::ffff:169.254.169.254]",
    "0.0.0.0",  # noqa: S104 -- an address to refuse
    "[::]",
    "224.0.0.1",
]


@pytest.mark.parametrize("host", INSIDE + NEVER)
def test_an_address_inside_is_refused(host: str) -> None:
    with pytest.raises(InputError):
        checked_url(f"https://{host}/", PUBLIC)


@pytest.mark.parametrize("host", INSIDE)
def test_an_address_inside_can_be_allowed(host: str) -> None:
    assert checked_url(f"http://{host}/", PRIVATE).netloc == host


@pytest.mark.parametrize("host", NEVER)
def test_link_local_and_group_addresses_are_never_allowed(host: str) -> None:
    with pytest.raises(InputError):
        checked_url(f"https://{host}/", PRIVATE)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/", "http://[::1]/", "https://127.0.0.1/"])
def test_loopback_can_be_allowed_alone(url: str) -> None:
    assert checked_url(url, LOOPBACK)
    with pytest.raises(InputError):
        checked_url("https://10.0.0.1/", LOOPBACK)


@pytest.mark.parametrize("rules", [PUBLIC, LOOPBACK])
def test_plain_http_is_for_this_machine_only(rules: WebhookRules) -> None:
    with pytest.raises(InputError):
        permitted(rules, checked_url("http://93.184.215.14/", rules), ["93.184.215.14"])


def test_a_name_is_asked_only_if_all_its_addresses_may_be() -> None:
    parts = checked_url("https://example.org/", PUBLIC)
    assert permitted(PUBLIC, parts, ["93.184.215.14", "2606:2800:21f::1"]) == "93.184.215.14"
    for addresses in ([], ["93.184.215.14", "10.0.0.1"], ["::1"], ["no address"]):
        with pytest.raises(InputError):
            permitted(PUBLIC, parts, addresses)


def test_the_signature_covers_id_time_and_body() -> None:
    made = {
        signature("a secret of letters", name, time, body)
        for name in ("a", "b")
        for time in (1, 2)
        for body in (b"x", b"y")
    }
    assert len(made) == 8
    digest = hmac.digest(b"a secret of letters", b"a.1.x", sha256)
    assert "v1," + b64encode(digest).decode() in made


def test_a_secret_with_the_prefix_is_base64() -> None:
    key = b"\x00\x01 any bytes"
    secret = "whsec_" + b64encode(key).decode()
    digest = hmac.digest(key, b"a.1.x", sha256)
    assert signature(secret, "a", 1, b"x") == "v1," + b64encode(digest).decode()


def test_attempts_become_rarer_and_end() -> None:
    delays = [delay_s(attempts) for attempts in range(1, len(DELAYS_S) + 2)]
    assert delays == [*sorted(DELAYS_S), None]
