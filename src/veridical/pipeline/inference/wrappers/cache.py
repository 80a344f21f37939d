"""Cache of measurements."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Generic, Protocol, runtime_checkable

import anyio
from anyio.lowlevel import RunVar

from veridical.core.measurements import (
    NOTHING,
    BackendInfo,
    BilledFailure,
    Estimate,
    Estimator,
    Query,
    Unmeasured,
    taken,
)
from veridical.core.projects import DEFAULT_PROJECT, project_in_force
from veridical.errors import ConfigurationError, VeridicalError
from veridical.pipeline.inference.wrappers.base import (
    Estimates,
    I,
    Q,
    R,
    Wrapper,
    safe_estimate,
    well_typed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.ports import Backend
    from veridical.pipeline.inference.wrappers.stores import EstimateStore

DAY_S = 86_400.0

_PATIENCE_S = 2.0
"""Seconds that a service has to name its model: no deadline and no circuit breaker bounds that."""

_numbers = itertools.count()


@dataclass(slots=True)
class _InFlight(Generic[R]):
    """Query that is being asked; callers with the same query wait for it.

    `measurement` stays None if the asking caller was cancelled or could not ask.
    """

    done: anyio.Event = field(default_factory=anyio.Event)
    measurement: R | Unmeasured | None = None


class CachingWrapper(Wrapper[Q, R, I], ABC):
    """Wrapper that answers from a store the queries of the last `ttl_s` seconds.

    Subclasses define a query's key, and the stored form of a result. A project finds only what was
    asked in its own name (`core.projects`): how fast an answer comes tells nobody of others' texts.
    Only results are kept, never
    failures. Equal queries at the same time, in one batch or in several tasks of an event loop, are
    asked once (single flight); waiting callers get the result as if it had been kept, since it cost
    nothing more. A store that fails counts as empty.

    `hits` counts queries that were answered without asking, `misses` queries put to the backend.
    """

    def __init__(
        self,
        backend: Estimates[Q, R, I],
        store: EstimateStore,
        *,
        ttl_s: float = DAY_S,
        project: str = DEFAULT_PROJECT,
    ) -> None:
        super().__init__(backend)
        self._project = project
        if not ttl_s > 0:
            msg = f"a cache keeps estimates for more than 0 s, not {ttl_s}"
            raise ConfigurationError(msg, hint="Leave the cache out to keep nothing")
        self._store = store
        self._ttl_s = ttl_s
        self._damaged = 0
        # One event loop cannot wait for another's events.
        self._flights: RunVar[dict[bytes, _InFlight[R]]] = RunVar(
            f"veridical-cache-{next(_numbers)}"
        )
        self.hits = 0
        self.misses = 0

    @property
    def errors(self) -> int:
        """Number of failures of the store and of unreadable values in it."""
        return self._store.errors + self._damaged

    @abstractmethod
    def keys(self, queries: Sequence[Q]) -> list[bytes]:
        """Return the key of each query: a hash of all that decides about its result."""

    @abstractmethod
    def written(self, result: R) -> bytes | None:
        """Return a result as it is stored; None if it cannot be."""

    @abstractmethod
    def read(self, value: bytes) -> R | None:
        """Return the result that is stored, as one that cost nothing more; None if damaged."""

    @abstractmethod
    def again(self, result: R) -> R:
        """Return a result as one that cost nothing more."""

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Return known results, and ask the backend for the rest."""
        keys = _within(self._project, self.keys(queries))
        wanted = dict(zip(keys, queries, strict=True))
        found: dict[bytes, R | Unmeasured] = {}
        asked: set[bytes] = set()
        while left := [key for key in wanted if key not in found]:
            flights = self._in_flight()
            others = {key: flights[key] for key in left if key in flights}
            own = {key: wanted[key] for key in left if key not in flights}
            # Own queries first: were they left for later, two callers could wait for each other.
            await self._lead(own, found, asked)
            for key, flight in others.items():
                await flight.done.wait()
                if flight.measurement is not None:
                    found[key] = self._for_nothing(flight.measurement)
        return self._handed_out(keys, found, asked)

    async def _lead(
        self, own: dict[bytes, Q], found: dict[bytes, R | Unmeasured], asked: set[bytes]
    ) -> None:
        """Look queries up, or ask; meanwhile other callers of the same queries wait."""
        if not own:
            return
        flights = self._in_flight()
        mine: dict[bytes, _InFlight[R]] = {key: _InFlight() for key in own}
        flights |= mine
        try:
            found |= self._decoded(await self._store.get(list(own), ttl_s=self._ttl_s))
            missing = [key for key in own if key not in found]
            self.misses += len(missing)
            measured = await safe_estimate(self.wrapped, [own[key] for key in missing])
            found.update(zip(missing, measured, strict=True))
            asked.update(missing)
            for key, flight in mine.items():
                flight.measurement = found[key]
                flight.done.set()
            new = {key: found[key] for key in missing}
            values = {
                key: self.written(m) for key, m in new.items() if not isinstance(m, Unmeasured)
            }
            kept = {key: value for key, value in values.items() if value is not None}
            if kept:
                await self._store.put(kept, ttl_s=self._ttl_s)
        finally:
            for key, flight in mine.items():
                del flights[key]
                flight.done.set()

    def _handed_out(
        self, keys: list[bytes], found: dict[bytes, R | Unmeasured], asked: set[bytes]
    ) -> list[R | Unmeasured]:
        """Return the measurements in order; of equal queries only the first one cost something."""
        measured: list[R | Unmeasured] = []
        for key in keys:
            first = key in asked
            asked.discard(key)
            measurement = found[key] if first else self._for_nothing(found[key])
            self.hits += not first and not isinstance(measurement, Unmeasured)
            measured.append(measurement)
        return measured

    def _decoded(self, values: dict[bytes, bytes]) -> dict[bytes, R | Unmeasured]:
        found: dict[bytes, R | Unmeasured] = {}
        for key, value in values.items():
            result = self.read(value)
            if result is None:
                self._damaged += 1
            else:
                found[key] = result
        return found

    def _for_nothing(self, found: R | Unmeasured) -> R | Unmeasured:
        if not isinstance(found, Unmeasured):
            return self.again(found)
        return found if taken(found) == NOTHING else BilledFailure.of(found, NOTHING)

    def _in_flight(self) -> dict[bytes, _InFlight[R]]:
        flights = self._flights.get(None)
        if flights is None:
            flights = {}
            self._flights.set(flights)
        return flights


