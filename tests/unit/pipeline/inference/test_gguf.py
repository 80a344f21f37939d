"""With a stand-in for llama.cpp that streams the chunks which the real one was seen to stream."""

from __future__ import annotations

import gc
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Estimate, Estimator, Query, Unmeasured, UnmeasuredReason
from veridical.core.ports import Backend
from veridical.errors import BackendError, ConfigurationError, MissingExtraError
from veridical.pipeline.inference import llama_cpp
from veridical.pipeline.inference.completions import Completion
from veridical.pipeline.inference.gguf import FENCE, QUOTE, Gguf, create, stages
from veridical.pipeline.inference.llama_cpp import LlamaModel, Tokens, read_chunks
from veridical.pipeline.inference.prompts import prompt_for
from veridical.testing import check_backend

Json = dict[str, Any]
Callback = Callable[[Json], bool]

SHARES = {"YES": 0.7, "NO": 0.2, "UN": 0.1}
CONTEXTS = ("The bridge opened in 1998.", "The tower has two lifts.")


def chunk(choice: Json, **more: object) -> Json:
    """Return a chunk with one choice, in the form of build 11549."""
    return {
        "choices": [{"finish_reason": None, "index": 0, **choice}],
        "created": 1795320953,
        "id": "chatcmpl-Fc4czyNIloDcdEjR2xOW9xpvkP7mOIAw",
        "model": "model.gguf",
        "system_fingerprint": "b0-unknown",
        "object": "chat.completion.chunk",
        **more,
    }


def stream(shares: dict[str, float], evaluated: int = 32, reused: int = 0) -> list[Json]:
    top = [
        {"id": i, "token": token, "bytes": list(token.encode()), "logprob": math.log(share)}
        for i, (token, share) in enumerate(shares.items())
    ]
    start = {"delta": {"role": "assistant", "content": None}}
    total = evaluated + reused
    progress = {"total": total, "cache": reused, "processed": total, "time_ms": 11}
    timings = {"cache_n": reused, "prompt_n": evaluated, "prompt_ms": 11.0, "predicted_n": 1}
    return [
        chunk(start, prompt_progress=progress),
        chunk(start),
        chunk(
            {
                "delta": {"content": top[0]["token"]},
                "logprobs": {"content": [{**top[0], "top_logprobs": top}]},
            }
        ),
        chunk({"delta": {}, "finish_reason": "length"}, timings=timings),
    ]


TOO_LONG = {
    "error": {
        "code": 400,
        "message": "request (5031 tokens) exceeds the available context size (1024 tokens), try"
        " increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 5031,
        "n_ctx": 1024,
    }
}


