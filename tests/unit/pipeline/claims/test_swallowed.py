"""Text that asserts in a place where assertions are rare: none of it may go unchecked."""

import pytest

from veridical.core.types import Claim, ClaimKind, Exclusion
from veridical.pipeline.claims import extract_claims

pytestmark = pytest.mark.spec("SPEC-08.09")


def claims(text: str) -> tuple[Claim, ...]:
    return extract_claims(text).claims


def first(text: str) -> Claim:
    return claims(text)[0]


def asserted(text: str) -> list[str]:
    return [claim.text for claim in claims(text) if claim.assertive]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**It collapsed in 2001**", "It collapsed in 2001"),
        ("## It collapsed in 2001 [1]", "It collapsed in 2001"),
        ("It collapsed in 2001\n====", "It collapsed in 2001"),
        ("## The Bridge Collapsed in 2001", "The Bridge Collapsed in 2001"),
        ("## The bridge was designed by Eiffel", "The bridge was designed by Eiffel"),
        ("## The old bridge collapsed without warning", "The old bridge collapsed without warning"),
        ("## 2. The bridge employs Eiffel", "2. The bridge employs Eiffel"),
        ("## Smoking causes cancer", "Smoking causes cancer"),
        ("## Exercise improves sleep", "Exercise improves sleep"),
        ("**Dosage: 5000 mg**", "Dosage: 5000 mg"),
        ("**Total: $4,200**", "Total: $4,200"),
        ("**Capital: Paris**", "Capital: Paris"),
        ("## Founded: 1850", "Founded: 1850"),
        ("**Paris**", "Paris"),
        ("**Note: the bridge collapsed**", "The bridge collapsed"),
        ("**I'm sorry to say that the patient died**", "The patient died"),
    ],
)
def test_a_heading_that_asserts_is_a_claim(text: str, expected: str) -> None:
    claim = first(text)
    assert (claim.kind, claim.excluded, claim.text) == (ClaimKind.HEADING, None, expected)


@pytest.mark.parametrize(
    "text",
    [
        "## Results",
        "## Summary of the 2001 incident",
        "**Overview of Eiffel**",
        "## Key Features of Python 3",
        "## Lessons Learned From 2001",
        "## Frequently Asked Questions About Python",
        "## 2.1 How It Works in Python",
        "## Understanding how Python is used",
        "## Overview of what is known about Mars",
        "## May 2024 Report",
        "## 1. It works",
        "## Main causes of cancer",
        "## Key causes explained",
        "## Part 2: Methods",
        "**Step 1: Open 2 boxes**",
        "**Summary: key points**",
        "## Python: an introduction",
        "**Overview**",
        "**Key findings**",
        "| It fell in 2001 | b |\n|---|---|",
    ],
)
def test_a_title_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.HEADING


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("Unit price: $12.50", None),
        ("Case number: 12", None),
        ("Unit 3: 5 cells", Exclusion.HEADING),
        ("Case two: 5 cells", Exclusion.HEADING),
        ("Tip for cooks: 5 eggs", Exclusion.HEADING),
        ("Tip: 5 eggs", Exclusion.HEADING),
    ],
)
def test_a_property_has_a_value_and_a_numbered_part_has_none(
    title: str, why: Exclusion | None
) -> None:
    assert extract_claims(f"It is old.\n\n**{title}**\n\nIt fell.").claims[1].excluded is why


def test_a_bold_line_that_opens_the_answer_to_a_question_is_what_it_says() -> None:
    answer = "**Paris**\n\nIt is old.\n\n**Rome**"

    def excluded(question: str | None) -> list[Exclusion | None]:
        return [c.excluded for c in extract_claims(answer, question=question).claims]

    assert excluded("What is the capital?") == [None, None, Exclusion.HEADING]
    assert excluded(None) == [Exclusion.HEADING, None, Exclusion.HEADING]


def test_a_heading_may_be_a_question_or_an_instruction() -> None:
    assert first("## Was it built in 1850?").excluded is Exclusion.QUESTION
    assert first("## Check that Python 3 is installed").excluded is Exclusion.INSTRUCTION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The bridge collapsed in 2001 for these reasons:",
            "The bridge collapsed in 2001 for these reasons.",
        ),
        ("The bridge fell in 2001, as follows:", "The bridge fell in 2001, as follows."),
        ("**The bridge fell in 2001:**", "The bridge fell in 2001."),
    ],
)
def test_a_lead_in_that_asserts_is_a_claim(text: str, expected: str) -> None:
    assert asserted(f"{text}\n\n- rust")[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        "On John Smeaton's tower:",
        "The main points are:",
        "The steps are as follows:",
        "There are 3 main points:",
        "The symptoms of the 2001 flu are:",
        "The Python 3.12 release has the following features:",
    ],
)
def test_a_lead_in_that_announces_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.HEADING


def test_a_greeting_with_a_colon_is_excluded() -> None:
    assert first("Here's what happened:").excluded is Exclusion.GREETING


