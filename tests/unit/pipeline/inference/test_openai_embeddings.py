"""Vectors of texts, from a scripted server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.ports import EmbeddingModel, fingerprint_of
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.openai_embeddings import OpenAIEmbeddings

pytestmark = pytest.mark.slow

Serve = Callable[..., OpenAIEmbeddings]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a model behind a server that answers every request with one status and body."""
    servers: list[HTTPServer] = []

    def start(body: str, status: int = 200, seen: list[Any] | None = None) -> OpenAIEmbeddings:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if seen is not None:
                    seen.append((self.path, asked))
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("retry-after", "7")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return OpenAIEmbeddings("m", base_url=f"http://127.0.0.1:{server.server_port}/v1")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def reply(*rows: tuple[int, object]) -> str:
    data = [{"object": "embedding", "index": index, "embedding": one} for index, one in rows]
    return json.dumps({"object": "list", "model": "m", "data": data})


def test_vectors_come_in_the_order_of_the_texts(serve: Serve) -> None:
    seen: list[Any] = []
    model = serve(reply((1, [0.0, 2.0]), (0, [1.0, 0.5])), seen=seen)
    assert isinstance(model, EmbeddingModel)
    assert anyio.run(model.embed, ["a", "b"]) == [[1.0, 0.5], [0.0, 2.0]]
    ((path, asked),) = seen
    assert (path, asked["model"], asked["input"]) == ("/v1/embeddings", "m", ["a", "b"])


@pytest.mark.parametrize(
    "body",
    [
        reply((0, [1.0]), (1, [1.0, 2.0])),
        reply((0, []), (1, [])),
        reply((0, [1.0])),
        reply((0, [1.0]), (1, [float("nan")])),
        reply((0, [1.0]), (1, "text")),
        reply(),
        "{}",
        "[1]",
        "no json",
    ],
)
def test_what_is_no_vector_for_each_text_is_a_failure(serve: Serve, body: str) -> None:
    found = anyio.run(serve(body).embed, ["a", "b"])
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.MALFORMED_REPLY


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (429, "slow down", UnmeasuredReason.RATE_LIMITED),
        (400, "maximum context length exceeded", UnmeasuredReason.CONTEXT_TOO_LONG),
        (500, "SECRET", UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_a_refusal_is_a_value_without_its_words(
    serve: Serve, status: int, message: str, reason: UnmeasuredReason
) -> None:
    found = anyio.run(serve(json.dumps({"error": {"message": message}}), status).embed, ["a"])
    assert isinstance(found, Unmeasured)
    assert found.reason is reason
    assert "SECRET" not in str(found)


def test_an_address_that_is_none_is_a_named_error_and_the_address_counts() -> None:
    with pytest.raises(ConfigurationError):
        OpenAIEmbeddings("m", base_url="nowhere")
    one, other = (OpenAIEmbeddings("m", base_url=f"http://127.0.0.1:{n}/v1") for n in (1, 2))
    assert fingerprint_of(one) != fingerprint_of(other)
