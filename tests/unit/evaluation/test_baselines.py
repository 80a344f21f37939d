from __future__ import annotations

import numpy as np
import pytest

from veridical.core.types import Source
from veridical.evaluation.baselines import BASELINES, claim_only, length, overlap, words
from veridical.evaluation.naive_bayes import out_of_fold
from veridical.evaluation.rows import Row


def row(claim: str, evidence: str = "Text.", *, supported: bool = True, cites: str = "") -> Row:
    sources = (Source("S1", evidence), Source("S2", "Somewhere else entirely."))
    return Row("r", claim, sources, supported, cites=(cites,) if cites else ())


def other_row(number: int, claim: str, *, supported: bool) -> Row:
    """Return a row with evidence of its own."""
    return Row(f"r{number}", claim, (Source("1", f"Text {number}."),), supported)


def test_numbers_and_hyphenated_words_are_words() -> None:
    assert words("It's 1,234.5 wrought-iron, isn't it?") == [
        "it's",
        "1,234.5",
        "wrought-iron",
        "isn't",
        "it",
    ]


def test_longer_claims_score_lower() -> None:
    assert list(length([row("One."), row("One two three.")])) == [-1, -3]


def test_overlap_is_the_share_of_content_words_in_the_evidence() -> None:
    tower = "The tower is 330 metres tall."
    assert overlap([row("The tower was 324 metres tall.", tower)])[0] == pytest.approx(3 / 4)


def test_only_cited_evidence_overlaps() -> None:
    claims = [row("Tower.", "Tower.", cites=cited) for cited in ("S1", "S2", "S9")]
    assert list(overlap(claims)) == [1.0, 0.0, 0.0]


def test_a_claim_without_content_words_overlaps_with_nothing() -> None:
    assert overlap([row("It is."), row("?!")]) == pytest.approx([0, 0])


def test_a_giveaway_in_the_claims_is_found_without_the_evidence() -> None:
    rows = [
        other_row(n, f"Thing {n} is {'fine' if n % 2 else 'never fine'}.", supported=bool(n % 2))
        for n in range(60)
    ]
    labels = np.array([one.supported for one in rows])
    result = BASELINES["claim_only"].measure(rows, labels)
    assert result.auroc is not None
    assert result.auroc > 0.95


def test_equal_claims_with_both_labels_give_nothing_away() -> None:
    rows = [other_row(n, f"Claim {n // 2}.", supported=bool(n % 2)) for n in range(40)]
    assert claim_only(rows) == pytest.approx(np.full(40, 0.5), abs=0.01)


def test_one_class_teaches_nothing() -> None:
    assert list(out_of_fold([["a"], ["b"], ["c"]], [True] * 3, [0, 1, 2])) == [0.5] * 3


def test_very_long_claims_do_not_overflow() -> None:
    texts = [["good"] * 5000, ["bad"] * 5000, *([f"w{n}"] for n in range(40))]
    found = out_of_fold(
        texts, [True, False, *(n % 2 == 0 for n in range(40))], [n % 5 for n in range(42)]
    )
    assert np.all((found >= 0) & (found <= 1))


def test_the_constant_is_at_chance() -> None:
    rows = [row("A.", supported=n % 3 == 0) for n in range(9)]
    result = BASELINES["constant"].measure(rows, np.array([one.supported for one in rows]))
    assert (result.auroc, result.balanced_accuracy) == (0.5, 0.5)
