"""Claims of a report as a data frame."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from veridical.core.measurements import Estimate
from veridical.errors import MissingExtraError
from veridical.pipeline.reports import Report

pandas = pytest.importorskip("pandas")


def test_every_claim_has_a_row_with_its_verdict(report: Report) -> None:
    frame = report.to_pandas()
    assert list(frame["claim"]) == [verdict.claim.id for verdict in report.claims]
    assert list(frame["status"]) == [verdict.status.value for verdict in report.claims]
    assert list(frame[frame["flagged"]]["claim"]) == [v.claim.id for v in report.flagged]
    for row, verdict in zip(frame.itertuples(), report.claims, strict=True):
        assert report.answer[row.start : row.end] == verdict.claim.span.of(report.answer)
        if isinstance(verdict.p1, Estimate):
            assert row.p1 == pytest.approx(verdict.p1.supported, abs=1e-6)
        else:
            assert pandas.isna(row.p1)


def test_the_first_piece_of_evidence_is_in_the_row(report: Report) -> None:
    frame = report.to_pandas().set_index("claim")
    for verdict in report.claims:
        row = frame.loc[verdict.claim.id]
        if verdict.shown:
            assert (row["source"], row["evidence"]) == (
                verdict.shown[0].source,
                verdict.shown[0].text,
            )
        else:
            assert row["source"] is None


def test_columns_and_types_do_not_depend_on_the_claims(report: Report) -> None:
    none = replace(report, claims=()).to_pandas()
    one = replace(report, claims=report.claims[-1:]).to_pandas()
    assert len(none) == 0
    assert none.dtypes.to_dict() == one.dtypes.to_dict() == report.to_pandas().dtypes.to_dict()
    assert {"float64", "bool", "int64"} < set(map(str, none.dtypes))


def test_without_pandas_the_error_says_what_to_install(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        report.to_pandas()
