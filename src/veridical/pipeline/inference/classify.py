"""Classifiers behind Text Embeddings Inference or vLLM (extra `classify`).

A classifier reads evidence and claim and gives a probability for each of its classes. Many public
verifiers are such models; a server with a GPU runs them where the embedded one is too small.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Reads,
    Taken,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import BackendSpec
from veridical.errors import ConfigurationError, MissingExtraError, VeridicalError
from veridical.pipeline.inference import presets
from veridical.pipeline.inference.classifier_servers import FORMATS, Classifier
from veridical.pipeline.inference.clients import ConnectionLimiter, ensure_url, tls
from veridical.pipeline.inference.decision_replies import parsed
from veridical.pipeline.inference.decisions import RequestLimits, shares
from veridical.pipeline.inference.failures import unmeasured_error, unmeasured_status
from veridical.pipeline.inference.onnx_graphs import FOREIGN, is_read
from veridical.pipeline.inference.option_scores import CONTRADICTED, Distribution
from veridical.pipeline.inference.prices import Usage, cost_usd
from veridical.pipeline.inference.probing import QUESTION, Probe
from veridical.pipeline.inference.prompts import fingerprint
from veridical.pipeline.inference.text_form import TextForm
from veridical.pipeline.inference.wrappers.base import run_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx

    from veridical.pipeline.inference.classifier_servers import Input, ServerFormat, ServerName

EXAMPLE = "classify:http://127.0.0.1:8080"

SUPPORT_THRESHOLD = 0.5
"""Threshold of a model without a preset: a class is chosen if it is likelier than all others."""

_OK = 200
_REFUSALS = frozenset({"HTTP 400", "HTTP 422", "HTTP 424"})
"""Statuses that one text of a request may have caused."""


def create(  # noqa: PLR0913 -- options of a backend are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the server that computes
    server: ServerName | None = None,
    preset: str | None = None,
    labels: Sequence[str] | None = None,
    template: str | None = None,
    api_key: str | None = None,
    texts_per_request: int = 32,
    concurrency: int = 8,
    timeout_s: float = 30.0,
    price: Callable[[Usage], float | None] | None = None,
) -> ServedClassifier:
    """Return a backend for the classifier at an address (entry point `classify`); nothing is asked.

    `server` is the kind of server (default: it is asked). `labels` are the names of the model's
    classes in their order, `template` is the text in which it reads `{context}` and `{claim}`
    (default: a pair of both). A `preset` has all three for a public verifier. `ConfigurationError`
    without an address, or for options that are out of range or do not fit each other.
    """
    if not model:
        msg = "the backend classify has no address"
        raise ConfigurationError(msg, hint=f"Name one: {EXAMPLE}")
    form = TextForm.of(None if preset is None else presets.preset(preset), labels, template)
    return ServedClassifier(
        model,
        form,
        server=server,
        api_key=api_key,
        limits=RequestLimits(timeout_s, concurrency, texts_per_request),
        price=price,
    )


BACKEND = BackendSpec(create, settings="classify", priced=True)


class ServedClassifier:
    """P(supported, contradicted, not in context) as a classifier's classes mean them.

    The server is asked once what it serves. A request that is refused because of one of its texts
    is halved, so that the other texts are measured. `price` is the price of a request in USD
    (default: the shipped price of the address, None if there is none).
    """

    def __init__(  # noqa: PLR0913 -- see create
        self,
        url: str,
        form: TextForm,
        *,
        limits: RequestLimits,
        server: ServerName | None = None,
        api_key: str | None = None,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        self._url = _address(url)
        self._form = form
        self._formats = [FORMATS[server]] if server else list(FORMATS.values())
        if form.is_pair and not any(fmt.pairs for fmt in self._formats):
            raise _no_pairs()
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._limits = limits
        self._room = ConnectionLimiter(limits.concurrency)
        self._served: tuple[ServerFormat, Classifier] | None = None
        self.claims_per_request = limits.claims_per_request
        address = self._url.partition("://")[2]
        self._price = price or partial(cost_usd, address)
        preset = form.preset
        self._info = BackendInfo(
            name="classify",
            model=address,
            estimator=Estimator.CROSS_ENCODER,
            fingerprint=fingerprint("classify", self._url, repr(form)),
            support_threshold=SUPPORT_THRESHOLD if preset is None else preset.threshold,
            reads=Reads.PASSAGES if preset is None else Reads(preset.reads),
            languages=None if preset is None else preset.languages,
            tells_contradiction=preset is None or preset.contradicts,
            measures_dependence=False,
        )

    @property
    def info(self) -> BackendInfo:
        """Metadata; the address stands for the model until the server was asked."""
        if self._served is None:
            return self._info
        _, classifier = self._served
        return replace(self._info, tells_contradiction=CONTRADICTED in classifier.meanings)

    @property
    def served_model(self) -> str | None:
        """Name of the model, as the server gives it; None until it was asked."""
        return None if self._served is None else self._served[1].model

    async def ask_model(self) -> None:
        """Ask the server what it serves, unless it is known; errors as in `estimate`."""
        async with self._open() as client:
            await self._ask_served(client)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order.

        `ConfigurationError` if the server is of no known kind, or serves a model whose classes are
        unknown; `MissingExtraError` without httpx.
        """
        if not queries:
            return []
        results: list[Measurement] = [FOREIGN] * len(queries)
        asked = [i for i, query in enumerate(queries) if is_read(query, self.info.languages)]
        async with self._open() as client:
            failure = await self._ask_served(client)
            if failure is not None:
                return [failure] * len(queries)
            rows = [self._form.inputs(queries[i]) for i in asked]
            found = iter(await self._measure_all(client, [one for row in rows for one in row]))
        for i, row in zip(asked, rows, strict=True):
            results[i] = _joined([next(found) for _ in row])
        return results

    async def probe(self) -> Probe:
        """Ask the server what it serves, and one tiny question."""
        try:
            (found,) = await self.estimate([QUESTION])
        except VeridicalError as error:
            return Probe(ok=False, detail=str(error))
        if isinstance(found, Unmeasured) or self._served is None:
            detail = f"{found.reason}: {found.detail}" if isinstance(found, Unmeasured) else ""
            return Probe(ok=False, detail=detail)
        fmt, classifier = self._served
        classes = ", ".join(classifier.names or classifier.meanings)
        return Probe(ok=True, detail=f"{fmt.title} serves {classifier.model}: {classes}")

    async def _measure_all(
        self, client: httpx.AsyncClient, inputs: Sequence[Input]
    ) -> list[Measurement]:
        results: dict[int, Measurement] = {}

        async def measure(places: list[int]) -> None:
            found = await self._measure(client, [inputs[i] for i in places])
            if isinstance(found, Unmeasured) and len(places) > 1 and _of_one_text(found):
                middle = len(places) // 2
                await measure(places[:middle])
                await measure(places[middle:])
                return
            measured = [found] * len(places) if isinstance(found, Unmeasured) else found
            results.update(zip(places, measured, strict=True))

        # Texts of one length together: a server fills the others of a request up to the longest.
        places = sorted(range(len(inputs)), key=lambda i: sum(map(len, inputs[i])))
        size = self._texts_per_request
        pieces = [places[start : start + size] for start in range(0, len(places), size)]
        await run_bounded(pieces, measure, at_once=self._limits.concurrency)
        return [results[i] for i in range(len(inputs))]

    @property
    def _texts_per_request(self) -> int:
        most = self._served[1].most if self._served else None
        return min(self._limits.claims_per_request, most or self._limits.claims_per_request)

    async def _measure(
        self, client: httpx.AsyncClient, inputs: Sequence[Input]
    ) -> list[Measurement] | Unmeasured:
        """Return the measurements of one request; one failure if it has none."""
        fmt, classifier = self._known()
        started = perf_counter()
        response = await self._send(client, "POST", fmt.path, fmt.request(inputs))
        if isinstance(response, Unmeasured):
            return response
        latency_ms = (perf_counter() - started) * 1000
        raw = parsed(response.content)
        found = fmt.read(raw, len(inputs), classifier)
        if isinstance(found, Unmeasured):
            return found
        tokens = fmt.tokens(raw, response.headers)
        measured = sum(isinstance(one, Distribution) for one in found)
        counts = iter(shares(tokens, max(1, measured)))
        cost = None if tokens is None else self._price(Usage(tokens, 0))
        each = None if cost is None else cost / max(1, measured)
        return [
            one
            if isinstance(one, Unmeasured)
            else self._estimate(one, latency_ms, next(counts), each)
            for one in found
        ]

    def _estimate(
        self, found: Distribution, latency_ms: float, tokens: int | None, cost: float | None
    ) -> Estimate:
        _, classifier = self._known()
        return Estimate(
            supported=found.supported,
            contradicted=found.contradicted,
            not_in_context=found.not_stated,
            low=found.low,
            high=found.high,
            estimator=self._info.estimator,
            model=classifier.model,
            fingerprint=self._info.fingerprint,
            latency_ms=latency_ms,
            tokens=tokens,
            cost_usd=cost,
        )

    def _known(self) -> tuple[ServerFormat, Classifier]:
        if self._served is None:
            msg = "the server has not been asked"
            raise RuntimeError(msg)
        return self._served

    async def _ask_served(self, client: httpx.AsyncClient) -> Unmeasured | None:
        """Find out once what is served; the failure if the server does not say.

        `ConfigurationError` if it is of no known kind, or its model cannot be read.
        """
        if self._served is not None:
            return None
        for fmt in self._formats:
            response = await self._send(client, "GET", fmt.about)
            if isinstance(response, Unmeasured):
                if response.detail == "HTTP 404":
                    continue
                return response
            raw = parsed(response.content)
            if fmt.describes(raw):
                if self._form.is_pair and not fmt.pairs:
                    raise _no_pairs()
                self._served = fmt, fmt.classifier(raw, self._form.labels)
                return None
        kinds = " or ".join(fmt.title for fmt in self._formats)
        msg = f"the server does not describe itself as {kinds}"
        raise ConfigurationError(msg, hint=f"Check the address: {EXAMPLE}")

    async def _send(
        self, client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None = None
    ) -> httpx.Response | Unmeasured:
        """Return the reply to a request; a failing request is a value."""
        content = None if body is None else json.dumps(body).encode()
        try:
            async with self._room.here():
                with anyio.fail_after(self._limits.timeout_s):
                    response = await client.request(
                        method, self._url + path, content=content, headers=self._headers
                    )
        except Exception as error:  # noqa: BLE001 -- a failing request is a value
            return unmeasured_error(error)
        if response.status_code != _OK:
            return unmeasured_status(response.status_code, response.headers, response.text)
        return response

    def _open(self) -> httpx.AsyncClient:
        """Return a client of its own for one call: connections belong to one event loop."""
        try:
            import httpx
        except ImportError as error:
            msg = "the backend classify needs httpx"
            hint = "Install it with pip install 'veridical[classify]'"
            raise MissingExtraError(msg, hint=hint) from error
        return httpx.AsyncClient(verify=tls("httpx"), timeout=self._limits.timeout_s)


