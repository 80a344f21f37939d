from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.quantities import (
    Bound,
    Derivation,
    Quantity,
    Relation,
    derivation,
    relation,
)
from veridical.core.quantity_parsing import find_quantities


def only(text: str) -> Quantity:
    (quantity,) = find_quantities(text)
    return quantity


def related(claimed: str, stated: str) -> Relation | None:
    return relation(only(claimed), only(stated))


@pytest.mark.parametrize(
    ("claimed", "stated"),
    [
        ("2 p.m.", "14:00"),
        ("one year", "twelve months"),
        ("half a year", "six months"),
        ("two weeks", "14 days"),
        ("an hour", "3600 seconds"),
        ("450 ms", "0.45 s"),
        ("1 h 30 min", "90 minutes"),
        ("1,5 GB", "1500 MB"),
        ("1.5 GB", "1536 MB"),
        ("64 KiB", "65,536 bytes"),
        ("$4.2 million", "USD 4,200,000"),
        ("€12.5m", "12.5 million euros"),
        ("45 cents", "$0.45"),
        ("33 %", "a third of"),
        ("50 percent", "half of"),
        ("nine out of ten", "90 %"),
        ("12k", "12,000"),
        ("2M users", "2 million users"),
        ("$2M", "$2 million"),
        ("2m", "2 metres"),
        ("20MB", "20 megabytes"),
        ("the 3rd man", "the third man"),
        ("Q2", "the second quarter"),
        ("−5 °C", "23 °F"),
        ("36 km/h", "10 m/s"),
        ("10 mg/dl", "100 mg/l"),
        ("10 miles", "16 km"),
        ("5 May 2024", "2024-05-05"),
        ("April 1", "the first of April"),
        ("10-12 days", "between 10 and 12 days"),
        ("over 300 people", "330 people"),
        ("about 8 s", "7.98 s"),
        ("at least 12", "a minimum of twelve"),
        ("nearly 400", "390"),
        ("just over 300", "310"),
        ("close to $10 million", "$10.2 million"),
        ("twice", "two times"),
        ("4.0", "4"),
        ("5-10 million", "5 million to 10 million"),
        ("two to three million", "2 million to 3 million"),
        ("two to three hundred", "200-300"),
        ("3-5 thousand", "3,000 to 5,000"),
        ("5-10k", "5,000-10,000"),
        ("between $5 and $10 million", "between $5 million and $10 million"),
        ("1.5-2 million tonnes", "1.5 million to 2 million tonnes"),
        ("$1-2 billion", "$1 billion to $2 billion"),
        ("$1–$2 billion", "$1 billion to $2 billion"),
        ("21 °C", "70 °F"),
        ("about 20 °C", "21 °C"),
        ("10-20 °C", "50-68 °F"),
        ("1.50 km", "1.5 km"),
        ("two and a half", "2.5"),
        ("minus 5 °C", "−5 °C"),
    ],
)
def test_equal_quantities_are_the_same_in_other_words(claimed: str, stated: str) -> None:
    assert related(claimed, stated) is Relation.SAME


@pytest.mark.parametrize(
    ("claimed", "stated"),
    [
        ("20 MB", "20 GB"),
        ("three weeks", "three months"),
        ("-3.4 %", "+3.4 %"),
        ("£18 million", "$18 million"),
        ("9:30 p.m.", "9:30 a.m."),
        ("14 March", "24 March"),
        ("1968-01-02", "1986-01-02"),
        ("Tuesday", "Thursday"),
        ("up to five times", "up to three times"),
        ("over 450", "nearly 400"),
        ("the third man", "the second man"),
        ("150/95", "130/85"),
        ("10-12 days", "10-14 days"),
        ("5 mg", "5 g"),
        ("8 % per year", "6 % per year"),
        ("about 300", "about 400"),
        ("nearly 300 people", "150 people"),
        ("almost 90 %", "12 %"),
        ("close to $10 million", "$1 million"),
        ("just over 10 km", "500 km"),
        ("just over 300", "290"),
        ("5-10 million", "5-12 million"),
        ("5-10 million", "6 million to 10 million"),
        ("500 to 2,000", "500,000 to 2 million"),
        ("about 20 °C", "2 °C"),
        ("20 °C", "25 °C"),
        ("20 °C", "50 °F"),
        ("over 300", "just under 300"),
        ("minus 5 °C", "5 °C"),
        ("no more than 4 g", "5 g"),
    ],
)
def test_other_quantities_differ_either_way(claimed: str, stated: str) -> None:
    assert related(claimed, stated) is Relation.DIFFERENT
    assert related(stated, claimed) is Relation.DIFFERENT


