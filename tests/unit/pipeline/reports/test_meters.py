"""The bar of bits in characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.verdicts import Budget
from veridical.pipeline.reports.meters import bits_bar

BITS = st.floats(-12, 12)


def bar(required: float, observed: float, cells: int = 10) -> str:
    drawn = bits_bar(Budget(0.95, required, observed, required - observed), cells=cells)
    assert drawn is not None
    return drawn.text


def test_a_bar_runs_from_zero_to_the_observed_bits_and_the_mark_is_at_the_required_ones() -> None:
    assert bar(required=2.0, observed=1.0) == "█████·····│"
    assert bar(required=1.0, observed=2.0) == "█████│█████"


def test_bits_against_the_claim_look_different() -> None:
    assert bar(required=1.0, observed=-1.0) == "▒▒▒▒▒·····│"


def test_without_a_budget_there_is_no_bar() -> None:
    assert bits_bar(Budget(0.95)) is None


@given(st.floats(0, 12), BITS, st.integers(1, 60))
def test_a_bar_has_its_cells_and_one_mark(required: float, observed: float, cells: int) -> None:
    drawn = bar(required, observed, cells)
    assert len(drawn) == cells + 1
    assert drawn.count("│") == 1


@pytest.mark.parametrize(("required", "observed", "paid"), [(1, 1, True), (1, 0.9, False)])
def test_what_is_paid_is_said(required: float, observed: float, paid: bool) -> None:
    drawn = bits_bar(Budget(0.95, required, observed, required - observed))
    assert drawn is not None
    assert drawn.paid is paid
