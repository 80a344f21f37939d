"""Engine of a batch on Ray: an actor with a verifier for each processor of a machine or a cluster.

Rows are read, and results written, where the command runs; so a killed actor costs no row, and a
killed command none that was written.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

from veridical.batch.engines import ROWS_AHEAD
from veridical.batch.results import WORKER_DIED, RowResult, of_error
from veridical.errors import MissingExtraError

if TYPE_CHECKING:
    from veridical.batch.rows import BatchRow
    from veridical.settings import Settings


class RayWorker:
    """Actor: a verifier with one thread."""

    def __init__(self, settings: Settings, per_claim: bool) -> None:  # noqa: FBT001 -- remote arguments
        from veridical.batch.stage import checked
        from veridical.verification.sync import SyncVerifier

        verifier = SyncVerifier.from_settings(settings).__enter__()
        self._check = partial(checked, verifier=verifier, per_claim=per_claim)

    def check(self, row: BatchRow) -> RowResult:
        """Return the result of a row."""
        return self._check(row)


class RayEngine:
    """`actors` on the cluster at `RAY_ADDRESS`, or here (default: one for each processor)."""

    def __init__(self, settings: Settings, *, actors: int | None, per_claim: bool) -> None:
        self._ray = _started()
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        number = actors or processors
        self.ahead = ROWS_AHEAD * number
        self._per_claim = per_claim
        one_thread = settings.model_copy(update={"threads": 1})
        # More actors than processors would wait for ever.
        share = min(1.0, processors / number)
        kind = self._ray.remote(num_cpus=share, max_restarts=-1)(RayWorker)
        self._actors = [kind.remote(one_thread, per_claim) for _ in range(number)]
        # The processors are taken by these, also by one that has ended: it starts again.
        self._new_lone_actor = partial(kind.options(num_cpus=0).remote, one_thread, per_claim)
        self._turns = cycle(self._actors)

    def submit(self, row: BatchRow) -> tuple[BatchRow, Any]:
        """Begin the check of a row, by the actor whose turn it is."""
        return row, next(self._turns).check.remote(row)

    def result(self, task: tuple[BatchRow, Any]) -> RowResult:
        """Return the result of a row; one that ends its actor twice has an error."""
        row, ref = task
        try:
            return self._got(ref)
        except self._ray.exceptions.RayActorError:
            return self._alone(row)

    def _alone(self, row: BatchRow) -> RowResult:
        # All rows of an actor are lost with it: only the row that ends it again is to blame.
        actor = self._new_lone_actor()
        try:
            return self._got(actor.check.remote(row))
        except self._ray.exceptions.RayActorError:
            detail = "the actor that checked it ended"
            return of_error(row, WORKER_DIED, detail, per_claim=self._per_claim)
        finally:
            self._ray.kill(actor)

    def _got(self, ref: Any) -> RowResult:  # noqa: ANN401 -- Ray has no type for the result of an actor
        try:
            found: RowResult = self._ray.get(ref)
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
