import subprocess
import sys

import pytest

from veridical.core.types import ClaimKind
from veridical.pipeline.claims import extract_claims

ANSWER = """\
Sure, here is the summary:

## Paris

Paris is the **capital** of France, and Berlin is the capital of Germany [S1, S2].
It has `2.1` million people.[1]

- *Old* name: Lutetia
- [x] The tower is high. It was built in 1889.

| City | Population |
|------|-----------:|
| Paris | 2.1 million [3] |
| Rome |  |

The symptoms are:
1. fever
2. The skin is red.
"""


def texts(answer: str) -> list[str]:
    return [claim.text for claim in extract_claims(answer).claims if claim.assertive]


@pytest.mark.spec("SPEC-08.07")
def test_an_answer_yields_its_claims_in_order() -> None:
    assert texts(ANSWER) == [
        "Paris is the capital of France.",
        "Berlin is the capital of Germany.",
        "It has 2.1 million people.",
        "Old name: Lutetia",
        "The tower is high.",
        "It was built in 1889.",
        "City: Paris; Population: 2.1 million",
        "City: Rome",
        "The symptoms are: fever",
        "The skin is red.",
    ]


@pytest.mark.spec("SPEC-08.08")
def test_ids_sentences_and_kinds_follow_the_text() -> None:
    found = extract_claims(ANSWER)
    assert [claim.id for claim in found.claims] == [f"c{n}" for n in range(1, 15)]
    assert [claim.sentence for claim in found.claims] == [0, 1, 2, 2, *range(3, 13)]
    assert found.sentences == 13
    kinds = {claim.kind for claim in found.claims}
    assert kinds == set(ClaimKind) - {ClaimKind.CODE}


@pytest.mark.spec("SPEC-08.08")
def test_spans_point_into_the_original() -> None:
    spans = [claim.span.of(ANSWER) for claim in extract_claims(ANSWER).claims]
    assert spans[2] == "Paris is the **capital** of France"
    assert spans[4] == "It has `2.1` million people.[1]"
    assert spans[5] == "*Old* name: Lutetia"
    assert spans[9] == "| Paris | 2.1 million [3] |"


def test_an_empty_answer_has_no_claims() -> None:
    found = extract_claims(" \n")
    assert (found.claims, found.sentences) == ((), 0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The **big** cat is __very old__ and *red*.", "The big cat is very old and red."),
        ("The `__init__` and `**kwargs` are kept.", "The __init__ and **kwargs are kept."),
        ("M*A*S*H ran; 5 * 3 is 15.", "M*A*S*H ran; 5 * 3 is 15."),
        ("In it 2**10 is 1024.", "In it 2**10 is 1024."),
        ("It is f(x)**2 + y**2.", "It is f(x)**2 + y**2."),
        ("The 3**rd** one is un**believ**able.", "The 3rd one is unbelievable."),
        ("It saw 10<sup>6</sup> of 10<sup>−9</sup> m.", "It saw 10⁶ of 10⁻⁹ m."),
        ("The 4<sup>th</sup> is H<sub>2</sub>O.", "The 4th is H2O."),
        ("The snake_case_name stays.", "The snake_case_name stays."),
        ("The   cat\n  is <b>old</b>.", "The cat is old."),
        ("The cat\x00 is \x07old.", "The cat is old."),
        ("A \\*star\\* is here.", "A *star* is here."),
        ("> The cat is\n> very old.", "The cat is very old."),
        ("The café is 👩‍👩‍👧 friendly.", "The café is 👩‍👩‍👧 friendly."),
        ("הבית הוא גדול.", "הבית הוא גדול."),
    ],
)
def test_the_text_is_without_markup(answer: str, expected: str) -> None:
    assert extract_claims(answer).claims[0].text == expected


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_do_not_change_the_claims(end: str) -> None:
    assert texts(ANSWER.replace("\n", end)) == texts(ANSWER)


def test_a_row_is_never_an_instruction() -> None:
    table = "| Run the job | Value |\n|---|---|\n| Check the logs | yes |"
    assert texts(table) == ["Run the job: Check the logs; Value: yes"]


def test_a_row_without_a_header_keeps_its_cells() -> None:
    assert texts("| Paris | 2.1 million |") == ["Paris; 2.1 million"]


def test_a_lead_in_is_not_put_before_a_sentence() -> None:
    assert texts("The facts are:\n- The cat is old.") == ["The cat is old."]


def test_a_nested_bullet_continues_its_own_lead_in() -> None:
    answer = "It supports these formats:\n- Text:\n  - plain\n- PDF"
    assert texts(answer) == ["Text: plain", "It supports these formats: PDF"]


def test_importing_the_package_does_not_import_nupunkt() -> None:
    code = "import sys, veridical.pipeline.claims; sys.exit('nupunkt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
