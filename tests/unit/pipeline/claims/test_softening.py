import pytest

from veridical.pipeline.claims import extract_claims


def weaker(text: str) -> str | None:
    return extract_claims(text).claims[0].weaker


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("All dogs bark.", "Some dogs bark."),
        ("All of the dogs bark.", "Some of the dogs bark."),
        ("All the dogs bark.", "Some of the dogs bark."),
        ("Every dog barks.", "Some dog barks."),
        ("Each of them barks.", "Some of them barks."),
        ("Dogs always bark.", "Dogs sometimes bark."),
        ("It proves that dogs bark.", "It suggests that dogs bark."),
        ("Dogs will bark.", "Dogs may bark."),
        ("Dogs won't bark.", "Dogs may not bark."),
        ("Dogs must bark.", "Dogs may bark."),
        ("Dogs definitely bark.", "Dogs possibly bark."),
        ("Only dogs bark.", "Dogs bark."),
        ("The only moons are cold.", "The moons are cold."),
        ("Io is the only moon.", "Io is a moon."),
        ("Io is the only orange moon.", "Io is an orange moon."),
    ],
)
def test_a_strong_word_is_softened(text: str, expected: str) -> None:
    assert weaker(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Dogs bark.",
        "Dogs never bark.",
        "Not all dogs bark.",
        "Dogs do not always bark.",
        "Will Smith barked.",
        "The will was read.",
        "After all dogs bark.",
        "Dogs must not bark.",
        "Smoking proves fatal.",
        'The sign says "all dogs bark".',
        "It opens only if asked.",
    ],
)
def test_no_strong_word_gives_none(text: str) -> None:
    assert weaker(text) is None


def test_an_excluded_sentence_is_not_softened() -> None:
    assert weaker("Must all dogs bark?") is None
