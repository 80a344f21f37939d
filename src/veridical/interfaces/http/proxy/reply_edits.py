"""Edits of the texts of a reply, and the information for the client about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.core.assessment import Outcome
from veridical.telemetry import ProxyAnswer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from veridical.interfaces.http.proxy.checking import VerifiedChoice
    from veridical.interfaces.http.proxy.request import ProxyRequest

SCHEMA = "veridical.proxy/1"
OUTCOME_HEADER = "x-veridical-outcome"
FLAGGED_HEADER = "x-veridical-flagged"
ACTION_HEADER = "x-veridical-action"
REASON_HEADER = "x-veridical-reason"
VERIFIED = "none"
"""Reason for a missing verdict where there is one."""

WORST_FIRST = (
    Outcome.FLAGGED,
    Outcome.UNDETERMINED,
    Outcome.GROUNDED,
    Outcome.NOTHING_TO_CHECK,
)
STRICTEST_FIRST = ("blocked", "flagged", "retried", "passed")


class ReplyEdits:
    """Edits of each choice, by its index.

    Where a choice calls tools nothing is done: it only gets its verdict. JSON gets no marks.
    """

    def __init__(
        self, asked: ProxyRequest, judged: Mapping[int, VerifiedChoice], calling: Collection[int]
    ) -> None:
        self._asked = asked
        self._judged = judged
        options = asked.options
        blocks = options.on_unverified == "block"
        texts = {index: one for index, one in judged.items() if index not in calling}
        self._withheld = {
            index: one for index, one in texts.items() if one.blocked or (blocks and one.unverified)
        }
        shown = [each for each in texts.items() if asked.prose and each[0] not in self._withheld]
        marks, remarks = options.on_failure != "pass", options.on_unverified == "flag"
        self._marked = {index: one for index, one in shown if marks and one.to_mark}
        self._remarked = {index: one for index, one in shown if remarks and one.unverified}

    @property
    def withheld(self) -> dict[int, str]:
        """Notices for the choices that are not to be shown."""
        return {index: one.notice for index, one in self._withheld.items()}

    @property
    def marked(self) -> dict[int, str]:
        """Texts with marks at their flagged claims, or with a remark that they are unverified."""
        return {
            index: (one.marked if index in self._marked else one.text) + self._remark(index)
            for index, one in (self._remarked | self._marked).items()
        }

    @property
    def legends(self) -> dict[int, str]:
        """Remarks to follow texts that have been sent."""
        return {
            index: (one.legend if index in self._marked else "") + self._remark(index)
            for index, one in (self._remarked | self._marked).items()
        }

    def _remark(self, index: int) -> str:
        return self._remarked[index].remark if index in self._remarked else ""

    @property
    def action(self) -> str:
        """Strictest action on any text of the reply."""
        actions = set(map(self._action, self._judged))
        return next(each for each in STRICTEST_FIRST if each in actions)

    @property
    def reason(self) -> str | None:
        """Reason for the first missing verdict; None if there is none missing."""
        return next((one.reason for one in self._judged.values() if one.reason), None)

    @property
    def headers(self) -> dict[str, str]:
        """Headers with the outcome, the action, and the reason and flagged claims if known."""
        return verdict_headers(
            _overall(self._judged.values()),
            self.action,
            self.reason,
            _flagged(self._judged.values()),
        )

    def answers(self) -> Iterator[ProxyAnswer]:
        """Return the events of telemetry: one for each text."""
        for index, one in self._judged.items():
            yield proxy_answer(self._action(index), one)

    @property
    def verdict(self) -> dict[str, Any]:
        """Verdict on all texts of the reply, as a JSON object of schema `veridical.proxy/1`."""
        return {
            "schema": SCHEMA,
            "outcome": _overall(self._judged.values()).value,
            "flagged": _flagged(self._judged.values()),
            "action": self.action,
            "reason": self.reason,
            "choices": [self._choice(index) for index in sorted(self._judged)],
        }

    def _choice(self, index: int) -> dict[str, Any]:
        judged = self._judged[index]
        report = judged.report
        found: dict[str, Any] = {
            "index": index,
            "outcome": judged.outcome.value,
            "reason": judged.reason,
            "action": self._action(index),
            "attempts": judged.attempts,
            "flagged": judged.flagged,
            "claims_checked": None if report is None else report.summary.claims_checked,
            "left_out": judged.left_out,
            "cut_off": judged.cut_off,
        }
        if self._asked.options.report:
            found["guidance"] = judged.guidance
            found["report"] = None if report is None else report.to_dict()
        return found

    def _action(self, index: int) -> str:
        if index in self._withheld:
            return "blocked"
        if index in self._marked or index in self._remarked:
            return "flagged"
        return "retried" if self._judged[index].number > 1 else "passed"


def verdict_headers(
    outcome: Outcome, action: str, reason: str | None, flagged: int | None = None
) -> dict[str, str]:
    """Return the headers of a reply: outcome and action, and what else is known."""
    found = {OUTCOME_HEADER: outcome.value, ACTION_HEADER: action}
    if reason is not None:
        found[REASON_HEADER] = _kind(reason)
    return found if flagged is None else found | {FLAGGED_HEADER: str(flagged)}


def proxy_answer(action: str, judged: VerifiedChoice) -> ProxyAnswer:
    """Return the event of a text that left the proxy, or was withheld."""
    return ProxyAnswer(
        action=action,
        reason=_kind(judged.reason or VERIFIED),
        detail=(judged.reason or "").partition(": ")[2],
        outcome=judged.outcome.value,
        flagged=judged.flagged,
        unverified=judged.unverified,
        waited_s=judged.waited_s,
    )


def _kind(reason: str) -> str:
    """Return a reason without its detail, which is the name of a type."""
    return reason.partition(":")[0]


def _overall(judged: Iterable[VerifiedChoice]) -> Outcome:
    outcomes = {one.outcome for one in judged}
    return next((each for each in WORST_FIRST if each in outcomes), Outcome.UNDETERMINED)


def _flagged(judged: Iterable[VerifiedChoice]) -> int | None:
    counts = [one.flagged for one in judged if one.flagged is not None]
    return sum(counts) if counts else None
