"""Near quotes: the decisions of `partial_ratio`, but no changed number and no changed polarity."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from veridical.core.text import normalise
from veridical.quotes import fuzzy as unit
from veridical.quotes.fact_diff import Change, change
from veridical.quotes.matching import QuoteMatch, ground_quotes
from veridical.quotes.prepared import prepare

pytestmark = pytest.mark.spec("053.fuzzy")


def match(quote: str, source: str, threshold: float = 0.85) -> QuoteMatch:
    return ground_quotes([quote], source, mode="fuzzy", fuzzy_threshold=threshold)[0]


# --- the index decides as the whole comparison would -----------------------------------------

WORDS = """sleep sleeping tired hopeless every night i feel the a not three hours of it and since
    was very much down they week 8 no""".split()  # noqa: SIM905 -- a paragraph of words
spoken = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)


@st.composite
def altered(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text, and a stretch of it with a few characters changed."""
    text = draw(spoken | st.text(alphabet="abc ", max_size=200))
    start = draw(st.integers(0, len(text)))
    quote = list(text[start : start + draw(st.integers(1, 60))])
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(quote)))
        quote[at : at + draw(st.integers(0, 3))] = draw(st.text(alphabet="abcdeint 8é", max_size=3))
    return text, "".join(quote)


@given(altered(), st.sampled_from([0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0]))
@example(("tired of it all", "stired of it"), 0.85)
@example(("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaabaaaaaa"), 0.85)
def test_a_window_is_near_exactly_if_the_partial_ratio_says_so(
    pair: tuple[str, str], threshold: float
) -> None:
    source, quote = prepare(pair[0]), normalise(pair[1]).text
    if not quote:
        return
    near = unit.nearest(quote, source, threshold)
    expected = fuzz.partial_ratio(quote, source.normal) / 100
    assert (near is not None) == (bool(source.normal) and expected >= threshold)
    if near is not None:
        assert near.score == pytest.approx(expected) or near.change or near.score < expected
        assert 0 <= near.span.start < near.span.end <= len(source.normal)


@given(altered(), st.sampled_from([0.5, 0.7, 0.85, 0.95]))
@example(("down since week hours since was tired every night", "since week hours, since was"), 0.85)
def test_what_is_near_by_its_words_is_near(pair: tuple[str, str], threshold: float) -> None:
    source, quote = prepare(pair[0]), normalise(pair[1]).text
    quick = unit.near_by_words(quote, source, threshold)
    if quick is not None:
        assert quick.change is None
        assert threshold <= quick.score <= fuzz.partial_ratio(quote, source.normal) / 100 + 1e-9
        near = unit.nearest(quote, source, threshold)
        assert near is not None
        assert near.change is None


def test_a_long_quote_with_one_other_word_is_found_by_its_words() -> None:
    text = " ".join(f"and in week {i} i could not fall asleep before {i} at all" for i in range(99))
    quote = "and in week 57 i could not fall asleep before 57 for all"
    quick = unit.near_by_words(quote, prepare(text), 0.85)
    assert quick is not None
    assert quick.span.of(text) == "and in week 57 i could not fall asleep before 57 at all"


# --- what a near match is --------------------------------------------------------------------

SOURCE = (
    "Well, I wake up at 4 every single morning and then I lie there, hopeless. "
    "I had three beers before the meal."
)


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("I wake up at 4 every singel morning", "I wake up at 4 every single morning"),
        ("I wake up at four every single mornings", "I wake up at 4 every single morning"),
        ("and then lie there, hopeless.", "and then I lie there, hopeless."),
        ("and then I lie here, hopeless!", "and then I lie there, hopeless"),
        ("I had 3 beers before the meal", "I had three beers before the meal"),
    ],
)
def test_small_differences_are_accepted_and_whole_words_given(quote: str, there: str) -> None:
    result = match(quote, SOURCE, 0.8)
    assert (result.accepted, result.grade) == (True, "fuzzy")
    assert SOURCE[result.start : result.end] == there
    assert result.score is not None
    assert 0.8 <= result.score < 1


PAIRS_OF_NUMBERS = [
    ("i sleep 8 hours every night", "i sleep 3 hours every night"),
    ("i sleep eight hours every night", "i sleep three hours every night"),
    ("8 hours of sleep every night", "3 hours of sleep every night"),
    ("every night i sleep for 8", "every night i sleep for 3"),
    ("i sleep hours and hours every night", "i sleep 3 hours and hours every night"),
    ("i sleep 3 hours every night", "i sleep hours every night"),
    ("i sleep three days every week or so", "i sleep three hours every week or so"),
    ("it began on may 3 2019 in the evening", "it began on may 3 2018 in the evening"),
    ("it began in january of that year", "it began in february of that year"),
    ("i take 50 mg of it in the evening", "i take 50 g of it in the evening"),
    ("i take 1.5 mg of it in the evening", "i take 15 mg of it in the evening"),
    ("i take 15 mg of it in the evening", "i take 1,5 mg of it in the evening"),
    ("i take 5 mg of it in the evening", "i take .5 mg of it in the evening"),
    ("i take 5 mmol of it in the evening", "i take 5 meq of it in the evening"),
    ("it cost 5 dollars a head in that year", "it cost 5k dollars a head in that year"),
    ("on the thirteenth of may in the evening", "on the fifteenth of may in the evening"),
    ("it was -5 degrees on that evening", "it was 5 degrees on that evening"),
    ("the rate was at 5% in that year", "the rate was at 5 in that year"),
    ("it cost $50 in that store", "it cost €50 in that store"),
    ("he is on the first of the tablets", "he is on the second of the tablets"),
    ("a half of the people went away", "a third of the people went away"),
    ("昨日は三時間しか眠れませんでした", "昨日は八時間しか眠れませんでした"),
    ("i have ٣ sisters and brothers", "i have ٨ sisters and brothers"),
]


