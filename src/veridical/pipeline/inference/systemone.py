"""Decision models that speak System One, `POST /v1/systemone` (extra `systemone`).

Jev, Laya, llama.cpp, Ollama, vLLM, OpenRouter and others read a state once and return, for each of
many questions about it, a probability per option. No text is generated.

Most models answer each question by itself. In some (Nimble, Clef) the questions of a request see
each other, so that a claim's probability can move with its neighbours; `claims_per_request=1`
prevents that at the price of one request per claim.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from veridical.core.measurements import BackendInfo, Estimator, Measurement, Query, Reads
from veridical.core.specs import BackendSpec
from veridical.errors import MissingExtraError
from veridical.pipeline.inference.clients import ConnectionLimiter, ensure_url, tls
from veridical.pipeline.inference.decision_replies import parsed, priced, read_envelope
from veridical.pipeline.inference.decisions import Batch, RequestLimits, decide, probe_with
from veridical.pipeline.inference.failures import malformed, unmeasured_status
from veridical.pipeline.inference.option_scores import WORDS
from veridical.pipeline.inference.prices import cost_usd
from veridical.pipeline.inference.prompts import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import httpx

    from veridical.core.measurements import Unmeasured
    from veridical.pipeline.inference.decision_replies import DecisionReply
    from veridical.pipeline.inference.prices import Usage
    from veridical.pipeline.inference.probing import Probe

DEFAULT_MODEL = "jev-latest"
"""An alias: hosted Jev takes it for its newest version, a server with one model for that one."""
DEFAULT_URL = "http://127.0.0.1:8080"
"""Default address of llama.cpp; nothing leaves the machine unless another address is given."""

_OK = 200


def create(  # noqa: PLR0913 -- options of a backend are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the server that computes
    base_url: str = DEFAULT_URL,
    api_key: str | None = None,
    timeout_s: float = 30.0,
    concurrency: int = 8,
    claims_per_request: int = 64,
    price: Callable[[Usage], float | None] | None = None,
) -> SystemOne:
    """Return a backend for a System One server (entry point `systemone`); nothing is asked yet.

    `ConfigurationError` if an option is out of range.
    """
    return SystemOne(
        model or DEFAULT_MODEL,
        base_url=base_url,
        api_key=api_key,
        limits=RequestLimits(timeout_s, concurrency, claims_per_request),
        price=price,
    )


BACKEND = BackendSpec(create, settings="systemone", priced=True)


class SystemOne:
    """P(supported, contradicted, not in context) as a decision model chooses among them.

    `base_url` is the server's address, with or without `/v1` or `/v1/systemone` at its end
    (`https://openrouter.ai/api/v1`). `api_key` is sent as a bearer token, if there is one. `price`
    is the price of a request in USD where the server does not state the cost (default: the shipped
    price).
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None,
        limits: RequestLimits,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        self._endpoint = _endpoint(ensure_url(base_url, example=DEFAULT_URL))
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._limits = limits
        self._room = ConnectionLimiter(limits.concurrency)
        self._price = price or partial(cost_usd, model)
        self.claims_per_request = limits.claims_per_request
        self.info = BackendInfo(
            name="systemone",
            model=model,
            estimator=Estimator.DECISION,
            # Claims of one request can affect each other, so the fingerprint holds their limit.
            fingerprint=fingerprint(
                "systemone", WORDS, model, self._endpoint, str(limits.claims_per_request)
            ),
            reads=Reads.WHOLE,
        )

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order.

        `MissingExtraError` without httpx.
        """
        if not queries:
            return []
        async with self._open() as client:

            async def ask(batch: Batch) -> DecisionReply | Unmeasured:
                body = json.dumps(request(batch, self.info.model)).encode()
                response = await client.post(self._endpoint, content=body, headers=self._headers)
                if response.status_code != _OK:
                    return unmeasured_status(response.status_code, response.headers, response.text)
                return priced(read_reply(parsed(response.content)), self._price)

            return await decide(queries, ask, self.info, self._limits, self._room.here())

    async def probe(self) -> Probe:
        """Ask the server one tiny question; failures are in the returned value."""
        return await probe_with(self)

    def _open(self) -> httpx.AsyncClient:
        """Return a client of its own for one call: connections belong to one event loop."""
        try:
            import httpx
        except ImportError as error:
            msg = "the backend systemone needs httpx"
            hint = "Install it with pip install 'veridical[systemone]'"
            raise MissingExtraError(msg, hint=hint) from error
        return httpx.AsyncClient(verify=tls("httpx"), timeout=self._limits.timeout_s)


def request(batch: Batch, model: str) -> dict[str, Any]:
    """Return the body of a request: `state`, and a `choice` for each claim."""
    return {
        "model": model,
        "state": batch.state,
        "questions": {
            choice.name: {
                "type": "choice",
                "instructions": choice.instructions,
                "criteria": dict(choice.options),
            }
            for choice in batch.choices
        },
    }


def read_reply(raw: object) -> DecisionReply | Unmeasured:
    """Return the answers in the JSON of a reply; a malformed reply if it has none.

    An invalid single answer costs only its own claim the measurement.
    """
    answers = raw.get("answers") if isinstance(raw, dict) else None
    if not isinstance(answers, dict):
        return read_envelope(raw, None)
    return read_envelope(raw, {name: _probabilities(answer) for name, answer in answers.items()})


def _probabilities(answer: object) -> Mapping[str, object] | Unmeasured:
    if not isinstance(answer, dict) or answer.get("type", "choice") != "choice":
        return malformed("the answer is not a choice")
    probabilities = answer.get("probabilities")
    if not isinstance(probabilities, dict):
        return malformed("the answer has no probabilities")
    return probabilities


def _endpoint(base_url: str) -> str:
    if base_url.endswith("/systemone"):
        return base_url
    return base_url + ("/systemone" if base_url.endswith("/v1") else "/v1/systemone")
