from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from veridical.audit import auditing
from veridical.core.hashing import short_hash
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.evidence import ground_quotes
from veridical.interfaces.http.app import create_app
from veridical.pipeline.logs import claim_hash
from veridical.pipeline.reports import Report
from veridical.settings import Settings
from veridical.telemetry import (
    ClaimsVerified,
    Event,
    FactDecided,
    LogSink,
    ProxyAnswer,
    Served,
    Telemetry,
    Waited,
    audited,
    checked,
    failure,
    quoted,
    request_id,
    set_up_logs,
)
from veridical.telemetry.logs import JsonFormatter, TextFormatter
from veridical.telemetry.prometheus import PrometheusSink
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

ROOT = Path(__file__).parents[3]
SOURCES = {"S1": "The bridge was opened to traffic in 1998. It carries eight lanes."}
ANSWER = "It opened in 1998 [S1]. It has six lanes [S1]. It is lost for ever [S1]."


def read(query: Query) -> Measurement:
    if "lost" in query.claim:
        return Unmeasured(UnmeasuredReason.TIMEOUT)
    return fake_estimate(0.02, 0.95) if "six" in query.claim else fake_estimate(0.95)


def report() -> Report:
    return anyio.run(Verifier(FakeBackend(read)).check, ANSWER, SOURCES)


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Write logs to memory, and put things back."""
    root, before, level = logging.getLogger(), logging.getLogger().handlers[:], logging.root.level
    stream = io.StringIO()
    set_up_logs("json", stream=stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)
    for name in ("veridical", "veridical.verifier"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def logged(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.spec("SPEC-08.41")
def test_each_flagged_claim_is_logged_with_all_that_decided_and_no_text(lines: io.StringIO) -> None:
    token = request_id.set("r1")
    Telemetry([LogSink()]).take(checked(report()))
    request_id.reset(token)
    flag, total = logged(lines)
    assert (flag["event"], flag["request_id"], flag["claim_id"]) == (
        "hallucination_detected",
        "r1",
        "c2",
    )
    assert (flag["status"], flag["p1"]) == ("contradicted", 0.02)
    assert flag["offsets"] == [24, 46]
    assert flag["rule"]
    assert total["by_status"] == {"supported": 1, "contradicted": 1, "undetermined": 1}
    assert total["unmeasured"] == {"timeout": 1}
    assert "lanes" not in lines.getvalue()


def test_audits_quotes_and_facts_that_wait_are_logged_and_counted(lines: io.StringIO) -> None:
    sink = PrometheusSink()
    telemetry = Telemetry([LogSink(), sink])
    verifier = Verifier(FakeBackend(read))
    steps = ["It opened in 1998.", "It has six lanes."]
    audit = anyio.run(lambda: auditing.audit(steps, verifier, sources=SOURCES))
    talk = "Doctor: Do you feel hopeless?\nPatient: No.\n"
    matches = ground_quotes(["feel hopeless", "Patient: No", "made up by it"], talk)
    lines.truncate(0)
    lines.seek(0)
    telemetry.take(audited(audit, 0.5))
    telemetry.take(quoted(matches, 0.1))
    telemetry.take(FactDecided("queued", "store_locked", None, 0.1, pending=True))
    told = {line["event"]: line for line in logged(lines)}
    assert told["trace_audited"]["by_label"] == {"ENTAILED": 1, "CONTRADICTED": 1}
    assert told["quotes_grounded"]["by_reason"] == {"other_speaker": 1, "not_found": 1}
    assert told["fact_decided"]["pending"] is True
    page = sink.text().decode()
    for line in [
        'veridical_audits_total{overall="INVALID"} 1.0',
        'veridical_audited_steps_total{label="CONTRADICTED"} 1.0',
        'veridical_quotes_total{outcome="accepted"} 1.0',
        'veridical_quotes_total{outcome="other_speaker"} 1.0',
        'veridical_quote_caveats_total{caveat="denied_by_answer"} 1.0',
        'veridical_facts_queued_total{reason="store_locked"} 1.0',
    ]:
        assert line in page
    assert "lanes" not in lines.getvalue() + page
    assert "hopeless" not in lines.getvalue() + page


def test_a_library_logs_flagged_claims_by_hash_and_failures_by_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(FakeBackend):
        async def estimate(self, _: object) -> list[Measurement]:
            msg = "SECRET"
            raise ZeroDivisionError(msg)

    caplog.set_level(logging.INFO, logger="veridical")
    anyio.run(Verifier(FakeBackend(read)).check, ANSWER, SOURCES)
    anyio.run(Verifier(Broken(read)).check, ANSWER, SOURCES)
    told = [(record.name, record.event, record.fields) for record in caplog.records]  # type: ignore[attr-defined]
    flag = next(fields for _, event, fields in told if event == "claim_flagged")
    assert flag["claim_id"] == "c2"
    claim = anyio.run(Verifier(FakeBackend(read)).check, ANSWER, SOURCES).claims[1].claim
    assert flag["claim_hash"] == claim_hash(claim.text) != short_hash(claim.text)
    assert flag["rule"]
    lost = [fields for _, event, fields in told if event == "claims_unmeasured"]
    assert [(each["reason"], each["claims"]) for each in lost] == [
        ("timeout", 1),
        ("backend_error", 3),
    ]
    failed = next(fields for _, event, fields in told if event == "backend_failed")
    assert failed["error"] == "ZeroDivisionError"
    assert all(name.startswith("veridical.") for name, _, _ in told)
    assert "SECRET" not in caplog.text
    assert "lanes" not in caplog.text


def test_the_library_has_a_handler_that_shows_nothing_and_no_other() -> None:
    handlers = logging.getLogger("veridical").handlers
    assert [type(each) for each in handlers] == [logging.NullHandler]


def test_loggers_of_dependencies_say_nothing_beside_a_failing_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import veridical\n"
        "def test_it():\n"
        "    veridical.check('It has six lanes.', {'S1': 'It carries eight lanes. ' * 40})\n"
        "    assert False\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "1 failed" in run.stdout
    noise = [
        line for line in run.stdout.splitlines() if re.match(r"(DEBUG|INFO) +(?!veridical)", line)
    ]
    assert noise == []


@pytest.mark.spec("SPEC-08.40")
def test_claims_detections_latency_cache_hits_and_rejections_are_counted() -> None:
    sink = PrometheusSink()
    telemetry = Telemetry([sink])
    backend_s = 0.2
    telemetry.take(checked(report()))
    telemetry.stage("evidence", 0.01)
    from veridical.telemetry import BackendAsked

    telemetry.take(BackendAsked("fake", 10, 4, 1, backend_s))
    telemetry.take(FactDecided("rejected", "gap", "ErrFactNotGrounded", 0.3))
    text = sink.text().decode()
    for line in (
        'veridical_claims_verified_total{backend="fake"} 3.0',
        'veridical_hallucinations_total{status="contradicted"} 1.0',
        'veridical_check_seconds_count{operation="check"} 1.0',
        'veridical_stage_seconds_count{stage="evidence"} 1.0',
        'veridical_backend_seconds_bucket{backend="fake",le="0.25"} 1.0',
        'veridical_queries_total{backend="fake"} 10.0',
        'veridical_cache_hits_total{backend="fake"} 4.0',
        'veridical_facts_rejected_total{status="ErrFactNotGrounded"} 1.0',
        'veridical_unmeasured_total{reason="timeout"} 1.0',
    ):
        assert line in text


@pytest.mark.spec("SPEC-08.43")
def test_a_sink_that_fails_breaks_nothing_and_the_others_hear() -> None:
    class Broken:
        def take(self, _event: Event, /) -> None:
            msg = "no disk"
            raise OSError(msg)

    good = PrometheusSink()
    telemetry = Telemetry([Broken(), good])
    telemetry.take(Served("GET", "/", 200, 0.1))
    telemetry.take(Served("GET", "/", 200, 0.1))
    assert telemetry.errors == 2
    assert 'veridical_http_requests_total{method="GET",route="/",status="200"} 2.0' in (
        good.text().decode()
    )


def test_the_dashboard_asks_for_metrics_that_exist_and_for_all_of_them() -> None:
    sink = create_app(Settings(), backend=FakeBackend(read)).state.service.metrics
    text = (ROOT / "examples" / "grafana" / "veridical.json").read_text()
    asked = set(re.findall(r"veridical_\w+", text))
    assert asked
    assert asked <= exported_metrics()
    families = {metric.name for metric in sink.registry.collect()}
    shown = {name for name in families if any(one.startswith(name) for one in asked)}
    assert families - shown == {
        "veridical_verdicts",
        "veridical_tokens",
        "veridical_memory_gate_seconds",
        "veridical_telemetry_errors",
    }


def exported_metrics() -> set[str]:
    """Return the names that a scrape of the service may have."""
    sink = create_app(Settings(), backend=FakeBackend(read)).state.service.metrics
    return {
        sample.name
        for metric in sink.registry.collect()
        for sample in (*metric.samples, *_unlabelled(metric))
    }


def _unlabelled(metric: Any) -> list[Any]:  # noqa: ANN401
    """Return samples as they will be named, of a metric that has none yet."""
    from prometheus_client.samples import Sample

    suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
    return [Sample(metric.name + one, {}, 0.0) for one in suffixes.get(metric.type, [""])]


def test_an_exception_is_logged_by_type_and_place_whoever_logs_it(lines: io.StringIO) -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("the text of a claim")
    error = caught.value
    logging.getLogger("asyncio").error("Task failed: %r", error, exc_info=error)
    found = failure("here", error)
    (line,) = logged(lines)
    assert line["error"]["error"] == found.error == "ValueError"
    assert found.place.startswith("test_sinks.py:")
    assert "claim" not in lines.getvalue()


@given(st.text(), st.dictionaries(st.text(), st.text() | st.floats() | st.none(), max_size=4))
def test_a_log_is_one_line_whatever_is_in_it(message: str, fields: dict[str, Any]) -> None:
    record = logging.makeLogRecord({"msg": "%s", "args": (message,), "fields": fields})
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["event"] == "log"
    plain = logging.makeLogRecord({"msg": "%s", "args": (message,), "name": "veridical.x"})
    assert message in TextFormatter().format(plain)
    assert json.loads(JsonFormatter().format(plain))["message"] == message


def test_spans_and_the_result_of_an_evaluation_are_sent() -> None:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from veridical.telemetry.otel import OtelSink

    spans, records = InMemorySpanExporter(), InMemoryLogRecordExporter()
    tracers, loggers = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    loggers.add_log_record_processor(SimpleLogRecordProcessor(records))
    telemetry = Telemetry([OtelSink(tracers, loggers)])
    telemetry.stage("evidence", 0.25)
    made = report()
    telemetry.take(checked(made))
    assert telemetry.errors == 0
    stage, check = spans.get_finished_spans()
    assert (stage.name, check.name) == ("veridical.stage.evidence", "veridical.check")
    assert stage.start_time
    assert stage.end_time
    assert (stage.end_time - stage.start_time) / 1e9 == pytest.approx(0.25, abs=1e-3)
    assert check.attributes
    assert check.attributes["veridical.flagged"] == 1
    (record,) = [one.log_record for one in records.get_finished_logs()]
    assert record.event_name == "gen_ai.evaluation.result"
    assert record.attributes is not None
    assert record.attributes["gen_ai.evaluation.score.label"] == "flagged"
    assert record.attributes["error.type"] == "timeout"
    assert record.span_id == check.context.span_id
    shown = str(record.attributes) + "".join(span.to_json() for span in (stage, check))
    assert "lanes" not in shown


WORDS = st.text("abcdefghij", min_size=3, max_size=8)


def test_no_six_words_of_a_request_are_in_logs_or_metrics(
    lines: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests of every kind, good and bad, at the level `debug`."""
    monkeypatch.setenv("VERIDICAL_STORE__URL", f"sqlite:///{tmp_path}/store.db")
    set_up_logs("json", "debug", stream=lines)
    number = iter(range(10_000))

    def text(end: str = ".") -> str:
        return " ".join(f"wort{next(number)}" for _ in range(12)) + end

    said: list[str] = []

    def body(value: Any) -> Any:  # noqa: ANN401
        said.append(json.dumps(value))
        return value

    def requests() -> list[tuple[str, str, Any]]:
        source = {text(""): text(), "S1": text()}
        return [
            ("POST", "/v1/check", {"answer": text() + text(" [S1]."), "sources": source}),
            ("POST", "/v1/check", {"answer": text(), text(""): 1}),
            ("POST", "/v1/check/stream", {"answer": text(" [nope]."), "sources": [text()]}),
            ("POST", "/v1/verify_claim", {"claim": text(), "sources": source, "cites": [text("")]}),
            ("POST", "/v1/quotes", {"quotes": {text(""): [text()]}, "transcript": text()}),
            ("POST", "/v1/audit", {"steps": [text()], "sources": source, "answer": text()}),
            (
                "POST",
                "/v1/memory/facts",
                {"text": text(), "sources": source, "entities": [text("")]},
            ),
            ("POST", "/v1/memory/facts", {"text": text(), "depends_on": [text("")]}),
            ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": text()}]}),
            ("POST", "/v1/responses", {"input": text(), "veridical": {"on_failure": text()}}),
            ("POST", "/v1/feedback", {"report": text(), "claim_id": text(), "right": True}),
            ("GET", "/v1/memory/facts?text=" + text(), None),
            ("GET", "/v1/reports/" + text(), None),
            ("GET", "/" + text(), None),
        ]

    async def run() -> str:
        settings = Settings.load(proxy={"upstream_url": "http://127.0.0.1:9/v1"})
        app = create_app(settings, backend=FakeBackend(read))
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
        ):
            for method, path, value in requests():
                said.append(path)
                await client.request(method, path, json=body(value))
            await asyncio.sleep(0)
            return (await client.get("/metrics")).text

    metrics = anyio.run(run)
    # The client is in this process, too, and logs the addresses that it asks.
    ours = [line for line in lines.getvalue().splitlines() if '"logger": "http' not in line]
    assert len(ours) > 12
    assert '"stage_done"' in "".join(ours)  # the level is what it is said to be
    found = " ".join([*ours, metrics])
    for one in said:
        words = re.findall(r"wort\d+", one)
        runs = [" ".join(words[start : start + 6]) for start in range(len(words) - 5)]
        assert not [run for run in runs if run in found]
    assert not re.search(r"wort\d+", found)


