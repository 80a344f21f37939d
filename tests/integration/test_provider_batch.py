"""`veridical batch --provider-batch` against a provider on loopback, in the shape of OpenAI's API.

The provider answers online, too: the results of both ways are compared byte by byte.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.parser import BytesParser
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from typer.testing import CliRunner

from veridical.batch import provider
from veridical.batch.provider_ledger import ProviderLedger
from veridical.errors import ConfigurationError
from veridical.interfaces.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

pytestmark = pytest.mark.slow

Json = dict[str, Any]
Reply = tuple[int, Json] | None
"""Status and body of a request's reply; None if the batch ends without one."""

SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
ROWS: list[Json] = [
    {"id": "a1", "answer": "The bridge was opened in 1998.", "sources": SOURCE},
    {"id": "a2", "answer": "It opened in 1998. It has six lanes.", "sources": [SOURCE]},
    {"id": "c1", "claim": "The bridge carries six lanes.", "evidence": SOURCE},
    {"id": "a3", "answer": "No sources come with this."},
    {"id": "a4", "answer": "The bridge was opened in 1998.", "sources": SOURCE},
]


def completion(body: Json) -> Reply:
    """Return a judgement with log-probabilities, as far as they were asked for."""
    says = "NO" if "six" in json.dumps(body["messages"]) else "YES"
    top = [
        {"token": word, "logprob": math.log(share), "bytes": None}
        for word, share in ((says, 0.9), ("UNKNOWN", 0.1))
    ]
    content = {"content": [{**top[0], "top_logprobs": top}], "refusal": None}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": says, "refusal": None},
        "logprobs": content if body.get("logprobs") else None,
        "finish_reason": "length",
    }
    tokens = {"prompt_tokens": 300, "completion_tokens": 1, "total_tokens": 301}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"]}
    return 200, {**head, "choices": [choice], "usage": tokens}


@dataclass
class Provider:
    """Files and batches of a provider.

    `answer` replies to a request, `pending` is how many looks at a batch find it in progress, and
    `before_reply` is called with a request's method and path when it has been carried out.
    """

    answer: Callable[[Json], Reply] = completion
    status: str = "completed"
    pending: int = 1
    before_reply: Callable[[str, str], None] = lambda *_: None
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    batches: dict[str, Json] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, list[str]], dict[str, str]]] = field(default_factory=list)
    online: int = 0

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Any:  # noqa: ANN401, PLR0911 -- JSON or bytes; a return for each path
        match method, [part for part in path.split("/") if part]:
            case "POST", [*_, "chat", "completions"]:
                self.online += 1
                return self.answer(json.loads(body))
            case "POST", [*_, "files"]:
                return 200, self.upload(headers, body)
            case "GET", [*_, "files", file, "content"]:
                return 200, self.files[file][1]
            case "GET", [*_, "files"]:
                return 200, listed([self.file(one) for one in self.files])
            case "POST", [*_, "batches"]:
                return 200, self.create(json.loads(body))
            case "GET", [*_, "batches", batch]:
                return 200, self.look(batch)
            case "GET", [*_, "batches"]:
                return 200, listed(list(self.batches.values())[::-1])
        return 404, {"error": {"message": "no such path"}}

    def file(self, file: str) -> Json:
        name, data = self.files[file]
        head = {"id": file, "object": "file", "purpose": "batch", "status": "processed"}
        return {**head, "filename": name, "bytes": len(data), "created_at": 1}

    def upload(self, headers: dict[str, str], body: bytes) -> Json:
        head = f"content-type: {headers['content-type']}\r\n\r\n".encode()
        for part in BytesParser().parsebytes(head + body).get_payload():
            if name := part.get_filename():  # type: ignore[union-attr]
                data = part.get_payload(decode=True)  # type: ignore[union-attr]
        return self.file(self.add(name, data))  # type: ignore[arg-type]

    def add(self, name: str, data: bytes) -> str:
        file = f"file-{len(self.files)}"
        self.files[file] = (name, data)
        return file

    def create(self, asked: Json) -> Json:
        batch = f"batch_{len(self.batches)}"
        self.batches[batch] = {
            "id": batch,
            "object": "batch",
            "created_at": 1,
            "status": "in_progress",
            **asked,
        }
        return self.batches[batch]

    def look(self, batch: str) -> Json:
        found = self.batches[batch]
        self.looks[batch] = self.looks.get(batch, 0) + 1
        if self.looks[batch] > self.pending and found["status"] == "in_progress":
            found |= self.end(found)
        return found

    def end(self, batch: Json) -> Json:
        """Answer the requests of a batch, in another order."""
        if self.status == "failed":
            errors = {"object": "list", "data": [{"code": "token_limit_exceeded", "message": "m"}]}
            return {"status": "failed", "errors": errors}
        requests = self.requests(batch)
        random.Random(0).shuffle(requests)  # noqa: S311 -- an order, no secret
        good, bad = list[Json](), list[Json]()
        for request in requests:
            assert (request["method"], request["url"]) == ("POST", batch["endpoint"])
            line: Json = {"id": "r", "custom_id": request["custom_id"], "response": None}
            reply = self.answer(request["body"])
            if reply is None or self.status == "cancelled":
                bad.append(line | {"error": {"code": "batch_expired", "message": "m"}})
                continue
            status, body = reply
            line |= {"response": {"status_code": status, "body": body}, "error": None}
            (good if status == 200 else bad).append(line)
        counts = {"total": len(requests), "completed": len(good), "failed": len(bad)}
        ended: Json = {"status": self.status, "request_counts": counts}
        for key, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                ended[key] = self.add(key, "".join(json.dumps(x) + "\n" for x in lines).encode())
        return ended

    def requests(self, batch: Json) -> list[Json]:
        return [json.loads(line) for line in self.files[batch["input_file_id"]][1].splitlines()]

    @property
    def uploads(self) -> int:
        return sum(name.startswith("veridical-") for name, _ in self.files.values())


