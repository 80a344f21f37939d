"""Jobs in the database: their checks are claimed with a lease by any process that shares it.

All times are of the database's clock, in seconds since 1970: machines may have different ones.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import and_, case, delete, func, insert, or_, select, update

from veridical.store.job_tables import OPEN, job_rows, jobs
from veridical.store.tables import clock, fetched, has_passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from veridical.store.database import Store

Row: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, int]
"""A job's id, and the number of one of its checks."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """Job to be stored; `policy` holds for all of its checks."""

    id: str
    project: str
    policy: Row | None = None
    webhook: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ClaimedRow:
    """Check of a job that a worker has claimed; `attempts` counts this one."""

    job: str
    project: str
    number: int
    attempts: int
    request: bytes = field(repr=False)
    policy: Row | None = None

    @property
    def place(self) -> Place:
        """Key of the row."""
        return self.job, self.number


class JobTables:
    """Jobs of all projects, and their checks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # --- for the project of a job ------------------------------------------------------------

    def create(self, job: NewJob, requests: Sequence[bytes], *, most_open: int) -> bool:
        """Store a job; False, and nothing is stored, if its project has so many open ones."""
        unfinished = select(func.count()).where(
            jobs.c.project == job.project, jobs.c.finished.is_(None)
        )
        counts = {"total": len(requests), "done": 0, "failed": 0, "webhook_attempts": 0}
        state = None if job.webhook is None else "pending"
        rows = [
            {"job": job.id, "number": i, "request": one, "attempts": 0}
            for i, one in enumerate(requests)
        ]
        with self._store.write() as connection:
            if (connection.scalar(unfinished) or 0) >= most_open:
                return False
            row = {**asdict(job), **counts, "webhook_state": state, "created": clock(connection)}
            connection.execute(insert(jobs).values(**row))
            connection.execute(insert(job_rows), rows)
            return True

    def get(self, job: str, project: str) -> Row | None:
        """Return a job, and whether a check of it is `claimed`; None if there is no such job."""
        wanted = select(jobs).where(jobs.c.id == job, jobs.c.project == project)
        claimed = select(job_rows.c.number).where(
            job_rows.c.job == job, job_rows.c.claimed_by.is_not(None)
        )
        with self._store.read() as connection:
            found = fetched(connection, wanted)
            if not found:
                return None
            return found[0] | {"claimed": connection.scalar(claimed.limit(1)) is not None}

    def results(self, job: str, first: int, limit: int) -> list[bytes]:
        """Return results in order from a number on, as far as there is none missing."""
        missing = select(func.min(job_rows.c.number)).where(job_rows.c.job == job, OPEN)
        with self._store.read() as connection:
            end = connection.scalar(missing)
            wanted = select(job_rows.c.result).where(
                job_rows.c.job == job,
                job_rows.c.number >= first,
                job_rows.c.number < (first + limit if end is None else min(end, first + limit)),
            )
            found = connection.scalars(wanted.order_by(job_rows.c.number))
            return [bytes(result) for result in found]

    def remove(self, job: str, project: str) -> bool:
        """Remove a job with its texts and its results; return whether it was there."""
        with self._store.write() as connection:
            found = _locked(connection, and_(jobs.c.id == job, jobs.c.project == project))
            _remove(connection, found)
            return bool(found)

    # --- for workers -------------------------------------------------------------------------

    def claim(self, worker: str, lease_s: float) -> ClaimedRow | None:
        """Claim a check for so many seconds; None if there is none that is free.

        The first checks of all jobs come before the second ones: a short job ends early.
        """
        with self._store.read() as connection:  # a reader at this moment locks nobody out
            if connection.execute(_free(connection).limit(1)).first() is None:
                return None
        with self._store.write() as connection:
            free = _free(connection).limit(1).with_for_update(skip_locked=True, of=job_rows)
            found = connection.execute(free).first()
            if found is None:
                return None
            connection.execute(
                update(job_rows)
                .where(_at((found.job, found.number)))
                .values(
                    claimed_by=worker,
                    claimed_until=clock(connection) + lease_s,
                    attempts=job_rows.c.attempts + 1,
                )
            )
            wanted = select(jobs.c.project, jobs.c.policy).where(jobs.c.id == found.job)
            job = connection.execute(wanted).one()
            attempts, request = found.attempts + 1, bytes(found.request)
            return ClaimedRow(found.job, job.project, found.number, attempts, request, job.policy)

    def renew(self, worker: str, lease_s: float) -> set[Place]:
        """Extend all claims of a worker; return what it still holds."""
        mine = and_(job_rows.c.claimed_by == worker, OPEN)
        with self._store.write() as connection:
            until = clock(connection) + lease_s
            connection.execute(update(job_rows).where(mine).values(claimed_until=until))
            found = connection.execute(select(job_rows.c.job, job_rows.c.number).where(mine))
            return {(row.job, row.number) for row in found}

    def release(self, worker: str, place: Place | None = None) -> None:
        """Give up a claim, or all of a worker; such an attempt does not count."""
        mine = and_(job_rows.c.claimed_by == worker, OPEN)
        chosen = mine if place is None else and_(mine, _at(place))
        free = {"claimed_by": None, "claimed_until": None, "attempts": job_rows.c.attempts - 1}
        with self._store.write() as connection:
            connection.execute(update(job_rows).where(chosen).values(**free))

    def settle(self, worker: str, place: Place, result: bytes, *, failed: bool = False) -> bool:
        """Store the result of a check in place of its texts; finish the job with the last one.

        Return whether it was stored: not if the job is gone, or the check another worker's.
        """
        with self._store.write() as connection:
            if not _locked(connection, jobs.c.id == place[0]):  # two last checks: one is later
                return False
            done = {"request": None, "result": result, "claimed_by": None, "claimed_until": None}
            mine = and_(_at(place), job_rows.c.claimed_by == worker, OPEN)
            changed = connection.execute(update(job_rows).where(mine).values(**done))
            if changed.rowcount:
                _count(connection, place[0], failed=failed)
            return bool(changed.rowcount)

    def remove_finished(self, kept_s: float) -> None:
        """Remove the jobs that ended so many seconds ago."""
        with self._store.read() as connection:
            old = jobs.c.finished <= clock(connection) - kept_s
            if connection.scalar(select(jobs.c.id).where(old).limit(1)) is None:
                return
        with self._store.write() as connection:
            _remove(connection, _locked(connection, old))

    # --- for the delivery of webhooks --------------------------------------------------------

    def claim_webhook(self, lease_s: float) -> Row | None:
        """Return a job whose end is to be told, due again in so many seconds; or None."""
        with self._store.read() as connection:
            due = select(jobs.c.id).where(has_passed(jobs.c.webhook_due, clock(connection)))
            if connection.scalar(due.limit(1)) is None:
                return None
        with self._store.write() as connection:
            due = select(jobs.c.id, jobs.c.project).where(
                has_passed(jobs.c.webhook_due, clock(connection))
            )
            found = connection.execute(due.limit(1).with_for_update(skip_locked=True)).first()
            if found is None:
                return None
            later = {
                "webhook_due": clock(connection) + lease_s,
                "webhook_attempts": jobs.c.webhook_attempts + 1,
            }
            connection.execute(update(jobs).where(jobs.c.id == found.id).values(**later))
        return self.get(found.id, found.project)

    def settle_webhook(self, job: str, state: str, again_in_s: float | None = None) -> None:
        """Store the state of a webhook; it is tried again in so many seconds, or never."""
        with self._store.write() as connection:
            due = None if again_in_s is None else clock(connection) + again_in_s
            changes = {"webhook_state": state, "webhook_due": due}
            connection.execute(update(jobs).where(jobs.c.id == job).values(**changes))


def _at(place: Place) -> ColumnElement[bool]:
    return and_(job_rows.c.job == place[0], job_rows.c.number == place[1])


def _free(connection: Connection) -> Any:  # noqa: ANN401 -- a select of three columns has a long type
    now = clock(connection)
    until = job_rows.c.claimed_until
    unclaimed = or_(until.is_(None), has_passed(until, now))
    wanted = select(job_rows.c.job, job_rows.c.number, job_rows.c.attempts, job_rows.c.request)
    return wanted.where(OPEN, unclaimed).order_by(job_rows.c.number, job_rows.c.job)


def _locked(connection: Connection, chosen: ColumnElement[bool]) -> list[str]:
    """Return the ids of jobs, locked: whoever changes a job and its checks locks the job first."""
    return list(connection.scalars(select(jobs.c.id).where(chosen).with_for_update()))


def _remove(connection: Connection, found: Sequence[str]) -> None:
    connection.execute(delete(job_rows).where(job_rows.c.job.in_(found)))
    connection.execute(delete(jobs).where(jobs.c.id.in_(found)))


def _count(connection: Connection, job: str, *, failed: bool) -> None:
    """Count a result; with the last one the job is finished, and its webhook due."""
    last = jobs.c.done + 1 == jobs.c.total
    now = clock(connection)
    changes = {
        "done": jobs.c.done + 1,
        "failed": jobs.c.failed + int(failed),
        "finished": case((last, now)),
        "webhook_due": case((and_(last, jobs.c.webhook.is_not(None)), now)),
    }
    connection.execute(update(jobs).where(jobs.c.id == job).values(**changes))
