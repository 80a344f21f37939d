"""The instruments of the fault table: a plan that repeats itself, and a judge that can object."""

from __future__ import annotations

import json
import math
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from jevcompat.mock import MockConfig, Running

from _faulty_proxy import FAULTS, HARMLESS, Fault, FaultyProxy, Served, Upstream, always, seeded
from faults import REASONS, End, Target, decision_backend, end
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.pipeline.inference.wrappers.breaker import OPEN
from veridical.testing import fake_estimate

QUERY = Query("A claim.", "A context.")
TARGET = Target("a server", Upstream("http://127.0.0.1:9"), decision_backend, {QUERY: 0.9}, REASONS)
DOWN = Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 500")
REQUEST: dict[str, Any] = {
    "model": "jev-latest",
    "state": "A context.",
    "questions": {"q": {"type": "choice", "instructions": "?", "criteria": {"a": "A", "b": "B"}}},
}


def posted(proxy: FaultyProxy, path: str = "/v1/systemone") -> tuple[int, bytes]:
    connection = HTTPConnection(urlsplit(proxy.address).netloc, timeout=10)
    connection.request("POST", path, json.dumps(REQUEST).encode())
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


# --- the proxy -------------------------------------------------------------------------------


def test_a_plan_follows_from_the_seed_the_request_and_how_often_it_came() -> None:
    asked = [(f"request {i}", times) for i in range(50) for times in range(3)]
    plans = [{key: seeded(seed, 0.7)(*key) for key in order} for seed, order in _orders(asked)]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


def _orders(asked: list[tuple[str, int]]) -> list[tuple[int, list[tuple[str, int]]]]:
    return [(0, asked), (0, asked[::-1]), (1, asked)]


def test_a_plan_spoils_its_share_in_every_way() -> None:
    faults = [seeded(0, 0.7)(str(i), 0) for i in range(2000)]
    assert set(faults) == set(Fault)
    assert sum(fault in FAULTS for fault in faults) / 2000 == pytest.approx(0.7, abs=0.05)
    assert {seeded(0, 0.0)(str(i), 0) for i in range(200)} == HARMLESS


def test_good_replies_pass_through_unchanged_and_are_kept() -> None:
    with Running(MockConfig()) as server:
        upstream = Upstream(server.url)
        with FaultyProxy(upstream, always(Fault.NONE)) as proxy:
            first = posted(proxy)
    with FaultyProxy(upstream, always(Fault.NONE)) as proxy:
        assert posted(proxy) == first
        assert [served.fault for served in proxy.served] == [Fault.NONE]
        assert posted(proxy, "/other")[0] == 502, "the server is gone, and this was never asked"
    answer = json.loads(first[1])["answers"]["q"]["probabilities"]
    assert math.fsum(answer.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("fault", "status", "probabilities"),
    [(Fault.TOO_LARGE, 200, {"a": 5.0, "b": 5.0}), (Fault.NO_NUMBERS, 200, None)],
)
def test_numbers_are_spoiled_in_replies_of_the_same_shape(
    fault: Fault, status: int, probabilities: object
) -> None:
    with (
        Running(MockConfig()) as server,
        FaultyProxy(Upstream(server.url), always(fault)) as proxy,
    ):
        found = posted(proxy)
    assert found[0] == status
    assert json.loads(found[1])["answers"]["q"]["probabilities"] == probabilities


# --- the judge -------------------------------------------------------------------------------


def served(*faults: Fault, apart_s: float = 10.0) -> list[Served]:
    waits = {Fault.RATE_SECONDS: 1.0}
    return [
        Served(fault, "", i * apart_s, i * apart_s + waits.get(fault, 0.0))
        for i, fault in enumerate(faults)
    ]


@pytest.mark.parametrize(
    ("requests", "found", "expected"),
    [
        (served(Fault.NONE), fake_estimate(0.9), End.MEASURED),
        (served(Fault.ERROR, Fault.SLOW), fake_estimate(0.9), End.MEASURED),
        (served(Fault.NONE), fake_estimate(0.8), End.INVENTED),
        (served(Fault.NAN), fake_estimate(0.9), End.INVENTED),
        ([], fake_estimate(0.9), End.INVENTED),
        (served(Fault.ERROR), DOWN, End.UNMEASURED),
        (served(Fault.LATE, Fault.ERROR), DOWN, End.UNMEASURED),
        (served(Fault.ERROR, Fault.LATE), DOWN, End.MISNAMED),
        (served(Fault.ERROR, Fault.NONE), DOWN, End.LOST),
        ([], DOWN, End.UNASKED),
        ([], Unmeasured(UnmeasuredReason.BACKEND_ERROR, OPEN), End.UNMEASURED),
        (served(Fault.NONE), None, End.ESCAPED),
        (served(Fault.RATE_SECONDS, Fault.NONE, apart_s=0.9), fake_estimate(0.9), End.HASTY),
        (served(Fault.RATE_SECONDS, Fault.NONE, apart_s=1.1), fake_estimate(0.9), End.MEASURED),
    ],
)
def test_a_claim_is_judged_by_what_its_requests_met(
    requests: list[Served], found: Measurement | None, expected: End
) -> None:
    assert end(TARGET, QUERY, requests, found) is expected
