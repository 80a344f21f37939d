import pytest

from veridical.core.fact_tokens import figure, negates, words


def test_a_contraction_is_one_word_and_a_time_one_number() -> None:
    assert [word.text for word in words("don't wait until 12:30")] == [
        "don't",
        "wait",
        "until",
        "12:30",
    ]
    assert [word.text for word in words("of .5 or -.5, then...5")] == [
        "of",
        ".5",
        "or",
        "-.5",
        "then",
        "5",
    ]


@pytest.mark.parametrize("word", ["not", "never", "don't", "without", "kein", "ne", "没"])
def test_negations_are_known(word: str) -> None:
    assert negates(word)


@pytest.mark.parametrize("word", ["note", "nice", "knot", "want"])
def test_words_that_look_like_negations_are_none(word: str) -> None:
    assert not negates(word)


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("twelve", "12"),
        ("1,000", "1000"),
        ("1,5", "1,5"),
        ("-.5", "-0.5"),
        ("hours", "hour"),
        ("lamp", ""),
    ],
)
def test_a_figure_has_one_key_however_it_is_written(word: str, key: str) -> None:
    assert figure(word) == key
