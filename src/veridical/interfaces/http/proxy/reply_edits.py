"""Edits of the texts of a reply, and the information for the client about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.core.assessment import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from veridical.interfaces.http.proxy.checking import VerifiedChoice
    from veridical.interfaces.http.proxy.request import ProxyRequest

SCHEMA = "veridical.proxy/1"
OUTCOME_HEADER = "x-veridical-outcome"
FLAGGED_HEADER = "x-veridical-flagged"

WORST_FIRST = (
    Outcome.FLAGGED,
    Outcome.UNDETERMINED,
    Outcome.GROUNDED,
    Outcome.NOTHING_TO_CHECK,
)


class ReplyEdits:
    """Edits of each choice, by its index.

    Where a choice calls tools nothing is done: it only gets its verdict. JSON gets no marks.
    """

    def __init__(
        self, asked: ProxyRequest, judged: Mapping[int, VerifiedChoice], calling: Collection[int]
    ) -> None:
        self._asked = asked
        self._judged = judged
        texts = {index: one for index, one in judged.items() if index not in calling}
        self._withheld = {index: one for index, one in texts.items() if one.blocked}
        marks = asked.prose and asked.options.on_failure != "pass"
        self._marked = {
            index: one
            for index, one in texts.items()
            if marks and one.to_mark and index not in self._withheld
        }

    @property
    def withheld(self) -> dict[int, str]:
        """Notices for the choices that are not to be shown."""
        return {index: one.notice for index, one in self._withheld.items()}

    @property
    def marked(self) -> dict[int, str]:
        """Texts with marks at their flagged claims."""
        return {index: one.marked for index, one in self._marked.items()}

    @property
    def legends(self) -> dict[int, str]:
        """Remarks to follow texts that have been sent."""
        return {index: one.legend for index, one in self._marked.items()}

    @property
    def verdict(self) -> dict[str, Any]:
        """Verdict on all texts of the reply, as a JSON object of schema `veridical.proxy/1`."""
        return {
            "schema": SCHEMA,
            "outcome": _overall(self._judged.values()).value,
            "flagged": _flagged(self._judged.values()),
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
        if index in self._marked:
            return "flagged"
        return "retried" if self._judged[index].number > 1 else "passed"


def headers_of(judged: Mapping[int, VerifiedChoice]) -> dict[str, str]:
    """Return the headers with the outcome, and the number of flagged claims if known."""
    found = {OUTCOME_HEADER: _overall(judged.values()).value}
    flagged = _flagged(judged.values())
    return found if flagged is None else found | {FLAGGED_HEADER: str(flagged)}


def _overall(judged: Iterable[VerifiedChoice]) -> Outcome:
    outcomes = {one.outcome for one in judged}
    return next((each for each in WORST_FIRST if each in outcomes), Outcome.UNDETERMINED)


def _flagged(judged: Iterable[VerifiedChoice]) -> int | None:
    counts = [one.flagged for one in judged if one.flagged is not None]
    return sum(counts) if counts else None
