"""Export of events as OpenTelemetry spans and `gen_ai.evaluation.result` (extra `otel`).

Attributes follow the semantic conventions for generative AI; our own are under `veridical.`.
The destination is set by the standard variables, such as OTEL_EXPORTER_OTLP_ENDPOINT.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING

from veridical.errors import MissingExtraError
from veridical.telemetry.events import (
    BackendAsked,
    ClaimsVerified,
    FactDecided,
    Quoted,
    Staged,
    TraceAudited,
)
from veridical.telemetry.logs import request_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry._logs import LoggerProvider
    from opentelemetry.trace import TracerProvider

    from veridical.telemetry.events import Event

EVALUATION = "gen_ai.evaluation.result"
_NAME = "veridical"

Attributes = dict[str, str | int | float | bool]


class OtelSink:
    """Exporter of a span for each check, stage, fact and backend call, and of check results.

    Without providers the global ones of the process are used.
    """

    def __init__(
        self, tracers: TracerProvider | None = None, loggers: LoggerProvider | None = None
    ) -> None:
        try:
            from opentelemetry import _logs, trace
        except ImportError:
            msg = "OpenTelemetry needs the extra 'otel'"
            raise MissingExtraError(msg, hint="pip install 'veridical[otel]'") from None
        self._tracer = trace.get_tracer(_NAME, tracer_provider=tracers)
        self._logger = _logs.get_logger(_NAME, logger_provider=loggers)

    def take(self, event: Event, /) -> None:
        """Send an event, if it is of an exported kind."""
        match event:
            case ClaimsVerified():
                name = f"veridical.{event.operation}"
                self._span(name, event.seconds, _of_check(event), lambda: self._result(event))
            case Staged(stage, seconds):
                self._span(f"veridical.stage.{stage}", seconds, {})
            case BackendAsked():
                counts: Attributes = {
                    "gen_ai.provider.name": event.backend,
                    "veridical.queries": event.queries,
                    "veridical.cached": event.cached,
                    "veridical.unmeasured": event.unmeasured,
                }
                self._span("veridical.backend", event.seconds, counts)
            case FactDecided():
                said: Attributes = {
                    "veridical.outcome": event.outcome,
                    "veridical.pending": event.pending,
                }
                if event.refusal is not None:
                    said["veridical.refusal"] = event.refusal
                self._span("veridical.memory_gate", event.seconds, said)
            case TraceAudited():
                labels: Attributes = {"veridical.outcome": event.overall}
                labels |= {f"veridical.label.{key}": n for key, n in event.by_label.items()}
                if event.post_hoc is not None:
                    labels["veridical.audit.derivation"] = event.post_hoc
                self._span("veridical.audit", event.seconds, labels)
            case Quoted():
                kept: Attributes = {"veridical.accepted": event.accepted}
                kept |= {f"veridical.rejected.{key}": n for key, n in event.by_reason.items()}
                self._span("veridical.quotes", event.seconds, kept)
            case _:
                pass

    def _span(
        self,
        name: str,
        seconds: float,
        attributes: Attributes,
        within: Callable[[], None] = lambda: None,
    ) -> None:
        """Send a span that ends now and began so many seconds ago."""
        from opentelemetry.trace import use_span

        end = time_ns()
        if (request := request_id.get()) is not None:
            attributes = {**attributes, "veridical.request.id": request}
        span = self._tracer.start_span(
            name, attributes=attributes, start_time=end - int(seconds * 1e9)
        )
        with use_span(span, end_on_exit=False):
            within()
        span.end(end)

    def _result(self, event: ClaimsVerified) -> None:
        from opentelemetry._logs import LogRecord

        attributes: Attributes = {
            "gen_ai.evaluation.name": "groundedness",
            "gen_ai.evaluation.score.label": event.outcome,
        }
        if event.overall_confidence is not None:
            attributes["gen_ai.evaluation.score.value"] = event.overall_confidence
        if event.unmeasured:
            attributes["error.type"] = max(event.unmeasured, key=lambda key: event.unmeasured[key])
        if (request := request_id.get()) is not None:
            attributes["veridical.request.id"] = request
        now = time_ns()
        self._logger.emit(LogRecord(timestamp=now, event_name=EVALUATION, attributes=attributes))


def _of_check(event: ClaimsVerified) -> Attributes:
    found: Attributes = {
        "gen_ai.operation.name": "evaluate",
        "gen_ai.provider.name": event.backend,
        "gen_ai.request.model": event.model,
        "veridical.outcome": event.outcome,
        "veridical.claims": event.claims,
        "veridical.flagged": len(event.flags),
    }
    found |= {f"veridical.status.{status}": n for status, n in event.by_status.items()}
    if event.cost_usd is not None:
        found["veridical.cost_usd"] = event.cost_usd
    return found


def set_up() -> Callable[[], None]:
    """Configure export to the collector of the standard variables; return the shutdown call."""
    try:
        from opentelemetry import _logs, trace
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        msg = "OpenTelemetry needs the extra 'otel'"
        raise MissingExtraError(msg, hint="pip install 'veridical[otel]'") from None
    resource = Resource.create({"service.name": _NAME})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    loggers = LoggerProvider(resource=resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    _logs.set_logger_provider(loggers)

    def stop() -> None:
        tracers.shutdown()
        loggers.shutdown()

    return stop
