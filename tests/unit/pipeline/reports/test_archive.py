"""Reports as bytes, and back."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import veridical
from veridical.core.certainty import CertaintyModel, Fit
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.pipeline.reports import Report
from veridical.pipeline.reports.archive import from_bytes, to_bytes
from veridical.pipeline.reports.formats import FORMATS
from veridical.testing import FAKE, FakeBackend, fake_estimate

ANSWER = (
    "The bridge opened in 1998 [S1]. It has six lanes and a toll [S1]. Is it blue? It is late [S9]."
)
SOURCES = {"S1": "The bridge was opened in 1998. It has eight lanes."}


def answer(query: Query) -> Measurement:
    if "late" in query.claim:
        return Unmeasured(UnmeasuredReason.TIMEOUT, "too late", 2.5)
    if "six" in query.claim:
        return fake_estimate(0.02, 0.95)
    return fake_estimate(0.1 + 0.2 if "toll" in query.claim else 0.97)


@pytest.fixture
def report() -> Report:
    return veridical.check(ANSWER, SOURCES, question="Which?", backend=FakeBackend(answer))


def test_a_report_comes_back_as_it_was_with_all_its_formats(report: Report) -> None:
    found = from_bytes(to_bytes(report))
    assert found == report
    assert found is not None
    assert types_in(found) == types_in(report)
    for name in FORMATS:
        assert found.render(name) == report.render(name)


def test_a_report_of_a_fitted_backend_comes_back_as_it_was() -> None:
    fit = Fit(0.5, (("score", 1.0), ("length", -0.1)), 0.9)
    fitted = CertaintyModel(fit, fit, fit, (("quantity_differs", 0.97),), 0.5)
    backend = FakeBackend(answer, replace(FAKE, certainty=fitted))
    report = veridical.check(ANSWER, SOURCES, backend=backend)
    found = from_bytes(to_bytes(report))
    assert found == report
    assert found is not None
    assert found.backend.certainty == fitted
    assert [verdict.certainty for verdict in found.flagged]


def types_in(value: object) -> Any:  # noqa: ANN401 -- a tree of names
    """Return the types of all that a value holds: equal enums and tuples may be plain ones."""
    if is_dataclass(value):
        return type(value).__name__, [types_in(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, dict):
        return [(types_in(key), types_in(one)) for key, one in value.items()]
    held = [types_in(one) for one in value] if isinstance(value, tuple | list) else None
    return type(value).__name__, held


@pytest.mark.parametrize(
    "held",
    [
        None,
        "Report",
        ["Report", {}],
        ["Report", {"nonsense": 1}],
        ["Status", "nonsense"],
        ["Popen", {"args": "true"}],
        ["Span", {"start": 1, "end": 2}],
        ["{}"],
    ],
)
def test_what_is_no_report_is_none(held: object) -> None:
    assert from_bytes(zlib.compress(json.dumps(held).encode())) is None


@given(st.binary(max_size=60))
def test_damaged_data_are_no_report(data: bytes) -> None:
    assert from_bytes(data) is None
