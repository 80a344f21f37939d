"""Summary of a trajectory: verification results, actions and cost."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from veridical.errors import DocumentError
from veridical.orchestrator.trajectory import SCHEMA, Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

SUMMARY_SCHEMA = "veridical.trajectory-summary/1"


@dataclass(frozen=True, slots=True)
class EventLog:
    """Events of a file; `unreadable` counts other lines, the last of which may be `torn`."""

    events: tuple[Event, ...]
    unreadable: int = 0
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds at the 50th and 95th percentile, None without a measurement."""

    n: int
    p50_ms: float | None
    p95_ms: float | None

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Return the percentiles of some measurements."""
        found = sorted(values)
        return cls(len(found), percentile(found, 0.5), percentile(found, 0.95))


@dataclass(frozen=True, slots=True)
class Flags:
    """Claims over the verified runs: in the first attempts, and in the returned answers."""

    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost in USD over the `runs` in which both parts are known.

    `share` is the cost of verification relative to that of generation; None where the latter is 0
    or unknown.
    """

    runs: int = 0
    generation_usd: float | None = None
    verification_usd: float | None = None

    @property
    def share(self) -> float | None:
        """verification_usd / generation_usd."""
        if self.verification_usd is None or not self.generation_usd:
            return None
        return self.verification_usd / self.generation_usd


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Totals over runs.

    `unfinished` runs have no end in the file, `unanswered` ones ended because the first text could
    not be generated. `verified` runs are those whose answer was supported or flagged.
    """

    runs: int
    unfinished: int
    unanswered: int
    verified: int
    attempts: int
    retried: int
    improved: int
    actions: Mapping[str, int]
    skips: Mapping[str, int]
    failures: Mapping[str, int]
    flagged: Flags
    critical: Flags
    generation: Latency
    verification: Latency
    cost: Cost = field(default_factory=Cost)
    unreadable: int = 0
    torn: bool = False


def read_trajectory(path: Path) -> EventLog:
    """Return the events of a file; an invalid line, such as a torn one, is counted.

    `DocumentError` if the file cannot be read, or if no line of it is an event.
    """
    events: list[Event] = []
    lost, torn = 0, False
    try:
        with path.open("rb") as file:
            for line in file:
                event = _event(line)
                if event is not None:
                    events.append(event)
                elif line.strip():
                    lost, torn = lost + 1, not line.endswith(b"\n")
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise DocumentError(msg, hint="Name a file that an orchestrator wrote") from None
    if not events:
        msg = f"{path} holds no event of schema {SCHEMA}"
        raise DocumentError(msg, hint="Name a file that an orchestrator wrote")
    return EventLog(tuple(events), lost, torn)


def summarise(found: EventLog) -> RunTotals:
    """Return the totals over all runs of a trajectory."""
    by_kind: dict[str, list[Event]] = {}
    for event in found.events:
        by_kind.setdefault(event["event"], []).append(event)
    ended = by_kind.get("run_finished", [])
    attempts = by_kind.get("attempt", [])
    checks = by_kind.get("verification", [])
    runs = {event["run"] for event in found.events}
    verified = [event for event in ended if _number(event, "flagged_after") is not None]
    both = [event for event in verified if _number(event, "flagged_before") is not None]
    return RunTotals(
        runs=len(runs),
        unfinished=len(runs - {event["run"] for event in ended}),
        unanswered=sum(event.get("action") is None for event in ended),
        verified=len(verified),
        attempts=len(attempts),
        retried=len({event["run"] for event in attempts if (_number(event, "attempt") or 0) > 1}),
        improved=sum(_fell(event) for event in both),
        actions=_counted(event.get("action") for event in ended),
        skips=_counted(event.get("skipped") for event in checks),
        failures=_counted(map(_failure, [*attempts, *checks, *ended])),
        flagged=_flags(both, "flagged"),
        critical=_flags(both, "critical"),
        generation=Latency.of(_numbers(attempts, "latency_ms")),
        verification=Latency.of(
            _numbers((event for event in checks if _measured(event)), "latency_ms")
        ),
        cost=_cost(ended),
        unreadable=found.unreadable,
        torn=found.torn,
    )


def to_document(summary: RunTotals) -> dict[str, Any]:
    """Return a summary as a JSON object of schema `veridical.trajectory-summary/1`."""
    cost = summary.cost
    return {
        "schema": SUMMARY_SCHEMA,
        "runs": {
            "total": summary.runs,
            "verified": summary.verified,
            "retried": summary.retried,
            "improved": summary.improved,
            "unanswered": summary.unanswered,
            "unfinished": summary.unfinished,
        },
        "attempts": summary.attempts,
        "actions": dict(summary.actions),
        "skips": dict(summary.skips),
        "failures": dict(summary.failures),
        "flagged": {"before": summary.flagged.before, "after": summary.flagged.after},
        "critical": {"before": summary.critical.before, "after": summary.critical.after},
        "generation": _latency(summary.generation),
        "verification": _latency(summary.verification),
        "cost": {
            "runs": cost.runs,
            "generation_usd": cost.generation_usd,
            "verification_usd": cost.verification_usd,
            "verification_share": cost.share,
        },
        "lines": {"unreadable": summary.unreadable, "torn": summary.torn},
    }


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return a percentile of ordered values, interpolated between neighbours; None without any."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _event(line: bytes) -> Event | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        return None
    return found if all(isinstance(found.get(key), str) for key in ("event", "run")) else None


def _number(event: Mapping[str, object], key: str) -> float | None:
    value = event.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _numbers(events: Iterable[Event], key: str) -> list[float]:
    found = (_number(event, key) for event in events)
    return [value for value in found if value is not None]


def _measured(event: Event) -> bool:
    """Return whether claims were verified; a result reused from an earlier attempt took no time."""
    return bool(event.get("outcome")) and bool(_number(event, "latency_ms"))


def _failure(event: Event) -> object:
    """Return the kind of failure of an event; the end of a run mostly repeats an earlier one."""
    failure = event.get("failure")
    kind = failure.get("kind") if isinstance(failure, dict) else None
    new = event["event"] != "run_finished" or kind in ("ask_error", "internal_error")
    return kind if new else None


def _counted(values: Iterable[object]) -> dict[str, int]:
    return dict(sorted(Counter(value for value in values if isinstance(value, str)).items()))


def _flags(events: Iterable[Event], what: str) -> Flags:
    before, after = f"{what}_before", f"{what}_after"
    pairs = [(_number(event, before), _number(event, after)) for event in events]
    known = [(first, last) for first, last in pairs if first is not None and last is not None]
    return Flags(int(sum(first for first, _ in known)), int(sum(last for _, last in known)))


def _fell(event: Event) -> bool:
    return _figures(event, "after") < _figures(event, "before")


def _figures(event: Event, when: str) -> tuple[float, float]:
    return _number(event, f"critical_{when}") or 0, _number(event, f"flagged_{when}") or 0


def _cost(ended: Iterable[Event]) -> Cost:
    pairs = [(_usd(event, "generation"), _usd(event, "verification")) for event in ended]
    known = [(first, last) for first, last in pairs if first is not None and last is not None]
    if not known:
        return Cost()
    return Cost(len(known), sum(first for first, _ in known), sum(last for _, last in known))


def _usd(event: Event, part: str) -> float | None:
    spent = event.get(part)
    return _number(spent, "cost_usd") if isinstance(spent, dict) else None


def _latency(latency: Latency) -> dict[str, Any]:
    return {"n": latency.n, "p50_ms": latency.p50_ms, "p95_ms": latency.p95_ms}
