"""Prometheus metrics of events (extra `server`); no label is from a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from veridical.telemetry.events import (
    BackendAsked,
    ClaimsVerified,
    FactDecided,
    Failed,
    ProxyAnswer,
    Quoted,
    Served,
    Shed,
    Staged,
    TraceAudited,
    Waited,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.telemetry.events import Event

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class PrometheusSink:
    """Counters of events in a registry of its own.

    `text` is the page that Prometheus scrapes. `watch` adds a gauge that is read at each scrape.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._counters()
        self._histograms()

    def _counters(self) -> None:
        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"veridical_{name}", says, labels, registry=self.registry)

        self.checks = counter("checks", "Checks done, by outcome.", "operation", "outcome")
        self.claims = counter("claims_verified", "Claims verified.", "backend")
        self.found = counter("hallucinations", "Claims flagged, by status.", "status")
        self.verdicts = counter("verdicts", "Claims verified, by status.", "status")
        self.unmeasured = counter("unmeasured", "Claims without an estimate, by reason.", "reason")
        self.tokens = counter("tokens", "Tokens that backends read and wrote.", "backend")
        self.cost = counter("cost_usd", "US dollars that backends cost, as known.", "backend")
        self.unpriced = counter("unpriced_checks", "Checks whose cost is unknown.", "backend")
        self.queries = counter("queries", "Queries put to backends.", "backend")
        self.hits = counter("cache_hits", "Queries answered by the cache.", "backend")
        self.facts = counter("facts", "Facts handed to the memory, by outcome.", "outcome")
        self.rejected = counter("facts_rejected", "Facts the memory gate rejected.", "status")
        self.queued = counter("facts_queued", "Facts that wait, by reason.", "reason")
        self.audits = counter("audits", "Chains of reasoning audited.", "overall")
        self.steps = counter("audited_steps", "Steps audited, by label.", "label")
        self.post_hoc = counter("post_hoc", "Answers derived again, by verdict.", "verdict")
        self.quotes = counter("quotes", "Quotes looked up, by what came of them.", "outcome")
        self.caveats = counter("quote_caveats", "Caveats of quotes.", "caveat")
        self.shed = counter("shed", "Requests turned away.", "operation", "reason")
        self.requests = counter("http_requests", "Requests.", "method", "route", "status")
        self.failures = counter("failures", "Failures that broke nothing.", "where")
        says = "Answers of the proxy, by action and reason for a missing verdict."
        self.answers = counter("proxy_answers", says, "action", "reason")

    def _histograms(self) -> None:
        def histogram(name: str, says: str, *labels: str) -> Histogram:
            return Histogram(
                f"veridical_{name}", says, labels, registry=self.registry, buckets=_SECONDS
            )

        self.check_s = histogram("check_seconds", "Seconds of a check.", "operation")
        self.stage_s = histogram("stage_seconds", "Seconds of a stage.", "stage")
        self.backend_s = histogram("backend_seconds", "Seconds a backend took.", "backend")
        self.gate_s = histogram("memory_gate_seconds", "Seconds a fact took.", "outcome")
        self.audit_s = histogram("audit_seconds", "Seconds of an audit.", "overall")
        says = "Seconds of a request, by route and status code."
        self.request_s = histogram("http_request_seconds", says, "route", "status")
        self.wait_s = histogram("wait_seconds", "Seconds of a wait for a turn.", "queue")

    def watch(self, name: str, says: str, value: Callable[[], float]) -> None:
        """Add the gauge `veridical_<name>`."""
        Gauge(f"veridical_{name}", says, registry=self.registry).set_function(value)

    def build(self, **about: str) -> None:
        """Add the gauge `veridical_build_info`, whose labels describe what runs."""
        info = Gauge("veridical_build_info", "What runs.", about, registry=self.registry)
        info.labels(**about).set(1)

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def take(self, event: Event, /) -> None:
        """Count an event."""
        match event:
            case ClaimsVerified():
                self._checked(event)
            case Staged(stage, seconds):
                self.stage_s.labels(stage).observe(seconds)
            case BackendAsked(backend, queries, cached, _, seconds):
                self.queries.labels(backend).inc(queries)
                self.hits.labels(backend).inc(cached)
                self.backend_s.labels(backend).observe(seconds)
            case TraceAudited():
                self._audited(event)
            case Quoted():
                self._quoted(event)
            case FactDecided(outcome, reason, refusal, seconds, pending):
                if pending:
                    self.queued.labels(reason).inc()
                self.facts.labels(outcome).inc()
                self.gate_s.labels(outcome).observe(seconds)
                if refusal is not None:
                    self.rejected.labels(refusal).inc()
            case _:
                self._served(event)

    def _served(self, event: Event) -> None:
        match event:
            case Shed(operation, reason):
                self.shed.labels(operation, reason).inc()
            case Served(method, route, status, seconds):
                self.requests.labels(method, route, str(status)).inc()
                self.request_s.labels(route, str(status)).observe(seconds)
            case Waited(queue, seconds):
                self.wait_s.labels(queue).observe(seconds)
            case ProxyAnswer(action, reason):
                self.answers.labels(action, reason).inc()
            case Failed(where, _, _):
                self.failures.labels(where).inc()
            case _:
                pass

    def _audited(self, event: TraceAudited) -> None:
        self.audits.labels(event.overall).inc()
        self.audit_s.labels(event.overall).observe(event.seconds)
        for label, count in event.by_label.items():
            self.steps.labels(label).inc(count)
        if event.post_hoc is not None:
            self.post_hoc.labels(event.post_hoc).inc()

    def _quoted(self, event: Quoted) -> None:
        for outcome, count in {"accepted": event.accepted, **event.by_reason}.items():
            self.quotes.labels(outcome).inc(count)
        for caveat, count in event.by_caveat.items():
            self.caveats.labels(caveat).inc(count)

    def _checked(self, event: ClaimsVerified) -> None:
        self.checks.labels(event.operation, event.outcome).inc()
        self.claims.labels(event.backend).inc(event.claims)
        self.check_s.labels(event.operation).observe(event.seconds)
        for counter, counts in (
            (self.verdicts, event.by_status),
            (self.found, event.hallucinations),
            (self.unmeasured, event.unmeasured),
        ):
            for label, count in counts.items():
                counter.labels(label).inc(count)
        if event.tokens is not None:
            self.tokens.labels(event.backend).inc(event.tokens)
        if event.cost_usd is None:
            self.unpriced.labels(event.backend).inc()
        else:
            self.cost.labels(event.backend).inc(event.cost_usd)
