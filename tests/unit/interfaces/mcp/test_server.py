"""MCP tools as seen by an agent's client, with a backend with known answers."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

import pytest

pytest.importorskip("mcp")

import anyio
from jsonschema import Draft202012Validator
from mcp import Client
from pydantic import SecretStr

from veridical.core.hashing import short_hash
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.core.projects import within_project
from veridical.errors import SizeError
from veridical.interfaces.mcp import answers, arguments
from veridical.interfaces.mcp.server import build_server
from veridical.interfaces.mcp.tools import Toolbox
from veridical.settings import Settings
from veridical.settings.service_blocks import TelemetrySettings
from veridical.telemetry import ClaimsVerified, Event
from veridical.telemetry.prometheus import PrometheusSink
from veridical.testing import FakeBackend, fake_estimate

NAMES = ["check", "verify_claim", "ground_quotes", "audit_trace", "remember", "recall"]
SOURCES = {"S1": "The bridge opened in 1998. It carries eight lanes."}
SECRET_TEXT = "Zanzibar"  # noqa: S105 -- a word that no error may repeat
Json: TypeAlias = Any
Use = Callable[[Client], Coroutine[Json, Json, Json]]


def judge(query: Query) -> Measurement:
    if "six" in query.claim:
        return fake_estimate(0.02, 0.95)
    return fake_estimate(0.97 if "1998" in query.context else 0.1)


def settings(folder: Path) -> Settings:
    return Settings.load(store={"url": f"sqlite:///{folder}/memory.db"})


def test_a_tool_refuses_texts_beyond_the_limits_of_the_server() -> None:
    limited = Settings.load(server={"max_source_chars": 20, "max_answer_chars": 30})
    toolbox = Toolbox(limited, backend=FakeBackend(judge))
    tool = {each.name: each.call for each in toolbox.tools}
    for name, given in (
        ("check", arguments.Check(answer="It has six lanes.", sources=SOURCES)),
        ("ground_quotes", arguments.GroundQuotes(quotes=["six"], transcript=SOURCES["S1"])),
        ("verify_claim", arguments.VerifyClaim(claim="a" * 31, sources={"S1": "It."})),
    ):
        with pytest.raises(SizeError, match="are allowed"):
            anyio.run(tool[name], given, None)
    toolbox.close()


def using(folder: Path, use: Use, answer: Callable[[Query], Measurement] = judge) -> Json:
    async def run() -> Json:
        toolbox = Toolbox(settings(folder), backend=FakeBackend(answer))
        async with Client(build_server(toolbox.tools)) as client:
            found = await use(client)
        toolbox.close()
        return found

    return anyio.run(run)


def test_a_fact_is_recalled_in_its_project_only(tmp_path: Path) -> None:
    async def run() -> list[int]:
        toolbox = Toolbox(settings(tmp_path), backend=FakeBackend(judge))
        tools = {tool.name: tool for tool in toolbox.tools}
        given = {"text": "The bridge opened in 1998.", "sources": SOURCES}
        with within_project("clinic"):
            await tools["remember"].call(arguments.Remember(**given), lambda *_: None)
        found = []
        for project in ("clinic", "bank", None):
            with within_project(project):
                recalled = await tools["recall"].call(arguments.Recall(), lambda *_: None)
                found.append(len(recalled.facts))
        toolbox.close()
        return found

    assert anyio.run(run) == [1, 0, 0]


def call(
    folder: Path, name: str, given: Json, answer: Callable[[Query], Measurement] = judge
) -> Json:
    async def use(client: Client) -> Json:
        return await client.call_tool(name, given)

    return using(folder, use, answer)


def test_the_tools_are_listed_with_schemas_and_examples_that_fit_them(tmp_path: Path) -> None:
    async def use(client: Client) -> Json:
        return (await client.list_tools()).tools

    tools = using(tmp_path, use)
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        written = tool.description.partition("Example arguments: ")[2].partition("\n")[0]
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        Draft202012Validator(tool.input_schema).validate(json.loads(written))
        assert tool.annotations.read_only_hint is (tool.name != "remember")


def test_each_tool_takes_its_own_example(tmp_path: Path) -> None:
    toolbox = Toolbox(settings(tmp_path), backend=FakeBackend(judge))
    for tool in toolbox.tools:
        found = call(tmp_path, tool.name, arguments.example_of(tool.arguments))
        assert not found.is_error, tool.name
        Draft202012Validator(tool.output.model_json_schema()).validate(found.structured_content)
        assert json.loads(found.content[0].text) == found.structured_content


def test_check_shows_what_is_flagged_first(tmp_path: Path) -> None:
    given = {"answer": "The bridge opened in 1998 [S1]. It has six lanes [S1].", "sources": SOURCES}
    found = call(tmp_path, "check", given).structured_content
    assert (found["outcome"], found["claims_checked"], found["claims_flagged"]) == ("flagged", 2, 1)
    first, second = found["claims"]
    assert (first["status"], second["status"]) == ("contradicted", "supported")
    assert first["evidence"][0]["source"] == "S1"
    assert first["suggested_action"] == "Correct the claim to what the evidence says"


def test_what_is_unsure_comes_after_what_is_sure_and_is_to_be_looked_at(tmp_path: Path) -> None:
    def doubtful(query: Query) -> Measurement:
        return fake_estimate(0.3) if "blue" in query.claim else judge(query)

    answer = "It is blue [S1]. It has six lanes [S1]. The bridge opened in 1998 [S1]."
    given = {"answer": answer, "sources": SOURCES}
    found = call(tmp_path, "check", given, doubtful).structured_content
    assert [claim["certainty"] for claim in found["claims"]] == ["sure", "unsure", "sure"]
    assert (found["claims_flagged"], found["claims_flagged_surely"]) == (2, 1)
    assert found["failing"] == 1
    assert found["claims"][1]["suggested_action"].startswith(
        "Not sure: look at the evidence yourself."
    )
    assert 0 < found["probability_grounded"] < 0.05
    for fail_on, failing in (("any", 2), ("sure", 1), ("contradicted", 1)):
        chosen = call(tmp_path, "check", given | {"fail_on": fail_on}, doubtful).structured_content
        assert chosen["failing"] == failing


def test_what_could_not_be_measured_is_no_pass(tmp_path: Path) -> None:
    found = call(
        tmp_path,
        "verify_claim",
        {"claim": "It has six lanes.", "sources": SOURCES},
        lambda _: Unmeasured(UnmeasuredReason.TIMEOUT),
    ).structured_content
    assert (found["status"], found["p1"], found["unmeasured"]) == ("undetermined", None, "timeout")


def test_a_claim_may_cite_what_does_not_exist(tmp_path: Path) -> None:
    given = {"claim": "It opened in 1998.", "sources": SOURCES, "cites": ["S2"]}
    found = call(tmp_path, "verify_claim", given).structured_content
    assert (found["status"], found["phantom_citations"]) == ("phantom_citation", ["S2"])


def test_quotes_are_found_where_they_stand(tmp_path: Path) -> None:
    given = {"quotes": ["eight lanes", "nine lanes"], "transcript": SOURCES["S1"]}
    found = call(tmp_path, "ground_quotes", given).structured_content
    assert (found["accepted"], found["rejected"]) == (1, 1)
    start, end = found["quotes"][0]["start"], found["quotes"][0]["end"]
    assert SOURCES["S1"][start:end] == "eight lanes"


def test_the_first_step_that_does_not_hold_is_named(tmp_path: Path) -> None:
    steps = [{"claim": "It opened in 1998.", "cites": ["S1"]}, {"claim": "It has six lanes."}]
    found = call(tmp_path, "audit_trace", {"steps": steps, "sources": SOURCES, "answer": "Six."})
    audit = found.structured_content
    assert (audit["soundness"], audit["first_error"]) == ("INVALID", "step2")
    assert [step["label"] for step in audit["steps"]] == ["ENTAILED", "CONTRADICTED"]
    assert audit["post_hoc"] is not None


@pytest.mark.spec("SPEC-08.15")
def test_a_fact_is_remembered_only_if_its_sources_carry_it(tmp_path: Path) -> None:
    async def use(client: Client) -> Json:
        kept = {"text": "It opened in 1998.", "sources": SOURCES, "entities": ["bridge"]}
        wrong = {"text": "It has six lanes.", "sources": SOURCES, "entities": ["bridge"]}
        done = [
            (await client.call_tool("remember", one)).structured_content for one in (kept, wrong)
        ]
        found = await client.call_tool("recall", {"entities": ["bridge"]})
        return done, found.structured_content

    (kept, wrong), found = using(tmp_path, use)
    assert (kept["outcome"], wrong["outcome"]) == ("stored", "rejected")
    assert wrong["fact_id"] is None
    assert [fact["id"] for fact in found["facts"]] == [kept["fact_id"]]
    assert found["facts"][0]["sources"] == ["S1"]
    assert not found["more"]


def test_what_comes_back_is_bounded_and_says_so(tmp_path: Path) -> None:
    claims = [f"Tower {n} has {'very ' * 300}six floors." for n in range(answers.MOST_CLAIMS + 5)]
    given = {"answer": "\n\n".join(claims), "sources": {"S1": "word " * 2000}}
    found = call(tmp_path, "check", given).structured_content
    assert len(found["claims"]) == answers.MOST_CLAIMS
    assert found["claims_not_shown"] == 5
    text = found["claims"][0]["text"]
    assert len(text) < answers.MOST_CHARACTERS + 40
    assert text.endswith("more characters)")


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("check", {"sources": {"S1": SECRET_TEXT}}, "answer: Field required"),
        ("check", {"answer": SECRET_TEXT, "sources": {SECRET_TEXT: 1}}, "sources: "),
        ("check", {"answer": SECRET_TEXT, "sources": {}}, "sources: "),
        ("check", {"answer": SECRET_TEXT, "sources": {SECRET_TEXT: ""}}, "source 1: "),
        ("check", {"answer": SECRET_TEXT, "sources": SOURCES, "how": 1}, "how: "),
        ("verify_claim", {"claim": SECRET_TEXT, "sources": SOURCES, "confidence": 2}, "confidence"),
        ("ground_quotes", {"quotes": [SECRET_TEXT, 1], "transcript": SECRET_TEXT}, "quotes.1: "),
        (
            "ground_quotes",
            {"quotes": {SECRET_TEXT: ["x"] * 201}, "transcript": "x"},
            "quotes: there are more than 200 quotes",
        ),
        ("audit_trace", {"steps": [{"claims": SECRET_TEXT}], "sources": SOURCES}, "steps.0: "),
        ("recall", {"limit": 1000}, "limit: "),
        ("forget", {}, "there is no such tool"),
    ],
)
def test_wrong_arguments_are_a_tool_s_error_without_text(
    tmp_path: Path, name: str, given: Json, says: str
) -> None:
    found = call(tmp_path, name, given)
    assert found.is_error
    assert says in found.content[0].text
    assert SECRET_TEXT not in found.content[0].text


def test_a_failure_of_ours_is_a_tool_s_error_and_its_text_is_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_given: object, _progress: object) -> answers.Output:
        raise RuntimeError(SECRET_TEXT)

    async def use() -> Json:
        toolbox = Toolbox(settings(tmp_path), backend=FakeBackend(judge))
        tools = [replace(tool, call=broken) for tool in toolbox.tools]
        async with Client(build_server(tools)) as client:
            given = {"claim": "It has six lanes.", "sources": SOURCES}
            return await client.call_tool("verify_claim", given)

    with caplog.at_level(logging.DEBUG):
        found = anyio.run(use)
    assert found.is_error
    assert found.content[0].text == "internal error (RuntimeError)"
    assert "the tool verify_claim failed: RuntimeError" in caplog.text
    assert SECRET_TEXT not in caplog.text


def test_a_trace_is_audited_by_one_text_model_for_all_calls() -> None:
    pytest.importorskip("openai")
    asked = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(
                {
                    "choices": [{"message": {"content": "In 1998."}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 1000, "completion_tokens": 400},
                }
            ).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    given = Settings.load(
        text_model="openai:m1",
        openai={"base_url": f"http://127.0.0.1:{server.server_port}/v1"},
        requests={"per_minute": 1, "max_wait_s": 0.1},
    )
    toolbox = Toolbox(given, backend=FakeBackend(judge))

    async def audit() -> None:
        for number in range(3):
            claim = f"The bridge opened in 1998, as page {number} says."
            trace = {"steps": [{"claim": claim, "cites": ["S1"]}], "sources": {"S1": claim}}
            said = {"question": "When did it open?", "answer": "The bridge opened in 1998."}
            await toolbox.audit_trace(arguments.AuditTrace.model_validate(trace | said))

    try:
        anyio.run(audit)
    finally:
        toolbox.close()
        server.shutdown()
        server.server_close()
    assert len(asked) == 1


def test_a_call_reports_its_progress_to_a_client_that_asks(tmp_path: Path) -> None:
    seen: list[tuple[float, float | None]] = []

    async def told(done: float, total: float | None, _message: str | None) -> None:
        seen.append((done, total))

    async def use(client: Client) -> Json:
        answer = " ".join(f"The bridge opened in {1900 + n}." for n in range(200))
        given = {"answer": answer, "sources": SOURCES}
        return await client.call_tool("check", given, progress_callback=told)

    assert not using(tmp_path, use).is_error
    assert seen
    assert all(done <= (total or 0) for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    "sources",
    [SOURCES, [{"id": "S1", "text": SOURCES["S1"]}], [SOURCES["S1"]]],
    ids=["by id", "objects", "texts"],
)
def test_sources_have_the_shapes_that_the_service_accepts(tmp_path: Path, sources: Json) -> None:
    done = call(tmp_path, "check", {"answer": "The bridge opened in 1998.", "sources": sources})
    assert done.structured_content["outcome"] == "grounded"


def test_quotes_by_key_keep_their_keys(tmp_path: Path) -> None:
    given = {
        "quotes": {"sleep": ["eight lanes"], "mood": ["six lanes"]},
        "transcript": SOURCES["S1"],
    }
    found = call(tmp_path, "ground_quotes", given).structured_content["quotes"]
    assert [(each["key"], each["accepted"]) for each in found] == [("sleep", True), ("mood", False)]


def test_a_step_may_be_a_text_or_have_an_id(tmp_path: Path) -> None:
    steps = ["The bridge opened in 1998.", {"id": "so", "claim": "It opened in 1998."}]
    found = call(tmp_path, "audit_trace", {"steps": steps, "sources": SOURCES}).structured_content
    assert [step["id"] for step in found["steps"]] == ["step1", "so"]


def test_every_field_of_a_result_is_explained(tmp_path: Path) -> None:
    async def use(client: Client) -> Json:
        return (await client.list_tools()).tools

    def unexplained(schema: Json, where: str) -> list[str]:
        parts = {where: schema, **{f"{where}/{k}": v for k, v in schema.get("$defs", {}).items()}}
        return [
            f"{part}.{name}"
            for part, model in parts.items()
            for name, field in model.get("properties", {}).items()
            if not field.get("description")
        ]

    tools = using(tmp_path, use)
    assert [each for tool in tools for each in unexplained(tool.output_schema, tool.name)] == []


def test_calls_are_counted(tmp_path: Path) -> None:
    metrics = PrometheusSink()

    async def run() -> None:
        toolbox = Toolbox(settings(tmp_path), backend=FakeBackend(judge), sinks=[metrics])
        async with Client(build_server(toolbox.tools)) as client:
            for name, given in CALLS.items():
                await client.call_tool(name, given)
        toolbox.close()

    anyio.run(run)
    text = metrics.text().decode()
    for line in (
        'veridical_checks_total{operation="check",outcome="grounded"} 1.0',
        'veridical_checks_total{operation="verify_claim",outcome="grounded"} 1.0',
        'veridical_quotes_total{outcome="accepted"} 1.0',
        'veridical_facts_total{outcome="stored"} 1.0',
    ):
        assert line in text
    assert "veridical_audits_total{" in text


CALLS: dict[str, Json] = {
    "check": {"answer": "The bridge opened in 1998.", "sources": SOURCES},
    "verify_claim": {"claim": "The bridge opened in 1998.", "sources": SOURCES},
    "ground_quotes": {"quotes": ["eight lanes"], "transcript": SOURCES["S1"]},
    "audit_trace": {"steps": ["The bridge opened in 1998."], "sources": SOURCES},
    "remember": {"text": "The bridge opened in 1998.", "sources": SOURCES},
}


def test_hashes_of_claims_have_the_key_of_the_settings(tmp_path: Path) -> None:
    heard: list[Event] = []

    class Sink:
        def take(self, event: Event, /) -> None:
            heard.append(event)

    claim = "It has six lanes."

    async def run() -> None:
        given = settings(tmp_path).model_copy(
            update={"telemetry": TelemetrySettings(hash_key=SecretStr("a key of ours"))}
        )
        toolbox = Toolbox(given, backend=FakeBackend(judge), sinks=[Sink()])
        await toolbox.check(arguments.Check(answer=claim, sources=SOURCES))
        await toolbox.verify_claim(
            arguments.VerifyClaim(claim=claim, sources=SOURCES), lambda *_: None
        )
        toolbox.close()

    anyio.run(run)
    flags = [flag for event in heard if isinstance(event, ClaimsVerified) for flag in event.flags]
    assert [flag.claim_hash for flag in flags] == [short_hash(claim, "a key of ours")] * 2


def test_each_call_is_logged_by_name_and_outcome(tmp_path: Path) -> None:
    calls: list[tuple[str, str]] = []

    async def run() -> None:
        toolbox = Toolbox(settings(tmp_path), backend=FakeBackend(judge))
        log = lambda name, outcome, _seconds: calls.append((name, outcome))  # noqa: E731 -- one line of a test
        async with Client(build_server(toolbox.tools, log)) as client:
            await client.call_tool("check", CALLS["check"])
            await client.call_tool("check", {})
        toolbox.close()

    anyio.run(run)
    assert calls == [("check", "done"), ("check", "failed")]
