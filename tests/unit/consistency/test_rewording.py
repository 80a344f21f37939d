from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.consistency.rewording import rewordings, same_facts


@pytest.mark.parametrize(
    ("claim", "other"),
    [
        ("The bridge was opened in May 1998.", "In May 1998, the bridge was opened."),
        ("In May 1998, the bridge opened.", "The bridge opened in May 1998."),
        ("The retry isn't enabled.", "The retry is not enabled."),
        ("The pump cannot run dry.", "The pump can't run dry."),
        ("The text says that Acme built it.", "Acme built it."),
        ("According to the report, sales fell.", "Sales fell."),
        ("It has six lanes [S1].", "It has six lanes."),
        ("It has six lanes.", "It is true that it has six lanes."),
        ("Smeaton's tower was granite.", "It is true that Smeaton's tower was granite."),
    ],
)
def test_a_claim_is_said_in_other_words(claim: str, other: str) -> None:
    assert other in rewordings(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "In 1998, the company said that it would close.",
        "The bridge opened in 1998 and closed in 2003.",
        "The firm planned to move in 1998.",
        "He did not leave in 1998.",
    ],
)
def test_a_time_that_may_belong_to_another_verb_stays_where_it_is(claim: str) -> None:
    found = rewordings(claim)
    assert not any(text.startswith("In ") or text.endswith("close in 1998.") for text in found)


@given(st.text(max_size=80))
def test_rewordings_of_any_text_differ_and_keep_its_facts(claim: str) -> None:
    found = rewordings(claim)
    assert claim not in found
    assert len(set(found)) == len(found)
    assert all(same_facts(claim, text) for text in found)


@pytest.mark.parametrize(
    ("claim", "other"),
    [
        ("Bob paid three euros.", "Bob paid four euros."),
        ("The bill was paid by Bob.", "The bill was paid by Alice."),
        ("Bob paid.", "Alice paid."),
        ("It is on.", "It is not on."),
        ("It opened in 1998.", "It opened."),
        ("It weighs 5 kg.", "It weighs 5 g."),
    ],
)
def test_other_numbers_names_units_or_negations_are_other_facts(claim: str, other: str) -> None:
    assert not same_facts(claim, other)
    assert not same_facts(other, claim)


def test_the_same_facts_may_stand_in_another_order_and_as_digits() -> None:
    assert same_facts("Bob paid three euros.", "The 3 euros were paid by Bob.")
    assert same_facts("It isn't on.", "It is not on.")


@given(st.text(max_size=80))
def test_a_text_has_the_facts_it_has(text: str) -> None:
    assert same_facts(text, text)
