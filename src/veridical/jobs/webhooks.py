"""Webhooks at the end of a job: which addresses may be told, signatures, and repeated attempts.

The signature is that of Standard Webhooks: HMAC SHA-256 over id, time and body.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from veridical.errors import InputError

Address: TypeAlias = IPv4Address | IPv6Address

DELAYS_S = (5.0, 30.0, 120.0, 600.0, 3600.0, 3 * 3600.0, 6 * 3600.0)
"""Seconds between attempts; behind the last one a webhook has failed."""

PREFIX = "whsec_"
"""Prefix of a secret whose rest is the key in Base64, as Standard Webhooks writes it."""

LONGEST = 2000
_NAT64 = IPv6Network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}
_HINT = "Give an https:// address that anybody can reach, or see jobs.webhook_private"


@dataclass(frozen=True, slots=True)
class WebhookRules:
    """Permitted addresses: public ones, and loopback or private networks where that is allowed."""

    loopback: bool = False
    private: bool = False

    def allow(self, address: Address) -> bool:
        """Return whether an address may be asked, also one that it stands for."""
        return all(map(self._allows, (address, *_embedded(address))))

    def _allows(self, address: Address) -> bool:
        if address.is_multicast or address.is_unspecified or address.is_link_local:
            return False  # a cloud's metadata service is link-local
        if address.is_loopback:
            return self.loopback or self.private
        return self.private or address.is_global

    def allow_scheme(self, parts: SplitResult, address: Address) -> bool:
        """Return whether the address may be asked in this way: plain HTTP stays on this machine."""
        return parts.scheme == "https" or address.is_loopback or self.private


def checked_url(url: str, rules: WebhookRules) -> SplitResult:
    """Return the parts of a webhook's address; `InputError` if it is none, or not permitted.

    A name is looked up when it is asked: until then it may come to mean something else.
    """
    try:
        parts = urlsplit(url)
        usable = _is_usable(url, parts)
    except ValueError:
        usable = False
    if not usable:
        msg = "the webhook is no https:// address of a server"
        raise InputError(msg, hint=_HINT)
    literal = literal_address(parts.hostname or "")
    plain = parts.scheme == "http" and not (rules.loopback or rules.private)
    if plain or (literal and not _permits(rules, parts, literal)):
        raise refused()
    return parts


def refused() -> InputError:
    """Return the error for an address that must not be asked."""
    return InputError("the webhook's address is not one that may be asked", hint=_HINT)


def port_of(parts: SplitResult) -> int:
    """Return the port of an address."""
    return parts.port or _PORTS[parts.scheme]


def literal_address(host: str) -> Address | None:
    """Return the IP address that a host is; None for a name."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def permitted(rules: WebhookRules, parts: SplitResult, addresses: list[str]) -> str:
    """Return the first address of a name; `InputError` unless all of them may be asked."""
    found = [literal_address(one) for one in addresses]
    if not found or not all(one and _permits(rules, parts, one) for one in found):
        raise refused()
    return addresses[0]


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of the header `webhook-signature`."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + b64encode(hmac.digest(_key(secret), signed, sha256)).decode()


def delay_s(attempts: int) -> float | None:
    """Return the seconds until the next attempt after so many; None if there is none."""
    return DELAYS_S[attempts - 1] if attempts <= len(DELAYS_S) else None


def _is_usable(url: str, parts: SplitResult) -> bool:
    printable = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    return (
        printable
        and len(url) <= LONGEST
        and parts.scheme in _PORTS
        and bool(parts.hostname)
        and "@" not in parts.netloc
        and parts.port != 0
    )


def _permits(rules: WebhookRules, parts: SplitResult, address: Address) -> bool:
    return rules.allow(address) and rules.allow_scheme(parts, address)


def _embedded(address: Address) -> list[Address]:
    """Return the IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return []
    within = [address.ipv4_mapped, address.sixtofour]
    if address in _NAT64:
        within.append(IPv4Address(int(address) & 0xFFFF_FFFF))
    return [one for one in within if one is not None]


def _key(secret: str) -> bytes:
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        return secret.encode()
