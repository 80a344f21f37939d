from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from veridical.core.measurements import BackendInfo, Query, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.verdicts import Status
from veridical.errors import ConfigurationError
from veridical.evaluation.bootstrap import Resampling
from veridical.evaluation.dataset import Dataset, read_datasets
from veridical.evaluation.document import to_document
from veridical.evaluation.harness import Measured, measure
from veridical.evaluation.ledger import Ledger
from veridical.evaluation.outcomes import RowOutcome
from veridical.evaluation.results import evaluate
from veridical.testing import FAKE, FakeBackend, fake_estimate
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Verifier

Record = Callable[..., dict[str, Any]]
Write = Callable[..., Path]
TIMED_OUT = Unmeasured(UnmeasuredReason.TIMEOUT)


def answer(query: Query) -> Any:  # noqa: ANN401 -- an estimate or none
    if "r5" in query.claim:
        return TIMED_OUT
    return fake_estimate(0.9, 0.05) if "here" in query.claim else fake_estimate(0.1, 0.6)


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend(answer)


@pytest.fixture
def verifier(backend: FakeBackend) -> Iterator[SyncVerifier]:
    with SyncVerifier(Verifier(backend)) as open_verifier:
        yield open_verifier


@pytest.fixture
def dataset(write: Write, record: Record) -> Dataset:
    rows = [record(n) for n in range(9)]
    rows[5]["claim"] = "r5 is here."
    (found,) = read_datasets([write("a.jsonl", *rows)])
    return found


def kinds(measured: Measured) -> list[tuple[Status, float | None]]:
    return [(outcome.status, outcome.supported) for outcome in measured.outcomes]


def test_every_row_is_put_to_the_verifier(dataset: Dataset, verifier: SyncVerifier) -> None:
    seen: list[tuple[int, int]] = []
    (found,) = measure([dataset], verifier, progress=lambda *at: seen.append(at))
    good, bad = (Status.SUPPORTED, 0.9), (Status.CONTRADICTED, 0.1)
    assert kinds(found) == [
        bad, good, good, bad, good, (Status.UNDETERMINED, None), bad, good, good
    ]  # fmt: skip
    assert seen == [(n, 9) for n in range(1, 10)]
    assert all(outcome.ms > 0 for outcome in found.outcomes)


def test_a_phantom_citation_is_decided_whatever_the_model_says(
    write: Write, record: Record, verifier: SyncVerifier
) -> None:
    evidence = [{"id": "S1", "text": "It is here."}]
    rows = [record(1, evidence=evidence, cites=["S9"]), record(2, evidence=evidence, cites=["S1"])]
    (found,) = measure(read_datasets([write("a.jsonl", *rows)]), verifier)
    assert kinds(found) == [(Status.PHANTOM_CITATION, 0.9), (Status.SUPPORTED, 0.9)]


# --- resuming --------------------------------------------------------------------------------


def run(
    dataset: Dataset, verifier: SyncVerifier, path: Path, policy: Policy | None = None
) -> Measured:
    policy = policy or Policy()
    with Ledger(path, FAKE, policy) as ledger:
        (found,) = measure([dataset], verifier, policy=policy, ledger=ledger)
    return found


def document(measured: Measured) -> dict[str, Any]:
    return to_document(evaluate([measured], FAKE, Policy(), Resampling(20)))


def test_a_resumed_run_is_the_uninterrupted_one(
    dataset: Dataset, verifier: SyncVerifier, backend: FakeBackend, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    whole = run(dataset, verifier, path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:30])
    backend.queries.clear()
    resumed = run(dataset, verifier, path)
    assert kinds(resumed) == kinds(whole)
    assert resumed.outcomes[:4] == whole.outcomes[:4]
    assert len({query.claim for query in backend.queries}) == 5
    assert len(path.read_bytes().splitlines()) == 9


def test_all_that_is_kept_gives_the_same_document_byte_for_byte(
    dataset: Dataset, verifier: SyncVerifier, tmp_path: Path
) -> None:
    first = document(run(dataset, verifier, tmp_path / "r.jsonl"))
    again = document(run(dataset, verifier, tmp_path / "r.jsonl"))
    timings = {"ms_per_claim_p50", "claims_per_second"}
    for one in (first, again):
        for part in (*one["files"], one["mean"]):
            assert all(part.pop(name) > 0 for name in timings)
    assert json.dumps(first) == json.dumps(again)


def test_what_was_undetermined_is_tried_again(
    dataset: Dataset, verifier: SyncVerifier, backend: FakeBackend, tmp_path: Path
) -> None:
    run(dataset, verifier, tmp_path / "r.jsonl")
    backend.queries.clear()
    run(dataset, verifier, tmp_path / "r.jsonl")
    assert {query.claim for query in backend.queries} == {"r5 is here."}


def test_results_count_only_for_the_same_data_backend_and_policy(
    dataset: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    outcome = RowOutcome(Status.SUPPORTED, 0.1 + 0.2, 1.0 / 3)
    with Ledger(path, FAKE, Policy()) as ledger:
        ledger.add(dataset.fingerprint, "r1", outcome)
    other = BackendInfo("fake", "fake", FAKE.estimator, "another")
    with Ledger(path, FAKE, Policy(support_threshold=FAKE.support_threshold)) as same:
        assert same.get(dataset.fingerprint, "r1") == outcome
        assert same.get("other data", "r1") is None
    for backend, policy in ((other, Policy()), (FAKE, Policy(windows="all"))):
        with Ledger(path, backend, policy) as ledger:
            assert ledger.get(dataset.fingerprint, "r1") is None


def test_the_file_holds_no_text(dataset: Dataset, verifier: SyncVerifier, tmp_path: Path) -> None:
    run(dataset, verifier, tmp_path / "r.jsonl")
    assert "SECRET" not in (tmp_path / "r.jsonl").read_text()


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_half_written_last_line_is_cut_off(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    for row in ("r1", "r2"):
        with Ledger(path, FAKE, Policy()) as ledger:
            ledger.add("f", row, RowOutcome(Status.SUPPORTED, 0.9, 1.0))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[: first + cut])
    with Ledger(path, FAKE, Policy()) as ledger:
        assert (ledger.get("f", "r1"), ledger.get("f", "r2")) == (
            RowOutcome(Status.SUPPORTED, 0.9, 1.0),
            None,
        )
        ledger.add("f", "r2", RowOutcome(Status.SUPPORTED, 0.9, 1.0))
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("my notes, without a line break", "its last line is not a result"),
        ("my notes\n", "line 1 is not a result"),
        ("[]\n", "line 1 is not a result"),
        ('{"schema": "veridical.eval-row/1", "file": "f", "id": "r"}\n', "line 1 is not a result"),
    ],
)
def test_another_file_is_refused_and_left_alone(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=message), Ledger(path, FAKE, Policy()):
        pass
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("key", "value"),
    [("ms", "fast"), ("ms", -1), ("supported", 2), ("status", "perhaps"), ("schema", "other/1")],
)
def test_a_result_with_an_impossible_value_is_refused(
    tmp_path: Path, key: str, value: object
) -> None:
    path = tmp_path / "r.jsonl"
    with Ledger(path, FAKE, Policy()) as ledger:
        ledger.add("f", "r1", RowOutcome(Status.SUPPORTED, 0.9, 1.0))
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}) + "\n")
    with pytest.raises(ConfigurationError, match="line 1"), Ledger(path, FAKE, Policy()):
        pass


def test_a_file_that_cannot_be_opened_is_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot resume"), Ledger(tmp_path, FAKE, Policy()):
        pass
