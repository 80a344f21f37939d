"""Settings -> Verifier: the only wiring. Backends are found by entry point."""

from __future__ import annotations

from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from veridical.core.ports import Backend
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.aliases import resolve_alias
from veridical.verifier import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from veridical.pipeline.inference.aliases import Operation
    from veridical.pipeline.inference.prices import Price
    from veridical.settings import Settings

GROUP = "veridical.backends"
LOCAL = frozenset({"embedded"})
"""Backends that answer in this process at once: of the wrappers only the cache makes sense."""

PRICED = frozenset({"anthropic", "openai"})
"""Backends that say what each request cost, and take `price` for it."""


def build_verifier(settings: Settings, *, backend: str | Backend | None = None) -> Verifier:
    """Return the verifier that the settings describe; `backend` overrides theirs."""
    return Verifier(
        build_backend(settings, settings.backend if backend is None else backend),
        policy=settings.to_policy(),
    )


def build_backend(
    settings: Settings, backend: object, *, operation: Operation = "check"
) -> Backend:
    """Return a backend by its name `NAME[:MODEL]`, with the cache, limits and retries configured.

    One that is built already is returned as it is. `operation` decides what `configurable` stands
    for. `ConfigurationError` if no backend of that name is installed, or if it is not set up.
    """
    if isinstance(backend, Backend):
        return backend
    if not isinstance(backend, str):
        msg = f"a backend is a name or has `info` and `estimate`, not {type(backend).__name__}"
        raise ConfigurationError(msg, hint="'embedded' is the default")
    named = resolve_alias(backend, aliases=settings.aliases.model_dump(), operation=operation)
    if named == "cascade":
        return _cascade(settings, operation)
    name, _, model = named.partition(":")
    return _wrapped(settings, name, _create(settings, name, model or None))


def _cascade(settings: Settings, operation: Operation) -> Backend:
    """Return both backends, each in its own wrappers, one behind the other."""
    from veridical.pipeline.inference.cascade import Cascade

    block = settings.cascade
    if block.second is None:
        msg = "the backend 'cascade' has no second backend"
        raise ConfigurationError(msg, hint="Set cascade.second to NAME:MODEL")
    first, second = (
        build_backend(settings, part, operation=operation) for part in (block.first, block.second)
    )
    return Cascade(first, second, low=block.low, high=block.high)


def _create(settings: Settings, name: str, model: str | None) -> Backend:
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        msg = f"there is no backend named {name!r}"
        known = ", ".join(sorted([*found, "cascade"]))
        raise ConfigurationError(msg, hint=f"Installed here: {known}")
    options = _options(settings, name, model)
    created: Backend = found[name].load()(model, threads=settings.threads, **options)
    return created


def _options(settings: Settings, name: str, model: str | None) -> dict[str, Any]:
    """Return what the settings say of a backend; those that have no block have no options."""
    block = getattr(settings, name.replace("-", "_"), None)
    values = {key: value for key, value in dict(block or {}).items() if value is not None}
    options = {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in values.items()
    }
    if name in PRICED and model:
        from veridical.pipeline.inference.prices import cost_usd

        options["price"] = partial(cost_usd, model, table=prices(settings))
    return options


def _wrapped(settings: Settings, name: str, backend: Backend) -> Backend:
    from veridical.pipeline.inference.wrappers import wrap

    cache, requests = settings.cache, settings.requests
    kept: dict[str, Any] = {
        "cache": cache.path,
        "cache_ttl_s": cache.ttl_s,
        "cache_max_entries": cache.max_entries,
    }
    if name in LOCAL:
        return wrap(backend, **kept)
    return wrap(
        backend,
        **kept,
        deadline_s=requests.deadline_s,
        attempts=requests.attempts,
        requests_per_minute=requests.per_minute,
        tokens_per_minute=requests.tokens_per_minute,
        max_wait_s=requests.max_wait_s,
        breaker_failures=requests.breaker_failures,
        breaker_reset_s=requests.breaker_reset_s,
        max_cost_usd=requests.max_cost_usd,
        price=_price(backend, prices(settings)),
        batch=getattr(backend, "claims_per_request", 1),
    )


def _price(backend: Backend, table: Mapping[str, Price]) -> Callable[[int], float | None]:
    """Return what a prompt of so many tokens costs, for the budget; None where it is unknown."""
    from veridical.pipeline.inference.prices import Usage, cost_usd

    return lambda tokens: cost_usd(backend.info.model, Usage(tokens, 1), table)


def prices(settings: Settings) -> Mapping[str, Price]:
    """Return the prices in force: those shipped, and those of the file `prices` over them."""
    from pathlib import Path

    import yaml

    from veridical.pipeline.inference.prices import price_table

    if settings.prices is None:
        return price_table()
    try:
        own = yaml.safe_load(Path(settings.prices).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        msg = f"the price file {settings.prices} cannot be read ({type(error).__name__})"
        raise ConfigurationError(msg, hint="It maps models to input and output prices") from None
    if not isinstance(own, dict) or not all(isinstance(entry, dict) for entry in own.values()):
        msg = f"the price file {settings.prices} is not a mapping of models to prices"
        raise ConfigurationError(msg, hint="Write MODEL: {input: 1.0, output: 4.0}")
    return price_table(own)
