"""Reports read back from their JSON documents."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import veridical
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import InputError
from veridical.pipeline.reports import Report
from veridical.pipeline.reports.formats import FORMATS
from veridical.pipeline.reports.parsing import from_document
from veridical.testing import FakeBackend, fake_estimate

ANSWER = (
    "The bridge opened in 1998 [S1]. It has six lanes and a toll [S1]. Is it blue? "
    "It is late [S9]. It is late [S1]. It is 5 km long [S1]."
)
SOURCES = {"S1": "The bridge was opened in 1998. It has eight lanes. It is 7 km long."}


def judged(query: Query) -> Measurement:
    if "late" in query.claim:
        return Unmeasured(UnmeasuredReason.TIMEOUT)
    if "six" in query.claim:
        return fake_estimate(0.02, 0.95)
    return fake_estimate(0.1 + 0.2 if "toll" in query.claim else 0.97)


@cache
def made() -> Report:
    return veridical.check(ANSWER, SOURCES, question="Which?", backend=FakeBackend(judged))


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made().to_json())
    return found


def test_a_report_read_back_renders_every_format_as_before() -> None:
    found = from_document(document(), ANSWER, made().sources, "Which?")
    assert {verdict.status for verdict in found.claims} == {v.status for v in made().claims}
    for name in FORMATS:
        assert found.render(name) == made().render(name), name


def test_a_report_without_its_texts_has_offsets_in_place_of_lines() -> None:
    log = json.loads(from_document(document()).to_sarif())
    (run,) = log["runs"]
    assert run["results"]
    for result in run["results"]:
        for place in (*result["locations"], *result["relatedLocations"]):
            assert set(place["physicalLocation"]["region"]) == {"charOffset", "charLength"}


def test_a_document_of_an_earlier_version_is_read() -> None:
    early = document()
    for name in ("by_certainty", "probability_grounded"):
        del early["summary"][name]
    for claim in early["claims"]:
        del claim["certainty"], claim["probability_right"]
    found = from_document(early, ANSWER, made().sources)
    assert not any(verdict.sure for verdict in found.claims)
    assert len(found.flagged) == len(made().flagged)


@pytest.mark.parametrize("other", [None, [], "x", {}, {"schema": "veridical.report/1"}])
def test_any_other_value_is_refused(other: object) -> None:
    with pytest.raises(InputError, match="no report of schema"):
        from_document(other)


def places(value: object, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
    return [
        path
        for key, one in inner
        for path in [(*place, key), *(places(one, (*place, key)) if _holds(one) else [])]
    ]


def _holds(value: object) -> bool:
    return isinstance(value, dict | list)


OTHERS = [
    None,
    True,
    5,
    -1,
    10**400,
    float("nan"),
    float("inf"),
    "x",
    "\ud800",
    [],
    {},
    [1],
    {"a": 1},
]


@given(st.sampled_from(places(document())), st.sampled_from(OTHERS), st.booleans())
def test_a_damaged_document_is_refused_or_renders(
    place: tuple[Any, ...], other: object, texts: bool
) -> None:
    damaged = deepcopy(document())
    inner: Any = damaged
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = other
    given = (ANSWER, made().sources) if texts else ()
    try:
        found = from_document(damaged, *given)
    except InputError as error:
        assert error.hint  # noqa: PT017 -- either outcome is right
        return
    for name in FORMATS:
        assert found.render(name).encode()
