"""Composition of the wrappers in the order in which they work together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.projects import DEFAULT_PROJECT
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.prices import UsageBound
from veridical.pipeline.inference.wrappers.breaker import Breaker
from veridical.pipeline.inference.wrappers.budget import CostLimit
from veridical.pipeline.inference.wrappers.cache import DAY_S, Cache
from veridical.pipeline.inference.wrappers.deadline import Deadline
from veridical.pipeline.inference.wrappers.limits import RateLimited
from veridical.pipeline.inference.wrappers.retries import Backoff, Retries
from veridical.pipeline.inference.wrappers.stores import MAX_ENTRIES, MemoryStore, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.core.ports import Backend
    from veridical.pipeline.inference.prices import Usage
    from veridical.pipeline.inference.wrappers.base import Estimates, I, Q, R
    from veridical.pipeline.inference.wrappers.stores import EstimateStore

MEMORY = ":memory:"
_AT_ONCE = 8


def wrap(
    backend: Backend,
    *,
    cache: str | Path | EstimateStore | None = None,
    cache_ttl_s: float = DAY_S,
    cache_max_entries: int = MAX_ENTRIES,
    cache_project: str = DEFAULT_PROJECT,
    **bounds: Any,  # noqa: ANN401 -- those of `bounded`, each of its own type
) -> Backend:
    """Return the backend with the requested wrappers; without any, as it is.

    `Cache` comes first: a known result needs no time, no turn and no money. `cache` is a file,
    ":memory:" or a store, used for `cache_project` where no other project is in force; `bounds`
    are the options of `bounded`. `ConfigurationError` for values that make no sense.
    """
    inner = bounded(backend, **bounds)
    if cache is None:
        return inner
    kept = store_of(cache, cache_max_entries)
    return Cache(inner, kept, ttl_s=cache_ttl_s, project=cache_project)


def bounded(  # noqa: PLR0913 -- one option a setting, all optional
    backend: Estimates[Q, R, I],
    *,
    deadline_s: float | None = None,
    attempts: int = 1,
    retry_wait_s: float = 0.5,
    retry_total_wait_s: float = 30.0,
    concurrency: int | None = None,
    at_once: int | None = None,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    max_wait_s: float = 60.0,
    slot_wait_s: float | None = None,
    max_cost_usd: float | None = None,
    price: Callable[[Usage], float | None] | None = None,
    most: Callable[[], UsageBound] = UsageBound,
    breaker_failures: int | None = None,
    breaker_reset_s: float = 30.0,
    batch: int = 1,
) -> Estimates[Q, R, I]:
    """Return `backend` in the wrappers for the given bounds on time, money and rates.

    Without options it is returned as it is. From the outside in, with the reason for each place:

    - `Deadline` bounds all that follows: waiting for a turn, and asking again, take its time too.
    - `Retries` under it: each attempt waits for its own turn, is paid and counted for itself.
    - `RateLimited` next: only in its turn is a query held against the budget and the circuit, as
      they are by then, so that a queue neither ties up money nor runs on into a service that is
      down.
    - `CostLimit` reserves only the price of the queries that go out now.
    - `Breaker` last: it sees the service's results and nothing of the wrappers.

    `batch` is how many queries on one context a request of this backend carries, and with that the
    unit of the deadline and the limits; `concurrency` how many requests are under way at once, and
    `at_once` the same of a backend that limits them itself. A budget needs `price`; without one
    every cost is unknown and nothing is asked. `most` is the maximum usage of a query.
    `ConfigurationError` for values that make no sense.
    """
    if batch < 1:
        msg = f"a request carries 1 query or more, not {batch}"
        raise ConfigurationError(msg, hint="Leave batch out to ask one query a request")
    if breaker_failures is not None:
        backend = Breaker(backend, failures=breaker_failures, reset_s=breaker_reset_s)
    if max_cost_usd is not None:
        priced = price or _unknown
        backend = CostLimit(backend, max_cost_usd=max_cost_usd, price=priced, most=most)
    if (concurrency, requests_per_minute, tokens_per_minute) != (None, None, None):
        backend = RateLimited(
            backend,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            max_wait_s=max_wait_s,
            slot_wait_s=slot_wait_s,
            batch=batch,
        )
    if attempts != 1:
        backend = Retries(backend, Backoff(attempts, retry_wait_s, retry_total_wait_s))
    if deadline_s is not None:
        # Queries that wait for another attempt are no requests: more than `at_once` may be needed.
        pieces = concurrency or max(_AT_ONCE, at_once or 0)
        backend = Deadline(backend, seconds=deadline_s, batch=batch, at_once=pieces)
    return backend


def store_of(cache: str | Path | EstimateStore, max_entries: int) -> EstimateStore:
    """Return the store of a cache: a file, memory, or an existing store."""
    if cache == MEMORY:
        return MemoryStore(max_entries=max_entries)
    if isinstance(cache, str | Path):
        return SqliteStore(cache, max_entries=max_entries)
    return cache


def _unknown(_usage: Usage) -> float | None:
    return None
