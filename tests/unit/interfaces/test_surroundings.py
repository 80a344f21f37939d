"""Verifiers within reach, the best of them, and the file that `veridical init` writes."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from veridical.interfaces.cli import surroundings
from veridical.interfaces.cli.app import app
from veridical.interfaces.cli.surroundings import (
    ModelServer,
    Surroundings,
    best_choice,
    look_for_verifiers,
)
from veridical.pipeline.inference.presets import presets
from veridical.settings import Settings

pytestmark = pytest.mark.slow

OLLAMA = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}, {"name": "bad\x1b[31mname"}]}
LLAMA_CPP = {
    "models": [{"name": "q.gguf", "model": "q.gguf"}],
    "object": "list",
    "data": [{"id": "q.gguf", "object": "model", "owned_by": "llamacpp"}],
}
VLLM = {"object": "list", "data": [{"id": "org/model", "object": "model", "owned_by": "vllm"}]}


@contextmanager
def serving(replies: Mapping[str, bytes], asked: list[str]) -> Iterator[int]:
    """Serve a body for each path on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            assert "authorization" not in self.headers
            body = replies.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def body(document: object) -> bytes:
    return json.dumps(document).encode()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder, without keys, servers and presets."""
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("VERIDICAL_") or n in surroundings.KEYS]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_MODELS__FOLDER", str(tmp_path / "models"))
    monkeypatch.setattr(surroundings, "PORTS", {name: free_port() for name in surroundings.PORTS})
    return tmp_path


def listen(monkeypatch: pytest.MonkeyPatch, **ports: int) -> None:
    names = {"ollama": "Ollama", "llama_cpp": "llama.cpp", "vllm": "vLLM"}
    served = {names[name]: port for name, port in ports.items()}
    monkeypatch.setattr(surroundings, "PORTS", surroundings.PORTS | served)


def found() -> Surroundings:
    return look_for_verifiers(Settings.load())


# --- what is there ---------------------------------------------------------------------------


def test_an_empty_machine_has_nothing() -> None:
    assert found() == Surroundings()


def test_each_server_is_asked_for_its_models_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with (
        serving({"/api/tags": body(OLLAMA)}, asked) as ollama,
        serving({"/v1/models": body(LLAMA_CPP)}, asked) as llama_cpp,
        serving({"/v1/models": body(VLLM)}, asked) as vllm,
    ):
        listen(monkeypatch, ollama=ollama, llama_cpp=llama_cpp, vllm=vllm)
        assert found().servers == (
            ModelServer("Ollama", f"http://127.0.0.1:{ollama}/v1", ("qwen3:8b", "bad[31mname")),
            ModelServer("llama.cpp", f"http://127.0.0.1:{llama_cpp}/v1", ("q.gguf",)),
            ModelServer("vLLM", f"http://127.0.0.1:{vllm}/v1", ("org/model",)),
        )
    assert sorted(asked) == ["/api/tags", "/v1/models", "/v1/models"]


def test_a_server_on_the_port_of_another_is_named_by_its_own_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unknown = {"data": [{"id": "m"}]}
    with (
        serving({"/v1/models": body(VLLM)}, []) as one,
        serving({"/v1/models": body(unknown)}, []) as other,
    ):
        listen(monkeypatch, llama_cpp=one, vllm=other)
        assert [server.kind for server in found().servers] == ["vLLM", "OpenAI-compatible"]


@pytest.mark.parametrize(
    "reply",
    [b"", b"<html>", b"[]", b'{"data": {}}', b"[" * 100_000, b"\xff", b'"' + b"x" * 2**21],
)
def test_another_service_on_the_port_is_no_model_server(
    monkeypatch: pytest.MonkeyPatch, reply: bytes
) -> None:
    with serving({"/v1/models": reply}, []) as port:
        listen(monkeypatch, vllm=port)
        assert found().servers == ()


def test_a_server_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "TIMEOUT_S", 0.05)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        listen(monkeypatch, vllm=silent.getsockname()[1])
        assert found().servers == ()


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with serving({}, asked) as proxy, serving({"/v1/models": body(VLLM)}, []) as port:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy}")
        listen(monkeypatch, vllm=port)
        assert len(found().servers) == 1
    assert asked == []


def test_of_a_key_only_the_name_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "SECRET")
    monkeypatch.setenv("ANTHROPIC_API_KEY", " ")
    assert found().keys == ("OPENAI_API_KEY",)
    for arguments in (["doctor"], ["doctor", "--json"], ["init"], ["init", "--force", "--json"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0
        assert "SECRET" not in result.output


# --- the best of it --------------------------------------------------------------------------


def test_without_a_preset_the_embedded_verifier_is_best() -> None:
    choice = best_choice(Surroundings(keys=("OPENAI_API_KEY",)), presets())
    assert choice.settings == {"backend": "embedded"}
    assert "factcg-deberta-l, balanced accuracy 75.6% on LLM-AggreFact" in choice.reason


def test_the_downloaded_preset_with_the_best_published_figure_is_second_of_a_cascade() -> None:
    names = ("groundcheck", "hhem-2.1-open", "minicheck-flan-t5-l")
    choice = best_choice(Surroundings(presets=names), presets())
    second = {"second": "hub:minicheck-flan-t5-l"}
    assert choice.settings == {"backend": "cascade", "cascade": second}
    assert "75.0% on LLM-AggreFact (https://llm-aggrefact.github.io)" in choice.reason
    assert "licence MIT" in choice.reason


@pytest.mark.parametrize(
    ("model", "preset"),
    [
        ("bespoke-minicheck:latest", "bespoke-minicheck-7b"),
        ("bespoke-minicheck:7b", "bespoke-minicheck-7b"),
        ("bespokelabs/Bespoke-MiniCheck-7B", "bespoke-minicheck-7b"),
        ("ibm-granite/granite-guardian-4.1-8b", "granite-guardian"),
    ],
)
def test_a_judge_that_is_served_here_is_asked_with_its_own_prompt(model: str, preset: str) -> None:
    server = ModelServer("vLLM", "http://127.0.0.1:8000/v1", ("other", model))
    choice = best_choice(Surroundings(servers=(server,), presets=("hhem-2.1-open",)), presets())
    settings = Settings.load(Path(os.devnull), **choice.settings)
    assert (settings.cascade.second, settings.openai.preset) == (f"openai:{model}", preset)
    assert settings.openai.base_url == server.base_url


@pytest.mark.parametrize("model", ["qwen3:8b", "minicheck", "granite-guardian:2b", "7b", ""])
def test_a_model_of_another_name_is_no_judge(model: str) -> None:
    server = ModelServer("Ollama", "http://127.0.0.1:11434/v1", (model,))
    assert best_choice(Surroundings(servers=(server,)), presets()).backend == "embedded"


def test_a_preset_without_a_published_figure_is_not_chosen() -> None:
    choice = best_choice(Surroundings(presets=("groundcheck",)), presets())
    assert choice.backend == "embedded"


def test_doctor_lists_what_is_within_reach_and_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "SECRET")
    with serving({"/api/tags": body(OLLAMA)}, []) as port:
        listen(monkeypatch, ollama=port)
        page = CliRunner().invoke(app, ["doctor"]).stdout
        document = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert f"Ollama     http://127.0.0.1:{port}/v1: qwen3:8b, bad[31mname" in page
    assert "API keys   OPENAI_API_KEY\n" in page
    (best,) = (line for line in page.splitlines() if line.startswith("best here"))
    assert best.split()[2] == "embedded:"
    assert document["surroundings"]["keys"] == ["OPENAI_API_KEY"]
    assert document["choice"]["settings"] == {"backend": "embedded"}


def test_doctor_on_one_backend_looks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with serving({"/api/tags": body(OLLAMA)}, asked) as port:
        listen(monkeypatch, ollama=port)
        result = CliRunner().invoke(app, ["doctor", "--backend", "embedded", "--json"])
    assert json.loads(result.stdout)["surroundings"] is None
    assert asked == []


# --- veridical init --------------------------------------------------------------------------


def init(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def written(path: str = "veridical.yaml") -> object:
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def test_with_nothing_found_the_embedded_verifier_is_written() -> None:
    result = init()
    assert (result.exit_code, result.stderr) == (0, "")
    assert written() == {"backend": "embedded"}
    assert Path("veridical.yaml").read_text(encoding="utf-8") in result.stdout
    assert Settings.load().backend == "embedded"


def test_a_file_that_is_there_stays_without_force() -> None:
    Path("veridical.yaml").write_text("threads: 1\n", encoding="utf-8")
    result = init()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--force" in result.stderr
    assert written() == {"threads": 1}
    assert init("--force").exit_code == 0
    assert written() == {"backend": "embedded"}


def test_a_broken_file_is_replaced_with_force() -> None:
    Path("veridical.yaml").write_text("]", encoding="utf-8")
    assert init("--force").exit_code == 0
    assert written() == {"backend": "embedded"}


def test_another_file_can_be_named() -> None:
    assert init("--config", "other.yaml", "--quiet").stdout == ""
    assert written("other.yaml") == {"backend": "embedded"}
    assert not Path("veridical.yaml").exists()


def test_the_document_says_what_was_written() -> None:
    document = json.loads(init("--json").stdout)
    assert document["schema"] == "veridical.init/1"
    assert (document["file"], document["settings"]) == ("veridical.yaml", written())


def test_a_model_served_here_comes_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"/api/tags": body(OLLAMA)}, []) as port:
        listen(monkeypatch, ollama=port)
        assert init("--backend", "openai:qwen3:8b").exit_code == 0
    address = f"http://127.0.0.1:{port}/v1"
    assert written() == {"backend": "openai:qwen3:8b", "openai": {"base_url": address}}
    assert Settings.load().openai.base_url == address


@pytest.mark.parametrize("backend", ["nobody", "openai:gpt-x", "cascade"])
def test_a_backend_that_cannot_be_built_is_not_written(backend: str) -> None:
    result = init("--backend", backend)
    assert result.exit_code == 2
    assert not Path("veridical.yaml").exists()


def test_a_folder_that_does_not_exist_is_wrong_use() -> None:
    assert init("--config", "none/veridical.yaml").exit_code == 2
