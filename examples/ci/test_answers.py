"""What a gate looks like: recorded answers have to rest on the sources that they were given.

    pytest test_answers.py --junitxml=answers.xml

Exchange `recorded` for a call of your own program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from veridical.pytest import GroundedFixture

SOURCES = {
    "S1": "The bridge was opened to traffic in 1998. It carries eight lanes.",
    "S2": "Most drivers pay a toll; residents do not.",
}
ANSWERS = {
    "When did the bridge open?": "The bridge opened in 1998 [S1].",
    "How wide is it?": "It carries eight lanes [S1].",
}


def recorded(question: str) -> str:
    """Return what the program answered."""
    return ANSWERS[question]


@pytest.mark.parametrize("question", ANSWERS)
def test_answer_rests_on_its_sources(question: str, grounded: GroundedFixture) -> None:
    """Each claim is supported by what it cites."""
    grounded(recorded(question), SOURCES, question)
