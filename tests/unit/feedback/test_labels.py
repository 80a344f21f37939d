from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Estimate, Query, Unmeasured, UnmeasuredReason
from veridical.core.verdicts import Status
from veridical.errors import InputError
from veridical.feedback.labels import (
    BY_PROBABILITY,
    Feedback,
    prepare_report,
    report_id,
    to_document,
)
from veridical.pipeline.reports import Report
from veridical.store import Store
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

ANSWER = (
    "SECRET one holds [S1]. SECRET two is denied [S1]. SECRET three is nowhere [S1]. "
    "SECRET four is cited wrongly [S9]. SECRET five took too long [S1]."
)


def measure(query: Query) -> Estimate | Unmeasured:
    if "five" in query.claim:
        return Unmeasured(UnmeasuredReason.TIMEOUT)
    if "two" in query.claim:
        return fake_estimate(0.1, 0.8)
    return fake_estimate(0.2, 0.1) if "three" in query.claim else fake_estimate(0.9, low=0.8)


def check(**arguments: Any) -> Report:  # noqa: ANN401 -- of Verifier.check
    verifier = Verifier(FakeBackend(measure))

    async def run() -> Report:
        return await verifier.check(ANSWER, {"S1": "SECRET evidence."}, **arguments)

    return anyio.run(run)


@pytest.fixture(scope="module")
def report() -> Report:
    return check()


@pytest.fixture
def feedback(tmp_path: Path) -> Feedback:
    return Feedback(Store(f"sqlite:///{tmp_path}/kept.db"))


def test_the_report_has_one_of_each(report: Report) -> None:
    statuses = [verdict.status.value for verdict in report.claims]
    assert statuses == [
        "supported",
        "contradicted",
        "unsupported",
        "phantom_citation",
        "undetermined",
    ]


def test_a_mark_holds_the_numbers_of_the_verdict(report: Report, feedback: Feedback) -> None:
    mark = feedback.mark(report, "c1", right=True)
    assert (mark.claim_id, mark.status, mark.right, mark.actual) == ("c1", "supported", True, None)
    assert (mark.backend, mark.model, mark.fingerprint) == ("fake", "fake", "fake")
    assert (mark.support_threshold, mark.contradiction_threshold) == (0.7, 0.5)
    for found, given in ((mark.p1, report.claims[0].p1), (mark.p0, report.claims[0].p0)):
        assert found is not None
        assert isinstance(given, Estimate)
        assert (found.supported, found.contradicted) == (given.supported, given.contradicted)
        assert (found.low, found.high) == (given.low, given.high)
    assert feedback.list() == [mark]


def test_no_text_is_kept(report: Report, feedback: Feedback, tmp_path: Path) -> None:
    for claim in ("c1", "c2", "c4"):
        feedback.mark(report, claim, right=True)
    assert "SECRET" not in json.dumps(to_document(feedback.list()))
    for path in tmp_path.iterdir():
        assert b"SECRET" not in path.read_bytes()


def test_the_document_of_a_report_is_as_good_as_the_report(
    report: Report, feedback: Feedback
) -> None:
    first = feedback.mark(report, "c1", right=True)
    document = json.loads(report.to_json())
    second = feedback.mark(document, "c1", right=True, fingerprint="fake")
    assert first.to_dict() | {"created": 0} == second.to_dict() | {"created": 0}


def test_a_report_prepared_for_many_marks_is_as_good_as_the_report(
    report: Report, feedback: Feedback
) -> None:
    ready = prepare_report(report)
    for verdict in report.claims:
        made = feedback.mark(ready, verdict.claim.id, right=True)
        again = feedback.mark(report, verdict.claim.id, right=True)
        assert replace(again, created=made.created) == made
    assert len(feedback.list(report)) == len(report.claims)


def test_an_unknown_claim_of_a_long_report_names_a_few(feedback: Feedback) -> None:
    document = check().to_dict()
    one = document["claims"][0]
    document["claims"] = [one | {"id": f"c{number}"} for number in range(1000)]
    with pytest.raises(InputError) as caught:
        feedback.mark(document, "x", right=True)
    assert caught.value.hint.startswith("It has c0, c1, ")
    assert caught.value.hint.endswith("c19, ...")


def test_a_document_that_names_no_fingerprint_leaves_it_unknown(
    report: Report, feedback: Feedback
) -> None:
    document = report.to_dict()
    document["backend"].pop("fingerprint", None)
    assert feedback.mark(document, "c1", right=True).fingerprint is None


def test_what_a_document_says_of_the_fingerprint_wins(report: Report, feedback: Feedback) -> None:
    document = report.to_dict()
    document["backend"]["fingerprint"] = "own"
    assert feedback.mark(document, "c1", right=True, fingerprint="other").fingerprint == "own"


def test_the_same_answer_checked_again_is_the_same_report(report: Report) -> None:
    from veridical.core.policy import Policy

    again = check(policy=Policy(support_threshold=0.95))
    assert again.claims[0].status != report.claims[0].status
    assert report_id(again.to_dict()) == report_id(report.to_dict())