@pytest.mark.parametrize(("quote", "source"), PAIRS_OF_NUMBERS)
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.85])
def test_a_changed_number_date_or_unit_is_never_accepted(
    quote: str, source: str, threshold: float
) -> None:
    for text in (source, f"well yes {source} and so it went on"):
        result = match(quote, text, threshold)
        assert not result.accepted
        assert result.reason in {"number_mismatch", "not_found"}
        if threshold == 0.5:
            assert (result.reason, result.caveats[-1]) == ("number_mismatch", "number_mismatch")


PAIRS_OF_POLARITY = [
    ("i have gone to the basement since easter", "i haven't gone to the basement since easter"),
    ("i do feel hopeless about it all", "i do not feel hopeless about it all"),
    ("i do not feel hopeless about it all", "i do feel hopeless about it all"),
    ("i don't feel hopeless about it all", "i feel hopeless about it all"),
    ("i can sleep through the whole night", "i can't sleep through the whole night"),
    ("you would not've escaped this accident", "you would've escaped this accident"),
    ("i never feel hopeless about it all", "i feel hopeless about it all"),
    ("i do not like that i am so tired", "i like that i am not so tired"),
    ("it makes me happy every single day", "it makes me unhappy every single day"),
    ("the medication was effective for me", "the medication was ineffective for me"),
    ("that was a careful thing to say", "that was a careless thing to say"),
    ("my weight increased in that month", "my weight decreased in that month"),
    ("i gained a few pounds in the spring", "i lost a few pounds in the spring"),
    ("it is much better in the evenings", "it is much worse in the evenings"),
    ("ich habe nicht geschlafen heute nacht", "ich habe geschlafen heute nacht"),
    ("i went there with my parents then", "i went there without my parents then"),
    ("hardly ate anything over the weekend", "ate anything over the weekend"),
    ("i feel hopeless about the future", "i do not really feel hopeless about the future"),
    ("i feel hopeless about the future", "i no longer feel hopeless about the future"),
    ("i feel hopeless about the future", "i hardly ever feel hopeless about the future"),
]


@pytest.mark.parametrize(("quote", "source"), PAIRS_OF_POLARITY)
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.85])
def test_a_changed_polarity_is_never_accepted(quote: str, source: str, threshold: float) -> None:
    for text in (source, f"well yes {source} and so it went on"):
        result = match(quote, text, threshold)
        assert not result.accepted or result.grade != "fuzzy"
        if threshold == 0.5 and result.grade == "fuzzy":
            assert (result.reason, result.caveats[-1]) == ("polarity", "polarity")


def test_a_quote_is_refused_only_if_no_near_stretch_says_the_same() -> None:
    source = "i sleep 3 hours every night now. on the pills i slept 8 hours evry night now."
    result = match("i sleep 8 hours every night now", source, 0.8)
    assert result.accepted
    assert source[result.start : result.end] == "i slept 8 hours evry night now"


def test_the_way_a_number_or_a_negation_is_written_is_no_change() -> None:
    assert change(["i", "can't"], ["i", "can", "not"]) is None
    assert change(["three"], ["3"]) is None
    assert change(["1,000"], ["1000"]) is None
    assert change([".5"], ["0.5"]) is None
    assert change(["hours"], ["hour"]) is None
    assert change(["never"], ["not"]) is Change.POLARITY


def test_a_very_repetitive_text_takes_no_longer_than_the_whole_comparison() -> None:
    assert match(f"{'ab ' * 40}c", "ab " * 10_000).accepted


# --- typing errors ---------------------------------------------------------------------------

SAID = (
    "well i could not sleep last night and in seven hours i took 20 milligrams twice a week in may"
)


@pytest.mark.parametrize(
    ("there", "typed"),
    [
        *[("night", wrong) for wrong in ("nigt", "nihgt", "nightt", "niqht")],
        *[("hours", "hors"), ("milligrams", "miligrams"), ("week", "wek"), ("sleep", "slep")],
    ],
)
def test_one_wrong_letter_in_an_ordinary_word_passes(there: str, typed: str) -> None:
    assert match(SAID.replace(there, typed), SAID).accepted is (len(typed) >= len("slep"))
    assert match(SAID, SAID.replace(there, typed)).accepted is (len(typed) >= len("slep"))


@pytest.mark.parametrize(
    ("there", "typed"),
    [
        *[("seven", "sevn"), ("seven", "eleven"), ("20", "2o"), ("20", "30"), ("twice", "twise")],
        *[("not", "nto"), ("not", "now"), ("milligrams", "micrograms")],
        *[("week", "day"), ("night", "nigth time"), ("hours", "hour's 4")],
    ],
)
def test_no_wrong_letter_passes_in_a_number_or_a_negation(there: str, typed: str) -> None:
    assert not match(SAID.replace(there, typed), SAID).accepted


def test_a_misspelt_month_that_could_be_another_one_is_refused() -> None:
    source = "i have been feeling like this ever since july began"
    assert not match(source.replace("july", "juny"), source).accepted  # June as well as July
    assert match(source.replace("july", "jully"), source).accepted
