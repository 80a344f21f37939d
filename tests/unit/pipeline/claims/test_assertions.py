import pytest

from veridical.core.types import Claim, Exclusion
from veridical.pipeline.claims import extract_claims

pytestmark = pytest.mark.spec("SPEC-08.09")


def first(text: str) -> Claim:
    return extract_claims(text).claims[0]


@pytest.mark.parametrize(
    "text",
    [
        "Will Smith won.",
        "Does not retry.",
        "Task: done",
        "May 5 was a Tuesday.",
        "Theresa May resigned.",
        "In May it rained.",
        "The might of Rome was great.",
        "The Mayor resigned.",
        "Hi-tech exports rose.",
        "Sure enough, prices rose.",
        "Thanks to the treaty, peace was made.",
        "Make is a build tool.",
        "Go is a language.",
        "Test results show growth.",
        "Use of force is illegal.",
        "Run time is 5 s.",
        "Status: open",
        "Release 7.3.1 caused the rise.",
        "Don't Worry Be Happy is a song.",
        'The dog said, "Can I have food?"',
        "Water boils at 100 °C.",
        "Support for Python 3.12.",
        "Returns None if the cache is empty.",
        "The fee may not exceed 5 dollars.",
        "The data may only be used once.",
        "Receiving Party may disclose the terms to its auditors.",
        "You may cancel at any time.",
        'He said, "I think it might rain."',
        "Smith said that it might rain.",
        "The device uses a chip that might fail.",
        "What is needed is a plan.",
        "He starred in 'Whose Line Is It Anyway?'",
        "He wrote the book *What Is Life?*",
        "She played in ‘What’s My Line?’",
        "It was possible to see the tower.",
        "The device has three modes:",
    ],
)
def test_an_assertion_is_to_be_verified(text: str) -> None:
    assert first(text).excluded is None


@pytest.mark.parametrize(
    "text",
    [
        "Will Smith won?",
        "Is it so?[1]",
        "What is the capital of France",
        "本当？",
        "هل هذا صحيح؟",
        '"Is it?"',
        "Did he star in 'Whose Line Is It Anyway?'",
        "Have you read *What Is Life?*",
        "But **why was it built?**",
        "'Is it red?'",
    ],
)
def test_a_question_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.QUESTION


@pytest.mark.parametrize(
    "text",
    [
        "Please restart the server.",
        "Run `make test`.",
        "Restart the server.",
        "Do not share it.",
        "Never share your password.",
        "To clean it, use a soft cloth.",
        "If the light is red, stop the car.",
        "Make sure that it is off.",
        "Let's go.",
        "See [1] for details.",
        'Click "Save".',
        "- **Installation** – Download the installer from the site.",
        "Check the logs.",
    ],
)
def test_an_instruction_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.INSTRUCTION


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "Sure, here is the summary:",
        "Here are the steps to reset it:",
        "I hope this helps!",
        "Let me know if you have questions.",
        "Thank you for your question.",
        "If you have any questions, feel free to ask.",
        "As an AI language model, I have no opinion.",
        "I could not find it in the sources.",
        "Great question!",
        "You're welcome!",
    ],
)
def test_a_greeting_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.GREETING


@pytest.mark.parametrize(
    "text",
    [
        "Sorry, the bridge collapsed in 2001.",
        "I'm sorry, but the bridge collapsed in 2001.",
        "I apologize for the confusion; the bridge opened in 1850.",
        "I could not find the date, however the bridge was built by Eiffel.",
        "Thank you for asking, the bridge collapsed in 2001.",
        "Sure, I can tell you that the bridge collapsed in 2001.",
        "I'm happy to report that the bridge collapsed in 2001.",
    ],
)
def test_an_assertion_behind_a_greeting_is_to_be_verified(text: str) -> None:
    assert first(text).excluded is None


@pytest.mark.parametrize(
    "courtesy",
    [
        "I'm sorry to say that ",
        "I am very happy to tell you ",
        "We regret to inform you that ",
        "I'm afraid ",
        "I can confirm that ",
        "I'd like to point out that ",
        "As an AI, I know that ",
        "As an AI language model, I can tell you that ",
        "Sure, I can tell you that ",
        "Sorry, ",
        "I'm sorry, but ",
    ],
)
def test_what_stands_behind_a_courtesy_is_the_claim(courtesy: str) -> None:
    text = f"{courtesy}the bridge collapsed in 2001."
    claim = first(text)
    assert (claim.excluded, claim.text) == (None, "The bridge collapsed in 2001.")
    assert claim.span.of(text) == text


def test_each_clause_behind_a_courtesy_is_the_claim_of_its_own() -> None:
    claims = extract_claims("I'm sorry to say that the cat is black, but the dog is white.").claims
    assert [claim.text for claim in claims] == ["The cat is black.", "The dog is white."]


@pytest.mark.parametrize(
    "text", ["I'm afraid I don't know.", "I'm glad to help.", "I'm sorry to hear that you are ill."]
)
def test_a_courtesy_without_an_assertion_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.GREETING


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but the documents do not mention that.",
        "I apologize, but I cannot answer this.",
        "Sure, I can help with that, you only have to ask.",
        "I don't know, as it was not there.",
        "Sorry, is the bridge open?",
        "Sorry, it might rain.",
        "Thank you for your question, and have a good day.",
        "Sorry, " * 40 + "is it open?",
    ],
)
def test_a_greeting_that_goes_on_without_an_assertion_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.GREETING


