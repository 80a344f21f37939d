"""Text models in the wrappers of backends, and a cache of their texts."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import sha256
from time import perf_counter
from typing import TYPE_CHECKING, Any

from veridical.core.measurements import Generated, TextModelInfo, TextRequest, Unmeasured
from veridical.core.ports import fingerprint_of
from veridical.core.projects import DEFAULT_PROJECT
from veridical.pipeline.inference.wrappers.base import safe_estimate
from veridical.pipeline.inference.wrappers.cache import DAY_S, CachingWrapper, digest_of, encoded
from veridical.pipeline.inference.wrappers.stack import bounded, store_of
from veridical.pipeline.inference.wrappers.stores import MAX_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from veridical.core.ports import TextModel
    from veridical.pipeline.inference.wrappers.base import Estimates
    from veridical.pipeline.inference.wrappers.stores import EstimateStore

    Texts = Estimates[TextRequest, Generated, TextModelInfo]


def wrap_text_model(
    model: TextModel,
    *,
    cache: str | Path | EstimateStore | None = None,
    cache_ttl_s: float = DAY_S,
    cache_max_entries: int = MAX_ENTRIES,
    cache_project: str = DEFAULT_PROJECT,
    **bounds: Any,  # noqa: ANN401 -- those of `bounded`, each of its own type
) -> TextModel:
    """Return the text model with the requested wrappers.

    `bounds` are the options of `bounded`, the `cache` options the same as in `wrap`. The cache
    keeps the texts themselves, and only texts written at a temperature of 0. `ConfigurationError`
    for values that make no sense.
    """
    batch = _Batch(model)
    inner: Texts = bounded(batch, **bounds)
    if cache is not None:
        store = store_of(cache, cache_max_entries)
        options = {"ttl_s": cache_ttl_s, "project": cache_project}
        kept: Texts = TextCache(inner, store, fingerprint=fingerprint_of(model), **options)
        return WrappedTextModel(model, inner, kept)
    return model if inner is batch else WrappedTextModel(model, inner, inner)


class WrappedTextModel:
    """Text model around another one, with its metadata; `wrapped` is the inner one.

    Requests at a temperature of 0 go through `kept`, all others through `inner`.
    """

    def __init__(self, model: TextModel, inner: Texts, kept: Texts) -> None:
        self.wrapped = model
        self.inner = inner
        self.kept = kept

    @property
    def info(self) -> TextModelInfo:
        """Name and model of the wrapped text model."""
        return self.wrapped.info

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the wrapped text model."""
        return fingerprint_of(self.wrapped)

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        """Return the model's text, new or cached; `latency_ms` holds all waiting."""
        started = perf_counter()
        (found,) = await safe_estimate(
            self.inner if request.temperature > 0 else self.kept, [request]
        )
        if isinstance(found, Unmeasured):
            return found
        return replace(found, latency_ms=(perf_counter() - started) * 1000)

    def close(self) -> None:
        """Release the resources of the wrapped text model, if it has any."""
        if close := getattr(self.wrapped, "close", None):
            close()


class TextCache(CachingWrapper[TextRequest, Generated, TextModelInfo]):
    """Cache of texts; a text that cost nothing more took no tokens and no money.

    A key is a hash of the model, its `fingerprint` and the request. The values are the texts.
    """

    def __init__(
        self,
        model: Texts,
        store: EstimateStore,
        *,
        fingerprint: str = "",
        **options: Any,  # noqa: ANN401 -- those of `CachingWrapper`
    ) -> None:
        super().__init__(model, store, **options)
        self._fingerprint = fingerprint

    def keys(self, queries: Sequence[TextRequest]) -> list[bytes]:
        """Return the 32-byte key of each request."""
        parts = ("text", self.info.name, self.info.model, self._fingerprint)
        origin = b"".join(map(digest_of, parts))
        return [sha256(origin + _digest(request)).digest() for request in queries]

    def written(self, result: Generated) -> bytes | None:
        """Return a text, and its usage, as JSON."""
        return encoded(asdict(result))

    def read(self, value: bytes) -> Generated | None:
        """Return the text that is stored; None if the value is damaged."""
        try:
            found = Generated(**json.loads(value))
        except (ValueError, TypeError, RecursionError):
            return None
        typed = (isinstance(found.text, str), isinstance(found.model, str))
        return self.again(found) if all(typed) and isinstance(found.cut_off, bool) else None

    def again(self, result: Generated) -> Generated:
        """Return the text as one that took nothing, with `cached` set."""
        nothing: Generated = replace(result, prompt_tokens=0, output_tokens=0, cached=True)
        return replace(nothing, cost_usd=0.0, latency_ms=0.0)


class _Batch:
    """Adapter of a text model for wrappers: several requests, of which there is always one."""

    def __init__(self, model: TextModel) -> None:
        self._model = model

    @property
    def info(self) -> TextModelInfo:
        """Name and model."""
        return self._model.info

    async def estimate(self, queries: Sequence[TextRequest]) -> Sequence[Generated | Unmeasured]:
        """Return the text of each request."""
        return [await self._model.generate(request) for request in queries]


def _digest(request: TextRequest) -> bytes:
    """Return a hash of the whole request; the order of a schema's keys is a part of it."""
    schema = "null" if request.schema is None else json.dumps(dict(request.schema), default=repr)
    numbers = repr((request.max_tokens, float(request.temperature), request.seed))
    return b"".join(map(digest_of, (request.system, request.user, schema, numbers)))
