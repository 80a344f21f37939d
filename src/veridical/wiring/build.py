"""Construction of verifiers, backends, text models and stores from the settings.

Backends and text models are found by entry point.
"""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from veridical.core.ports import Backend, TextModel, claims_per_request_of
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.aliases import resolve_alias
from veridical.settings.installed import (
    GROUP,
    TEXT_GROUP,
    backend_spec,
    block_key,
    find,
    installed,
    text_model_spec,
)
from veridical.settings.types import SettingsBlock
from veridical.verification.verifier import Verifier
from veridical.wiring.calibrations import calibrated

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from importlib.metadata import EntryPoint

    from veridical.core.limits import Limits
    from veridical.core.policy import Policy
    from veridical.core.specs import BackendSpec, TextModelSpec
    from veridical.pipeline.inference.aliases import Operation
    from veridical.pipeline.inference.prices import Price, Usage
    from veridical.settings import Settings
    from veridical.settings.blocks import RequestSettings
    from veridical.store import CacheTable, Store

IN_STORE, IN_MEMORY = ":store:", ":memory:"
"""The path of a cache that is in the database."""


def build_verifier(
    settings: Settings,
    *,
    backend: str | Backend | None = None,
    policy: Policy | None = None,
    operation: Operation = "check",
    limits: Limits | None = None,
) -> Verifier:
    """Return the verifier of the settings; `backend` and `policy` override theirs.

    `operation` is its purpose; the backend depends on it. Texts beyond the `limits` are refused.
    """
    named = backend_of(settings, operation) if backend is None else backend
    return Verifier(
        build_backend(settings, named, operation=operation),
        policy=policy or settings.to_policy(),
        claims_model=_claims_model(settings),
        claims_max_tokens=settings.claims.max_tokens,
        claims_timeout_s=settings.claims.timeout_s,
        batch_size=settings.hallucination.batch_size,
        limits=limits,
        hash_key=settings.telemetry.key_of_hashes,
    )


def backend_of(settings: Settings, operation: Operation) -> str:
    """Return the name of the backend for an operation."""
    if operation == "check":
        return settings.backend
    return hallucination_backend(settings, operation)


def _claims_model(settings: Settings) -> TextModel | None:
    """Return the text model for claim extraction; None if rules extract claims."""
    named, timeout_s = settings.claims.model, settings.claims.timeout_s
    return None if named is None else build_text_model(settings, named, timeout_s=timeout_s)


def build_backend(
    settings: Settings, backend: object, *, operation: Operation = "check"
) -> Backend:
    """Return a backend by its name `NAME[:MODEL]`, with the cache, limits and retries configured.

    Its threshold and temperature are from the file `calibration`, if it has any for the
    backend. A backend object is returned as it is. `operation` resolves `configurable` to a
    backend. `ConfigurationError` if no backend of that
    name is installed, or if it is not set up.
    """
    if isinstance(backend, Backend):
        return backend
    if not isinstance(backend, str):
        msg = f"a backend is a name or has `info` and `estimate`, not {type(backend).__name__}"
        raise ConfigurationError(msg, hint="'embedded' is the default")
    named = resolve_alias(backend, aliases=settings.aliases.model_dump(), operation=operation)
    name, _, model = named.partition(":")
    if name == "cascade":
        return _cascade(settings, operation, model or None)
    spec = backend_spec(_installed(GROUP, "backend", name, "cascade"))
    block = _block(settings, name, spec)
    created = _create(settings, spec, block, model or None)
    return calibrated(settings, _wrapped(settings, spec, block, created))


def is_instant(backend: Backend) -> bool:
    """Return whether the spec of a backend has `instant`."""
    spec = _spec_of(backend)
    return spec is not None and spec.instant


def is_in_process(backend: Backend) -> bool:
    """Return whether the spec of a backend has `in_process`."""
    spec = _spec_of(backend)
    return spec is not None and spec.in_process


def _spec_of(backend: Backend) -> BackendSpec | None:
    """Return the spec of a backend; None if it is of no entry point."""
    entry = installed().get(backend.info.name)
    return None if entry is None else backend_spec(entry)


