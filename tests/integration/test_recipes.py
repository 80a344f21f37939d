"""The code of docs/recipes.md, each program in its real release; services are on loopback."""

from __future__ import annotations

import doctest
import gzip
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.recipes,
    pytest.mark.filterwarnings("default"),  # of other projects, and theirs to mend
]

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
INTRODUCTION, *REST = HEADING.split(PAGE.read_text(encoding="utf-8"))
SECTIONS = dict(zip(REST[::2], REST[1::2], strict=True))
ENVIRONMENT = {
    "LANGFUSE_BASE_URL": "{url}",
    "LANGFUSE_PUBLIC_KEY": "pk-lf-1",
    "LANGFUSE_SECRET_KEY": "sk-lf-1",
    "PHOENIX_COLLECTOR_ENDPOINT": "{url}",
    "OPIK_URL_OVERRIDE": "{url}/api/",
    # Only what a recipe is about leaves the process.
    "OPIK_ANALYTICS_ENABLE": "false",
    "OPIK_SENTRY_ENABLE": "false",
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "false",
}
GROUNDED = "The bridge has eight lanes [1]."
FLAGGED = "The bridge has six lanes [1]."
NOTHING = "Thank you!"


def by_llamaindex(names: dict[str, Any], answer: str) -> object:
    found = names["Grounding"]().evaluate(names["question"], answer, [*names["sources"].values()])
    return found.passing, found.invalid_reason


def by_dspy(names: dict[str, Any], answer: str) -> object:
    return names["grounded"](
        names["devset"][0], names["dspy"].Prediction(answer=answer, sources=names["sources"])
    )


def by_ragas(names: dict[str, Any], answer: str) -> object:
    contexts = [*names["sources"].values()]
    return (
        names["grounding"]
        .score(user_input=names["question"], response=answer, retrieved_contexts=contexts)
        .value
    )


def by_deepeval(names: dict[str, Any], answer: str) -> object:
    metric, case = names["metric"], names["test_case"]
    case.actual_output = answer
    metric.measure(case)
    return metric.score, metric.success, metric.error


METRICS: dict[str, Callable[[dict[str, Any], str], object]] = {
    "LlamaIndex": by_llamaindex,
    "DSPy": by_dspy,
    "Ragas": by_ragas,
    "DeepEval": by_deepeval,
}


def run(text: str, names: dict[str, Any]) -> None:
    """Run the blocks of a part of the page; each prints what stands behind it."""
    for code, prints in BLOCK.findall(text):
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, PAGE.name, "exec"), names)  # noqa: S102 -- the page is ours
        want, got = prints, printed.getvalue()
        assert doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS), got


