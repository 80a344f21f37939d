"""Output of the shell: results as tables or as JSON, messages on stderr."""

from __future__ import annotations

import json as json_module
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.text import Text

from veridical.audit.render import AuditLayout
from veridical.audit.values import StepAudit, TraceAudit
from veridical.core.epistemic import ClaimVerification, HallucinationReport, Verifications
from veridical.core.similarity import Contradictions, Measure
from veridical.errors import ConfigurationError
from veridical.interfaces.cli.failures import WRONG_USE, say
from veridical.interfaces.cli.output import print_rich, print_text
from veridical.pipeline.reports import Report, text
from veridical.pipeline.reports.escaping import visible
from veridical.repl import VerifiedAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType


class Display:
    """Printer of values for people, or with `json` one JSON document a line."""

    def __init__(self, *, json: bool = False) -> None:
        self._json = json

    def show(self, value: object) -> None:
        """Print a value; None is nothing to print."""
        if value is None:
            return
        if self._json:
            document = _as_json(value) + "\n"
            _ending(lambda: print_text(document))
            return
        shown, wrap = _as_rich(value, Console()), isinstance(value, str)
        _ending(lambda: print_rich(lambda console: console.print(shown, soft_wrap=wrap)))

    def say(self, line: str) -> None:
        """Print a line of the shell's own; with `json` on stderr, where it is in nobody's way."""
        said = Text(visible(line))
        if self._json:
            Console(stderr=True).print(said, soft_wrap=True)
        else:
            _ending(lambda: print_rich(lambda console: console.print(said, soft_wrap=True)))

    def flush(self) -> None:
        """Write the printed output; `SystemExit` if nobody reads it any more."""
        if sys.stdout is not None:
            _ending(lambda: print_text(""))


def _ending(put: Callable[[], bool]) -> None:
    """Print; `SystemExit` if nobody reads it any more, or it cannot be written."""
    try:
        read = put()
    except ConfigurationError as error:
        say("error", error.message, error.hint)
        raise SystemExit(WRONG_USE) from None
    if not read:
        raise SystemExit


def _as_rich(value: object, console: Console) -> RenderableType:
    layout = AuditLayout(console.encoding)
    if isinstance(value, VerifiedAnswer):
        return _answer(value, layout)
    if isinstance(value, Report):
        return text.layout(value, console)
    ways: dict[type, Callable[[Any], RenderableType]] = {
        HallucinationReport: layout.report,
        ClaimVerification: layout.claim,
        Verifications: layout.claims,
        TraceAudit: layout.audit,
        StepAudit: lambda step: layout.audit(TraceAudit((step,))),
    }
    if type(value) in ways:
        return ways[type(value)](value)
    said = str(value) if isinstance(value, str | Measure | Contradictions) else repr(value)
    return Text(visible(said))


def _answer(answer: VerifiedAnswer, layout: AuditLayout) -> RenderableType:
    said = Text(visible(answer))
    return said if answer.report is None else Group(said, Text(), layout.report(answer.report))


def _as_json(value: object) -> str:
    if isinstance(value, Verifications):
        value = [claim.to_dict() for claim in value]
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict):
        value = to_dict()
    try:
        return json_module.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return json_module.dumps(repr(value), ensure_ascii=False)