def build_text_model(
    settings: Settings, model: object, *, timeout_s: float | None = None
) -> TextModel:
    """Return a text model by its name `NAME[:MODEL]`, with the limits and retries configured.

    A text model object is returned as it is. Its texts are cached if `cache.texts` is on.
    `timeout_s` is the time limit of one text in seconds (default: `extraction.timeout_s`).
    `ConfigurationError` if none of that name is installed, or if it is not set up.
    """
    if isinstance(model, TextModel):
        return model
    if not isinstance(model, str):
        msg = f"a text model is a name or has `info` and `generate`, not {type(model).__name__}"
        raise ConfigurationError(msg, hint="Name one: openai:MODEL")
    named = resolve_alias(model, aliases=settings.aliases.model_dump(), operation="check")
    name, _, of = named.partition(":")
    spec = text_model_spec(_installed(TEXT_GROUP, "text model", name))
    block = _block(settings, name, spec)
    options = _options(block, spec.options)
    if spec.priced:
        options["price"] = _priced(settings, spec, lambda: created)
    options["timeout_s"] = settings.extraction.timeout_s if timeout_s is None else timeout_s
    created = spec.create(of or None, threads=settings.threads, **options)
    return _wrapped_text_model(settings, spec, block, created)


def _cascade(settings: Settings, operation: Operation, model: str | None) -> Backend:
    """Return the cascade of both backends, each in its own wrappers."""
    from veridical.pipeline.inference.cascade import create

    block = settings.cascade
    first, second = (
        build_backend(settings, _part(settings, which, operation)) for which in ("first", "second")
    )
    return create(model, first=first, second=second, low=block.low, high=block.high)


def _part(settings: Settings, which: str, operation: Operation) -> str:
    """Return the `NAME[:MODEL]` of a backend of the cascade, which cannot be the cascade."""
    part = getattr(settings.cascade, which)
    if part is None:
        msg = f"the backend 'cascade' has no {which} backend"
        raise ConfigurationError(msg, hint=f"Set cascade.{which} to NAME:MODEL")
    named = resolve_alias(part, aliases=settings.aliases.model_dump(), operation=operation)
    if named.partition(":")[0] == "cascade":
        msg = f"the {which} backend of the cascade is the cascade itself"
        raise ConfigurationError(msg, hint=f"Set cascade.{which} to another backend")
    return named


def _create(
    settings: Settings, spec: BackendSpec, block: SettingsBlock | None, model: str | None
) -> Backend:
    options, threshold = _options(block), settings.policy.support_threshold
    if spec.sampled and threshold is not None and 0 < threshold < 1:
        options["threshold"] = threshold
    if spec.priced:
        options["price"] = _priced(settings, spec, lambda: created)
    created = spec.create(model, threads=settings.threads, **options)
    return created