def _within(own: str, keys: list[bytes]) -> list[bytes]:
    """Return the keys of the project in force, else of `own`."""
    project = project_in_force() or own
    if project == DEFAULT_PROJECT:  # as they were before there were projects
        return keys
    return [sha256(digest_of(project) + key).digest() for key in keys]


@runtime_checkable
class ServesModel(Protocol):
    """Backend of a service that alone knows which model answers."""

    @property
    def served_model(self) -> str | None:
        """Name of the model; None until the service was asked."""
        ...

    async def ask_model(self) -> None:
        """Ask the service for the name, unless it is known."""
        ...


class Cache(CachingWrapper[Query, Estimate, BackendInfo]):
    """Cache of estimates; an estimate that cost nothing more has `cached` set.

    Keys are hashes of the backend's identity and of the texts, values are numbers: no text is
    stored. A service that alone knows its model (`ServesModel`) is asked for it before the first
    query; while it does not say, nothing is looked up or kept.
    """

    def __init__(
        self,
        backend: Backend,
        store: EstimateStore,
        *,
        ttl_s: float = DAY_S,
        project: str = DEFAULT_PROJECT,
    ) -> None:
        super().__init__(backend, store, ttl_s=ttl_s, project=project)
        self._service = _service_of(backend)
        self._silent = False

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Estimate | Unmeasured]:
        """Return known estimates, and ask the backend for the rest."""
        if queries and not await self._knows_model():
            self.misses += len(queries)
            return await safe_estimate(self.wrapped, queries)
        return await super().estimate(queries)

    async def _knows_model(self) -> bool:
        """Return whether it is known which model answers; a silent service is asked only once."""
        service = self._service
        if service is None or service.served_model is not None:
            return True
        if not self._silent:
            with anyio.move_on_after(_PATIENCE_S):
                try:
                    await service.ask_model()
                except VeridicalError:
                    raise
                except Exception:  # noqa: BLE001, S110 -- the queries tell what is wrong with it
                    pass
            self._silent = service.served_model is None
        return service.served_model is not None

    def keys(self, queries: Sequence[Query]) -> list[bytes]:
        """Return the result of `keys_of`, with the model that is served."""
        served = self._service and self._service.served_model
        return keys_of(replace(self.info, model=served) if served else self.info, queries)

    def written(self, result: Estimate) -> bytes | None:
        """Return the result of `encode`."""
        return encode(result)

    def read(self, value: bytes) -> Estimate | None:
        """Return the result of `decode`."""
        return decode(value)

    def again(self, result: Estimate) -> Estimate:
        """Return the estimate with `cached` set."""
        return result if result.cached else replace(result, cached=True)


def _service_of(backend: object) -> ServesModel | None:
    """Return the backend in all its wrappers, if its service alone knows the model."""
    while not isinstance(backend, ServesModel) and hasattr(backend, "wrapped"):
        backend = backend.wrapped
    return backend if isinstance(backend, ServesModel) else None


def keys_of(info: BackendInfo, queries: Sequence[Query]) -> list[bytes]:
    """Return the 32-byte key of each query: a hash of everything that affects its estimate."""
    origin = b"".join(map(digest_of, (info.name, info.model, info.estimator, info.fingerprint)))
    digests: dict[str, bytes] = {}  # a context is hashed once for all its claims

    def digest(text: str | None) -> bytes:
        if text is None:
            return bytes(32)
        if text not in digests:
            digests[text] = digest_of(text)
        return digests[text]

    return [
        sha256(origin + digest(q.claim) + digest(q.context) + digest(q.question)).digest()
        for q in queries
    ]


def digest_of(text: str) -> bytes:
    """Return the SHA-256 of a text, 32 bytes."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


_ENCODER = json.JSONEncoder(separators=(",", ":"))


def encoded(values: Mapping[str, object]) -> bytes | None:
    """Return values as JSON, floats to the last bit; None if they cannot be JSON."""
    try:
        return _ENCODER.encode(values).encode()
    except (TypeError, ValueError):  # a number of some library that a backend left in
        return None


_NAMES = tuple(f.name for f in fields(Estimate) if f.name not in {"cached", "stage"})


def encode(estimate: Estimate) -> bytes | None:
    """Return an estimate as JSON, floats to the last bit; None if it cannot be JSON."""
    return encoded({name: getattr(estimate, name) for name in _NAMES})


def decode(value: bytes) -> Estimate | None:
    """Return the estimate with `cached` set; None if the value is damaged."""
    try:
        values = json.loads(value)
        estimator = Estimator(values.pop("estimator"))
        estimate = Estimate(**values, estimator=estimator, cached=True)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    return estimate if well_typed(estimate) else None
