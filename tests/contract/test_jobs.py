"""Contract of the tables of jobs, on SQLite and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from veridical.store import JobTables, NewJob, Store
from veridical.store.job_tables import job_rows

NewUrl = Callable[[], str]
LONG_S = 1000.0


@pytest.fixture
def store(new_url: NewUrl) -> Iterator[Store]:
    store = Store(new_url())
    yield store
    store.close()


@pytest.fixture
def tables(store: Store) -> JobTables:
    return JobTables(store)


def create(tables: JobTables, name: str = "j", checks: int = 3, **given: str) -> bool:
    job = NewJob(name, given.pop("project", "default"), {"windows": 2}, given.get("webhook"))
    return tables.create(job, [f"{name}{i}".encode() for i in range(checks)], most_open=3)


def test_a_job_counts_its_checks_until_the_last_one_finishes_it(tables: JobTables) -> None:
    create(tables)
    for number in range(3):
        found = tables.get("j", "default")
        assert found
        assert (found["done"], found["total"], found["finished"]) == (number, 3, None)
        claimed = tables.claim("w", LONG_S)
        assert claimed
        assert (claimed.place, claimed.request) == (("j", number), f"j{number}".encode())
        assert (claimed.policy, claimed.attempts) == ({"windows": 2}, 1)
        assert claimed.project == "default"
        assert tables.settle("w", claimed.place, b"r%d" % number, failed=number == 1)
    found = tables.get("j", "default")
    assert found
    assert (found["done"], found["failed"], found["claimed"]) == (3, 1, False)
    assert found["finished"] >= found["created"] > 1e9
    assert tables.claim("w", LONG_S) is None


def test_a_job_is_of_its_project(tables: JobTables) -> None:
    create(tables, project="a")
    assert tables.get("j", "b") is None
    assert not tables.remove("j", "b")
    assert tables.get("j", "a")


def test_a_project_has_so_many_open_jobs_at_most(tables: JobTables) -> None:
    assert [create(tables, f"j{i}", 1) for i in range(4)] == [True, True, True, False]
    assert create(tables, "other", 1, project="other")
    assert tables.get("j3", "default") is None
    claimed = tables.claim("w", LONG_S)
    assert claimed
    tables.settle("w", claimed.place, b"r")
    assert create(tables, "j3", 1)


def test_a_short_job_does_not_wait_for_a_long_one(tables: JobTables) -> None:
    create(tables, "long", 9)
    for _ in range(3):
        claimed = tables.claim("w", LONG_S)
        assert claimed
        tables.settle("w", claimed.place, b"r")
    create(tables, "short", 2)
    claims = [tables.claim("w", LONG_S) for _ in range(3)]
    assert [one and one.place for one in claims] == [("short", 0), ("short", 1), ("long", 3)]


def test_a_check_whose_lease_is_over_goes_to_another_worker_and_has_one_result(
    tables: JobTables,
) -> None:
    create(tables, checks=1)
    first, again = tables.claim("dead", 0.0), tables.claim("alive", LONG_S)
    assert first
    assert again
    assert (first.attempts, again.attempts) == (1, 2)
    assert tables.claim("third", LONG_S) is None
    assert not tables.settle("dead", first.place, b"late")
    assert tables.settle("alive", again.place, b"result")
    assert not tables.settle("alive", again.place, b"twice")
    assert tables.results("j", 0, 10) == [b"result"]


def test_a_claim_is_extended_as_long_as_it_is_held(tables: JobTables) -> None:
    create(tables, checks=1)
    tables.claim("w", 0.0)
    assert tables.renew("w", LONG_S) == {("j", 0)}
    assert tables.claim("other", LONG_S) is None
    assert tables.renew("w", 0.0) == {("j", 0)}
    assert tables.claim("other", LONG_S)
    assert tables.renew("w", LONG_S) == set()


def test_a_claim_that_is_given_up_is_no_attempt(tables: JobTables) -> None:
    create(tables, checks=2)
    tables.claim("w", LONG_S)
    tables.claim("w", LONG_S)
    tables.release("w", ("j", 0))
    claimed = tables.claim("other", LONG_S)
    assert claimed
    assert (claimed.number, claimed.attempts) == (0, 1)
    tables.release("w")
    assert tables.renew("w", LONG_S) == set()
    assert tables.renew("other", LONG_S) == {("j", 0)}


def test_results_come_in_order_and_never_past_a_missing_one(tables: JobTables) -> None:
    create(tables, checks=4)
    claims = [tables.claim("w", LONG_S) for _ in range(4)]
    for number in (0, 2, 3):
        tables.settle("w", ("j", number), b"r%d" % number)
    assert tables.results("j", 0, 10) == [b"r0"]
    assert tables.results("j", 1, 10) == []
    assert claims[1]
    tables.settle("w", claims[1].place, b"r1")
    assert tables.results("j", 1, 2) == [b"r1", b"r2"]
    assert tables.results("j", 3, 2) == [b"r3"]


def test_a_text_is_gone_with_its_result_and_all_with_the_job(
    tables: JobTables, store: Store
) -> None:
    create(tables, checks=2)
    tables.claim("w", LONG_S)
    tables.settle("w", ("j", 0), b"result")
    wanted = select(job_rows.c.request).order_by(job_rows.c.number)
    with store.read() as connection:
        assert list(connection.scalars(wanted)) == [None, b"j1"]
    assert tables.claim("w", LONG_S)
    assert tables.remove("j", "default")
    assert not tables.settle("w", ("j", 1), b"late")
    assert tables.renew("w", LONG_S) == set()
    with store.read() as connection:
        assert list(connection.scalars(wanted)) == []
    assert not tables.remove("j", "default")


def test_finished_jobs_are_removed_after_their_time_and_open_ones_are_not(
    tables: JobTables,
) -> None:
    create(tables, "open", 2)
    create(tables, "done", 1)
    for _ in range(2):
        claimed = tables.claim("w", LONG_S)
        assert claimed
        tables.settle("w", claimed.place, b"r")
    tables.remove_finished(LONG_S)
    assert tables.get("done", "default")
    tables.remove_finished(0.0)
    assert tables.get("done", "default") is None
    assert tables.get("open", "default")


def test_many_workers_claim_each_check_once_and_one_finishes_the_job(tables: JobTables) -> None:
    create(tables, checks=60, webhook="https://example.org")

    def work(name: int) -> list[int]:
        done = []
        while claimed := tables.claim(f"w{name}", LONG_S):
            assert tables.settle(f"w{name}", claimed.place, b"%d" % claimed.number)
            done.append(claimed.number)
        return done

    with ThreadPoolExecutor(6) as pool:
        done = [number for numbers in pool.map(work, range(6)) for number in numbers]
    assert sorted(done) == list(range(60))
    assert tables.results("j", 0, 100) == [b"%d" % number for number in range(60)]
    found = tables.get("j", "default")
    assert found
    assert (found["done"], found["finished"] is not None) == (60, True)
    assert tables.claim_webhook(LONG_S)
    assert tables.claim_webhook(LONG_S) is None


def test_a_webhook_is_due_at_the_end_and_until_it_is_settled(tables: JobTables) -> None:
    create(tables, checks=1, webhook="https://example.org")
    assert tables.claim_webhook(0.0) is None
    tables.claim("w", LONG_S)
    tables.settle("w", ("j", 0), b"r")
    found = [tables.claim_webhook(0.0) for _ in range(2)]
    assert [one and one["webhook_attempts"] for one in found] == [1, 2]
    tables.settle_webhook("j", "pending", again_in_s=LONG_S)
    assert tables.claim_webhook(0.0) is None
    tables.settle_webhook("j", "pending", again_in_s=0.0)
    assert tables.claim_webhook(0.0)
    tables.settle_webhook("j", "delivered")
    assert tables.claim_webhook(0.0) is None
    found_now = tables.get("j", "default")
    assert found_now
    assert found_now["webhook_state"] == "delivered"