def _installed(group: str, what: str, name: str, *others: str) -> EntryPoint:
    """Return the entry point of a name; `others` are names that have none."""
    entry = find(group, name)
    if entry is None:
        msg = f"there is no {what} named {name!r}"
        known = sorted([*installed(group), *others])
        near = get_close_matches(name, known, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise ConfigurationError(msg, hint=f"{meant}Installed here: {', '.join(known)}")
    return entry


def _priced(
    settings: Settings, spec: BackendSpec | TextModelSpec, asked: Callable[[], Backend | TextModel]
) -> Callable[[Usage], float | None]:
    """Return the cost of a request, by the model's full name, which only the model knows.

    `haiku` has no price. A model that is in no table may be in the list of an installed package.
    """
    from veridical.pipeline.inference.listed_prices import address_of, listed_cost_usd
    from veridical.pipeline.inference.prices import price_of

    if spec.in_process:
        return lambda _: 0.0
    table = prices(settings)

    def cost(usage: Usage) -> float | None:
        model = asked()
        price = price_of(model.info.model, table)
        if price is not None:
            return price.cost_usd(usage)
        return listed_cost_usd(model.info.model, usage, address_of(model))

    return cost


def _block(
    settings: Settings, name: str, spec: BackendSpec | TextModelSpec
) -> SettingsBlock | None:
    """Return the settings of a backend or text model; None if it has none."""
    if isinstance(spec.settings, str):
        block = getattr(settings, spec.settings, None)
        if not isinstance(block, SettingsBlock):
            msg = f"{name!r} has its settings in {spec.settings!r}, which is no block of them"
            raise ConfigurationError(msg, hint="docs/backends.md, Write your own backend")
        return block
    own: SettingsBlock | None = getattr(settings.backends, block_key(name), None)
    return spec.settings() if own is None and spec.settings is not None else own


def _options(block: SettingsBlock | None, taken: Container[str] | None = None) -> dict[str, Any]:
    """Return the settings that are not null, those `taken` (default: all), secrets as text."""
    values = {
        key: value
        for key, value in dict(block or {}).items()
        if value is not None and (taken is None or key in taken)
    }
    return {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in values.items()
    }


def _wrapped(
    settings: Settings, spec: BackendSpec, block: SettingsBlock | None, backend: Backend
) -> Backend:
    from veridical.pipeline.inference.wrappers import wrap

    if spec.instant:
        return wrap(backend, **_cache(settings))
    return wrap(
        backend,
        **_cache(settings),
        deadline_s=settings.requests.deadline_s,
        **_service(settings.requests),
        at_once=_concurrency(block),
        **_paid(settings, spec, backend),
        batch=claims_per_request_of(backend),
    )


def _wrapped_text_model(
    settings: Settings, spec: TextModelSpec, block: SettingsBlock | None, model: TextModel
) -> TextModel:
    """Return a text model in the same wrappers.

    A model in this process writes one text at a time and is deterministic: it needs no retries and
    rates. Requests to services wait for one of `concurrency` slots without a limit: a text may
    take minutes, and the deadline bounds it.
    """
    from veridical.pipeline.inference.wrappers import wrap_text_model

    kept = _cache(settings) if settings.cache.texts else {}
    if spec.in_process:
        return wrap_text_model(model, **kept, deadline_s=settings.requests.deadline_s)
    return wrap_text_model(
        model,
        **kept,
        deadline_s=settings.requests.deadline_s,
        **_service(settings.requests),
        concurrency=_concurrency(block),
        slot_wait_s=math.inf,
        **_paid(settings, spec, model),
    )


def _concurrency(block: SettingsBlock | None) -> int | None:
    """Return the limit of concurrent requests; None if the settings have none."""
    return getattr(block, "concurrency", None)


def _paid(
    settings: Settings, spec: BackendSpec | TextModelSpec, asked: Backend | TextModel
) -> dict[str, Any]:
    """Return the inputs of a budget: the price of a request, and the bound on its usage."""
    from veridical.pipeline.inference.prices import dearest, usage_bound

    price = dearest(_priced(settings, spec, lambda: asked))
    return {"price": price, "most": lambda: usage_bound(asked)}


def _cache(settings: Settings) -> dict[str, Any]:
    from veridical.pipeline.inference.wrappers.cache import DAY_S

    cache = settings.cache
    path = cache.path or (None if cache.ttl_s is None else IN_MEMORY)
    return {
        "cache": _cache_table(settings) if path == IN_STORE else path,
        "cache_ttl_s": cache.ttl_s or DAY_S,
        "cache_max_entries": cache.max_entries,
        "cache_project": settings.store.project,
    }


def _cache_table(settings: Settings) -> CacheTable:
    from veridical.store.cache import WAIT_S, CacheTable

    store = build_store(settings, wait_s=WAIT_S)
    return CacheTable(store, max_entries=settings.cache.max_entries)


def _service(requests: RequestSettings) -> dict[str, Any]:
    """Return the request options of a service, which may be slow, busy, down and paid."""
    return {
        "attempts": requests.attempts,
        "requests_per_minute": requests.per_minute,
        "tokens_per_minute": requests.tokens_per_minute,
        "max_wait_s": requests.max_wait_s,
        "breaker_failures": requests.breaker_failures,
        "breaker_reset_s": requests.breaker_reset_s,
        "max_cost_usd": requests.max_cost_usd,
    }


def build_store(settings: Settings, *, wait_s: float | None = None) -> Store:
    """Return the database of the settings; it is opened when first used.

    A write to SQLite waits up to `wait_s` seconds for others (default: half a minute).
    """
    from veridical.store import Store, default_url

    url, project = settings.store.url or default_url(), settings.store.project
    return Store(url, project=project) if wait_s is None else Store(url, wait_s, project=project)


def hallucination_backend(settings: Settings, operation: Operation) -> str:
    """Return the backend of a host's automatic checks: of the operation, the type, the default.

    `default` is used where there is no type, or its type has no backend.
    """
    block, aliases = settings.hallucination.backend, settings.aliases.model_dump()
    if aliases[operation]:
        return str(aliases[operation])
    default = block.default or settings.backend
    if block.type in {None, "configurable"}:
        return default
    return default if aliases.get(block.type, block.type) is None and block.default else block.type


def prices(settings: Settings) -> Mapping[str, Price]:
    """Return the prices in force: the shipped ones, overridden by the file `prices`."""
    from veridical.pipeline.inference.prices import price_table, read_prices

    own = None if settings.prices is None else read_prices(settings.prices)
    return price_table(own)
