"""The backend `gguf` with a real model in this process: its answers are chance."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from veridical.core.measurements import Estimate, Query, Unmeasured, UnmeasuredReason
from veridical.pipeline.inference import llama_cpp
from veridical.pipeline.inference.gguf import Gguf, create
from veridical.pipeline.inference.health import check_up
from veridical.testing import check_backend

pytestmark = pytest.mark.slow
pytest.importorskip("xllamacpp")

EVIDENCE = "The Eiffel Tower was completed in 1889. It stands on the Champ de Mars in Paris."
OTHER = "Four lighthouses have stood on the Eddystone."
CLAIMS = ("The Eiffel Tower was completed in 1889.", "The Eiffel Tower stands in Rome.")


@pytest.fixture(scope="module", autouse=True)
def interrupts() -> Iterator[None]:
    """Let an interrupt be one: in a job in the background it is ignored from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def backend(smollm2_path: Path) -> Iterator[Gguf]:
    backend = create(str(smollm2_path), threads=1, context_tokens=1024, timeout_s=600.0)
    yield backend
    backend.close()


def ask(backend: Gguf, *queries: Query) -> list[Estimate | Unmeasured]:
    return list(anyio.run(backend.estimate, queries))


def shares(measurement: Estimate | Unmeasured) -> tuple[float, ...]:
    assert isinstance(measurement, Estimate), measurement
    contradicted, not_in_context = measurement.contradicted, measurement.not_in_context
    assert contradicted is not None
    assert not_in_context is not None
    return measurement.supported, contradicted, not_in_context, measurement.low, measurement.high


@pytest.mark.spec("SPEC-08.13")
def test_a_real_model_gives_log_probabilities(backend: Gguf) -> None:
    probe = anyio.run(check_up, backend, 600.0)
    assert (probe.ok, probe.logprobs) == (True, True), probe.detail


def test_prefix_and_company_change_no_digit(backend: Gguf) -> None:
    first, second = (Query(claim, EVIDENCE) for claim in CLAIMS)
    other = Query(CLAIMS[0], OTHER)
    alone = [shares(ask(backend, query)[0]) for query in (first, other, second, second)]
    found = [shares(m) for m in ask(backend, second, other, first)]
    assert alone[3] == alone[2]
    assert found == [alone[2], alone[1], alone[0]]


def test_claims_on_one_context_read_it_once(backend: Gguf) -> None:
    before = backend.tokens
    ask(backend, *(Query(f"The Eiffel Tower has {i} lifts.", EVIDENCE) for i in range(2, 5)))
    after = backend.tokens
    assert after.evaluated - before.evaluated < after.reused - before.reused


def test_a_text_too_long_is_refused_before_it_is_read(backend: Gguf) -> None:
    before = backend.tokens
    (found,) = ask(backend, Query("A claim.", "word " * 2000))
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.CONTEXT_TOO_LONG
    assert found.detail.endswith("tokens, 1024 at most")
    assert backend.tokens.evaluated - before.evaluated < 200  # the message of the system


@pytest.mark.spec("SPEC-08.28")
def test_the_backend_keeps_the_promises_of_the_port_with_a_real_model(backend: Gguf) -> None:
    anyio.run(check_backend, backend)


def test_a_query_given_up_leaves_the_model_usable(backend: Gguf, smollm2_path: Path) -> None:
    query = Query("The lens is of glass.", "The lens was ground in Paris. " * 20)
    hasty = create(str(smollm2_path), threads=1, context_tokens=1024, timeout_s=0.001)
    assert ask(hasty, query) == [Unmeasured(UnmeasuredReason.TIMEOUT, "0.001 s")]
    assert hasty._engine is backend._engine
    assert isinstance(ask(backend, query)[0], Estimate)


def test_nobody_can_connect_to_the_server_within(backend: Gguf) -> None:
    ask(backend, Query(CLAIMS[0], EVIDENCE))
    assert backend._engine is not None
    address = backend._engine._server.listening_address
    assert address.startswith("unix://")
    assert not Path(address.removeprefix("unix://")).exists()


def test_a_loaded_model_leaves_interrupts_to_python(backend: Gguf) -> None:
    ask(backend, Query(CLAIMS[0], EVIDENCE))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert isinstance(ask(backend, Query(CLAIMS[0], EVIDENCE))[0], Estimate)


def test_a_closed_model_is_freed(backend: Gguf) -> None:
    ask(backend, Query(CLAIMS[0], EVIDENCE))
    assert llama_cpp._engines
    backend.close()
    gc.collect()
    assert not llama_cpp._engines


_LEAVES = """
import sys, threading, time
from pathlib import Path
from veridical.pipeline.inference.llama_cpp import Load, shared

engine = shared(Load(Path(sys.argv[1]), 4096, 1))
messages = [{"role": "user", "content": "word " * 3000}]
threading.Thread(target=engine.ask, args=([messages], 5, threading.Event()), daemon=True).start()
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("after_s", ["0.1", "0.7", "1.3"])
def test_a_process_may_end_while_a_thread_it_left_behind_is_in_the_model(
    smollm2_path: Path, after_s: str
) -> None:
    command = [sys.executable, "-c", _LEAVES, str(smollm2_path), after_s]
    ended = subprocess.run(command, check=False, capture_output=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, b"")
