"""Engine of a batch on Ray: an actor with a verifier for each processor of a machine or a cluster.

Rows are read, and results written, where the command runs; so a killed actor costs no row, and a
killed command none that was written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

from veridical.batch.engines import ROWS_AHEAD
from veridical.batch.results import WORKER_DIED, RowResult, of_error
from veridical.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from veridical.batch.rows import BatchRow
    from veridical.settings import Settings


ROWS_A_CALL, CHARACTERS_A_CALL = 16, 50_000
"""Rows, and characters, at which a call is full: by itself it takes as long as a short row."""


class RayWorker:
    """Actor: a verifier with one thread."""

    def __init__(self, settings: Settings, per_claim: bool) -> None:  # noqa: FBT001 -- remote arguments
        from veridical.batch.stage import checked
        from veridical.verification.sync import SyncVerifier

        verifier = SyncVerifier.from_settings(settings).__enter__()
        self._check = partial(checked, verifier=verifier, per_claim=per_claim)

    def check(self, rows: Sequence[BatchRow]) -> list[RowResult]:
        """Return the result of each row."""
        return [self._check(row) for row in rows]


@dataclass(slots=True)
class RowGroup:
    """Rows that an actor gets at once; its results, as soon as they are known."""

    rows: list[BatchRow] = field(default_factory=list)
    characters: int = 0
    ref: Any = None
    results: list[RowResult] | None = None

    @property
    def full(self) -> bool:
        """True if no row is to be added."""
        return len(self.rows) >= ROWS_A_CALL or self.characters >= CHARACTERS_A_CALL

    def add(self, row: BatchRow) -> int:
        """Add a row; return its place."""
        self.rows.append(row)
        self.characters += len(row.text) + sum(len(source.text) for source in row.sources)
        return len(self.rows) - 1


class RayEngine:
    """`actors` on the cluster at `RAY_ADDRESS`, or here (default: one for each processor)."""

    def __init__(self, settings: Settings, *, actors: int | None, per_claim: bool) -> None:
        self._ray = _started()
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        number = actors or processors
        # So many that every actor has full groups to go on with, unless rows are long.
        self.ahead = ROWS_AHEAD * number * ROWS_A_CALL
        self._per_claim = per_claim
        one_thread = settings.model_copy(update={"threads": 1})
        # More actors than processors would wait for ever.
        share = min(1.0, processors / number)
        kind = self._ray.remote(num_cpus=share, max_restarts=-1)(RayWorker)
        self._actors = [kind.remote(one_thread, per_claim) for _ in range(number)]
        # The processors are taken by these, also by one that has ended: it starts again.
        self._new_lone_actor = partial(kind.options(num_cpus=0).remote, one_thread, per_claim)
        self._turns = cycle(self._actors)
        self._open = RowGroup()

    def submit(self, row: BatchRow) -> tuple[RowGroup, int]:
        """Add a row to the next call; a full one begins, at the actor whose turn it is."""
        group = self._open
        place = group.add(row)
        if group.full:
            self._send()
            self.ahead = ROWS_AHEAD * len(self._actors) * len(group.rows)
        return group, place

    def _send(self) -> None:
        self._open.ref = next(self._turns).check.remote(self._open.rows)
        self._open = RowGroup()

    def result(self, task: tuple[RowGroup, int]) -> RowResult:
        """Return the result of a row; one that ends its actor twice has an error."""
        group, place = task
        if group is self._open:
            self._send()
        if group.results is None:
            group.results = self._results(group)
        return group.results[place]

    def _results(self, group: RowGroup) -> list[RowResult]:
        try:
            return self._got(group.ref)
        except self._ray.exceptions.RayActorError:
            return list(self._one_by_one(group.rows))

    def _one_by_one(self, rows: Sequence[BatchRow]) -> Iterator[RowResult]:
        # All rows of an actor are lost with it: only one that ends it again is to blame.
        actor = None
        try:
            for row in rows:
                actor = actor or self._new_lone_actor()
                try:
                    yield from self._got(actor.check.remote([row]))
                except self._ray.exceptions.RayActorError:
                    self._ray.kill(actor)  # it would start again
                    actor = None
                    detail = "the actor that checked it ended"
                    yield of_error(row, WORKER_DIED, detail, per_claim=self._per_claim)
        finally:
            if actor is not None:
                self._ray.kill(actor)

    def _got(self, ref: Any) -> list[RowResult]:  # noqa: ANN401 -- Ray has no type for the result of an actor
        try:
            found: list[RowResult] = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None  # Ray's own message quotes the traceback
        return found

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)


def _started() -> Any:  # noqa: ANN401 -- a module
    """Return the module of Ray, connected to a cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        msg = "the engine ray needs Ray"
        raise MissingExtraError(msg, hint="pip install 'veridical[ray]'") from None
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    return ray
