"""Test doubles and contract checks for programs that use veridical, and for backends."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Estimator,
    Generated,
    Measurement,
    Query,
    TextModelInfo,
    TextRequest,
    Unmeasured,
)
from veridical.core.ports import estimators_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from veridical.core.ports import Backend, TextModel

FAKE = BackendInfo(name="fake", model="fake", estimator=Estimator.DECISION, fingerprint="fake")


def fake_estimate(
    supported: float, contradicted: float | None = 0.0, *, low: float | None = None
) -> Estimate:
    """Return an estimate; the remaining probability is `not_in_context`.

    A `contradicted` of None makes it one of a yes/no-only backend; `low` widens the interval.
    """
    return Estimate(
        supported=supported,
        contradicted=contradicted,
        not_in_context=None if contradicted is None else 1.0 - supported - contradicted,
        low=supported if low is None else low,
        high=supported,
        estimator=FAKE.estimator,
        model=FAKE.model,
        fingerprint=FAKE.fingerprint,
    )


@dataclass
class FakeBackend:
    """Backend that returns `answer(query)` for each query and records the queries."""

    answer: Callable[[Query], Measurement]
    info: BackendInfo = FAKE
    queries: list[Query] = field(default_factory=list)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return one answer per query, in order."""
        self.queries += queries
        return [self.answer(query) for query in queries]


_EVIDENCE = "The bridge was opened in 1998 and carries nine thousand vehicles a day."
_PROBES = (
    Query("The bridge was opened in 1998.", _EVIDENCE),
    Query("The bridge was opened in 1850.", _EVIDENCE),
    Query("The bridge was opened in 1998.", "[EVIDENCE REMOVED]"),
    Query("<|im_end|> \x00 \u202e [EVIDENCE REMOVED] YES 👩‍👩‍👧 العربية", _EVIDENCE),
    Query("The bridge was opened in 1998.", _EVIDENCE, question="When was it opened?"),
    Query("The bridge was opened in 1998.", "word " * 200_000),
)


async def check_backend(backend: Backend) -> None:
    """Raise `AssertionError` unless `backend` fulfils the contract of the port.

    One measurement per query, in order; no measurements without queries; the same measurement for
    the same query; a text that is too long is a value, not an exception; estimates name their
    origin.
    """
    _expect(len(await backend.estimate([])) == 0, "no queries, no measurements")
    measured = await backend.estimate(_PROBES)
    _expect(len(measured) == len(_PROBES), "one measurement per query")
    for measurement in measured:
        _expect(isinstance(measurement, Estimate | Unmeasured), "a measurement is a value")
        _expect_origin(measurement, estimators_of(backend))
    again = await backend.estimate(_PROBES[::-1])
    for first, second in zip(measured, again[::-1], strict=True):
        _expect(_content(first) == _content(second), "order and company do not matter")


def _expect_origin(measurement: Measurement, estimators: Collection[Estimator]) -> None:
    if isinstance(measurement, Estimate):
        _expect(measurement.estimator in estimators, "an estimate names its estimator")
        _expect(bool(measurement.model and measurement.fingerprint), "and its model")


def _content(measurement: Measurement) -> object:
    if isinstance(measurement, Unmeasured):
        return measurement.reason
    return measurement.supported, measurement.contradicted, measurement.not_in_context


def _expect(promise: bool, what: str) -> None:  # noqa: FBT001 -- an assertion reads like this
    if not promise:
        msg = f"this breaks a promise of the port: {what}"
        raise AssertionError(msg)


# --- models that write text ------------------------------------------------------------------

FAKE_TEXT = TextModelInfo(name="fake", model="fake")


@dataclass
class FakeTextModel:
    """Text model that returns `answer(request)` for each request and records the requests."""

    answer: Callable[[TextRequest], str | Generated | Unmeasured]
    info: TextModelInfo = FAKE_TEXT
    requests: list[TextRequest] = field(default_factory=list)

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        """Return the answer to a request; the cost of a plain text is unknown."""
        self.requests.append(request)
        answer = self.answer(request)
        return Generated(answer, self.info.model) if isinstance(answer, str) else answer


_FEW_TOKENS, _ENOUGH_TOKENS = 2, 32
_SCHEMA = {
    "type": "object",
    "properties": {"sky": {"type": "string", "enum": ["blue", "green"]}},
    "required": ["sky"],
    "additionalProperties": False,
}
_TEXT_PROBES = (
    TextRequest("You are brief.", "Say hello.", max_tokens=_FEW_TOKENS),
    TextRequest("You are brief.", "Say hello.", max_tokens=_FEW_TOKENS, temperature=1.0, seed=7),
    TextRequest("<|im_end|> \x00 \u202e 👩‍👩‍👧", "العربية", max_tokens=_FEW_TOKENS),
    TextRequest("You are brief.", "word " * 200_000, max_tokens=_FEW_TOKENS),
)
_JSON_PROBE = TextRequest(
    "You answer in JSON.",
    'Which colour has the sky? Answer {"sky": "blue"} or {"sky": "green"}.',
    _SCHEMA,
    _ENOUGH_TOKENS,
)


async def check_text_model(model: TextModel, *, holds_schema: bool = False) -> None:
    """Raise `AssertionError` unless `model` fulfils the contract of the port.

    Every request returns a value; a generated text names its model and has no negative counts; a
    text that is too long is a value, not an exception. With `holds_schema` a request for JSON
    returns JSON of its schema.
    """
    _expect(bool(model.info.name and model.info.model), "a text model names itself")
    for request in _TEXT_PROBES:
        _expect_generated(await model.generate(request))
    found = await model.generate(_JSON_PROBE)
    _expect_generated(found)
    if holds_schema:
        text = found.text if isinstance(found, Generated) else "null"
        written = json.loads(text)
        _expect(isinstance(written, dict) and written.keys() == {"sky"}, "the schema holds")
        _expect(written["sky"] in {"blue", "green"}, "the schema holds")


def _expect_generated(found: Generated | Unmeasured) -> None:
    _expect(isinstance(found, Generated | Unmeasured), "what is generated is a value")
    if isinstance(found, Generated):
        _expect(isinstance(found.text, str) and bool(found.model), "a text names its model")
        figures = (found.prompt_tokens, found.output_tokens, found.cost_usd, found.latency_ms)
        _expect(all(figure is None or figure >= 0 for figure in figures), "no count is below 0")
