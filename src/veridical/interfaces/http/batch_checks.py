"""Checks of many answers: in one request, or claimed from a job; an error is a result, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio

from veridical.errors import VeridicalError
from veridical.interfaces.http.auth import ANYONE, Key
from veridical.interfaces.http.callers import calling
from veridical.interfaces.http.errors import document, document_of
from veridical.interfaces.http.job_worker import MOST_ATTEMPTS, JobCheck, JobRowResult
from veridical.interfaces.http.limits import OverloadedError
from veridical.jobs.documents import dumped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.policy import Policy
    from veridical.interfaces.http.service import Service
    from veridical.store import ClaimedRow

AT_ONCE = 8
"""Checks of one batch under way; their queries share the batches of the backend."""


async def check_rows(
    service: Service, rows: Sequence[dict[str, Any]], policy: Policy
) -> list[dict[str, Any]]:
    """Return the result of each row, in order; for work that is admitted."""
    found: list[dict[str, Any]] = [{}] * len(rows)
    room = anyio.CapacityLimiter(AT_ONCE)

    async def check(number: int) -> None:
        async with room:
            found[number] = await _result(service, rows[number], policy, "batch")

    async with anyio.create_task_group() as group:
        for number in range(len(rows)):
            group.start_soon(check, number)
    return found


def job_check(service: Service) -> JobCheck:
    """Return the work on a claimed check of a job."""

    async def check(row: ClaimedRow) -> JobRowResult:
        asked, policy = json.loads(row.request), service.policy(row.policy)
        # Stored before rows had the name of the key, a row is nobody's.
        key = Key(asked.get("key", ANYONE.name), "", (), project=row.project)
        with calling(key):
            found = await service.admitted("job", lambda: _result(service, asked, policy, "job"))
        return JobRowResult(dumped(found), "error" in found)

    return JobCheck(check, _given_up)


def _given_up(row: ClaimedRow) -> JobRowResult:
    detail = f"no process survived this check, in {MOST_ATTEMPTS} attempts"
    problem = document(500, detail, "The logs say when processes ended")
    return JobRowResult(
        dumped({"id": json.loads(row.request)["id"], "error": problem}), failed=True
    )


async def _result(
    service: Service, row: dict[str, Any], policy: Policy, operation: str
) -> dict[str, Any]:
    """Return the report on a row, or the problem in its place."""
    try:
        report = await service.check(
            row["answer"], row["sources"], row["question"], policy=policy, operation=operation
        )
    except OverloadedError:
        raise
    except Exception as error:  # noqa: BLE001 -- one row fails, the others have results
        if not isinstance(error, VeridicalError):
            service.failed(operation, error)
        return {"id": row["id"], "error": document_of(error)}
    return {"id": row["id"], "report": report.to_dict()}