def listed(data: list[Json]) -> Json:
    return {"object": "list", "data": data, "has_more": False}


def serving(provider: Provider) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.carry_out("GET")

        def do_POST(self) -> None:
            self.carry_out("POST")

        def carry_out(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            url = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            provider.seen.append((method, url.path, parse_qs(url.query), headers))
            status, found = provider.handle(method, url.path, headers, body) or (504, {})
            provider.before_reply(method, url.path)
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    threading.Thread(target=partial(http.serve_forever, 0.01), daemon=True).start()
    return http


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder, with no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("VERIDICAL_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_OPENAI__API_KEY", "key")
    monkeypatch.setattr(provider, "FIRST_WAIT_S", 0.01)
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return tmp_path


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Provider]]:
    """Start providers that run until the test ends, and make them those of the settings."""
    with ExitStack() as stack:

        def start(path: str = "/v1", **options: Any) -> Provider:  # noqa: ANN401 -- those of `Provider`
            found = Provider(**options)
            http = serving(found)
            stack.callback(http.server_close)
            stack.callback(http.shutdown)
            address = f"http://127.0.0.1:{http.server_port}{path}"
            monkeypatch.setenv("VERIDICAL_OPENAI__BASE_URL", address)
            return found

        yield start


def run(output: str, *arguments: str, batches: bool = True) -> Result:
    given = ["batch", "rows.jsonl", output, "--backend", "openai:gpt-4.1-mini", *arguments]
    return CliRunner().invoke(app, [*given, *(["--provider-batch"] if batches else [])])


def results(output: str) -> dict[str, Json]:
    lines = Path(output, "rows.jsonl").read_text().splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def test_results_are_the_bytes_of_the_online_way(serve: Callable[..., Provider]) -> None:
    server = serve()
    online = json.loads(run("online", "--json", batches=False).stdout)
    asked, server.online = server.online, 0
    done = run("batched", "--json")
    assert done.exit_code == 1, done.output  # one row has no sources
    assert Path("batched/rows.jsonl").read_bytes() == Path("online/rows.jsonl").read_bytes()
    # The second batch has the second looks at flagged claims.
    assert (server.online, server.uploads, len(server.batches)) == (0, 2, 2)
    assert sum(len(server.requests(batch)) for batch in server.batches.values()) == asked
    found = json.loads(done.stdout)
    assert found["run"]["rows_checked"] == online["run"]["rows_checked"] == 4
    assert found["run"]["tokens"] == online["run"]["tokens"]
    assert found["run"]["cost_usd"] == pytest.approx(online["run"]["cost_usd"] / 2, rel=0.01)
    assert "requests to send: 10, batches: 1" in done.stderr
    assert "batch_0: completed, 10 of 10 answered, 0 failed" in done.stderr
    assert sorted(path.name for path in Path("batched").iterdir()) == [
        ".lock",
        "manifest.json",
        "rows.jsonl",
    ]


