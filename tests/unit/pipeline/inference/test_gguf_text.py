"""With a stand-in for llama.cpp that streams the chunks which the real one was seen to stream."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Generated, TextRequest, Unmeasured, UnmeasuredReason
from veridical.core.ports import TextModel
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.gguf_text import GgufText, create

pytest.importorskip("xllamacpp")

Json = dict[str, Any]
Chunks = Sequence[Json]

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
REQUEST = TextRequest("Be brief.", "SECRET text", SCHEMA, 50, 0.5, 7)


def written(*pieces: str, reason: str = "stop") -> Chunks:
    """Return the chunks of a text, in the form of build 11549."""
    timings = {"cache_n": 0, "prompt_n": 19, "prompt_ms": 11.0, "predicted_n": len(pieces)}
    return [
        {"choices": [{"finish_reason": None, "delta": {"role": "assistant", "content": None}}]},
        *({"choices": [{"finish_reason": None, "delta": {"content": p}}]} for p in pieces),
        {"choices": [{"finish_reason": reason, "delta": {}}], "timings": timings},
    ]


class Server:
    """Server that streams chunks, and ends on a stop signal."""

    def __init__(self, chunks: Chunks, pause_s: float = 0.0) -> None:
        self._chunks = chunks
        self._pause_s = pause_s
        self.requests: list[Json] = []
        self.stopped = threading.Event()

    def handle_chat_completions(self, request: Json, callback: Callable[[Json], bool]) -> None:
        self.requests.append(request)
        for chunk in self._chunks:
            time.sleep(self._pause_s)
            if callback(chunk):
                self.stopped.set()
                return


@pytest.fixture
def serve(load_instead: Callable[[Any], None]) -> Callable[..., Server]:
    def served(*chunks: Json, pause_s: float = 0.0) -> Server:
        server = Server(chunks, pause_s)
        load_instead(lambda _: server)
        return server

    return served


@pytest.fixture
def model(model_file: Path) -> GgufText:
    return create(str(model_file), threads=1, timeout_s=5.0)


def ask(model: GgufText) -> Generated | Unmeasured:
    return anyio.run(model.generate, REQUEST)


def test_a_text_comes_in_pieces_and_costs_nothing(
    serve: Callable[..., Server], model: GgufText
) -> None:
    server = serve(*written("hel", "lo"))
    found = ask(model)
    assert isinstance(model, TextModel)
    assert isinstance(found, Generated)
    assert (found.text, found.model, found.cut_off) == ("hello", "model.gguf", False)
    assert (found.prompt_tokens, found.output_tokens, found.cost_usd) == (19, 2, 0.0)
    assert found.latency_ms is not None
    (sent,) = server.requests
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (sent["max_tokens"], sent["temperature"], sent["seed"]) == (50, 0.5, 7)
    assert sent["cache_prompt"] is False


def test_a_text_that_was_cut_off_says_so(serve: Callable[..., Server], model: GgufText) -> None:
    serve(*written("hel", reason="length"))
    found = ask(model)
    assert isinstance(found, Generated)
    assert found.cut_off


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ((), UnmeasuredReason.MALFORMED_REPLY),
        (written("hello")[:2], UnmeasuredReason.MALFORMED_REPLY),
        (written(" "), UnmeasuredReason.MALFORMED_REPLY),
        (({"error": {"code": 500, "message": "SECRET"}},), UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_what_fails_is_a_value(
    serve: Callable[..., Server], model: GgufText, chunks: Chunks, reason: UnmeasuredReason
) -> None:
    serve(*chunks)
    found = ask(model)
    assert isinstance(found, Unmeasured)
    assert found.reason is reason
    assert "SECRET" not in repr(found)


def test_a_request_given_up_is_stopped(serve: Callable[..., Server], model_file: Path) -> None:
    server = serve(*written(*"hello" * 20), pause_s=0.05)
    found = ask(create(str(model_file), threads=1, timeout_s=0.1))
    assert found == Unmeasured(UnmeasuredReason.TIMEOUT, "0.1 s")
    assert server.stopped.wait(5.0)


def test_a_file_that_cannot_be_loaded_is_a_named_error(
    load_instead: Callable[[Any], None], model: GgufText
) -> None:
    def fail(_: object) -> None:
        msg = "damaged"
        raise BackendError(msg)

    load_instead(fail)
    with pytest.raises(BackendError):
        ask(model)


def test_a_model_file_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no default model"):
        create()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        create(str(tmp_path / "nope.gguf"))
    (tmp_path / "text.gguf").write_text("no model")
    with pytest.raises(ConfigurationError, match="no GGUF file"):
        create(str(tmp_path / "text.gguf"))


def test_a_text_that_was_cut_off_for_want_of_room_is_not_that_of_a_larger_one(
    model_file: Path,
) -> None:
    small, same, large = (create(str(model_file), context_tokens=n) for n in (256, 256, 1024))
    assert small.fingerprint == same.fingerprint != large.fingerprint
