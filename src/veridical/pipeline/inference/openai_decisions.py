"""OpenAI's decisions, `POST /v1/decisions`, through the official SDK (extra `openai`).

The same idea as System One in another shape: questions are a list, and each answer lists its
probabilities or is a refusal. Fireworks, OpenRouter and gateways serve it too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from veridical.core.measurements import BackendInfo, Estimator, Measurement, Query, Reads
from veridical.core.specs import BackendSpec
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.clients import (
    ConnectionLimiter,
    address_print,
    openai_client,
    openai_connections,
)
from veridical.pipeline.inference.decision_replies import parsed, priced, read_envelope
from veridical.pipeline.inference.decisions import Batch, RequestLimits, decide, probe_with
from veridical.pipeline.inference.failures import malformed
from veridical.pipeline.inference.option_scores import WORDS
from veridical.pipeline.inference.prices import cost_usd
from veridical.pipeline.inference.prompts import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openai.types.decision_create_params import QuestionQuestionParamChoice

    from veridical.core.measurements import Unmeasured
    from veridical.pipeline.inference.decision_replies import DecisionReply
    from veridical.pipeline.inference.prices import Usage
    from veridical.pipeline.inference.probing import Probe

DEFAULT_MODEL = "gpt-6-luna"
MOST_QUESTIONS = 400
"""The most questions that one request may ask."""


def create(  # noqa: PLR0913 -- options of a backend are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the server that computes
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 30.0,
    concurrency: int = 8,
    claims_per_request: int = 64,
    price: Callable[[Usage], float | None] | None = None,
) -> OpenAIDecisions:
    """Return a backend for OpenAI's decisions (entry point `openai-decisions`).

    `ConfigurationError` without a key or if an option is out of range, `MissingExtraError` without
    the SDK. Nothing is asked yet.
    """
    if claims_per_request > MOST_QUESTIONS:
        msg = f"claims_per_request must be {MOST_QUESTIONS} or less, not {claims_per_request}"
        raise ConfigurationError(msg, hint="Leave it out for the default")
    return OpenAIDecisions(
        model or DEFAULT_MODEL,
        base_url=base_url,
        api_key=api_key,
        limits=RequestLimits(timeout_s, concurrency, claims_per_request),
        price=price,
    )


BACKEND = BackendSpec(create, settings="openai_decisions", priced=True)


class OpenAIDecisions:
    """P(supported, contradicted, not in context) as a decision model chooses among them.

    `base_url` is that of the API, with `/v1` (`https://api.fireworks.ai/inference/v1`). Without it
    the SDK takes address and key from its own environment variables; with it a key is sent only if
    `api_key` is given, so that a key for one service never reaches another. `price` is the price of
    a request in USD where the service does not state the cost (default: the shipped price).
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None,
        api_key: str | None,
        limits: RequestLimits,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        self._client = openai_client("openai-decisions", base_url, api_key, limits.timeout_s)
        self._limits = limits
        self._room = ConnectionLimiter(limits.concurrency)
        self._price = price or partial(cost_usd, model)
        self.claims_per_request = limits.claims_per_request
        address = address_print(self._client)
        self.info = BackendInfo(
            name="openai-decisions",
            model=model,
            estimator=Estimator.DECISION,
            # Claims of one request can affect each other, so the fingerprint holds their limit.
            fingerprint=fingerprint(
                "openai-decisions", WORDS, model, address, str(limits.claims_per_request)
            ),
            reads=Reads.WHOLE,
        )

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        if not queries:
            return []
        # A client of its own for one call: connections belong to one event loop.
        async with self._client.copy(http_client=openai_connections()) as client:

            async def ask(batch: Batch) -> DecisionReply | Unmeasured:
                # Read as raw JSON: the SDK's types hold whatever a server sends.
                response = await client.decisions.with_raw_response.create(
                    model=self.info.model, input=batch.state, questions=questions(batch)
                )
                return priced(read_reply(parsed(response.content), batch), self._price)

            return await decide(queries, ask, self.info, self._limits, self._room.here())

    async def probe(self) -> Probe:
        """Ask the service one tiny question; failures are in the returned value."""
        return await probe_with(self)


def questions(batch: Batch) -> list[QuestionQuestionParamChoice]:
    """Return the questions of a request: a `choice` for each claim."""
    return [
        {
            "type": "choice",
            "name": choice.name,
            "instructions": choice.instructions,
            "choices": [
                {"value": value, "description": description}
                for value, description in choice.options.items()
            ],
        }
        for choice in batch.choices
    ]


def read_reply(raw: object, batch: Batch) -> DecisionReply | Unmeasured:
    """Return the answers in the JSON of a reply; a malformed reply if it has none.

    Answers are told apart by their names; a server that gives none must answer all questions, in
    order. An invalid single answer costs only its own claim the measurement.
    """
    answers = raw.get("answers") if isinstance(raw, dict) else None
    if not isinstance(answers, list):
        return read_envelope(raw, None)
    return read_envelope(
        raw, {name: _probabilities(answer) for name, answer in _named(answers, batch)}
    )


def _named(answers: list[Any], batch: Batch) -> list[tuple[str, Any]]:
    names = [answer.get("name") if isinstance(answer, dict) else None for answer in answers]
    if not any(names) and len(answers) == len(batch.choices):
        names = [choice.name for choice in batch.choices]
    return [(name, a) for name, a in zip(names, answers, strict=True) if isinstance(name, str)]


def _probabilities(answer: object) -> Mapping[str, object] | Unmeasured:
    kind = answer.get("type") if isinstance(answer, dict) else None
    if kind == "refusal":
        return malformed("the model refused to answer")
    if not isinstance(answer, dict) or kind != "choice":
        return malformed("the answer is not a choice")
    listed = answer.get("probabilities")
    if not isinstance(listed, list):
        return malformed("the answer has no probabilities")
    probabilities: dict[str, object] = {}
    for entry in listed:
        value = entry.get("value") if isinstance(entry, dict) else None
        if not isinstance(value, str) or value in probabilities:
            return malformed("a probability is of no option, or of one that has one")
        probabilities[value] = entry.get("probability")
    return probabilities