class Server:
    """Server that answers the last request of a query with the chunks of `answer`."""

    def __init__(self, answer: Callable[[Json], Sequence[Json]]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self.requests: list[Json] = []
        self.at_once = self.most_at_once = 0
        self.stopped = threading.Event()

    def handle_chat_completions(self, request: Json, callback: Callback) -> None:
        with self._lock:
            self.requests.append(request)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for piece in self._answer(request) if whole(request) else stream({"I": 1.0}, 8):
                if callback(piece):
                    self.stopped.set()
                    return
        finally:
            with self._lock:
                self.at_once -= 1


def user(request: Json) -> str:
    text: str = request["messages"][1]["content"]
    return text


def common(one: str, other: str) -> int:
    """Return how many signs two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def whole(request: Json) -> bool:
    """Return whether a request is the last of its query."""
    return user(request).endswith("UNSURE")


def answer(request: Json) -> list[Json]:
    text = user(request)
    if len(text) > 100_000:
        return [TOO_LONG]
    share = (sum(text.encode()) % 97 + 1) / 100
    return stream({"YES": share, "NO": 1 - share})


@pytest.fixture
def serve(load_instead: Callable[[Any], None]) -> Callable[..., Server]:
    """Let the next models that are loaded answer with a function, or with chunks."""

    def served(given: Callable[[Json], Sequence[Json]] | Sequence[Json] = answer) -> Server:
        server = Server(given if callable(given) else lambda _: given)
        load_instead(lambda _: server)
        return server

    return served


def ask(backend: Gguf, *queries: Query) -> list[Estimate | Unmeasured]:
    return list(anyio.run(backend.estimate, queries))


# --- what is measured ------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.13")
def test_an_estimate_comes_from_the_first_tokens_log_probabilities(
    serve: Callable[..., Server], model_file: Path
) -> None:
    serve(stream(SHARES, evaluated=40, reused=160))
    backend = create(str(model_file))
    (found,) = ask(backend, Query("A claim.", "A context."))
    assert isinstance(found, Estimate)
    assert found.supported == pytest.approx(0.7)
    assert found.contradicted == pytest.approx(0.2)
    assert found.not_in_context == pytest.approx(0.1)
    assert (found.estimator, found.model) == (Estimator.LOGPROBS, "model.gguf")
    assert (found.tokens, found.cost_usd) == (9 + 9 + 41, 0.0)
    assert found.latency_ms is not None
    assert backend.tokens == Tokens(evaluated=8 + 8 + 40, reused=160, generated=3)


@pytest.mark.spec("SPEC-08.12")
def test_a_model_is_asked_through_its_chat_template_for_one_token(
    serve: Callable[..., Server], model_file: Path
) -> None:
    server = serve()
    ask(create(str(model_file)), Query("A claim.", "A context."))
    request = server.requests[-1]
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    asked = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}
    assert asked.items() <= request.items()
    assert request["chat_template_kwargs"] == {"enable_thinking": False}


def test_claims_on_one_context_are_asked_one_after_the_other_and_returned_in_order(
    serve: Callable[..., Server], model_file: Path
) -> None:
    server = serve()
    queries = [Query(f"Claim {i}.", CONTEXTS[i % 2]) for i in range(6)]
    together = ask(create(str(model_file)), *queries)
    asked = [user(request) for request in server.requests if whole(request)]
    contexts = [next(c for c in CONTEXTS if c in text) for text in asked]
    assert contexts == [CONTEXTS[0]] * 3 + [CONTEXTS[1]] * 3
    alone = [ask(create(str(model_file)), query)[0] for query in queries]
    assert [m.supported for m in together if isinstance(m, Estimate)] == [
        m.supported for m in alone if isinstance(m, Estimate)
    ]
    assert len(together) == 6


def test_nothing_asked_loads_nothing(model_file: Path, serve: Callable[..., Server]) -> None:
    serve()
    assert ask(create(str(model_file))) == []
    assert not llama_cpp._engines


@pytest.mark.spec("SPEC-08.28")
@pytest.mark.spec("SPEC-08.29")
def test_the_backend_keeps_the_promises_of_the_port(
    serve: Callable[..., Server], model_file: Path
) -> None:
    serve()
    backend = create(str(model_file))
    assert isinstance(backend, Backend)
    anyio.run(check_backend, backend)


def test_the_context_that_was_asked_about_last_comes_first(
    serve: Callable[..., Server], model_file: Path
) -> None:
    server = serve()
    backend = create(str(model_file))
    first, second = CONTEXTS
    ask(backend, Query("Claim 1.", first))
    found = ask(backend, Query("Claim 2.", second), Query("Claim 3.", first))
    asked = [user(request) for request in server.requests if whole(request)]
    assert [first in text for text in asked] == [True, True, False]
    assert [m.supported for m in found if isinstance(m, Estimate)] == [
        m.supported
        for m in ask(create(str(model_file)), Query("Claim 2.", second), Query("Claim 3.", first))
        if isinstance(m, Estimate)
    ]


def test_nothing_is_asked_any_more_as_the_process_ends(
    serve: Callable[..., Server], model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    backend = create(str(model_file))
    ask(backend, Query("Claim 1.", CONTEXTS[0]))
    asked = len(server.requests)
    monkeypatch.setattr(llama_cpp, "_leaving", threading.Event())
    llama_cpp._leave()
    (found,) = ask(backend, Query("Claim 2.", CONTEXTS[0]))
    assert isinstance(found, Unmeasured)
    assert len(server.requests) == asked


# --- the same numbers every time -------------------------------------------------------------


class Cache:
    """Prompt cache that, like llama.cpp, evaluates only the text after the cached prefix.

    `runs` holds, for each character in the cache, the first and the last of those read together
    with it:
    where they are the same, so are the sums.
    """

    def __init__(self) -> None:
        self._held = ""
        self.runs: list[tuple[int, int]] = []
        self.fails = False

    def handle_chat_completions(self, request: Json, callback: Callback) -> None:
        text = f"{request['messages'][0]['content']}|{user(request)}|"
        kept = 0
        if request["cache_prompt"]:
            kept = min(common(self._held, text), len(text) - 1)
        if self.fails:  # in the middle of it
            text = text[: (kept + len(text)) // 2]
        self.runs = [*self.runs[:kept], *[(kept, len(text))] * (len(text) - kept)]
        self._held = text
        if self.fails:
            raise RuntimeError
        for piece in stream(SHARES, len(text) - kept, kept):
            callback(piece)


QUERIES = st.builds(
    Query, st.text(min_size=1), st.sampled_from(CONTEXTS), st.sampled_from([None, "When?"])
)


@given(QUERIES, st.lists(st.tuples(QUERIES, st.booleans()), max_size=5))
def test_a_prompt_is_read_in_the_same_stages_whatever_was_asked_before(
    query: Query, before: list[tuple[Query, bool]]
) -> None:
    def asked(cache: Cache, engine: LlamaModel, query: Query) -> list[tuple[int, int]]:
        engine.ask(stages(prompt_for(query)), 20, threading.Event())
        return cache.runs

    cache = Cache()
    alone = asked(cache, LlamaModel(cache), query)
    cache = Cache()
    engine = LlamaModel(cache)
    for other, cache.fails in before:
        asked(cache, engine, other)
    cache.fails = False
    assert asked(cache, engine, query) == alone
    assert asked(cache, engine, query) == alone


def test_a_claim_on_a_known_context_is_read_alone() -> None:
    cache = Cache()
    engine = LlamaModel(cache)
    long = "The bridge opened in 1998. " * 50
    for claim in ("First.", "Second."):
        prompt = prompt_for(Query(claim, long))
        _, work = engine.ask(stages(prompt), 20, threading.Event())
    assert work.evaluated < len(prompt.claim)
    assert work.reused > len(long)


@given(QUERIES)
def test_the_stages_are_the_prompt_cut_off_before_its_context_and_before_its_claim(
    query: Query,
) -> None:
    prompt = prompt_for(query)
    first, second, whole = (stage[1]["content"] for stage in stages(prompt))
    assert whole == prompt.user
    assert common(first, whole) == len(first) - 1
    assert common(second, whole) == len(second) - 1
    assert whole[len(first) - 1 :].startswith(FENCE)
    assert whole[len(second) - 1 :].startswith(QUOTE)
    assert prompt.context.startswith(first[:-1])
    assert second.startswith(prompt.context)


# --- what goes wrong -------------------------------------------------------------------------


def test_a_text_too_long_says_how_long_it_is_and_may_be(
    serve: Callable[..., Server], model_file: Path
) -> None:
    serve([TOO_LONG])
    assert ask(create(str(model_file)), Query("A claim.", "A context.")) == [
        Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, "5031 tokens, 1024 at most")
    ]


def test_one_failing_query_leaves_the_others_measured(
    serve: Callable[..., Server], model_file: Path
) -> None:
    def moody(request: Json) -> list[Json]:
        if "Claim 1" in user(request):
            msg = "parse error; last read: 'Claim 1'"
            raise RuntimeError(msg)
        return answer(request)

    serve(moody)
    found = ask(create(str(model_file)), *(Query(f"Claim {i}.", "A context.") for i in range(3)))
    assert isinstance(found[0], Estimate)
    assert found[1] == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "RuntimeError")
    assert isinstance(found[2], Estimate)


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ([], UnmeasuredReason.MALFORMED_REPLY),
        (stream({"The": 0.9, "YES": 0.1}), UnmeasuredReason.MALFORMED_REPLY),
        (stream(SHARES)[:2], UnmeasuredReason.MALFORMED_REPLY),
        ([{"error": {"code": 500, "message": "boom"}}], UnmeasuredReason.BACKEND_ERROR),
        ([{"error": {}}], UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_a_reply_without_an_answer_is_no_number(
    serve: Callable[..., Server], model_file: Path, chunks: list[Json], reason: UnmeasuredReason
) -> None:
    serve(chunks)
    (found,) = ask(create(str(model_file)), Query("A claim.", "A context."))
    assert isinstance(found, Unmeasured)
    assert found.reason is reason


def endless(_: Json) -> Iterator[Json]:
    for piece in iter(lambda: stream(SHARES)[0], None):
        time.sleep(0.01)
        yield piece


def test_a_query_that_takes_too_long_is_unmeasured_and_stopped(
    serve: Callable[..., Server], model_file: Path
) -> None:
    server = serve(endless)
    assert ask(create(str(model_file), timeout_s=0.05), Query("A claim.", "A context.")) == [
        Unmeasured(UnmeasuredReason.TIMEOUT, "0.05 s")
    ]
    assert server.stopped.wait(5)


def test_a_cancelled_query_is_stopped(serve: Callable[..., Server], model_file: Path) -> None:
    server = serve(endless)

    async def cancelled() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await create(str(model_file)).estimate([Query("A claim.", "A context.")])
        return scope.cancelled_caught

    assert anyio.run(cancelled)
    assert server.stopped.wait(5)


def test_a_damaged_file_is_a_backend_error(model_file: Path) -> None:
    with pytest.raises(BackendError, match=r"model\.gguf cannot be loaded") as caught:
        ask(create(str(model_file)), Query("A claim.", "A context."))
    assert caught.value.hint


def test_a_file_that_is_not_there_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        create(str(tmp_path / "missing.gguf"))
    assert "gguf:PATH" in caught.value.hint


def test_a_folder_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        create(str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"GGM", b"PK\x03\x04"])
def test_a_file_of_another_kind_is_a_configuration_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match="no GGUF file"):
        create(str(path))


@pytest.mark.parametrize("model", [None, ""])
def test_without_a_model_there_is_a_hint(model: str | None) -> None:
    with pytest.raises(ConfigurationError, match="no default model"):
        create(model)


@pytest.mark.parametrize("option", ["threads", "context_tokens", "timeout_s"])
def test_an_option_out_of_range_is_named(model_file: Path, option: str) -> None:
    options: Json = {option: 0}
    with pytest.raises(ConfigurationError, match=option):
        create(str(model_file), **options)


def test_a_missing_extra_is_named(model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtraError) as caught:
        create(str(model_file))
    assert "veridical[gguf]" in caught.value.hint


# --- the model -------------------------------------------------------------------------------


def test_a_model_reads_one_prompt_at_a_time(serve: Callable[..., Server], model_file: Path) -> None:
    def slow(request: Json) -> list[Json]:
        time.sleep(0.02)
        return answer(request)

    server = serve(slow)

    async def at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for i in range(4):
                query = Query("A claim.", f"Context {i}.")
                tasks.start_soon(create(str(model_file)).estimate, [query])

    anyio.run(at_once)
    assert len(server.requests) == 4 * 3
    assert server.most_at_once == 1


def test_a_model_is_loaded_once_for_all_that_use_it(
    serve: Callable[..., Server], model_file: Path
) -> None:
    serve()
    first, second = create(str(model_file)), create(str(model_file), timeout_s=5.0)
    for backend in (first, second):
        ask(backend, Query("A claim.", "A context."))
    assert len(llama_cpp._engines) == 1
    assert first._engine is second._engine


def test_a_closed_model_is_freed_and_loaded_again_when_asked(
    serve: Callable[..., Server], model_file: Path
) -> None:
    serve()
    first, second = create(str(model_file)), create(str(model_file))
    for backend in (first, second):
        ask(backend, Query("A claim.", "A context."))
    first.close()
    gc.collect()
    assert len(llama_cpp._engines) == 1
    second.close()
    gc.collect()
    assert not llama_cpp._engines
    assert isinstance(ask(first, Query("A claim.", "A context."))[0], Estimate)


def test_the_fingerprint_is_that_of_the_content_not_of_the_name(tmp_path: Path) -> None:
    def of(name: str, content: bytes, **options: int) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        return create(str(path), **options).info.fingerprint

    long = b"GGUF" + bytes(3 * 2**20)
    same = of("a.gguf", long)
    assert of("b.gguf", long) == same
    assert of("a.gguf", long, context_tokens=100) == same
    others = {of("a.gguf", long[:-1] + b"x"), of("a.gguf", long + b"\0"), of("a.gguf", long[:-1])}
    assert same not in others
    assert len(others) == 3


# --- chunks ----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "logprobs", "content", "error", "timings", "prompt_n"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=4))
def test_whatever_is_streamed_is_a_completion_or_a_reason(chunks: list[object]) -> None:
    completion, read = read_chunks(chunks)
    assert isinstance(completion, Completion | Unmeasured)
    assert isinstance(read, Tokens)


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_tokens_computed_and_reused_are_told_apart(evaluated: int, reused: int) -> None:
    completion, read = read_chunks(stream(SHARES, evaluated, reused))
    assert isinstance(completion, Completion)
    assert read == Tokens(evaluated, reused, generated=1)