def test_hashes_of_claims_are_keyed(lines: io.StringIO) -> None:
    """Nobody can guess a claim and recognise its hash; holders of the key can."""
    made = report()
    claim = made.claims[1].claim
    (plain,), (keyed,) = checked(made).flags, checked(made, hash_key="a key").flags
    assert plain.claim_hash != short_hash(claim.text)
    assert keyed.claim_hash == short_hash(claim.text, "a key")
    assert checked(made).flags == checked(report()).flags
    script = "from veridical.pipeline.logs import claim_hash; print(claim_hash('It is.'))"
    run = [sys.executable, "-c", script]
    other = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    assert other != claim_hash("It is.")
    Telemetry([LogSink()]).take(checked(made, hash_key="a key"))
    assert logged(lines)[0]["claim_hash"] == keyed.claim_hash


def _broken() -> None:
    try:
        int("the text of a claim")
    except ValueError as error:
        msg = "the text of an answer"
        raise RuntimeError(msg) from error


@pytest.mark.parametrize("level", ["info", "debug"])
def test_the_level_debug_logs_the_calls_of_a_failure_and_no_text(
    level: Literal["info", "debug"], lines: io.StringIO
) -> None:
    set_up_logs("json", level, stream=lines)
    with pytest.raises(RuntimeError) as caught:
        _broken()
    Telemetry([LogSink()]).take(failure("check", caught.value))
    logging.getLogger("veridical.x").error("failed", exc_info=caught.value)
    library = logging.getLogger("a library that sets its own level")
    library.setLevel(logging.DEBUG)
    library.debug("the text of a request")
    for found in (logged(lines)[0], logged(lines)[1]["error"]):
        assert found["error"] == "RuntimeError"
        assert ("stack" in found) is (level == "debug")
        if level == "debug":
            calls = [call.partition(" ")[2] for call in found["stack"]]
            assert "_broken" in calls
            assert found["stack"].index("ValueError") < found["stack"].index("RuntimeError")
    assert "the text" not in lines.getvalue()


