"""Trajectory: log of the events of each question, as JSON lines (`veridical.trajectory/1`).

Lines hold hashes, counts, statuses and figures; texts only if `unsafe_texts` is set. A failure to
write is logged once and its events are lost: the answer takes precedence.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from veridical.core import printing
from veridical.core.hashing import short_hash
from veridical.core.verdicts import Note, Status, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from veridical.core.verdicts import Verdict
    from veridical.orchestrator.config import VerificationConfig
    from veridical.orchestrator.generation import Draft
    from veridical.orchestrator.results import Attempt, ProcessedAnswer, ProcessingFailure, Spent

logger = logging.getLogger("veridical.orchestrator")

SCHEMA = "veridical.trajectory/1"
_DECIMALS = 3

Event: TypeAlias = dict[str, Any]
"""A JSON object: strings, numbers, booleans, None, lists and objects of these."""


class Trajectory:
    """Destination of events: a file, line by line, or a function that is called with each.

    `unsafe_texts` adds the texts of questions, prompts, answers and claims.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | Callable[[Event], object],
        *,
        unsafe_texts: bool = False,
    ) -> None:
        self.unsafe_texts = unsafe_texts
        self._send = target if callable(target) else _File(Path(target)).write
        self._complained = False

    def send(self, event: Callable[[], Event]) -> None:
        """Make an event and write it; a failure is logged by its type and goes no further."""
        try:
            self._send(event())
        except Exception as error:  # noqa: BLE001 -- a full disk must not cost the answer
            if not self._complained:
                logger.warning("trajectory_not_written %s", type(error).__name__)
            self._complained = True


class _File:
    """Append-only file of lines; each is one write, and an earlier torn line stays separate."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def write(self, event: Event) -> None:
        line = json.dumps(event, ensure_ascii=False, allow_nan=False) + "\n"
        data = line.encode("utf-8", "backslashreplace")
        with self._lock, self._path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                data = data if file.read(1) == b"\n" else b"\n" + data
            file.write(data)


class Recorder:
    """Recorder of the events of one run; without a trajectory it does nothing."""

    def __init__(self, trajectory: Trajectory | None, run: str) -> None:
        self._trajectory = trajectory
        self._run = run

    def started(self, query: str, context: Mapping[str, str], config: VerificationConfig) -> None:
        """Record the question."""
        self._send(
            "run_started",
            lambda: {
                **self._text("query", query),
                "sources": len(context),
                "source_chars": sum(map(len, context.values())),
                "config": {
                    "enabled": config.enabled,
                    "on_failure": config.on_failure,
                    "max_retries": config.max_retries,
                    "mode": config.mode,
                },
            },
        )

    def attempted(self, number: int, prompt: str, draft: Draft) -> None:
        """Record a text that was generated."""
        self._send(
            "attempt",
            lambda: {
                "attempt": number,
                **self._text("prompt", prompt),
                **self._text("answer", draft.text),
                "model": draft.model,
                "prompt_tokens": draft.prompt_tokens,
                "output_tokens": draft.output_tokens,
                "cut_off": draft.cut_off,
                **_spent(draft.spent),
                "failure": None,
            },
        )

    def not_attempted(self, number: int, failure: ProcessingFailure, spent: Spent) -> None:
        """Record that no text was generated."""
        unknown = ("model", "prompt_tokens", "output_tokens", "cut_off")
        self._send(
            "attempt",
            lambda: {
                "attempt": number,
                **dict.fromkeys(unknown),
                **_spent(spent),
                "failure": _failure(failure),
            },
        )

    def verified(self, attempt: Attempt) -> None:
        """Record the verification of a text."""
        self._send(
            "verification",
            lambda: {
                "attempt": attempt.number,
                "skipped": attempt.skipped,
                "failure": _failure(attempt.failure),
                **self._report(attempt),
                **_spent(attempt.verification),
            },
        )

    def decided(self, attempt: int, decision: str) -> None:
        """Record the next action."""
        self._send("decision", lambda: {"attempt": attempt, "decision": str(decision)})

    def finished(self, answer: ProcessedAnswer) -> None:
        """Record the answer."""
        first, best = answer.attempts[0], answer.best
        self._send(
            "run_finished",
            lambda: {
                "action": answer.action,
                "attempts": len(answer.attempts),
                "best": best.number,
                "flagged_before": len(first.flagged) if first.verified else None,
                "flagged_after": len(best.flagged) if best.verified else None,
                "critical_before": len(first.critical) if first.verified else None,
                "critical_after": len(best.critical) if best.verified else None,
                "skipped": answer.skipped,
                "failure": _failure(answer.failure),
                "generation": _spent(answer.generation),
                "verification": _spent(answer.verification),
                "latency_ms": printing.number(answer.latency_ms, _DECIMALS),
                **self._text("text", answer.text),
            },
        )

    def broke_off(self, failure: ProcessingFailure, latency_ms: float) -> None:
        """Record that there is no answer, since the first text could not be generated."""
        self._send(
            "run_finished",
            lambda: {
                "action": None,
                "attempts": 0,
                "failure": _failure(failure),
                "latency_ms": printing.number(latency_ms, _DECIMALS),
            },
        )

    # --- parts of events ---------------------------------------------------------------------

    def _send(self, event: str, body: Callable[[], Event]) -> None:
        if self._trajectory is not None:
            time = datetime.now(UTC).isoformat(timespec="milliseconds")
            head = {"schema": SCHEMA, "event": event, "run": self._run, "time": time}
            self._trajectory.send(lambda: {**head, **body()})

    def _text(self, name: str, text: str) -> Event:
        what: Event = {f"{name}_hash": short_hash(text), f"{name}_chars": len(text)}
        return {**what, name: text} if self._unsafe else what

    @property
    def _unsafe(self) -> bool:
        return self._trajectory is not None and self._trajectory.unsafe_texts

    def _report(self, attempt: Attempt) -> Event:
        report = attempt.report
        if report is None:
            return {"outcome": None}
        summary = report.summary
        notes = Counter(note for verdict in report.claims for note in verdict.notes)
        return {
            "outcome": summary.outcome,
            "mode": report.policy.mode,
            "claims_extracted": summary.claims_extracted,
            "claims_checked": summary.claims_checked,
            "by_status": {status: summary.by_status.get(status, 0) for status in Status},
            "notes": {note: notes[note] for note in Note if notes[note]},
            "not_checked": dict(summary.skipped),
            "critical": len(attempt.critical),
            "max_gap_bits": printing.number(summary.max_gap_bits, _DECIMALS),
            "flagged": [self._claim(verdict, attempt) for verdict in report.flagged],
        }

    def _claim(self, verdict: Verdict, attempt: Attempt) -> Event:
        what: Event = {
            "claim_id": verdict.claim.id,
            "status": verdict.status,
            "gap_type": row_of(verdict).gap_type,
            "budget_gap_bits": printing.number(verdict.budget.budget_gap_bits, _DECIMALS),
            "critical": verdict in attempt.critical,
            "evidence": [piece.source for piece in verdict.evidence],
        }
        return {**what, "text": verdict.claim.text} if self._unsafe else what


def _spent(spent: Spent) -> Event:
    return {
        "cost_usd": printing.usd(spent.cost_usd),
        "tokens": spent.tokens,
        "latency_ms": printing.number(spent.latency_ms, _DECIMALS),
    }


def _failure(failure: ProcessingFailure | None) -> Event | None:
    return None if failure is None else {"kind": failure.kind, "detail": failure.detail}