def test_marking_again_replaces(report: Report, feedback: Feedback) -> None:
    first = feedback.mark(report, "c2", right=True)
    second = feedback.mark(report, "c2", right=False, actual="supported")
    assert first.id == second.id
    assert feedback.list() == [second]


def test_claim_hashes_tell_nothing_without_the_report(report: Report, feedback: Feedback) -> None:
    other = report.to_dict()
    other["claims"][1]["text"] = "Something else."
    hashes = {feedback.mark(one, "c1", right=True).claim_hash for one in (report, other)}
    assert len(hashes) == 2  # the same claim in another report


def test_a_mark_can_be_removed_once(report: Report, feedback: Feedback) -> None:
    mark = feedback.mark(report, "c1", right=True)
    assert feedback.remove(mark.id)
    assert not feedback.remove(mark.id)
    assert feedback.list() == []


@pytest.mark.parametrize(
    ("claim", "right", "actual", "truth"),
    [
        ("c1", True, None, True),
        ("c1", False, None, False),
        ("c1", False, "contradicted", False),
        ("c2", True, None, False),
        ("c2", False, None, True),
        ("c2", False, "unsupported", False),
        ("c2", False, "supported", True),
        ("c3", True, None, False),
        ("c3", False, None, True),
        ("c3", False, "phantom_citation", None),
        ("c4", True, None, None),
        ("c4", False, None, None),
        ("c5", True, None, None),
        ("c5", False, "supported", None),
    ],
)
def test_a_mark_says_whether_the_claim_was_truly_supported(  # noqa: PLR0913 -- one per column
    report: Report,
    feedback: Feedback,
    *,
    claim: str,
    right: bool,
    actual: str | None,
    truth: bool | None,
) -> None:
    assert feedback.mark(report, claim, right=right, actual=actual).truly_supported is truth


def test_only_what_a_probability_decided_counts() -> None:
    decided_otherwise = {Status.UNDETERMINED, Status.PHANTOM_CITATION, Status.UNVERIFIABLE}
    assert set(Status) - BY_PROBABILITY == decided_otherwise


@pytest.mark.parametrize(
    ("claim", "right", "actual", "says"),
    [
        ("c99", True, None, "no claim 'c99'"),
        ("c1", True, "unsupported", "not right"),
        ("c1", False, "supported", "not wrong"),
        ("c1", False, "SECRET", "not one that a claim can have"),
        ("c1", False, "undetermined", "not one that a claim can have"),
    ],
)
def test_what_does_not_fit_the_report_is_a_named_error(  # noqa: PLR0913 -- one per column
    report: Report, feedback: Feedback, *, claim: str, right: bool, actual: str | None, says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        feedback.mark(report, claim, right=right, actual=actual)
    assert caught.value.hint
    assert "SECRET" not in str(caught.value)
    assert feedback.list() == []


def changed(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    *parents, last = path.split(".")
    place: Any = document
    for parent in parents:
        place = place[int(parent) if parent.isdigit() else parent]
    place[last] = value
    return document


@pytest.mark.parametrize(
    "change",
    [
        lambda _: {},
        lambda _: [],
        lambda _: None,
        lambda document: changed(document, "schema", "veridical.eval/1"),
        lambda document: changed(document, "backend", None),
        lambda document: changed(document, "policy", {}),
        lambda document: changed(document, "claims", "SECRET"),
        lambda document: changed(document, "claims.0.p1", None),
        lambda document: changed(document, "claims.0.p1.supported", 7.0),
        lambda document: changed(document, "claims.0.p1.estimator", "SECRET"),
        lambda document: changed(document, "claims.0.status", "SECRET"),
        lambda document: changed(document, "claims.0.text", None),
        lambda document: changed(document, "policy.support_threshold", None),
    ],
)
def test_what_is_no_report_is_a_named_error(
    report: Report, feedback: Feedback, change: Callable[[object], Any]
) -> None:
    with pytest.raises(InputError, match=r"not a report of schema veridical\.report/1") as caught:
        feedback.mark(change(report.to_dict()), "c1", right=True)
    assert "SECRET" not in str(caught.value)
    assert feedback.list() == []


def test_a_comment_is_kept_and_replaced(feedback: Feedback, report: Report) -> None:
    feedback.mark(report, "c1", right=False, comment="The source is old.")
    (mark,) = feedback.list(report)
    assert mark.comment == "The source is old."
    assert "source is" not in repr(mark)
    feedback.mark(report, "c1", right=True)
    assert [each.comment for each in feedback.list()] == [None]


def test_a_label_is_removed_by_report_and_claim(feedback: Feedback, report: Report) -> None:
    feedback.mark(report, "c1", right=True)
    feedback.mark(report, "c2", right=False)
    assert feedback.unmark(report.to_dict(), "c1")
    assert not feedback.unmark(report, "c1")
    assert [mark.claim_id for mark in feedback.list(report)] == ["c2"]
    with pytest.raises(InputError):
        feedback.list({"schema": "veridical.report/1"})
