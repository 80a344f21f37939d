import pytest

from veridical.core.types import Confidence
from veridical.pipeline.claims import extract_claims

pytestmark = pytest.mark.spec("SPEC-08.08")


def confidence(text: str) -> Confidence | None:
    return extract_claims(text).claims[0].confidence


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I am 80% sure that Paris is big.", 0.8),
        ("I'm about 70 percent certain that Paris is big.", 0.7),
        ("Paris is big (confidence: 0.8).", 0.8),
        ("Paris is big. (confidence: 0.8)", 0.8),
        ("Paris is big [confidence: 80%].", 0.8),
        ("Paris is big (confidence 8/10).", 0.8),
        ("Paris is big (90% confident).", 0.9),
        ("With 95 % confidence, Paris is big.", 0.95),
        ("Paris is big (confidence: 0.0).", 0.0),
        ("Paris is big (confidence: 1).", 1.0),
    ],
)
def test_a_stated_figure_is_read_and_left_out_of_the_text(text: str, value: float) -> None:
    (claim,) = extract_claims(text).claims
    assert claim.confidence == Confidence(value, stated=True)
    assert claim.text == "Paris is big."


@pytest.mark.parametrize(
    "text",
    [
        "Paris is big.",
        "The mean was 4.2 (95% confidence interval 3.9 to 4.5).",
        "At the 95% confidence level, the mean is 4.2.",
        "With 95% confidence intervals, the mean is 4.2.",
        "He was 80% sure that it rained.",
        "Paris is big (confidence: 150%).",
        "Rates are not likely to rise.",
        "Likely voters were asked.",
        "The likelihood was computed.",
        "It is not certainly so.",
    ],
)
def test_no_confidence_is_none(text: str) -> None:
    assert confidence(text) is None


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("definitely", 0.98),
        ("certainly", 0.98),
        ("almost certainly", 0.95),
        ("very likely", 0.85),
        ("probably", 0.75),
        ("likely", 0.75),
    ],
)
def test_a_certainty_word_implies_one(word: str, value: float) -> None:
    assert confidence(f"Paris is {word} big.") == Confidence(value, stated=False)


def test_a_stated_confidence_covers_every_claim_of_the_sentence() -> None:
    claims = extract_claims("The cat is black, and the dog is white (confidence: 0.6).").claims
    assert [claim.confidence for claim in claims] == [Confidence(0.6, stated=True)] * 2