@pytest.mark.parametrize(
    "text",
    [
        "The bridge, which may be red, collapsed in 2001.",
        "The bridge, which perhaps was red, has fallen.",
        "The bridge that may be red collapsed in 2001.",
    ],
)
def test_a_hedge_in_a_relative_clause_of_the_subject_leaves_an_assertion(text: str) -> None:
    assert first(text).excluded is None


@pytest.mark.parametrize(
    "text",
    [
        "The bridge, which was built in 1850, may be red.",
        "The bridge, which may be red, might have collapsed.",
        "The bridge that may have collapsed in 2001.",
    ],
)
def test_a_hedge_of_the_main_clause_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.HEDGED


@pytest.mark.parametrize(
    "opening",
    [
        "Note",
        "Please note",
        "Consider that",
        "Do not forget that",
        "Don't forget",
        "Keep in mind",
        "Keep in mind that",
        "Remember that",
        "Note, however, that",
    ],
)
def test_what_a_reminder_reminds_of_is_the_claim(opening: str) -> None:
    claim = first(f"{opening} the bridge collapsed in 2001.")
    assert (claim.text, claim.excluded) == ("The bridge collapsed in 2001.", None)


@pytest.mark.parametrize(
    "text",
    ["Note the number on the plate.", "Remember to install it.", "Do not forget your password."],
)
def test_a_reminder_to_act_is_an_instruction(text: str) -> None:
    assert first(text).excluded is Exclusion.INSTRUCTION


@pytest.mark.parametrize(
    "tag", ["right?", "correct?", "isn't it?", "wasn’t it?", "was it not?", "[1] right?"]
)
def test_a_tag_question_asserts(tag: str) -> None:
    claim = first(f"It was built in 1850, {tag}")
    assert (claim.text, claim.excluded) == ("It was built in 1850.", None)


@pytest.mark.parametrize("text", ["Is it red, right?", "It was built when, right now?", "Right?"])
def test_a_question_with_a_tag_is_a_question(text: str) -> None:
    assert first(text).excluded is Exclusion.QUESTION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\nIt fell.\n\nIt rose.", ["It fell.", "It rose."]),
        ("```text\nIt fell.", ["It fell."]),
        ("```The bridge fell in 2001.\nx\n```", ["The bridge fell in 2001."]),
        ("~~~ The bridge fell in 2001\nx\n~~~\nIt rose.", ["The bridge fell in 2001", "It rose."]),
        ("```markdown\nIt fell.\n```", ["It fell."]),
        ("```\n# Bridge\n\nIt fell.\n```", ["It fell."]),
        ("It rose.\n\n```text\nIt fell.\n```\nIt is.", ["It rose.", "It fell.", "It is."]),
        ("```md\nIt fell.\n```py\nx\n```\nIt rose.\n```\n```\ny\n```", ["It fell.", "It rose."]),
        ("It is.\n```\nx\n> ```\n> It fell.\n```\nIt rose.", ["It is.", "It rose."]),
    ],
)
def test_only_closed_fences_of_code_hide_text(text: str, expected: list[str]) -> None:
    assert asserted(text) == expected


@pytest.mark.parametrize("text", ["It is.\n\n```\nx = 1\n```", "```python\nx = 1\n```"])
def test_closed_fences_of_code_stay_code(text: str) -> None:
    assert claims(text)[-1].excluded is Exclusion.CODE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("References\n\nThe bridge collapsed in 2001.", "The bridge collapsed in 2001."),
        ("Sources\n\nEiffel overtook 1850 rivals.", "Eiffel overtook 1850 rivals."),
        ("## Sources\n\n- [1] The bridge collapsed in 2001.", "The bridge collapsed in 2001."),
        ("Sources: Eiffel overtook 1850 rivals.", "Sources: Eiffel overtook 1850 rivals."),
        ("References\n\nEiffel built it in (1850). It fell.", "Eiffel built it in (1850)."),
    ],
)
def test_a_sentence_among_sources_is_a_claim(text: str, expected: str) -> None:
    assert asserted(text)[0] == expected


@pytest.mark.parametrize(
    "entry",
    [
        "Smith, J. 2020: A history of the bridge.",
        "Smith (2020): Reports of the city",
        'Smith, J., "Why it is red", 2020.',
        "[1] Reports of the city.",
        "https://a.com/is/x",
        "doi:10.1000/182 Key features",
        "report.pdf",
        "How the bridge was built",
        "A history of the bridge",
    ],
)
@pytest.mark.parametrize("opening", ["References\n\n- ", "Sources: "])
def test_an_entry_among_sources_is_excluded(opening: str, entry: str) -> None:
    assert asserted(opening + entry) == []


@pytest.mark.parametrize(
    "text", ["See [S9].", "(see [S9]).", "**[S9].**", "According to [S9].", "It fell. See [S9]."]
)
def test_a_claim_is_never_punctuation_only(text: str) -> None:
    claim = claims(text)[-1]
    assert claim.excluded in {Exclusion.HEADING, Exclusion.INSTRUCTION}
    assert [ref.id for ref in claim.citations] == ["S9"]
    assert any(character.isalnum() for character in claim.text)


def test_a_pointer_behind_a_semicolon_leaves_one_stop() -> None:
    assert asserted("It fell; see [S9].") == ["It fell."]
