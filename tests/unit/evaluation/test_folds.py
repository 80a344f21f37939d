from __future__ import annotations

from veridical.core.types import Source
from veridical.evaluation.folds import FOLDS, folds
from veridical.evaluation.rows import Row


def row(claim: str, *evidence: str) -> Row:
    return Row("r", claim, tuple(Source(str(n), text) for n, text in enumerate(evidence)), True)


def many(count: int) -> list[Row]:
    return [row(f"Claim {n}.", f"Text {n}.") for n in range(count)]


def test_unrelated_rows_spread_over_all_folds() -> None:
    assert set(folds(many(200))) == set(range(FOLDS))


def test_rows_that_share_claim_or_evidence_share_a_fold() -> None:
    chains = [
        [row(f"A{n}.", f"E{n}."), row(f"B{n}.", f"F{n}.", f"E{n}."), row(f"b{n}.", f"G{n}.")]
        for n in range(50)
    ]
    found = folds([one for chain in chains for one in chain])
    assert all(len(set(found[n : n + 3])) == 1 for n in range(0, 150, 3))
    assert len(set(found)) == FOLDS


def test_claims_asked_of_every_text_are_folded_by_text() -> None:
    rows = [row(f"Claim {n % 4}.", f"Text {n // 4}.") for n in range(160)]
    found = folds(rows)
    assert len(set(found)) == FOLDS
    assert all(len(set(found[n : n + 4])) == 1 for n in range(0, 160, 4))


def test_the_order_of_unrelated_rows_changes_nothing() -> None:
    rows = many(30)
    assert folds(rows[::-1]) == folds(rows)[::-1]


def test_no_rows_have_no_folds() -> None:
    assert folds([]) == []
