"""OpenTelemetry in memory: spans and records that were sent, and the tree of a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from veridical.telemetry.otel import OtelSink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from opentelemetry._logs import LogRecord
    from opentelemetry.sdk.trace import ReadableSpan


@dataclass
class Exported:
    """Sink whose spans and records stay in memory."""

    _spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    _records: InMemoryLogRecordExporter = field(default_factory=InMemoryLogRecordExporter)
    sink: OtelSink = field(init=False)

    def __post_init__(self) -> None:
        tracers, loggers = TracerProvider(), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._records))
        self.sink = OtelSink(tracers, loggers)

    @property
    def spans(self) -> Sequence[Any]:
        """Ended spans, in the order of their ends."""
        return self._spans.get_finished_spans()

    @property
    def records(self) -> list[LogRecord]:
        """Records."""
        return [one.log_record for one in self._records.get_finished_logs()]

    def clear(self) -> None:
        """Forget everything that was sent."""
        self._spans.clear()
        self._records.clear()

    def span(self, name: str) -> Any:  # noqa: ANN401 -- spans of any kind
        """Return the only span of a name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def trace(self, root: ReadableSpan) -> list[Any]:
        """Return the spans of the trace of a span."""
        return [one for one in self.spans if _ids(one)[0] == _ids(root)[0]]

    def tree(self, root: ReadableSpan) -> str:
        """Return the tree of a request: names and kinds, failures, and events behind an arrow."""
        return "\n".join(self._lines(root, self.trace(root), ""))

    def _lines(self, span: ReadableSpan, spans: Sequence[Any], indent: str) -> Iterator[str]:
        failed = "" if span.status.is_unset else f" {span.status.status_code.name}"
        told = [*(event.name for event in span.events), *self._told(span)]
        said = f" → {', '.join(told)}" if told else ""
        yield f"{indent}{span.name} [{span.kind.name.lower()}]{failed}{said}"
        for child in _in_order(one for one in spans if _parent(one) == _ids(span)[1]):
            yield from self._lines(child, spans, f"{indent}  ")

    def _told(self, span: ReadableSpan) -> list[str]:
        return [one.event_name or "" for one in self.records if one.span_id == _ids(span)[1]]


def _in_order(spans: Iterable[Any]) -> list[Any]:
    return sorted(spans, key=lambda span: span.start_time)


def _ids(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    return (context.trace_id, context.span_id) if context is not None else (0, 0)


def _parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id