@pytest.mark.parametrize(
    ("claimed", "stated"),
    [
        ("330", "over 300"),
        ("12/05/2024", "5 December 2024"),
        ("9:30", "9:30 p.m."),
        ("30 days", "one month"),
        ("37.9 %", "38 %"),
        ("1,000", "1,004"),
        ("11 days", "10-12 days"),
        ("1.5 °C", "2.7 °F"),
        ("over 1.5 °C", "2.7 °F"),
        ("1-2 °C", "1.8-3.6 °F"),
        ("5 K", "5 °C"),
        ("3.10", "3.1"),
        ("at least 3.10", "3.1"),
        ("$5", "7 euros"),
        ("5 May 2024", "May 2024"),
    ],
)
def test_what_may_be_the_same_is_unclear(claimed: str, stated: str) -> None:
    assert related(claimed, stated) is Relation.UNCLEAR


@pytest.mark.parametrize(
    ("claimed", "stated"), [("5 kg", "5 m"), ("5 apples", "5 %"), ("5 % per year", "5 %")]
)
def test_quantities_of_two_dimensions_are_not_compared(claimed: str, stated: str) -> None:
    assert related(claimed, stated) is None


@pytest.mark.parametrize(
    "text", ["version v3.2.1", "one of them", "a few hundred", "the 1990s", "in her 30s"]
)
def test_what_is_no_quantity_is_left(text: str) -> None:
    assert find_quantities(text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She was given 2 g of ceftriaxone a day.", ["2 g"]),
        ("She takes two tablets a day.", ["two"]),
        ("She stayed a day.", ["a day"]),
        ("The 1998 siege lasted a month.", ["1998", "a month"]),
    ],
)
def test_an_article_after_an_amount_is_a_rate_and_no_time(text: str, found: list[str]) -> None:
    assert [quantity.text for quantity in find_quantities(text)] == found


def test_the_words_of_a_bound_belong_to_the_quantity() -> None:
    quantity = only("We saw at least 12 of them")
    assert (quantity.text, quantity.bound) == ("at least 12", Bound.AT_LEAST)


@pytest.mark.parametrize(
    "text",
    [
        "doses not exceeding 4 g",
        "It must not be stored above 25 °C",
        "don't keep below 2 °C",
        "not clear why over 300 came",
    ],
)
def test_a_bound_behind_a_negation_is_left_to_the_verifier(text: str) -> None:
    assert find_quantities(text) == ()


def test_spans_are_of_the_text_as_it_stands() -> None:
    text = "Ünïcode — “at 14:00” for USD 5 and 20\u202f%"
    found = find_quantities(text)
    assert [q.text for q in found] == ["14:00", "USD 5", "20\u202f%"]
    assert all(q.span.of(text) == q.text for q in found)


def test_a_table_of_many_numbers_has_no_quantities() -> None:
    assert find_quantities(" ; ".join(map(str, range(100, 200)))) == ()


@pytest.mark.parametrize("text", ["1 ", "a ", "one ", "1-", "$", "half ", "May ", "1,", "5 in "])
def test_no_text_takes_long(text: str) -> None:
    started = process_time()
    find_quantities((text * 8000)[:8000])
    assert process_time() - started < 5


def test_a_sum_a_difference_and_a_share_follow_where_the_claim_says_so() -> None:
    stated = find_quantities("9 chairs came on Monday and 6 chairs came later.")
    assert derivation("15 chairs in total", only("15 chairs"), stated) is Derivation.SUM
    assert derivation("3 chairs more", only("3 chairs"), stated) is Derivation.DIFFERENCE
    assert derivation("67 % of them", only("67 %"), stated) is Derivation.SHARE
    assert derivation("15 chairs came", only("15 chairs"), stated) is None
    assert derivation("16 chairs in total", only("16 chairs"), stated) is None


_AMOUNTS = st.integers(min_value=1, max_value=10**6)
_NAMES = st.sampled_from(["kg", "ms", "GB", "km", "euros", "%", "weeks", "people", "°F"])


@given(_AMOUNTS, _NAMES)
def test_every_quantity_is_the_same_as_itself(amount: int, name: str) -> None:
    text = f"{amount} {name}"
    assert related(text, text) is Relation.SAME


@given(_AMOUNTS, _AMOUNTS, _NAMES)
def test_whether_two_quantities_differ_does_not_depend_on_their_order(
    one: int, other: int, name: str
) -> None:
    a, b = f"{one} {name}", f"{other} {name}"
    assert (related(a, b) is Relation.DIFFERENT) == (related(b, a) is Relation.DIFFERENT)


@given(st.text(alphabet="0123456789 .,:/-–%$€°CkmgGBsapontehundrdMy½", max_size=150))
def test_quantities_are_in_order_apart_and_of_their_text(text: str) -> None:
    found = find_quantities(text)
    assert all(a.span.end <= b.span.start for a, b in pairwise(found))
    assert all(q.span.of(text) == q.text for q in found)
