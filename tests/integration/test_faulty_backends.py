"""Backends with faults in every host: the host goes on, in time, and verifies nothing wrongly."""

from __future__ import annotations

import pytest

from _faulty_backends import DEADLINE_S, HARMLESS, HOSTS, BackendFault, FaultyBackend, cases

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spec("SPEC-08.42"),
    pytest.mark.spec("SPEC-08.43"),
]

SLACK_S = 10.0
"""Seconds for a busy machine; `benchmarks/durability.py` measures the wait itself."""


@pytest.mark.parametrize(("host", "fault"), cases())
def test_a_faulty_backend_costs_its_claim_the_measurement_and_the_host_nothing(
    host: str, fault: BackendFault
) -> None:
    backend = FaultyBackend(fault)
    assert HOSTS[host](backend) is (fault in HARMLESS)
    assert not backend.rescued
    assert backend.answered_s is not None
    assert backend.answered_s < DEADLINE_S + SLACK_S
