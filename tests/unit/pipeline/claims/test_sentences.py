import pytest

from veridical.core.ports import SentenceSplitter
from veridical.pipeline.claims import split_sentences


def texts(text: str) -> list[str]:
    return [span.of(text) for span in split_sentences(text)]


def test_the_splitter_fits_its_port() -> None:
    splitter: SentenceSplitter = split_sentences
    assert splitter("One. Two.")


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Smith met Bob in the U.S. office, e.g. on Monday.",
        "The value rose by 3.5 percent to approx. 12 in Fig. 3 of vol. 2.",
        'He said "I am fine. Really."',
        '"Really?" he asked.',
        '"Trust, but verify." — Russian proverb',
        "She left (it was late. She was tired.) and slept.",
        "Open https://example.com/a.b?c=d. It works"[:31],
        "See node.js and README.md for version 1.2.3.",
        "It was 5 ft. 6 in. tall.",
        "On May 5 J. Smith arrived.",
        "It is 3 m. wide.",
        "Yahoo! was founded in 1994 by Jerry Yang.",
        "He works at Yahoo! in the city.",
    ],
)
def test_one_sentence_stays_whole(sentence: str) -> None:
    assert texts(sentence) == [sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "I am fine. Really." Then he left.', 2),
        ("X contains A, B and C. He said so.", 2),
        ("Only adults may enter. Smoking is bad.", 2),
        ("I think it is so. Theresa May was there.", 2),
        ("They visited Grenada. The sun shone.", 2),
        ("今日は晴れ。明日は雨！本当？", ["今日は晴れ。", "明日は雨！", "本当？"]),
        ("هل هذا صحيح؟ نعم هذا صحيح.", 2),
        ("यह सच है। वह झूठ है।", 2),
        ("Great! 🎉 Now go.", 2),
        ("She lost 4 kg. Dr. Ames was there.", ["She lost 4 kg.", "Dr. Ames was there."]),
        ("It took 3 h. We left.", 2),
        ("Great! it works.", 2),
        ("Is it Paris? is it Rome?", 2),
        ("It is 5 ft. Bob left.", 2),
        ("It lasted ten min. Bob left.", 2),
        ("It ran 3,5 km. [1] Bob left.", 2),
        ("| It took 3 h. We left. | b |\n\nIt took 3 h. We left.", 3),
        ("- It took 3 h. We left.\n- It took 3 h. Bob left.", 4),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str] | int) -> None:
    found = texts(text)
    assert (found if isinstance(expected, list) else len(found)) == expected


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It ended in 1999.[1] The next began.", "It ended in 1999.[1]"),
        ("It ended in 1999. [1] The next began.", "It ended in 1999. [1]"),
        ("It ended in 1999.[1][2] The next began.", "It ended in 1999.[1][2]"),
        ("It ended in 1999. [1], [2] The next began.", "It ended in 1999. [1], [2]"),
        ("It ended.【4:0†source】 The next began.", "It ended.【4:0†source】"),
        ("It ended. (source: a.md) The next began.", "It ended. (source: a.md)"),
        ("It ended. (confidence: 0.8) The next began.", "It ended. (confidence: 0.8)"),
        ("It ended. [1] says that it began.", "It ended."),
        ("It ended [a.py:4]. The next began.", "It ended [a.py:4]."),
    ],
)
def test_a_mark_after_the_stop_belongs_to_the_sentence_before(text: str, first: str) -> None:
    found = texts(text)
    assert (found[0], len(found)) == (first, 2)


def test_wrapped_lines_are_one_sentence() -> None:
    wrapped = (
        "The quick brown fox jumped over the lazy dog near\nthe river bank and then\nwent home."
    )
    assert texts(wrapped) == [wrapped]


def test_a_name_at_the_wrapping_column_continues_the_sentence() -> None:
    wrapped = "After a long and tiring day the committee members met\nBerlin officials for dinner."
    assert texts(wrapped) == [wrapped]


@pytest.mark.parametrize(
    "lines",
    [
        ["Name: Bob", "Age: 3"],
        ["key = value", "other = thing"],
        ["2024-01-01 00:00:01 started", "2024-01-01 00:00:02 stopped"],
        ["[doctor] hi martha", "[patient] hello there"],
        ["Participant: um i'm okay", "Ellie: good"],
        ["id,name,age", "1,Bob,42", "2,Ann,37"],
        ['{"a": 1}', '{"a": 2}'],
        ["Roses are red", "Violets are blue"],
        ["x = foo(1);", "y = bar(2);"],
        ["a\tb", "c\td"],
        ["The list:", "and more"],
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028"])
def test_records_are_one_sentence_per_line(lines: list[str], end: str) -> None:
    assert texts(end.join(lines)) == lines


def test_markdown_marks_belong_to_no_sentence() -> None:
    text = (
        "# Title\n\nUnder\n-----\n\n- one\n  * two\n1. three\n2) four\n- [x] five\n> six\n\n---\n\n"
        "[^1]: seven\n\n```py\neight\n\nnine\n```\n"
    )
    numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert texts(text) == ["Title", "Under", *numbers]


def test_a_bullet_of_two_sentences_yields_two() -> None:
    assert texts("- One is. Two is.\n- Three is.") == ["One is.", "Two is.", "Three is."]


def test_a_wrapped_bullet_stays_whole() -> None:
    assert texts("- One is\n  wrapped here\n- Two") == ["One is\n  wrapped here", "Two"]


def test_a_year_at_the_start_of_a_wrapped_line_is_no_list_mark() -> None:
    assert (
        len(texts("The company that made the famous red chairs was founded in\n12. It grew.")) == 2
    )


def test_table_rows_are_sentences_and_their_rule_is_not() -> None:
    rows = ["| a | b |", "| 1. One | 2 |", "| 3 | 4 |"]
    assert texts(f"{rows[0]}\n|---|:-:|\n{rows[1]}\n{rows[2]}\n\nEnd.") == [*rows, "End."]


def test_a_pipe_in_prose_is_no_table() -> None:
    assert texts("Use a | b to choose.") == ["Use a | b to choose."]


def test_a_block_quote_runs_on_over_its_marks() -> None:
    assert texts("> One is wrapped\n> here. Two is.") == ["One is wrapped\n> here.", "Two is."]


def test_an_unclosed_fence_is_ordinary_text() -> None:
    assert texts("```\nIt fell. It was red.\n\nIt rose.") == ["It fell.", "It was red.", "It rose."]


@pytest.mark.parametrize("text", ["", " \n\t\r\n", "\ufeff"[1:], "---\n***\n"])
def test_nothing_to_split_gives_nothing(text: str) -> None:
    assert split_sentences(text) == []


def test_a_sentence_longer_than_the_window_stays_whole() -> None:
    text = "word, " * 5000 + "end. The next one."
    assert [len(span) for span in split_sentences(text)] == [30_004, 13]


def test_a_table_row_of_signs_alone_is_a_sentence_too() -> None:
    text = "| a | b |\n|---|---|\n| { | } |\n"
    assert [span.of(text) for span in split_sentences(text)] == ["| a | b |", "| { | } |"]