def _joined(measured: Sequence[Measurement]) -> Measurement:
    """Return the joint measurement of the windows of a query: the most that any of them supports.

    Unmeasured if one of them is: it might have held the evidence.
    """
    missing = [one for one in measured if isinstance(one, Unmeasured)]
    read = [one for one in measured if isinstance(one, Estimate)]
    if missing or len(read) == 1:
        return missing[0] if missing else read[0]
    supported = max(one.supported for one in read)
    contradicted = max(one.contradicted for one in read if one.contradicted is not None)
    total = max(1.0, supported + contradicted)
    supported, contradicted = supported / total, contradicted / total
    took = Taken.by(read)
    return replace(
        read[0],
        supported=supported,
        contradicted=contradicted,
        not_in_context=max(0.0, 1.0 - supported - contradicted),
        low=supported,
        high=supported,
        latency_ms=max(one.latency_ms for one in read if one.latency_ms is not None),
        tokens=took.tokens,
        cost_usd=took.cost_usd,
    )


def _of_one_text(failure: Unmeasured) -> bool:
    """Return whether one text of a request may have caused its failure."""
    too_long = failure.reason is UnmeasuredReason.CONTEXT_TOO_LONG
    return too_long or failure.detail in _REFUSALS


def _address(url: str) -> str:
    address = ensure_url(url, example=EXAMPLE)
    if urlsplit(address).username is not None:
        msg = "the address of a classifier server holds a password"
        raise ConfigurationError(msg, hint="Set classify.api_key instead")
    return address


def _no_pairs() -> ConfigurationError:
    msg = "vLLM reads single texts, and the model reads pairs"
    hint = "Set classify.template, or serve it with Text Embeddings Inference"
    return ConfigurationError(msg, hint=hint)
