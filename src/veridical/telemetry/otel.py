"""Export of events as OpenTelemetry spans and `gen_ai.evaluation.result` (extra `otel`).

The spans of a request are one trace: its server span, with its stages and the request to the
upstream below it. A trace begun by the caller goes on, and goes on to the upstream. Attributes
follow the semantic conventions for HTTP and generative AI; our own are under `veridical.`. The
destination is set by the standard variables, such as OTEL_EXPORTER_OTLP_ENDPOINT.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from time import time_ns
from typing import TYPE_CHECKING, Any

from veridical.errors import MissingExtraError
from veridical.telemetry.events import (
    BackendAsked,
    ClaimsVerified,
    FactDecided,
    Failed,
    ProxyAnswer,
    Quoted,
    Served,
    Staged,
    TraceAudited,
    Waited,
)
from veridical.telemetry.logs import request_id
from veridical.telemetry.spans import TelemetrySpan, evaluated, sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from opentelemetry import trace as otel_trace
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.trace import TracerProvider

    from veridical.telemetry.events import Event
    from veridical.telemetry.spans import Attributes, Kind

EVALUATION = "gen_ai.evaluation.result"
_NAME = "veridical"
_SERVER_ERROR = 500

_serving: ContextVar[otel_trace.Span | None] = ContextVar("veridical_serving", default=None)
"""Span of the request that is answered."""


class OtelSpan(TelemetrySpan):
    """Span under way; errors are noted by type, for their messages may quote texts."""

    def __init__(self, span: otel_trace.Span, kind: Kind) -> None:
        self.span = span
        self._kind = kind

    def failed(self, kind: str) -> None:
        """Note that the work failed; `kind` is the type of an error or a code, never a text."""
        _fail(self.span, kind)

    def end(self) -> None:
        """End the span."""
        if self.span.is_recording():
            self.span.end()

    def headers(self) -> dict[str, str]:
        """Return `traceparent`, and `tracestate` if there is one."""
        from opentelemetry.trace import set_span_in_context

        carrier: dict[str, str] = {}
        _propagator().inject(carrier, set_span_in_context(self.span))
        return carrier

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the spans that begin in this block children of this one."""
        from opentelemetry.trace import use_span

        token = _serving.set(self.span if self._kind == "server" else _serving.get())
        try:
            with use_span(self.span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            _serving.reset(token)


class OtelSink:
    """Exporter of a span for each check, stage, fact and backend call, and of check results.

    Without providers the global ones of the process are used. It is a
    `veridical.telemetry.spans.Tracer`, too.
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
        self._now = trace.get_current_span

    def begin(
        self, name: str, kind: Kind, attributes: Attributes, headers: Mapping[str, str] | None
    ) -> OtelSpan:
        """Return a new span: a child of the current one, or of the one that `headers` name."""
        from opentelemetry.trace import SpanKind

        context = None if headers is None else _propagator().extract(dict(headers))
        return OtelSpan(
            self._tracer.start_span(
                name, context, kind=SpanKind[kind.upper()], attributes=_of_request(attributes)
            ),
            kind,
        )

    def take(self, event: Event, /) -> None:
        """Send an event, if it is of an exported kind."""
        match event:
            case ClaimsVerified():
                self._checked(event)
            case Staged(stage, seconds):
                self._past(f"veridical.stage.{stage}", seconds, {})
            case Waited(queue, seconds):
                self._past("veridical.wait", seconds, {"veridical.queue": queue})
            case BackendAsked():
                self._past("veridical.backend", event.seconds, _of_backend(event))
            case FactDecided():
                self._past("veridical.memory_gate", event.seconds, _of_fact(event))
            case TraceAudited():
                self._past("veridical.audit", event.seconds, _of_audit(event))
            case Quoted():
                kept: Attributes = {"veridical.accepted": event.accepted}
                kept |= {f"veridical.rejected.{key}": n for key, n in event.by_reason.items()}
                self._past("veridical.quotes", event.seconds, kept)
            case _:
                self._noted(event)

    def _noted(self, event: Event) -> None:
        """Note what happened at the span of the request."""
        span = _serving.get()
        if span is None:
            return
        match event:
            case Served(method, route, status, _):
                span.update_name(f"{method} {route}")
                span.set_attributes(
                    {
                        "http.request.method": method,
                        "http.route": route,
                        "http.response.status_code": status,
                    }
                )
                if status >= _SERVER_ERROR:
                    _fail(span, str(status))
            case ProxyAnswer(action, reason, _, outcome):
                said = {"veridical.action": action, "veridical.reason": reason}
                span.add_event("veridical.answer", {**said, "veridical.outcome": outcome})
            case Failed(where, error, place):
                said = {"exception.type": error, "veridical.where": where, "veridical.place": place}
                span.add_event("exception", said)
            case _:
                pass

    def _past(self, name: str, seconds: float, attributes: Attributes) -> None:
        """Send a span that ends now and began so many seconds ago."""
        end = time_ns()
        begun = end - int(seconds * 1e9)
        attributes = _of_request(attributes)
        span = self._tracer.start_span(
            name, attributes=attributes, links=_links(), start_time=begun
        )
        span.end(end)

    def _checked(self, event: ClaimsVerified) -> None:
        """Describe a check at its span, or at one of its own if none is under way."""
        from opentelemetry.trace import use_span

        name, span = f"veridical.{event.operation}", self._now()
        if getattr(span, "name", None) == name:
            self._describe(span, event)
            return
        end = time_ns()
        span = self._tracer.start_span(name, start_time=end - int(event.seconds * 1e9))
        with use_span(span, end_on_exit=False):
            self._describe(span, event)
        span.end(end)

    def _describe(self, span: otel_trace.Span, event: ClaimsVerified) -> None:
        span.set_attributes(_of_request(_of_check(event)))
        if event.outcome == "undetermined":
            _fail(span, _commonest(event.unmeasured) or event.outcome)
        self._result(event)

    def _result(self, event: ClaimsVerified) -> None:
        """Send the result of an evaluation, at the generation that was evaluated if known."""
        from opentelemetry._logs import LogRecord
        from opentelemetry.trace import set_span_in_context

        attributes: Attributes = {
            "gen_ai.evaluation.name": "groundedness",
            "gen_ai.evaluation.score.label": event.outcome,
        }
        if event.overall_confidence is not None:
            attributes["gen_ai.evaluation.score.value"] = event.overall_confidence
        if event.unmeasured:
            attributes["error.type"] = _commonest(event.unmeasured)
        generation = evaluated.get()
        span = generation.span if generation is not None else None
        context = set_span_in_context(span.span) if isinstance(span, OtelSpan) else None
        record = LogRecord(
            timestamp=time_ns(),
            context=context,
            event_name=EVALUATION,
            attributes=_of_request(attributes),
        )
        self._logger.emit(record)


def _propagator() -> Any:  # noqa: ANN401 -- an optional package
    """Return the propagator of `traceparent`: baggage is none of the upstream's business."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator()


def _fail(span: otel_trace.Span, kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _links() -> list[otel_trace.Link]:
    """Return links to the requests that share the current batch."""
    from opentelemetry.trace import Link, get_current_span

    spans = (context.run(get_current_span) for context in sharing.get())
    return [Link(span.get_span_context()) for span in spans]


def _commonest(counts: Mapping[str, int]) -> str:
    return max(counts, key=lambda key: counts[key], default="")


# --- attributes ------------------------------------------------------------------------------


def _of_request(attributes: Attributes) -> Attributes:
    request = request_id.get()
    return attributes if request is None else {**attributes, "veridical.request.id": request}


def _of_backend(event: BackendAsked) -> Attributes:
    return {
        "gen_ai.provider.name": event.backend,
        "veridical.queries": event.queries,
        "veridical.cached": event.cached,
        "veridical.unmeasured": event.unmeasured,
    }


def _of_fact(event: FactDecided) -> Attributes:
    said: Attributes = {"veridical.outcome": event.outcome, "veridical.pending": event.pending}
    return said if event.refusal is None else {**said, "veridical.refusal": event.refusal}


def _of_audit(event: TraceAudited) -> Attributes:
    labels: Attributes = {"veridical.outcome": event.overall}
    labels |= {f"veridical.label.{key}": n for key, n in event.by_label.items()}
    if event.post_hoc is not None:
        labels["veridical.audit.derivation"] = event.post_hoc
    return labels


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
    name = os.environ.get("OTEL_SERVICE_NAME", _NAME)
    resource = Resource.create({"service.name": name, "service.version": version(_NAME)})
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
