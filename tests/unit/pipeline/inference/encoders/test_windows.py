from __future__ import annotations

from time import perf_counter

import pytest

from veridical.pipeline.inference.windows import counter, sentences, windows

TEXT = "The bridge opened. It is long.\nThe ferry leaves at noon. It returns."


def words(text: str) -> int:
    return len(text.split())


def test_sentences_are_found_in_order() -> None:
    assert sentences(TEXT) == [
        "The bridge opened.",
        "It is long.",
        "The ferry leaves at noon.",
        "It returns.",
    ]


@pytest.mark.parametrize(
    ("size", "joint", "found"),
    [
        (100, " ", [TEXT]),
        (6, " ", ["The bridge opened. It is long.", "The ferry leaves at noon.", "It returns."]),
        (8, " ", ["The bridge opened. It is long.", "The ferry leaves at noon. It returns."]),
        (8, "\n", ["The bridge opened.\nIt is long.", "The ferry leaves at noon.\nIt returns."]),
        (1, "\n", sentences(TEXT)),
    ],
)
def test_whole_sentences_are_joined_up_to_the_size(size: int, joint: str, found: list[str]) -> None:
    assert windows(TEXT, size, joint, words) == found


def test_no_sentence_is_lost_or_cut() -> None:
    text = " ".join(f"Sentence number {i} has some words." for i in range(2000))
    for size in (1, 7, 50):
        assert " ".join(windows(text, size, " ", words)) == text
    assert max(map(words, windows(text, 50, " ", words))) <= 50


@pytest.mark.parametrize("text", ["", " \n ", "\n\n"])
def test_empty_evidence_is_one_empty_window(text: str) -> None:
    assert windows(text, 5, " ", words) == [""]


@pytest.mark.parametrize("text", ["word " * 200_000, "x" * 100_000])
def test_a_text_without_sentences_is_read_in_time(text: str) -> None:
    started = perf_counter()
    found = windows(text, 10**9, "\n", words)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert perf_counter() - started < 20


@pytest.mark.parametrize(("unit", "size"), [("words", 4), ("words_and_marks", 5), ("tokens", 17)])
def test_a_sentence_is_measured_in_the_unit_of_the_preset(unit: str, size: int) -> None:
    assert counter(unit, len)("Opened; at noon !") == size
