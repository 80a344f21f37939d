"""Settings -> Verifier: the only wiring. Backends are found by entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from veridical.core.ports import Backend, TextModel
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.aliases import resolve_alias
from veridical.verifier import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from veridical.pipeline.inference.aliases import Operation
    from veridical.pipeline.inference.prices import Price, Usage
    from veridical.settings import Settings

GROUP = "veridical.backends"
TEXT_GROUP = "veridical.text_models"
LOCAL = frozenset({"embedded"})
"""Backends that answer in this process at once: of the wrappers only the cache makes sense."""

SAMPLED = frozenset({"anthropic", "openai"})
"""Backends that take `threshold`, for samples; these and their text models take `price`, too."""

TEXT_OPTIONS = frozenset({"base_url", "api_key", "extra_body", "context_tokens"})
"""What the block of a backend says that holds for the text model of the same name, too."""


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
    name, _, model = named.partition(":")
    if name == "cascade":
        return _cascade(settings, operation, model or None)
    return _wrapped(settings, name, _create(settings, name, model or None))


def build_text_model(settings: Settings, model: object) -> TextModel:
    """Return a text model by its name `NAME[:MODEL]`; one that is built already as it is.

    `ConfigurationError` if none of that name is installed, or if it is not set up.
    """
    if isinstance(model, TextModel):
        return model
    if not isinstance(model, str):
        msg = f"a text model is a name or has `info` and `generate`, not {type(model).__name__}"
        raise ConfigurationError(msg, hint="Name one: openai:MODEL")
    named = resolve_alias(model, aliases=settings.aliases.model_dump(), operation="check")
    name, _, of = named.partition(":")
    found = _installed(TEXT_GROUP, "text model", name)
    options = {key: value for key, value in _options(settings, name).items() if key in TEXT_OPTIONS}
    if name in SAMPLED:
        options["price"] = _priced(settings, lambda: created.info.model)
    options["timeout_s"] = settings.extraction.timeout_s
    created: TextModel = found(of or None, threads=settings.threads, **options)
    return created


def _cascade(settings: Settings, operation: Operation, model: str | None) -> Backend:
    """Return both backends, each in its own wrappers, one behind the other."""
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


def _create(settings: Settings, name: str, model: str | None) -> Backend:
    found = _installed(GROUP, "backend", name, "cascade")
    options = _options(settings, name)
    if name in SAMPLED:
        options["price"] = _priced(settings, lambda: created.info.model)
    created: Backend = found(model, threads=settings.threads, **options)
    return created


def _installed(group: str, what: str, name: str, *others: str) -> Callable[..., Any]:
    """Return the function that makes what goes by a name in a group of entry points."""
    found = {entry.name: entry for entry in entry_points(group=group)}
    if name not in found:
        msg = f"there is no {what} named {name!r}"
        known = ", ".join(sorted([*found, *others]))
        raise ConfigurationError(msg, hint=f"Installed here: {known}")
    create: Callable[..., Any] = found[name].load()
    return create


def _priced(settings: Settings, model: Callable[[], str]) -> Callable[[Usage], float | None]:
    """Return what a request costs, by the model's full name, which only the model knows.

    `haiku` has no price.
    """
    from veridical.pipeline.inference.prices import cost_usd

    table = prices(settings)
    return lambda usage: cost_usd(model(), usage, table)


def _options(settings: Settings, name: str) -> dict[str, Any]:
    """Return what the settings say of a backend; those that have no block have no options."""
    block = getattr(settings, name.replace("-", "_"), None)
    values = {key: value for key, value in dict(block or {}).items() if value is not None}
    options = {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in values.items()
    }
    threshold = settings.policy.support_threshold
    if name in SAMPLED and threshold is not None and 0 < threshold < 1:
        options["threshold"] = threshold
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
