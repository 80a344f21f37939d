import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.moments import Date, find_moments


def dates(text: str) -> set[tuple[Date, ...]]:
    return {moment.dates for moment in find_moments(text) if moment.dates}


def hours(text: str) -> list[tuple[float, ...]]:
    times = (m for m in find_moments(text) if m.kind == "time of day")
    return [tuple(second / 3600 for second in m.numbers) for m in times]


@pytest.mark.parametrize(
    "text",
    [
        "5 May 2024",
        "May 5, 2024",
        "2024-05-05",
        "the fifth of May 2024",
        "5th May, 2024",
        "05.05.2024",
    ],
)
def test_a_day_is_the_same_however_it_is_written(text: str) -> None:
    assert (Date(2024, 5, 5),) in dates(text)


def test_a_date_with_slashes_may_be_two_days() -> None:
    assert dates("12/05/2024") == {(Date(2024, 5, 12), Date(2024, 12, 5))}
    assert dates("13/05/2024") == {(Date(2024, 5, 13),)}


def test_what_is_not_written_of_a_date_is_not_known() -> None:
    assert dates("in 1968.") == {(Date(1968, None, None),)}
    assert dates("on April 1") == {(Date(None, 4, 1),)}


@pytest.mark.parametrize(
    "text", ["You may go 5 times", "in 1500 patients", "31 apples", "99 May 2024x"]
)
def test_what_is_no_date_is_left(text: str) -> None:
    assert dates(text) == set()


@pytest.mark.parametrize(
    "text",
    ["from 1995 to 2010.", "between 1995 and 2010", "in 1995 and 2010"],
)
def test_each_of_two_years_is_a_date(text: str) -> None:
    assert dates(text) == {(Date(1995, None, None),), (Date(2010, None, None),)}


@pytest.mark.parametrize("text", ["between 1200 and 1500 people", "between 1200 and 1500 %"])
def test_what_counts_a_thing_is_no_year(text: str) -> None:
    assert dates(text) == set()


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("14:00", 14),
        ("2 p.m.", 14),
        ("2pm", 14),
        ("noon", 12),
        ("12:00", 12),
        ("midnight", 0),
        ("24:00", 0),
        ("12:30 a.m.", 0.5),
        ("09:30", 9.5),
        ("9:30 in the evening", 21.5),
        ("half past two in the afternoon", 14.5),
        ("five o'clock in the morning", 5),
    ],
)
def test_a_time_of_day_is_read(text: str, hour: float) -> None:
    assert hours(text) == [(hour,)]


def test_a_time_without_its_half_of_the_day_may_be_either() -> None:
    assert hours("at 9:30") == [(9.5, 21.5)]
    assert hours("two o'clock") == [(2, 14)]


def test_dates_that_share_a_part_can_oppose_each_other() -> None:
    assert Date(2024, 5, 5).opposes(Date(None, 5, 6))
    assert not Date(2024, 5, 5).opposes(Date(2024, None, None))
    assert not Date(None, 5, None).meets(Date(2024, None, None))


@given(st.dates(min_value=__import__("datetime").date(1900, 1, 1)))
def test_iso_dates_come_back_as_they_are(day: object) -> None:
    text = str(day)
    if int(text[:4]) <= 2100:
        assert dates(text) == {(Date(*map(int, text.split("-"))),)}


@given(st.text(alphabet="0123456789:./- apmMayJunoc'lk", max_size=120))
def test_moments_lie_in_their_text(text: str) -> None:
    assert all(0 <= m.start < m.end <= len(text) for m in find_moments(text))
