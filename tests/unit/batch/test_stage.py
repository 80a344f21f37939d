"""The pure stage: a row has one result, and only what would repeat for every row is raised."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from veridical import SyncVerifier, Verifier
from veridical.batch import batch
from veridical.batch.rows import BatchRow, parse_row
from veridical.batch.stage import checked
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import BackendError
from veridical.settings import Settings
from veridical.testing import FakeBackend, FakeTextModel, fake_estimate

SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
ANSWER = {"id": 1, "answer": "The bridge carries eight lanes.", "sources": SOURCE, "meta": [1]}


class NoBackend(FakeBackend):
    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:  # noqa: ARG002 -- the port's
        msg = "the weights are damaged"
        raise BackendError(msg)


def row() -> BatchRow:
    found = parse_row(ANSWER)
    assert isinstance(found, BatchRow)
    return found


def by(answer: Measurement) -> SyncVerifier:
    return SyncVerifier(Verifier(FakeBackend(lambda _: answer)))


def test_rows_in_and_rows_out_in_order_with_the_settings_given() -> None:
    rows = [ANSWER, {"id": 2, "claim": "It has six lanes.", "evidence": SOURCE}, {"id": 3}]
    found = list(batch(rows, settings=Settings(threads=1)))
    assert [(one["id"], one["outcome"], one["error"]) for one in found] == [
        ("1", "grounded", None),
        ("2", "flagged", None),
        ("3", None, "not_a_row"),
    ]
    assert found[0]["meta"] == [1]
    assert len({tuple(one) for one in found}) == 1
    assert json.loads(json.dumps(found)) == found


def test_an_error_of_one_row_is_a_column_that_names_its_place_and_no_text() -> None:
    never_opened = by(fake_estimate(0.9))
    (line,) = checked(row(), never_opened, per_claim=False).lines
    assert (line["error"], line["outcome"]) == ("RuntimeError", None)
    assert line["error_detail"].startswith("sync.py:")


def test_a_backend_that_cannot_start_ends_the_job() -> None:
    verifier = SyncVerifier(Verifier(NoBackend(lambda _: fake_estimate(0.9))))
    with verifier, pytest.raises(BackendError, match="damaged"):
        checked(row(), verifier, per_claim=False)


@pytest.mark.parametrize("reason", list(UnmeasuredReason))
def test_a_passing_failure_is_an_error_and_a_lasting_one_is_counted(
    reason: UnmeasuredReason,
) -> None:
    lasting = {UnmeasuredReason.CONTEXT_TOO_LONG, UnmeasuredReason.LANGUAGE_NOT_SUPPORTED}
    with by(Unmeasured(reason)) as verifier:
        (line,) = checked(row(), verifier, per_claim=False).lines
    if reason in lasting:
        assert (line["outcome"], line["error"]) == ("undetermined", None)
        assert line["unmeasured"] == {reason.value: 1}
    else:
        assert (line["outcome"], line["error"]) == (None, reason.value)


@pytest.mark.parametrize("reason", list(UnmeasuredReason))
def test_a_row_whose_claims_the_text_model_did_not_take_apart_is_tried_again(
    reason: UnmeasuredReason,
) -> None:
    model = FakeTextModel(lambda _: Unmeasured(reason))
    verifier = Verifier(FakeBackend(lambda _: fake_estimate(0.9)), claims_model=model)
    with SyncVerifier(verifier) as opened:
        (line,) = checked(row(), opened, per_claim=False).lines
    assert model.requests
    passing = {"timeout", "rate_limited", "backend_error", "disabled"}
    assert line["error"] == (reason.value if reason in passing else None)


def test_the_usage_of_a_row_is_beside_its_lines() -> None:
    with by(fake_estimate(0.9)) as verifier:
        result = checked(row(), verifier, per_claim=False)
    assert result.taken.cost_usd is None  # the backend does not know
    assert "cost" not in json.dumps(result.lines)