@pytest.mark.parametrize(
    "text",
    [
        "It might rain.",
        "Prices may rise.",
        "Perhaps it rained.",
        "It is possibly true.",
        "I think it is so.",
        "It seems that it rained.",
        "The cause could be a leak.",
        "It is possible that it rained.",
        "The report may not be true.",
        "Maybe.",
    ],
)
def test_a_hedged_statement_is_excluded(text: str) -> None:
    assert first(text).excluded is Exclusion.HEDGED


@pytest.mark.parametrize(
    "text",
    [
        "Guests may smoke indoors.",
        "Dogs may enter.",
        "Employees may take 30 days of leave.",
        "The item may be returned within 30 days.",
        "The drug may cause liver failure in 10 % of patients.",
        "The drug may cause drowsiness.",
        "Symptoms may occur in rare cases.",
        "Prices may rise by 5 %.",
        "It can lift 5 kg.",
        "It could lift 5 kg.",
        "Anyone can join.",
        "All three origins could be read at the third attempt.",
        "A deputy may be named for 60 days.",
        "The union counters that they might be worse off.",
        "The explosion could be seen from 100 km away.",
        "The test may be done at home.",
        "The flag may be flown at half-mast.",
        "Either party may, on 30 days' notice, terminate this agreement.",
    ],
)
def test_permission_ability_and_a_stated_risk_are_assertions(text: str) -> None:
    assert first(text).excluded is None


@pytest.mark.parametrize(
    "text",
    [
        "It appears every 76 years.",
        "It appears as a white crystalline powder.",
        "It appears twice in the text.",
        "The rash appears to the left of the spine.",
        "It appears to the left of the spine.",
    ],
)
def test_what_comes_into_sight_is_an_assertion(text: str) -> None:
    assert first(text).excluded is None


@pytest.mark.parametrize(
    "text",
    [
        "The leak may be due to rust.",
        "It may, in some cases, be red.",
        "It appears as if it rained.",
        "It appears the dam broke.",
        "It appears to be red.",
        "It seems twice as big.",
        "It may be caused by rust.",
        "It may be related to the eagle.",
        "It may have been built in 1850.",
        "Guests may have smoked.",
        "It may seem odd.",
        "He may well win.",
        "It might have been red.",
    ],
)
def test_a_guess_is_hedged(text: str) -> None:
    assert first(text).excluded is Exclusion.HEDGED


@pytest.mark.parametrize(
    "text",
    [
        "The bridge may be red, but it collapsed in 2001.",
        "It collapsed in 2001, and it may be red.",
        "It collapsed in 2001; perhaps it was rust.",
        "I am not sure, but it has won 122 prizes.",
    ],
)
def test_a_hedge_in_one_clause_leaves_the_other_an_assertion(text: str) -> None:
    assert first(text).excluded is None


@pytest.mark.parametrize(
    "text",
    [
        "It might rain, but I am not sure.",
        "It might rain, and if it does, the road is closed.",
        "It might rain, but only in May.",
        "It might rain, and it could be cold.",
    ],
)
def test_a_clause_that_depends_on_a_hedged_one_is_excluded_with_it(text: str) -> None:
    assert first(text).excluded is Exclusion.HEDGED


@pytest.mark.parametrize(
    "text",
    [
        "# Paris is big",
        "The main points are:",
        "**Overview**",
        "Sources: [1], [2]",
        "Sources: https://a.com/x, b.pdf",
        "[1]",
        "—",
        "| a | b |\n|---|---|",
        "[^1]: https://a.com",
        "References\n\n- Smith, J. 2020",
    ],
)
def test_a_text_without_an_assertion_is_excluded(text: str) -> None:
    assert {claim.excluded for claim in extract_claims(text).claims} == {Exclusion.HEADING}


def test_fenced_code_is_one_excluded_span() -> None:
    text = "```py\nx = 1\n\ny = 2. Paris.\n```"
    (claim,) = extract_claims(text).claims
    assert (claim.excluded, claim.span.of(text)) == (Exclusion.CODE, "x = 1\n\ny = 2. Paris.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Note that the sky is blue.", "The sky is blue."),
        ("Please note that the sky is blue.", "The sky is blue."),
        ("It's worth noting that iOS is old.", "iOS is old."),
        ("Note: the server is down.", "The server is down."),
        ("A: The sky is blue.", "The sky is blue."),
    ],
)
def test_what_is_announced_is_the_claim(text: str, expected: str) -> None:
    assert (first(text).text, first(text).excluded) == (expected, None)


@pytest.mark.parametrize("text", ["It is better.", "That's good.", "This works.", "It depends."])
def test_a_judgement_on_a_pronoun_is_vague(text: str) -> None:
    assert first(text).vague


@pytest.mark.parametrize(
    "text", ["It is red.", "Paris is good.", "This works with Linux.", "It is"]
)
def test_a_checkable_claim_is_not_vague(text: str) -> None:
    assert not first(text).vague
