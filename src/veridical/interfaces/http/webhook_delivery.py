"""Delivery of webhooks: one POST to the address that was looked up and found to be permitted."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

from veridical.jobs.webhooks import checked_url, permitted, port_of, signature
from veridical.pipeline.inference.clients import tls

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from veridical.jobs.webhooks import WebhookRules

TIMEOUT_S = 10.0


class WebhookSender:
    """Sender of signed messages; redirects and proxies of the environment are not followed."""

    def __init__(self, secret: str, rules: WebhookRules) -> None:
        self._secret = secret
        self._rules = rules

    def send(self, url: str, message_id: str, body: bytes) -> int:
        """Return the status of the reply, whose body is not read.

        `InputError` if the address must not be asked, `OSError` or an error of httpx2 if there is
        no reply.
        """
        import httpx2

        parts = checked_url(url, self._rules)
        # The connection goes to the address that was checked, whatever the name means next.
        address = permitted(self._rules, parts, _addresses(parts))
        with (
            httpx2.Client(verify=tls("httpx2"), trust_env=False, timeout=TIMEOUT_S) as client,
            client.stream(
                "POST",
                _pinned(parts, address),
                content=body,
                headers={**self._headers(message_id, body), "host": parts.netloc},
                extensions={"sni_hostname": parts.hostname},
            ) as reply,
        ):
            return reply.status_code

    def _headers(self, message_id: str, body: bytes) -> dict[str, str]:
        timestamp = int(time.time())
        return {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(self._secret, message_id, timestamp, body),
        }


def _addresses(parts: SplitResult) -> list[str]:
    found = socket.getaddrinfo(parts.hostname, port_of(parts), type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _pinned(parts: SplitResult, address: str) -> str:
    """Return the address of a webhook with the IP address in place of the name."""
    host = f"[{address}]" if ":" in address else address
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{host}:{port_of(parts)}{path}{query}"
