from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.numerals import find_numbers


def values(text: str) -> list[tuple[str, Fraction]]:
    return [(text[n.start : n.end], n.value) for n in find_numbers(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4,200,000", 4_200_000),
        ("4.2 million", 4_200_000),
        ("12k", 12_000),
        ("2M", 2_000_000),
        ("1.5M", 1_500_000),
        ("1e6", 1_000_000),
        ("1,5", Fraction(3, 2)),
        ("1.234.567,5", Fraction(2469135, 2)),
        ("1\u202f500", 1500),
        (".5", Fraction(1, 2)),
        ("-5", -5),
        ("\u22125", -5),
        ("2½", Fraction(5, 2)),
        ("⅔", Fraction(2, 3)),
        ("twenty-four", 24),
        ("one hundred and five", 105),
        ("two thousand three hundred", 2300),
        ("a hundred", 100),
        ("a dozen", 12),
        ("half a million", 500_000),
        ("two and a half", Fraction(5, 2)),
        ("one third", Fraction(1, 3)),
        ("three quarters", Fraction(3, 4)),
    ],
)
def test_a_number_is_read_whole(text: str, value: Fraction) -> None:
    assert values(text) == [(text, value)]


@pytest.mark.parametrize(
    "text", ["v3.2", "10.0.0.1", "3.2.1", "12:30", "a few hundred", "hundreds of them", "S3", "#12"]
)
def test_what_is_no_number_is_left(text: str) -> None:
    assert values(text) == []


def test_numbers_side_by_side_stay_apart() -> None:
    assert [value for _, value in values("nineteen sixty, one hundred")] == [19, 60, 100]


def test_a_number_knows_how_finely_it_is_stated() -> None:
    (million,) = find_numbers("4.2 million")
    (thousand,) = find_numbers("1,000")
    assert (million.step, thousand.step, thousand.rough) == (100_000, 1, 1000)


@given(st.integers(min_value=0, max_value=10**12))
def test_grouped_digits_read_as_the_same_number(value: int) -> None:
    assert [found for _, found in values(f"{value:,}")] == [value]


@given(st.text(alphabet="0123456789,.-+ eEkonewhdrtyaf½", max_size=200))
def test_numbers_are_in_order_and_apart(text: str) -> None:
    found = find_numbers(text)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(0 <= n.start < n.end <= len(text) for n in found)