def test_each_way_out_of_the_proxy_is_a_line_and_a_count(lines: io.StringIO) -> None:
    sink = PrometheusSink()
    telemetry = Telemetry([LogSink(), sink])
    telemetry.take(ProxyAnswer("blocked", "load", "", "undetermined", None, True, 2.5))
    telemetry.take(ProxyAnswer("flagged", "none", "", "flagged", 1, False, 0.0))
    telemetry.take(Waited("proxy", 2.5))
    lost, flagged = logged(lines)
    assert (lost["event"], lost["level"], lost["action"], lost["reason"], lost["waited_s"]) == (
        "proxy_answer",
        "warning",
        "blocked",
        "load",
        2.5,
    )
    assert (flagged["level"], flagged["flagged"]) == ("info", 1)
    page = sink.text().decode()
    assert 'veridical_proxy_answers_total{action="blocked",reason="load"} 1.0' in page
    assert 'veridical_proxy_answers_total{action="flagged",reason="none"} 1.0' in page
    assert 'veridical_wait_seconds_bucket{le="2.5",queue="proxy"} 1.0' in page


def test_latency_is_told_by_status_and_the_build_by_its_version() -> None:
    sink = create_app(Settings(), backend=FakeBackend(read)).state.service.metrics
    sink.take(Served("POST", "/v1/check", 200, 0.2))
    sink.take(Served("POST", "/v1/check", 503, 0.01))
    page = sink.text().decode()
    for status in ("200", "503"):
        head = f'veridical_http_request_seconds_count{{route="/v1/check",status="{status}"}}'
        assert f"{head} 1.0" in page
    info = f'veridical_build_info{{backend="fake",model="fake",version="{version("veridical")}"}}'
    assert f"{info} 1.0" in page


def test_every_metric_of_an_alert_exists_and_every_alert_says_what_to_do() -> None:
    text = (ROOT / "examples" / "grafana" / "alerts.yml").read_text()
    groups = yaml.safe_load(text)["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 5
    for rule in rules:
        asked = set(re.findall(r"veridical_\w+", rule["expr"]))
        assert asked, rule["alert"]
        assert asked <= exported_metrics(), rule["alert"]
        assert rule["for"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "description"}


def test_events_have_no_field_for_a_text() -> None:
    event = checked(report())
    assert isinstance(event, ClaimsVerified)
    values = json.dumps([str(getattr(event, name)) for name in ClaimsVerified.__slots__])
    assert "lanes" not in values
    assert "bridge" not in values
