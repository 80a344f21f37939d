import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.pipeline.claims import extract_claims, with_known_names
from veridical.pipeline.claims.antecedents import resolve


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("The bridge opened in 1998.", "It carries cars.", "The bridge carries cars."),
        ("The bridge opened in 1998.", "It’s red.", "The bridge is red."),
        ("The museum is in Paris.", "Its hall has 300 works.", "The museum's hall has 300 works."),
        ("Maria Smith was born in 1950.", "She won a prize.", "Maria Smith won a prize."),
        ("The patients were treated.", "They recovered.", "The patients recovered."),
        ("The Gold plan costs 5 dollars.", "This plan has support.", "The Gold plan has support."),
        ("We offer the Gold plan.", "This plan has support.", "The Gold plan has support."),
        ("Acme sells tools.", "It was founded in 1990.", "Acme was founded in 1990."),
    ],
)
def test_a_word_that_can_mean_one_thing_is_replaced(before: str, text: str, expected: str) -> None:
    assert resolve(text, before) == expected


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("", "It carries cars."),
        ("The company bought the shop.", "It was founded in 1990."),
        ("The company bought Acme.", "It was founded in 1990."),
        ("Maria met Anna in 1950.", "She won a prize."),
        ("The students read the books.", "They were old."),
        ("The bridge opened in 1998.", "They were red."),
        ("The bridge opened in 1998.", "She was red."),
        ("The bridges were opened in 1998.", "It was red."),
        ("The bridge opened in 1998.", "It is clear that it was late."),
        ("The bridge opened in 1998.", "It rained."),
        ("The bridge opened in 1998.", "It is good."),
        ("It opened in 1998.", "It is red."),
        ("The Gold plan and the Silver plan differ.", "This plan is cheap."),
        ("The bridge opened in 1998.", "This plan is cheap."),
        ("The bridge opened in 1998.", "Items are red."),
        ("The bridge, which is red, opened.", "It carries cars."),
        ("The choice is the Acme.", "It is cheap."),
        ("Nursery was closed.", "His mother came."),
    ],
)
def test_a_word_that_may_mean_another_thing_stays(before: str, text: str) -> None:
    assert resolve(text, before) is None


@given(st.text(), st.text())
def test_it_never_raises(before: str, text: str) -> None:
    assert resolve(text, before) is None or text


def test_the_text_as_it_stands_is_kept_beside_what_is_read() -> None:
    answer = "The bridge opened in 1998. It always has cars. It was red.\n\nIt was old."
    claims = extract_claims(answer).claims
    assert [claim.text for claim in claims] == [c.span.of(answer) for c in claims]
    assert [claim.read_as for claim in claims] == [
        None,
        "The bridge always has cars.",
        "The bridge was red.",
        None,  # another paragraph
    ]
    assert claims[1].weaker == "The bridge sometimes has cars."
    assert [c.as_read for c in claims[:2]] == [claims[0].text, claims[1].read_as]


@pytest.mark.parametrize(
    ("source", "read_as"),
    [("The Bridge was opened.", "The bridge is always red."), ("It is red.", None)],
)
def test_a_name_is_read_only_if_a_source_has_it(source: str, read_as: str | None) -> None:
    claims = extract_claims("The bridge opened in 1998. It is always red.")
    last = with_known_names(claims, [source]).claims[-1]
    assert (last.text, last.read_as) == ("It is always red.", read_as)
    assert last.weaker == ("The bridge is" if read_as else "It is") + " sometimes red."


def test_the_parts_of_a_claim_are_named_too() -> None:
    claims = extract_claims("The bridge opened in 1998. It is red and its deck is long.").claims
    assert [part.text for part in claims[1].parts] == [
        "The bridge is red.",
        "The bridge's deck is long.",
    ]
