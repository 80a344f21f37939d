"""The suite of procedural hallucinations has the form that its figures rest on."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from _suite import SUITE, Labelled, half_of, labelled, suite
from procedural import (
    EMBEDDED,
    Found,
    Way,
    backend,
    baseline,
    detection_at,
    flagged_rate,
    lines,
    requirements,
    verified,
)
from veridical.core.types import Source
from veridical.evaluation.baselines import BASELINES
from veridical.evaluation.rows import Label3, Row

pytestmark = pytest.mark.spec("SPEC-16.39")

ITEMS = suite()
KINDS = {
    "code",
    "configuration",
    "logs",
    "tests",
    "tables",
    "counting",
    "dates",
    "negation",
    "contracts",
    "clinical notes",
    "citations",
}


def by_case() -> dict[str, list[Labelled]]:
    found = defaultdict(list)
    for item in ITEMS:
        found[item.case].append(item)
    return found


def test_every_line_is_a_row_with_an_id_of_its_own() -> None:
    assert len({item.row.id for item in ITEMS}) == len(ITEMS) >= 240


def test_there_are_at_least_seventy_cases_even_over_the_kinds() -> None:
    cases = Counter(found[0].kind for found in by_case().values())
    assert cases.keys() == KINDS
    assert cases.total() >= 70
    assert max(cases.values()) - min(cases.values()) <= 1


def test_a_case_has_one_kind_one_half_and_the_same_evidence_throughout() -> None:
    for found in by_case().values():
        assert len({(item.kind, item.half, item.row.sources) for item in found}) == 1


def test_a_case_has_two_sound_claims_and_two_others() -> None:
    for case, found in by_case().items():
        assert Counter(item.row.supported for item in found) == {True: 2, False: 2}, case


def test_labels_agree_and_both_ways_to_be_wrong_occur() -> None:
    assert all((i.row.label3 is Label3.SUPPORTED) is i.row.supported for i in ITEMS)
    counts = Counter(item.row.label3 for item in ITEMS)
    assert min(counts[Label3.CONTRADICTED], counts[Label3.NOT_IN_CONTEXT]) >= 30


def test_the_half_is_decided_by_the_name_of_the_case() -> None:
    assert all(item.half == half_of(item.case) for item in ITEMS)
    assert min(Counter(item.half for item in ITEMS).values()) >= 0.45 * len(ITEMS)
    assert {(item.half, item.kind) for item in ITEMS} == {(h, k) for h in "AB" for k in KINDS}


def test_no_claim_comes_twice() -> None:
    assert len({item.row.claim.casefold() for item in ITEMS}) == len(ITEMS)


def test_cited_ids_exist_unless_they_are_phantoms_on_purpose() -> None:
    for item in ITEMS:
        known = {source.id for source in item.row.sources}
        assert item.phantom is not known.issuperset(item.row.cites), item.row.id
        assert not (item.phantom and item.row.supported)


def test_claims_about_citations_cite_and_two_documents_are_there_to_choose_from() -> None:
    cited = [item for item in ITEMS if item.kind == "citations"]
    assert all(item.row.cites and len(item.row.sources) == 2 for item in cited)
    assert any(item.phantom for item in cited)


def test_documents_are_long_enough_to_be_read_and_short_enough_to_be_checked_by_hand() -> None:
    for case, found in by_case().items():
        words = sum(len(source.text.split()) for source in found[0].row.sources)
        assert 50 <= words <= 400, case


@pytest.mark.parametrize("name", ["length", "word_overlap", "claim_only"])
def test_what_can_be_had_without_reading_does_not_tell_the_label(name: str) -> None:
    supported = np.array([item.row.supported for item in ITEMS], dtype=bool)
    measured = BASELINES[name].measure([item.row for item in ITEMS], supported)
    assert measured.auroc is not None
    assert abs(measured.auroc - 0.5) < 0.08


def test_the_file_ends_with_a_newline_and_has_no_empty_lines() -> None:
    text = SUITE.read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert "\n\n" not in text


# --- the figures over it ---------------------------------------------------------------------


def item(number: int, *, supported: bool, half: str) -> Labelled:
    row = Row(f"r{number}", "It is so.", (Source("S1", "It is so."),), supported)
    return Labelled(row, f"case {number}", "code", half, phantom=False)


def found(number: int, score: float | None, *, supported: bool, half: str = "A") -> Found:
    flagged = score is not None and score < 0.5
    return Found(item(number, supported=supported, half=half), score, flagged)


def test_a_rate_counts_one_label_and_leaves_out_what_is_undetermined() -> None:
    all_ = [
        found(1, 0.9, supported=False),
        found(2, 0.1, supported=False),
        found(3, 0.1, supported=False),
        found(4, None, supported=False),
        found(5, 0.1, supported=True),
    ]
    assert flagged_rate(all_, supported=False).value == pytest.approx(2 / 3)
    assert flagged_rate(all_, supported=True).value == 1.0
    assert flagged_rate(all_[3:4], supported=False).value is None


def test_an_interval_holds_its_rate_and_is_the_same_every_time() -> None:
    all_ = [found(i, i % 3 / 3, supported=False) for i in range(30)]
    rate = flagged_rate(all_, supported=False)
    assert rate.value is not None
    assert rate.spread is not None
    assert 0 <= rate.spread.low < rate.value < rate.spread.high <= 1
    assert flagged_rate(all_, supported=False) == rate


def test_the_threshold_that_moves_is_chosen_on_half_a_and_applied_to_half_b() -> None:
    a = [found(i, i / 100, supported=True) for i in range(100)]
    b = [found(100 + i, 0.04, supported=False, half="B") for i in range(10)]
    b += [found(200 + i, 0.06, supported=True, half="B") for i in range(10)]
    detection, alarms = detection_at(Way((*a, *b)), 0.05)
    assert (detection.value, alarms.value) == (1.0, 0.0)


def test_a_baseline_gives_every_claim_a_score() -> None:
    way = baseline("word_overlap", ITEMS)
    assert all(one.score is not None for one in way.found)
    assert len(way.of(half="A")) + len(way.of(half="B")) == len(ITEMS)


def test_a_line_that_is_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="not a row"):
        labelled(['{"id": "r1"}'])


def test_the_verifier_decides_every_claim_and_flags_a_phantom(tmp_path: Path) -> None:
    phantom = next(item for item in ITEMS if item.phantom)
    chosen = Namespace(cache=tmp_path / "kept" / "c.sqlite", threads=1)
    with backend(EMBEDDED, chosen) as asked:
        way = verified(EMBEDDED, asked, [*ITEMS[:3], phantom])
    assert all(one.score is not None for one in way.found)
    assert way.found[-1].flagged
    assert way.spared is None


def test_a_run_that_goes_on_asks_nothing_twice_and_finds_the_same(tmp_path: Path) -> None:
    chosen = Namespace(cache=tmp_path / "c.sqlite", threads=1)
    with backend(EMBEDDED, chosen) as asked:
        first = verified(EMBEDDED, asked, ITEMS[:2])
    with backend(EMBEDDED, chosen) as asked:
        again = verified(EMBEDDED, asked, ITEMS[:2])
        assert (asked.misses, asked.hits > 0) == (0, True)
    assert again == first


def test_the_page_names_what_it_does_not_measure_and_holds_half_b_against_the_aims() -> None:
    ways = {EMBEDDED: Way(tuple(found(i, 0.9, supported=i % 2 == 0, half="B") for i in range(8)))}
    (*_, last, _) = lines(ways)
    assert last.startswith("Not measured")
    assert EMBEDDED not in last
    assert [(one.measured[:5], one.met) for one in requirements(ways)] == [
        (".000 ", False),
        (".000 ", True),
    ]