@pytest.mark.parametrize(
    ("path", "files", "url"),
    [
        ("/openai/v1?api-version=preview", "/openai/v1/files", "/v1/chat/completions"),
        (
            "/openai/deployments/judge?api-version=2024-10-21",
            "/openai/files",
            "/chat/completions",
        ),
    ],
)
def test_azure_has_its_own_paths(
    serve: Callable[..., Provider], path: str, files: str, url: str
) -> None:
    server = serve(path)
    assert run("online", batches=False).exit_code == 1
    assert run("batched").exit_code == 1
    assert Path("batched/rows.jsonl").read_bytes() == Path("online/rows.jsonl").read_bytes()
    version = path.partition("=")[2]
    assert all(query == {"api-version": [version]} for _, _, query, _ in clean(server))
    assert {headers["api-key"] for *_, headers in server.seen} == {"key"}
    assert ("POST", files) in {(method, asked) for method, asked, *_ in server.seen}
    assert {batch["endpoint"] for batch in server.batches.values()} == {url}


def clean(server: Provider) -> Iterator[tuple[str, str, dict[str, list[str]], dict[str, str]]]:
    """Yield the requests without the arguments of lists."""
    for method, path, query, headers in server.seen:
        kept = {key: value for key, value in query.items() if key not in {"limit", "purpose"}}
        yield method, path, kept, headers


def test_requests_that_fail_or_expire_are_sent_again(serve: Callable[..., Provider]) -> None:
    asked: dict[str, int] = {}

    def answer(body: Json) -> Reply:
        text = json.dumps(body)
        asked[text] = asked.get(text, 0) + 1
        spoilt = {"six": (429, {"error": {"message": "slow down"}}), "eight": None}
        wrong = [reply for word, reply in spoilt.items() if word in text]
        return wrong[0] if wrong and asked[text] == 1 else completion(body)

    server = serve(answer=answer, status="expired")
    done = run("out")
    assert done.exit_code == 1, done.output
    assert {row["error"] for row in results("out").values()} == {None, "bad_sources"}
    assert len(server.batches) == 4  # the first looks and the second ones, each once again


def test_a_request_that_always_fails_is_an_error_that_the_next_run_tries_again(
    serve: Callable[..., Provider],
) -> None:
    def answer(body: Json) -> Reply:
        failed = "six" in json.dumps(body)
        return (500, {"error": {"message": "SECRET"}}) if failed else completion(body)

    server = serve(answer=answer)
    done = run("out")
    assert done.exit_code == 1, done.output
    assert len(server.batches) == 3  # three attempts
    found = {key: row["error"] for key, row in results("out").items()}
    assert found == {
        "a1": None,
        "a2": "backend_error",
        "c1": "backend_error",
        "a3": "bad_sources",
        "a4": None,
    }
    assert "SECRET" not in Path("out/rows.jsonl").read_text() + done.output
    server.answer = completion
    again = json.loads(run("out", "--json").stdout)
    assert again["run"]["rows_checked"] == 2
    assert {row["error"] for row in results("out").values()} == {None, "bad_sources"}


def test_a_row_with_an_error_is_counted_once_in_all_rounds(serve: Callable[..., Provider]) -> None:
    def answer(body: Json) -> Reply:
        refused = "bridge was opened in 1998" in json.dumps(body)
        return (400, {"error": {"message": "m"}}) if refused else completion(body)

    server = serve(answer=answer)
    done = json.loads(run("out", "--json").stdout)
    assert len(server.batches) == 2
    assert done["errors"] == {"backend_error": 2, "bad_sources": 1}
    assert done["run"]["rows_checked"] == 4


def test_the_limit_bounds_all_rounds_together(serve: Callable[..., Provider]) -> None:
    server = serve()
    done = run("out", "--limit", "2", "--json")
    found = json.loads(done.stdout)
    assert len(server.batches) == 2
    assert (done.exit_code, found["stopped"], found["run"]["rows_checked"]) == (1, "limit", 2)
    assert list(results("out")) == ["a1", "a2"]
    assert json.loads(run("out", "--json").stdout)["run"]["rows_checked"] == 2
    assert len(results("out")) == len(ROWS)


def test_a_model_without_log_probabilities_is_sampled_in_rounds(
    serve: Callable[..., Provider],
) -> None:
    def answer(body: Json) -> Reply:
        refused = {"error": {"message": "logprobs are not supported", "param": "logprobs"}}
        return (400, refused) if body.get("logprobs") else completion(body)

    server = serve(answer=answer)
    Path("rows.jsonl").write_text(json.dumps(ROWS[0]))
    done = run("out")
    assert done.exit_code == 0, done.output
    assert results("out")["a1"]["outcome"] == "grounded"
    requests = [one for batch in server.batches.values() for one in server.requests(batch)]
    ids = [request["custom_id"] for request in requests]
    assert len(ids) == len(set(ids)) > len({json.dumps(one["body"]) for one in requests})
    assert server.online == 0


