"""The words around a claim say whether the text asserts it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.pipeline.judgement.assertion_cues import NEAR, is_unasserted

CLAIM = re.compile("the hat is red", re.IGNORECASE)
BACKGROUND = "The shop has three rooms. It is closed on Monday."


def unasserted(text: str, background: str = BACKGROUND) -> bool:
    """Return what the text around its claim says, behind other text."""
    whole = f"{background}\n\n{text}"
    (claim,) = CLAIM.finditer(whole)
    return is_unasserted(whole[: claim.start()], whole[claim.end() :])


@pytest.mark.parametrize(
    "text",
    [
        "It is not true that the hat is red.",
        "They never showed that the hat is red.",
        "Some customers say the hat is red.",
        "Everybody here thinks that the hat is red.",
        "“The hat is red,” an anonymous caller said.",
        "The hat is red, or so I was told.",
        "Rumour has it that the hat is red.",
        "According to gossip in the shop, the hat is red.",
        "Is it certain that the hat is red?",
        "A customer asked whether the hat is red.",
        "If the hat is red, we close.",
        "Perhaps the hat is red.",
        "In his second novel, the hat is red.",
        "We know that many believe that the hat is red.",
        "Myth: the hat is red.",
        "Popular errors and misconceptions:\n- The coat is old.\n- The hat is red.",
        "## Common myths\n\n1. The coat is old.\n2. The hat is red.",
        "This page does not say:\n- The hat is red.",
        "The following sentence is fiction. The hat is red.",
        "We wrote that the hat is red; this was wrong.",
        "We once wrote that the hat is red, which was never confirmed.",
        "The hat is red. The previous sentence is false.",
        "The hat is red. No, that was a mistake of ours.",
        "The hat is red. Later she took that back.",
        "The idea that the hat is red has long been rejected.",
        "The hat is red [there is no proof of this].",
        "Critics of the shop: “The hat is red.”",
        "According to a rival's leaflet, the hat is red.",
        "The hat is red, if the caller is to be believed.",
        "The hat is red (citation needed).",
        "Sample text, to be replaced:\n\nThe hat is red.",
        "A hostile pamphlet has “the hat is red” on it.",
        "Half the town thinks the hat is red.",
        "A coat, a coat, a coat, a rumour, and a coat, a coat, a coat, a coat: the hat is red.",
        "The hat is red, critics of the shop said.",
        "The hat is red, one visitor believed.",
        "The hat is red.\n\nThis sentence is false.",
        "**The myths that we heard in the shop and in the town this year:**\n- The hat is red.",
    ],
)
def test_a_text_that_denies_doubts_asks_or_supposes_does_not_assert(text: str) -> None:
    assert unasserted(text)


@pytest.mark.parametrize(
    "text",
    [
        "The hat is red.",
        "In spring, the hat is red.",
        "The minutes say that the hat is red.",
        "Tests confirmed that the hat is red.",
        "According to the annual report, the hat is red.",
        "Although some doubted it, the hat is red.",
        "There is no doubt that the hat is red.",
        "It is not a rumour that the hat is red.",
        "Nobody knew that the hat is red.",
        "Some regret that the hat is red.",
        "Critics admit that the hat is red.",
        "Did you know that the hat is red?",
        "She could clearly see that the hat is red.",
        "I think the hat is red.",
        "It is certain that the hat is red.",
        "In people's rooms the hat is red.",
        "After years of doubt in the shop the hat is red.",
        "Opponents confirmed that the hat is red.",
        "The hat is red, the list says.",
        "We sell books of myths. The hat is red.",
        "Myths of the shop and of the town and of the whole country\n\nThe hat is red.",
        "We failed to mention that the hat is red.",
        "The list of May shows that the hat is red.",
        "Had he looked, he would have seen that the hat is red.",
        "Rumours about the coat were denied, but the hat is red.",
        "ERROR: the hat is red.",
        "What went wrong:\n- The hat is red.",
        "Is the coat old? The hat is red.",
        "The hat is red. That was not enough for the buyer.",
        "The hat is red. It made it to the window.",
        "The hat is red, and some like it.",
        "1. The hat is red.\n2. It is a myth that the coat is old.",
    ],
)
def test_a_text_that_states_the_claim_asserts_it(text: str) -> None:
    assert not unasserted(text)


def test_a_word_far_from_the_claim_says_nothing_about_it() -> None:
    assert not unasserted(f"A myth, a rumour {'and a coat ' * 9}: the hat is red.")
    assert not unasserted("The hat is red.", f"Common myths:\n\n{'The coat is old. ' * NEAR}")


CUES = ["some say that", "no doubt", "myth:", "if", "not", ".", "?", "\n- ", ", ", "“"]
TEXTS = st.lists(st.sampled_from(CUES)).map(" ".join)


@given(TEXTS, TEXTS)
def test_what_is_far_from_a_claim_changes_nothing(before: str, after: str) -> None:
    far, space = "Myth: it is false. " * NEAR, " " * NEAR
    found = is_unasserted(f"{space}{before}", f"{after}{space}")
    assert is_unasserted(f"{far}{space}{before}", f"{after}{space}{far}") is found
