"""Processes that are killed and databases that fail, a share of `benchmarks/durability.py`."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

import _failing_databases as failing
from _killed_parts import PARTS, Part
from durability import kills, one_round
from veridical.store import FeedbackTable, Store

pytestmark = [pytest.mark.slow, pytest.mark.spec("SPEC-08.43")]

NewUrl = Callable[[], str]
SEED = 1
CUT = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Leave the log to the tests that read it: each refusal here has a warning."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def new_file(tmp_path: Path) -> NewUrl:
    return lambda: f"sqlite:///{tmp_path / uuid4().hex}.db"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_killed_writers_of_a_file_lose_nothing_and_leave_nothing_wrong(
    new_file: NewUrl, part: Part
) -> None:
    found = kills(part, "SQLite", new_file, 2 if part.several else 1, 6, SEED)
    assert found.remains.acknowledged > 0
    assert (found.remains.lost, found.remains.wrong) == (0, 0)


def test_killed_writers_of_a_server_lose_nothing_and_leave_nothing_wrong(
    new_postgres_url: NewUrl,
) -> None:
    url, chance = new_postgres_url(), random.Random(SEED)  # noqa: S311 -- no secret
    for part in (part for part in PARTS if part.on_server):
        remains = part.look(url, one_round(part, url, 0, 2, chance))
        assert remains.acknowledged > 0, part.name
        assert (remains.lost, remains.wrong) == (0, 0), part.name


@pytest.mark.parametrize(
    "fail", [failing.locked, failing.full_pages, failing.full_disk, failing.read_only]
)
def test_a_file_that_fails_is_an_error_of_ours_and_loses_nothing(
    new_file: NewUrl, fail: Callable[[str], failing.Tally]
) -> None:
    assert fail(new_file()).failed == 0


@pytest.mark.parametrize("fail", [failing.locked, failing.read_only])
def test_a_server_that_fails_is_an_error_of_ours_and_loses_nothing(
    new_postgres_url: NewUrl, fail: Callable[[str], failing.Tally]
) -> None:
    assert fail(new_postgres_url()).failed == 0


def test_a_damaged_file_is_read_or_is_an_error_of_ours(new_file: NewUrl) -> None:
    assert failing.damaged(new_file(), 8, SEED).failed == 0


def test_first_starts_at_once_make_one_database(new_file: NewUrl, new_postgres_url: NewUrl) -> None:
    assert failing.first_starts(new_file()).failed == 0
    assert failing.first_starts(new_postgres_url()).failed == 0


def test_a_killed_migration_loses_no_row(new_file: NewUrl) -> None:
    assert failing.migrated(new_file, 1, SEED).failed == 0


@pytest.mark.parametrize("jump_s", [failing.DAYS_S, -failing.DAYS_S])
def test_what_a_wrong_clock_left_is_done_with_the_right_one(
    new_file: NewUrl, new_postgres_url: NewUrl, jump_s: float
) -> None:
    for new_url in (new_file, new_postgres_url):
        assert failing.clock_jumps(new_url(), jump_s).failed == 0


def test_writers_go_on_after_the_server_has_cut_all_connections(new_postgres_url: NewUrl) -> None:
    url = new_postgres_url()

    def cut() -> None:
        with psycopg.connect(url) as connection:
            connection.execute(CUT)

    assert failing.restarts(url, cut, 2).failed == 0


def test_the_first_call_after_the_server_has_cut_all_connections_succeeds(
    new_postgres_url: NewUrl,
) -> None:
    url = new_postgres_url()
    with closing(Store(url)) as store:
        assert FeedbackTable(store).rows() == []  # its connection is kept
        with psycopg.connect(url) as connection:
            connection.execute(CUT)
        assert FeedbackTable(store).rows() == []