@pytest.mark.parametrize(
    ("status", "says"), [("failed", "token_limit_exceeded"), ("cancelled", "cancelled")]
)
def test_a_batch_that_the_provider_ends_is_sent_by_the_next_run(
    serve: Callable[..., Provider], status: str, says: str
) -> None:
    server = serve(status=status)
    done = run("out")
    assert done.exit_code == 3
    assert f"without their replies: {says}" in done.stderr
    assert {row["error"] for row in results("out").values()} == {"waiting", "bad_sources"}
    server.status = "completed"
    assert run("out").exit_code == 1
    assert {row["error"] for row in results("out").values()} == {None, "bad_sources"}


def test_batches_stay_within_the_limits(
    serve: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider.BatchLimits.__init__, "__defaults__", (4, 200_000_000, 3))
    server = serve()
    assert run("out").exit_code == 1
    sizes = [len(server.requests(batch)) for batch in server.batches.values()]
    assert sizes == [4, 4, 2, 2]


def test_a_run_that_is_killed_sends_nothing_twice(serve: Callable[..., Provider]) -> None:
    server = serve()
    kills = [("POST", "/files"), ("POST", "/batches")]
    running: list[subprocess.Popen[bytes]] = []

    def before_reply(method: str, path: str) -> None:
        if kills and method == kills[0][0] and path.endswith(kills[0][1]):
            del kills[0]
            running[-1].kill()
            running[-1].wait()

    server.before_reply = before_reply
    command = [sys.executable, "-m", "veridical", "batch", "rows.jsonl", "out", "--provider-batch"]
    for _ in range(2):
        running.append(subprocess.Popen([*command, "--backend", "openai:gpt-4.1-mini"]))
        assert running[-1].wait(60) == -signal.SIGKILL
    assert not kills
    assert run("out").exit_code == 1
    assert (server.uploads, len(server.batches)) == (2, 2)
    assert {row["error"] for row in results("out").values()} == {None, "bad_sources"}


def test_an_interrupt_leaves_the_batches_and_says_how_to_go_on(
    serve: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    server = serve()
    with monkeypatch.context() as patched:
        patched.setattr(provider.time, "sleep", interrupted)
        done = run("out")
    assert done.exit_code == 130
    assert "batches that go on at the provider: 1; the same command again takes over" in done.stderr
    assert run("out").exit_code == 1
    assert len(server.batches) == 2


def test_a_file_that_is_no_ledger_is_named() -> None:
    Path("requests.sqlite").write_text("no database, but a text of some length" * 9)
    with pytest.raises(ConfigurationError, match="is not a ledger of requests"):
        ProviderLedger(Path("requests.sqlite"))


def test_two_runs_never_share_a_ledger(serve: Callable[..., Provider]) -> None:
    server = serve(status="failed")
    run("out")
    with ProviderLedger(Path("out/requests.sqlite")):
        done = run("out")
    assert done.exit_code == 2
    assert "another run uses" in done.stderr
    assert len(server.batches) == 1


def test_a_server_without_batches_is_told_from_its_status(serve: Callable[..., Provider]) -> None:
    server = serve()
    server.handle = lambda *_: (404, {"error": {"message": "SECRET"}})  # type: ignore[method-assign]
    done = run("out")
    assert done.exit_code == 3
    assert "the provider did not upload the requests: HTTP 404" in done.stderr
    assert "SECRET" not in done.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--backend", "embedded"), "embedded has no batches at a provider"),
        (("--stop-share", "0.1"), "goes without --stop-share"),
        (("--engine", "ray"), "goes without --engine ray"),
        (("--processes", "2"), "is a service"),
    ],
)
def test_wrong_use_ends_with_2(arguments: tuple[str, ...], says: str) -> None:
    done = run("out", *arguments)
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    assert not Path("out").exists()


def test_a_dry_run_asks_nothing_and_has_half_the_price() -> None:
    batched = json.loads(run("out", "--dry-run", "--json").stdout)
    online = json.loads(run("out", "--dry-run", "--json", batches=False).stdout)
    assert batched["queries"] == online["queries"] > 0
    assert batched["cost_usd"] == pytest.approx(online["cost_usd"] / 2, rel=0.01)
    assert not Path("out").exists()