class Service:
    """Service of traces on loopback: takes what clients send, and keeps it by path."""

    def __init__(self) -> None:
        self.received: dict[str, list[bytes]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def take(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                if self.headers["content-encoding"] == "gzip":
                    body = gzip.decompress(body)
                outer.received.setdefault(self.path, []).append(body)
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST = do_PUT = do_PATCH = take  # noqa: N815 -- names of the library

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def one(self, path: str) -> Any:  # noqa: ANN401 -- JSON
        """Return the document that came to this path, once."""
        (body,) = self.received[path]
        return json.loads(body)


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    """Start one service for all: clients keep the first address of a process."""
    server = Service()
    threading.Thread(target=partial(server.http.serve_forever, 0.01), daemon=True).start()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def service(running: Service) -> Service:
    running.received.clear()
    return running


@pytest.fixture
def names(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """Return what the introduction defines, in a folder like a clone, with services on loopback."""
    (tmp_path / "examples").symlink_to(PAGE.parents[1] / "examples")
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value.format(url=service.url))
    found: dict[str, Any] = {"__name__": "recipes"}
    run(INTRODUCTION, found)
    yield found
    found["stack"].close()


@pytest.mark.parametrize("program", ["LangChain", "Haystack", *METRICS])
def test_the_recipe_runs_as_printed(program: str, names: dict[str, Any]) -> None:
    run(SECTIONS[program], names)


def test_the_trace_in_langfuse_has_the_outcome(names: dict[str, Any], service: Service) -> None:
    run(SECTIONS["Langfuse"], names)
    (score,) = service.one("/api/public/scores")
    assert score["name"] == "veridical"
    assert (score["dataType"], score["value"]) == ("CATEGORICAL", "flagged")
    assert score["comment"] == "c1 contradicted"
    (trace,) = service.received["/api/public/otel/v1/traces"]
    assert bytes.fromhex(score["traceId"]) in trace


def test_the_span_in_phoenix_has_the_outcome(names: dict[str, Any], service: Service) -> None:
    run(SECTIONS["Phoenix"], names)
    (annotation,) = service.one("/v1/span_annotations")["data"]
    assert (annotation["name"], annotation["annotator_kind"]) == ("veridical", "CODE")
    assert annotation["result"] == {"label": "flagged", "explanation": "c1 contradicted"}
    (trace,) = service.received["/v1/traces"]
    assert bytes.fromhex(annotation["span_id"]) in trace


@pytest.mark.parametrize(
    ("answer", "scores"),
    [(FLAGGED, [("flagged", 0.0)]), (GROUNDED, [("grounded", 1.0)]), (NOTHING, [])],
)
def test_the_trace_in_opik_has_the_outcome_if_it_is_a_number(
    answer: str, scores: list[tuple[str, float]], names: dict[str, Any], service: Service
) -> None:
    names["answer_to"] = lambda _: answer
    run(SECTIONS["Opik"], names)
    # A trace is sent when it begins, and again when it ends, if that takes long enough.
    batches = map(json.loads, service.received["/api/v1/private/traces/batch"])
    (trace,) = [one for batch in batches for one in batch["traces"] if "end_time" in one]
    assert trace["output"] == {"output": answer}
    path = "/api/v1/private/traces/feedback-scores"
    sent = service.one(path)["scores"] if path in service.received else []
    assert [(one["category_name"], one["value"]) for one in sent] == scores
    assert {one["id"] for one in sent} <= {trace["id"]}


@pytest.mark.parametrize(
    ("program", "expected"),
    {
        "LlamaIndex": [(True, None), (False, None), (None, "nothing_to_check")],
        "DSPy": [1.0, 0.0, 0.0],
        "Ragas": ["grounded", "flagged", "nothing_to_check"],
        "DeepEval": [(1.0, True, None), (0.0, False, None), (None, False, "nothing_to_check")],
    }.items(),
)
def test_the_metric_tells_an_unmeasured_answer_from_a_wrong_one(
    program: str, expected: list[object], names: dict[str, Any]
) -> None:
    run(SECTIONS[program], names)
    measure = METRICS[program]
    assert [measure(names, answer) for answer in (GROUNDED, FLAGGED, NOTHING)] == expected


def test_the_metric_decides_in_a_test_of_deepeval(names: dict[str, Any]) -> None:
    run(SECTIONS["DeepEval"], names)
    from deepeval import assert_test

    names["test_case"].actual_output = GROUNDED
    assert_test(names["test_case"], [names["Grounding"]()], run_async=False)
    for answer in (FLAGGED, NOTHING):
        names["test_case"].actual_output = answer
        with pytest.raises(AssertionError, match="veridical"):
            assert_test(names["test_case"], [names["Grounding"]()], run_async=False)


def test_a_program_of_dspy_tries_again_until_its_answer_is_grounded(
    names: dict[str, Any], chat_server: Callable[..., Any], chat_completion: Callable[..., Any]
) -> None:
    run(SECTIONS["DSPy"], names)
    dspy = names["dspy"]
    replies = iter(f"[[ ## answer ## ]]\n{answer}" for answer in (FLAGGED, GROUNDED))
    server = chat_server(lambda _: (200, chat_completion(next(replies))))

    class Writer(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.write = dspy.Predict("question, sources: dict[str, str] -> answer")

        def forward(self, question: str) -> object:
            written = self.write(question=question, sources=names["sources"])
            return dspy.Prediction(answer=written.answer, sources=names["sources"])

    model = dspy.LM("openai/small", api_base=server.base_url, api_key="of-this-test", cache=False)
    with dspy.context(lm=model):
        again = dspy.BestOfN(Writer(), N=3, reward_fn=names["grounded"], threshold=1.0)
        assert again(question=names["question"]).answer == GROUNDED
    assert len(server.requests) == 2
