"""Vectors of texts from any OpenAI-compatible endpoint for embeddings (extra `openai`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import TextModelInfo, Unmeasured
from veridical.pipeline.inference.clients import (
    address_print,
    ensure_positive,
    openai_client,
    openai_connections,
)
from veridical.pipeline.inference.failures import malformed, unmeasured_error

if TYPE_CHECKING:
    from collections.abc import Sequence


class OpenAIEmbeddings:
    """Embeddings of a model behind an endpoint; nothing is asked before they are needed.

    `ConfigurationError` without a key or an address, `MissingExtraError` without the SDK.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        ensure_positive(timeout_s=timeout_s)
        self._client = openai_client("openai", base_url, api_key, timeout_s)
        self._timeout_s = timeout_s
        self.info = TextModelInfo("openai", model)
        self.fingerprint = address_print(self._client)

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Unmeasured:
        """Return a vector for each text, in one request; or the reason for their absence."""
        try:
            with anyio.fail_after(self._timeout_s):
                # A client of its own for one call: connections belong to one event loop.
                async with self._client.copy(http_client=openai_connections()) as client:
                    reply = await client.embeddings.create(
                        model=self.info.model, input=list(texts), encoding_format="float"
                    )
        except Exception as error:  # noqa: BLE001 -- a failing request is a value
            return unmeasured_error(error)
        try:
            found = {one.index: one.embedding for one in reply.data}
            vectors = [found[number] for number in range(len(texts))]
            fine = _are_vectors(vectors)
        except (AttributeError, KeyError, TypeError):  # the SDK does not validate replies
            fine = False
        return vectors if fine else malformed("not a vector of one length for each text")


def _are_vectors(found: Sequence[Sequence[float]]) -> bool:
    lengths = {len(vector) for vector in found}
    finite = all(math.isfinite(number) for vector in found for number in vector)
    return finite and len(lengths) <= 1 and 0 not in lengths
