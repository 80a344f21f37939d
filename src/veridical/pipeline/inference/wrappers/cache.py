"""What was measured before is not measured again."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import RunVar

from veridical.core.types import Estimate, Estimator, Measurement
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.asking import Wrapper, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.ports import Backend
    from veridical.core.types import BackendInfo, Query
    from veridical.pipeline.inference.wrappers.stores import Store

DAY_S = 86_400.0

_numbers = itertools.count()


@dataclass(slots=True)
class _Flight:
    """A query that is being asked; who wants the same waits for it.

    `measurement` stays None if whoever asked was cancelled or could not ask.
    """

    done: anyio.Event = field(default_factory=anyio.Event)
    measurement: Measurement | None = None


class Cache(Wrapper):
    """Answers from a store what it has seen within `ttl_s` seconds, with `cached` set.

    Keys are hashes of the backend's identity and of the texts, values are numbers: no text is
    stored. Only estimates are, never failures. Equal queries at the same time, in one batch or in
    several tasks of an event loop, are asked once (single flight); who waited gets the estimate
    with `cached` set too, since it cost nothing more. A store that fails is one that knows nothing.

    `hits` counts queries that were answered without asking, `misses` those put to the backend.
    """

    def __init__(self, backend: Backend, store: Store, *, ttl_s: float = DAY_S) -> None:
        super().__init__(backend)
        if not ttl_s > 0:
            msg = f"a cache keeps estimates for more than 0 s, not {ttl_s}"
            raise ConfigurationError(msg, hint="Leave the cache out to keep nothing")
        self._store = store
        self._ttl_s = ttl_s
        self._damaged = 0
        # One event loop cannot wait for another's events.
        self._flights: RunVar[dict[bytes, _Flight]] = RunVar(f"veridical-cache-{next(_numbers)}")
        self.hits = 0
        self.misses = 0

    @property
    def errors(self) -> int:
        """How often the store failed or held something unreadable."""
        return self._store.errors + self._damaged

    @property
    def hit_rate(self) -> float | None:
        """The share of queries that were answered without asking; None before the first."""
        total = self.hits + self.misses
        return self.hits / total if total else None

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return what is known, and ask the backend for the rest."""
        keys = keys_of(self.info, queries)
        wanted = dict(zip(keys, queries, strict=True))
        found: dict[bytes, Measurement] = {}
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
                    found[key] = _as_cached(flight.measurement)
        return self._handed_out(keys, found, asked)

    async def _lead(
        self, own: dict[bytes, Query], found: dict[bytes, Measurement], asked: set[bytes]
    ) -> None:
        """Look queries up, or ask; meanwhile others who want the same wait."""
        if not own:
            return
        flights = self._in_flight()
        mine = {key: _Flight() for key in own}
        flights |= mine
        try:
            found |= self._decoded(await self._store.get(list(own), ttl_s=self._ttl_s))
            missing = [key for key in own if key not in found]
            self.misses += len(missing)
            measured = await ask(self.wrapped, [own[key] for key in missing])
            found.update(zip(missing, measured, strict=True))
            asked.update(missing)
            for key, flight in mine.items():
                flight.measurement = found[key]
                flight.done.set()
            new = {key: found[key] for key in missing}
            values = {key: encode(m) for key, m in new.items() if isinstance(m, Estimate)}
            kept = {key: value for key, value in values.items() if value is not None}
            if kept:
                await self._store.put(kept, ttl_s=self._ttl_s)
        finally:
            for key, flight in mine.items():
                del flights[key]
                flight.done.set()

    def _handed_out(
        self, keys: list[bytes], found: dict[bytes, Measurement], asked: set[bytes]
    ) -> list[Measurement]:
        """Return the measurements in order; of equal queries only the first one cost something."""
        measured = []
        for key in keys:
            first = key in asked
            asked.discard(key)
            measurement = found[key] if first else _as_cached(found[key])
            self.hits += not first and isinstance(measurement, Estimate)
            measured.append(measurement)
        return measured

    def _decoded(self, values: dict[bytes, bytes]) -> dict[bytes, Measurement]:
        found: dict[bytes, Measurement] = {}
        for key, value in values.items():
            estimate = decode(value)
            if estimate is None:
                self._damaged += 1
            else:
                found[key] = estimate
        return found

    def _in_flight(self) -> dict[bytes, _Flight]:
        flights = self._flights.get(None)
        if flights is None:
            flights = {}
            self._flights.set(flights)
        return flights


def _as_cached(measurement: Measurement) -> Measurement:
    if isinstance(measurement, Estimate) and not measurement.cached:
        return replace(measurement, cached=True)
    return measurement


def keys_of(info: BackendInfo, queries: Sequence[Query]) -> list[bytes]:
    """Return the 32-byte key of each query: a hash of what decides about its estimate."""
    origin = b"".join(map(_digest, (info.name, info.model, info.estimator, info.fingerprint)))
    digests: dict[str, bytes] = {}  # a context is hashed once for all its claims

    def digest(text: str | None) -> bytes:
        if text is None:
            return bytes(32)
        if text not in digests:
            digests[text] = _digest(text)
        return digests[text]

    return [
        sha256(origin + digest(q.claim) + digest(q.context) + digest(q.question)).digest()
        for q in queries
    ]


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


_ENCODER = json.JSONEncoder(separators=(",", ":"))
_NAMES = tuple(f.name for f in fields(Estimate) if f.name not in {"cached", "stage"})


def encode(estimate: Estimate) -> bytes | None:
    """Return an estimate as JSON, floats to the last bit; None if it holds what JSON has not."""
    values = {name: getattr(estimate, name) for name in _NAMES}
    try:
        return _ENCODER.encode(values).encode()
    except (TypeError, ValueError):  # a number of some library that a backend left in
        return None


def decode(value: bytes) -> Estimate | None:
    """Return the estimate with `cached` set; None if the value is damaged."""
    try:
        values = json.loads(value)
        estimator = Estimator(values.pop("estimator"))
        estimate = Estimate(**values, estimator=estimator, cached=True)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    return estimate if _well_typed(estimate) else None


def _well_typed(estimate: Estimate) -> bool:
    """Say whether the fields that `Estimate` does not look at are of their types."""
    return (
        isinstance(estimate.model, str)
        and isinstance(estimate.fingerprint, str)
        and isinstance(estimate.samples, int)
        and isinstance(estimate.tokens, int | None)
        and isinstance(estimate.latency_ms, int | float | None)
        and isinstance(estimate.cost_usd, int | float | None)
    )
