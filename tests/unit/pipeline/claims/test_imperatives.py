"""Sentences that start with a word that may be a verb or a noun."""

import pytest

from veridical.core.types import Exclusion
from veridical.pipeline.claims import extract_claims

pytestmark = pytest.mark.spec("SPEC-08.09")


def excluded(text: str) -> set[Exclusion | None]:
    return {claim.excluded for claim in extract_claims(text).claims}


@pytest.mark.parametrize(
    "text",
    [
        "Type 2 diabetes affects 10% of adults.",
        "Use in pregnancy is contraindicated.",
        "Return on investment was 12% in 2023.",
        "Increase in sales was 10%.",
        "Study with 120 participants found no effect.",
        "Contact with an infected person spreads the virus.",
        "Report from the UN says 5 million people fled.",
        "Water that is contaminated causes cholera.",
        "Water off the coast of Florida reached 38 °C.",
        "Set up costs were $500.",
        "Complete remission was seen in 12 patients.",
    ],
)
def test_a_noun_that_opens_a_sentence_is_no_command(text: str) -> None:
    assert excluded(text) == {None}


@pytest.mark.parametrize(
    "text",
    [
        "Status: open since 2020",
        "Access: read only",
        "Hours: open daily from 9 to 5",
        "Effect: increase in heart rate.",
        "Storage: keep below 25 °C",
        "- **Status:** complete with 3 errors",
    ],
)
def test_the_value_of_a_key_is_no_command(text: str) -> None:
    assert excluded(text) == {None}


@pytest.mark.parametrize(
    "text",
    [
        "Setup: open the box.",
        'Setup: click "Save".',
        "Step 2: Add salt to the water.",
        "Report to the desk at 9 am.",
        "Contact support if the problem persists.",
        "Complete steps 1 to 3.",
        "Verify that is correct.",
        "Use with caution in patients who are elderly.",
        "Turn off the light, which is red.",
        "Return to work once you have rested.",
        "Return to the page called Settings.",
        "Click on Save and the file is stored.",
        "Set up the server before it is used.",
    ],
)
def test_a_verb_with_what_it_acts_on_is_a_command(text: str) -> None:
    assert excluded(text) == {Exclusion.INSTRUCTION}
