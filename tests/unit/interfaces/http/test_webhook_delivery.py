"""Webhooks over TLS: to the address that was checked, with the name's certificate."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from veridical.errors import InputError
from veridical.interfaces.http import webhook_delivery
from veridical.interfaces.http.webhook_delivery import WebhookSender
from veridical.jobs.webhooks import WebhookRules

NAME = "hooks.example.org"
OPEN = WebhookSender("a secret of letters", WebhookRules(private=True))


def certificate(folder: Path) -> Path:
    """Write a certificate for the name, and its key, to a file."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    own = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(pem) + own)
    return path


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Start a TLS server for the name, which is looked up as loopback; its issuer is trusted."""
    path = certificate(tmp_path)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204 if self.headers["host"].startswith(NAME) else 400)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    look_up = socket.getaddrinfo

    def here(host: str, *given: object, **named: object) -> object:
        own = host if not host.endswith("example.org") else "127.0.0.1"
        return look_up(own, *given, **named)  # type: ignore[arg-type]

    trusted = ssl.create_default_context(cafile=str(path))
    monkeypatch.setattr(socket, "getaddrinfo", here)
    monkeypatch.setattr(webhook_delivery, "tls", lambda _: trusted)
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_the_certificate_has_to_be_the_names_though_the_address_is_asked(port: int) -> None:
    assert OPEN.send(f"https://{NAME}:{port}/x?y=z", "id", b"{}") == 204
    with pytest.raises(httpx2.ConnectError):
        OPEN.send(f"https://other.example.org:{port}/", "id", b"{}")


def test_a_name_that_is_looked_up_as_this_machine_is_not_asked(port: int) -> None:
    closed = WebhookSender("a secret of letters", WebhookRules())
    with pytest.raises(InputError):
        closed.send(f"https://{NAME}:{port}/", "id", b"{}")
