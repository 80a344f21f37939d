"""Spans of work under way: their parents, their status, and what is never in them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextvars import copy_context

import pytest

pytest.importorskip("opentelemetry.sdk")

from _spans import Exported
from veridical.core.measurements import Measurement, Query
from veridical.interfaces.http.batching import Batching, Observed
from veridical.telemetry import (
    BackendAsked,
    ClaimsVerified,
    Failed,
    Generation,
    ProxyAnswer,
    Served,
    Shed,
    Telemetry,
    TelemetrySpan,
    Waited,
    evaluating,
)
from veridical.telemetry.spans import batch_context
from veridical.testing import FakeBackend, fake_estimate

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "baggage": "user=mary"}
CHECKED = ClaimsVerified("output", "grounded", "fake", "m", 0.1, {"supported": 1})


@pytest.fixture
def exported() -> Exported:
    return Exported()


@pytest.fixture
def telemetry(exported: Exported) -> Telemetry:
    return Telemetry([exported.sink])


def test_a_request_goes_on_in_the_trace_of_its_caller_and_takes_it_on(
    exported: Exported, telemetry: Telemetry
) -> None:
    with telemetry.span("request", "server", CALLER):
        sent = telemetry.begin("chat m", "client")
        headers = sent.headers()
        sent.end()
    chat, request = exported.spans
    assert f"{request.context.trace_id:x}" == TRACE.lstrip("0")
    assert f"{request.parent.span_id:x}" == "b7ad6b7169203331"
    assert headers == {"traceparent": f"00-{TRACE}-{chat.context.span_id:016x}-01"}
    assert (request.kind.name, chat.kind.name) == ("SERVER", "CLIENT")


@pytest.mark.parametrize("header", ["", "00-x-y-01", f"00-{TRACE}-0000000000000000-01"])
def test_a_traceparent_that_is_none_begins_a_trace(
    exported: Exported, telemetry: Telemetry, header: str
) -> None:
    with telemetry.span("request", "server", {"traceparent": header}):
        pass
    assert exported.span("request").parent is None


def test_stages_waits_and_batches_are_children_of_what_is_under_way(
    exported: Exported, telemetry: Telemetry
) -> None:
    with telemetry.span("request", "server"):
        telemetry.take(Waited("proxy", 0.1))
        with telemetry.span("veridical.output"):
            telemetry.stage("claims", 0.1)
            telemetry.take(BackendAsked("fake", 2, 1, 0, 0.1))
            telemetry.take(CHECKED)
    assert exported.tree(exported.span("request")).splitlines() == [
        "request [server]",
        "  veridical.wait [internal]",
        "  veridical.output [internal] → gen_ai.evaluation.result",
        "    veridical.stage.claims [internal]",
        "    veridical.backend [internal]",
    ]
    check = exported.span("veridical.output")
    assert check.attributes["veridical.outcome"] == "grounded"
    assert check.attributes["veridical.status.supported"] == 1


def test_an_evaluation_is_at_the_newest_generation_even_after_its_end(
    exported: Exported, telemetry: Telemetry
) -> None:
    with telemetry.span("request", "server"):
        first, second = telemetry.begin("chat m", "client"), telemetry.begin("chat n", "client")
        generation = Generation(first)
        first.end()
        with evaluating(generation):
            with telemetry.span("veridical.output"):
                telemetry.take(CHECKED)
            generation.span = second
            second.end()
            with telemetry.span("veridical.output"):
                telemetry.take(CHECKED)
    ids = [exported.span(name).context.span_id for name in ("chat m", "chat n")]
    assert [record.span_id for record in exported.records] == ids
    assert {record.trace_id for record in exported.records} == {
        exported.span("request").context.trace_id
    }


def test_an_error_is_the_status_of_its_span_and_its_message_is_nowhere(
    exported: Exported, telemetry: Telemetry
) -> None:
    def work() -> None:
        with telemetry.span("request", "server"), telemetry.span("veridical.check"):
            msg = "SECRET"
            raise ValueError(msg)

    with pytest.raises(ValueError, match="SECRET"):
        work()
    assert len(exported.spans) == 2
    for span in exported.spans:
        assert span.status.status_code.name == "ERROR"
        assert span.attributes["error.type"] == "ValueError"
        assert "SECRET" not in span.to_json()


@pytest.mark.parametrize(("status", "failed"), [(200, False), (429, False), (502, True)])
def test_a_request_is_named_by_its_route_and_fails_by_its_status(
    exported: Exported, telemetry: Telemetry, status: int, failed: bool
) -> None:
    with telemetry.span("request", "server"):
        telemetry.take(Served("POST", "/v1/check", status, 0.1))
    span = exported.span("POST /v1/check")
    assert span.attributes["http.response.status_code"] == status
    assert (span.status.status_code.name == "ERROR") is failed


def test_what_happens_within_a_request_is_noted_at_its_span(
    exported: Exported, telemetry: Telemetry
) -> None:
    with telemetry.span("request", "server"), telemetry.span("veridical.output"):
        telemetry.take(ProxyAnswer("blocked", "load", "", "undetermined", None, True, 1.0))
        telemetry.take(Failed("rates", "OSError", "rates.py:3"))
        telemetry.take(Shed("output", "overload"))
    answer, failure = exported.span("request").events
    assert (answer.name, dict(answer.attributes)) == (
        "veridical.answer",
        {
            "veridical.action": "blocked",
            "veridical.reason": "load",
            "veridical.outcome": "undetermined",
        },
    )
    assert failure.attributes["exception.type"] == "OSError"


def test_outside_of_a_request_nothing_is_renamed(exported: Exported, telemetry: Telemetry) -> None:
    with telemetry.span("a host's own work"):
        telemetry.take(Served("GET", "/healthz", 200, 0.1))
    assert exported.span("a host's own work")


def test_a_check_that_measured_nothing_failed(exported: Exported, telemetry: Telemetry) -> None:
    lost = ClaimsVerified("check", "undetermined", "fake", "m", 0.1, {}, {"timeout": 2})
    telemetry.take(lost)
    span = exported.span("veridical.check")
    assert (span.status.status_code.name, span.attributes["error.type"]) == ("ERROR", "timeout")


def test_a_batch_is_in_the_trace_of_its_request_or_linked_to_all_of_them(
    exported: Exported, telemetry: Telemetry
) -> None:
    begun = asyncio.Event()

    class Slow(FakeBackend):
        async def estimate(self, queries: object) -> list[Measurement]:
            begun.set()
            await asyncio.sleep(0.01)
            return list(await super().estimate(queries))  # type: ignore[arg-type]

    async def run() -> None:
        backend = Batching(Observed(Slow(lambda _: fake_estimate(0.9)), telemetry))

        async def request(name: str) -> None:
            with telemetry.span(name, "server"):
                await backend.estimate([Query(name, name)])

        first = asyncio.create_task(request("first"))
        await begun.wait()
        # The others wait for it, and share a batch.
        await asyncio.gather(first, request("second"), request("third"))

    asyncio.run(run())
    alone, shared = [span for span in exported.spans if span.name == "veridical.backend"]
    assert alone.parent.span_id == exported.span("first").context.span_id
    assert shared.parent is None
    assert [link.context.span_id for link in shared.links] == [
        exported.span(name).context.span_id for name in ("second", "third")
    ]


def test_the_context_of_a_batch_of_one_request_is_its_own() -> None:
    one = copy_context()
    assert batch_context((one,)) is one
    assert batch_context((one, copy_context())) is not one


def test_without_a_tracer_a_span_does_nothing() -> None:
    telemetry = Telemetry()
    with telemetry.span("request", "server", CALLER):
        span = telemetry.begin("chat m", "client")
    span.failed("x")
    span.end()
    assert type(span) is TelemetrySpan
    assert span.headers() == {}


def test_a_tracer_that_fails_breaks_nothing() -> None:
    class Broken:
        def take(self, _: object, /) -> None:
            """Take nothing."""

        def begin(self, *_: object) -> TelemetrySpan:
            raise OSError

    telemetry = Telemetry([Broken()])
    assert type(telemetry.begin("x")) is TelemetrySpan
    assert telemetry.errors == 1


def test_without_the_extra_only_the_exporter_is_missing() -> None:
    code = (
        "import sys\n"
        "import veridical\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)\n"
        "sys.modules['opentelemetry'] = None\n"
        "from veridical.telemetry import LogSink, Telemetry\n"
        "from veridical.telemetry.prometheus import PrometheusSink\n"
        "with Telemetry([LogSink(), PrometheusSink()]).span('x', 'server', {}):\n"
        "    pass\n"
        "from veridical.errors import MissingExtraError\n"
        "from veridical.telemetry.otel import OtelSink\n"
        "try:\n"
        "    OtelSink()\n"
        "except MissingExtraError:\n"
        "    sys.exit(0)\n"
        "sys.exit(1)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_framework_of_the_service_sends_nothing_of_its_own() -> None:
    """It would send the messages of errors, which quote requests, to the providers of a process."""
    code = (
        "import sys\n"
        "from opentelemetry import _logs, trace\n"
        "from opentelemetry.sdk._logs import LoggerProvider\n"
        "from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter as Records\n"
        "from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "spans, records = InMemorySpanExporter(), Records()\n"
        "tracers, loggers = TracerProvider(), LoggerProvider()\n"
        "tracers.add_span_processor(SimpleSpanProcessor(spans))\n"
        "loggers.add_log_record_processor(SimpleLogRecordProcessor(records))\n"
        "trace.set_tracer_provider(tracers)\n"
        "_logs.set_logger_provider(loggers)\n"
        "from fastapi.testclient import TestClient\n"
        "from veridical.interfaces.http.app import create_app\n"
        "from veridical.settings import Settings\n"
        "from veridical.telemetry.otel import OtelSink\n"
        "app = create_app(Settings(), sinks=[OtelSink()])\n"
        "client = TestClient(app, base_url='http://127.0.0.1')\n"
        "assert client.post('/v1/check?secret=1', json={'secret': 1}).status_code == 422\n"
        "sent = [one.to_json() for one in spans.get_finished_spans()]\n"
        "sent += [one.to_json() for one in records.get_finished_logs()]\n"
        "print(len(sent), 'secret' in ''.join(sent))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "False"]
