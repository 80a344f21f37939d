"""Telemetry as logs, Prometheus metrics and OpenTelemetry; numbers, ids and hashes, no text.

    from veridical.telemetry import Telemetry, LogSink, checked

    telemetry = Telemetry([LogSink()])
    telemetry.take(checked(report))

Prometheus and OpenTelemetry are in `veridical.telemetry.prometheus` and `.otel`, which need the
extras `server` and `otel`.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from veridical.telemetry.events import (
    BackendAsked,
    ClaimsVerified,
    Event,
    FactDecided,
    Failed,
    Flag,
    ProxyAnswer,
    Quoted,
    Served,
    Shed,
    Sink,
    Staged,
    TraceAudited,
    Waited,
    audited,
    checked,
    fact_decided,
    quoted,
    verified,
)
from veridical.telemetry.logs import LogSink, failure, request_id, set_up_logs
from veridical.telemetry.spans import Generation, TelemetrySpan, Tracer, evaluating

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from veridical.telemetry.spans import Attributes, Kind

__all__ = [
    "BackendAsked",
    "ClaimsVerified",
    "Event",
    "FactDecided",
    "Failed",
    "Flag",
    "Generation",
    "LogSink",
    "ProxyAnswer",
    "Quoted",
    "Served",
    "Shed",
    "Sink",
    "Staged",
    "Telemetry",
    "TelemetrySpan",
    "TraceAudited",
    "Waited",
    "audited",
    "checked",
    "evaluating",
    "fact_decided",
    "failure",
    "quoted",
    "request_id",
    "set_up_logs",
    "verified",
]

logger = logging.getLogger(__name__)


class Telemetry:
    """Dispatcher of events to sinks; a failing sink is counted in `errors` and breaks nothing.

    It is a `veridical.verification.check_events.Watcher`, too: pass it to `Verifier.check` for the
    duration of stages.
    """

    def __init__(self, sinks: Iterable[Sink] = ()) -> None:
        self._sinks = tuple(sinks)
        self.errors = 0

    def take(self, event: Event) -> None:
        """Hand an event to every sink."""
        for sink in self._sinks:
            try:
                sink.take(event)
            except Exception as error:  # noqa: BLE001 -- telemetry must not break the host
                self._failed(sink, error)

    def _failed(self, sink: Sink, error: Exception) -> None:
        self.errors += 1
        if self.errors == 1:
            kinds = type(sink).__name__, type(error).__name__
            logger.warning("telemetry: %s failed (%s); said once", *kinds)

    def begin(
        self,
        name: str,
        kind: Kind = "internal",
        attributes: Attributes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> TelemetrySpan:
        """Return a span that has begun; without a tracer among the sinks it does nothing.

        It is a child of the current span, or of the one in the `headers` of a request.
        """
        for sink in self._sinks:
            if not isinstance(sink, Tracer):
                continue
            try:
                return sink.begin(name, kind, attributes or {}, headers)
            except Exception as error:  # noqa: BLE001 -- telemetry must not break the host
                self._failed(sink, error)
        return TelemetrySpan()

    @contextmanager
    def span(
        self, name: str, kind: Kind = "internal", headers: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """Do the work of this block in a span; an exception is its status."""
        span = self.begin(name, kind, headers=headers)
        try:
            with span.current():
                yield
        except BaseException as error:
            span.failed(type(error).__name__)
            raise
        finally:
            span.end()

    def stage(self, name: str, seconds: float, /) -> None:
        """Record the duration of a stage of a check."""
        self.take(Staged(name, seconds))

    def decided(self, _verdict: object, /) -> None:
        """Do nothing: verdicts are counted once the report is there."""
