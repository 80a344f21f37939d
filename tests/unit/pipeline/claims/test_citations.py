import pytest

from veridical.pipeline.claims import extract_claims

pytestmark = pytest.mark.spec("SPEC-08.08")


def ids(text: str, *known: str) -> list[str]:
    return [ref.id for claim in extract_claims(text, known).claims for ref in claim.citations]


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("[1]", ["1"]),
        ("[12]", ["12"]),
        ("[1-3]", ["1", "2", "3"]),
        ("[1–3]", ["1", "2", "3"]),
        ("[S1-S3]", ["S1", "S2", "S3"]),
        ("[S1, S2]", ["S1", "S2"]),
        ("[S1; S2]", ["S1", "S2"]),
        ("[S1 S2]", ["S1", "S2"]),
        ("[1, 3]", ["1", "3"]),
        ("[1][2]", ["1", "2"]),
        ("[1], [2]", ["1", "2"]),
        ("[S-3]", ["S-3"]),
        ("[doc.md]", ["doc.md"]),
        ("[docs/cli.md]", ["docs/cli.md"]),
        ("[a.py:42]", ["a.py:42"]),
        ("[a.py:10-20]", ["a.py:10-20"]),
        ("[a.py:1, b.md]", ["a.py:1", "b.md"]),
        ("[ref_2]", ["ref_2"]),
        ("[Source 1]", ["1"]),
        ("[S1, p. 4]", ["S1"]),
        ("(source: x)", ["x"]),
        ("(Source: x, y)", ["x", "y"]),
        ("(sources: [1], [2])", ["1", "2"]),
        ("[Source: annual report]", ["annual report"]),
        ("[报告7]", ["报告7"]),
        ("(see [1])", ["1"]),
        ("([1], [2])", ["1", "2"]),
        ("[^1]", ["1"]),
        ("[^note]", ["note"]),
        ("[^1^]", ["1"]),
        ("(sources: 1 and 2)", ["1", "2"]),
        ("(sources: 1, 2, and 3)", ["1", "2", "3"]),
        ("(source: a.md and b.md)", ["a.md", "b.md"]),
        ("(source: Smith and Sons)", ["Smith and Sons"]),
        ("[Source 1, Source 2]", ["1", "2"]),
        ("[Source 1 and Source 2]", ["1", "2"]),
        ("(Source 1, Source 2)", ["1", "2"]),
        ("【1】", ["1"]),
        ("【4:0†source】", ["4:0"]),
        ("【4:0†doc.md】", ["doc.md"]),
        ("[[1]](https://x.com/a)", ["https://x.com/a"]),
        ("[source](https://x.com/a_(b))", ["https://x.com/a_(b)"]),
        ("[@smith2020]", ["smith2020"]),
        ("[@smith2020; @doe2021]", ["smith2020", "doe2021"]),
        ("[S9: intro]", ["S9"]),
        ("[S1|S9]", ["S1", "S9"]),
        ("[#9]", ["9"]),
        ("\\[S9\\]", ["S9"]),
        ("[**S9**]", ["S9"]),
        ("［S9］", ["S9"]),
        ("［S1、S9］", ["S1", "S9"]),
        ("[S1\u200b]", ["S1"]),
        ("[\ufeffS1, S\u20609]", ["S1", "S9"]),
        ("[S1,S9,note]", ["S1", "S9"]),
        ("[S1,\nS9]", ["S1", "S9"]),
        ("[S1;\nS9]", ["S1", "S9"]),
        ("[S1\n, S9]", ["S1", "S9"]),
    ],
)
def test_a_mark_is_read_and_left_out_of_the_text(mark: str, expected: list[str]) -> None:
    text = f"Paris is the capital of France {mark}."
    (claim,) = extract_claims(text).claims
    assert [ref.id for ref in claim.citations] == expected
    assert claim.text == "Paris is the capital of France."
    assert all(ref.span.of(text) in mark for ref in claim.citations)


@pytest.mark.parametrize(
    "words",
    [
        "[note]",
        "[sic]",
        "[...]",
        "[citation needed]",
        "[x]",
        "[and/or]",
        "[e.g.]",
        "[1999]",
        "`[1]`",
        "`arr[1]`",
        "arr[1]",
        "a range of [0, 1]",
        "a list such as = [1, 2]",
        "the city (S1)",
        "![alt](a.png)",
        "[@someone]",
        "[note, 2]",
        "[1, x]",
        "[0]",
        "arr[0]",
        "\\[x_1\\]",
        "\\[ x = 1 \\]",
        "[12: 30]",
        "[Step 1: mix]",
        "9 m²",
        "10³ of",
        "x² and 5 miles²",
        "sigma² of hectares²",
        "10<sup>9</sup> of",
        "km<sup>2</sup>",
        "the 1<sup>st</sup>",
        "(x+1)² and SO₄²⁻",
        "¹⁴C",
    ],
)
def test_other_brackets_are_no_citations(words: str) -> None:
    assert ids(f"He has {words} in it.") == []


@pytest.mark.parametrize(
    "text",
    [
        "The median was 12 months (95% CI [10, 15]).",
        "The median was 2 months (95% CI: [1, 3]).",
        "Median age was 45 years [30–60].",
        "The share was 45% [30-60].",
        "Scores lie in [1, 10].",
        "Article 6(1) GDPR lists six legal bases.",
        "Section 3(2)(a) covers the rent.",
        "The value of f(1) is 3.",
        "The chief resigned [12:34].",
    ],
)
def test_numbers_that_say_something_stay_in_the_claim(text: str) -> None:
    (claim,) = extract_claims(text, ("1", "2", "3", "a")).claims
    assert (claim.text, claim.citations) == (text, ())


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("It fell in 1998 [4-6].", "1", ["4", "5", "6"]),
        ("It is 2 years old [1-3].", "1", ["1", "2", "3"]),
        ("It fell, as shown in [4, 5].", "1", ["4", "5"]),
        ("It fell [12:34].", "12:35", ["12:34"]),
        ("It fell in 1998 (1).", "1", ["1"]),
        ("它在巴黎(1)。", "1", ["1"]),
    ],
)
def test_numbers_behind_a_figure_may_be_citations(
    text: str, known: str, expected: list[str]
) -> None:
    assert ids(text, known) == expected


@pytest.mark.parametrize(
    ("mark", "known"),
    [("[note]", "note"), ("[annual report]", "annual report"), ("(S1)", "S1"), ("[0]", "0")],
)
def test_a_known_id_is_a_citation_whatever_its_look(mark: str, known: str) -> None:
    assert ids(f"It rained {mark}.", known) == [known]


@pytest.mark.parametrize(
    ("mark", "first", "second"),
    [
        ("[Doc A; Doc B]", "Doc A", "Doc B"),
        ("[Doc A and Doc B]", "Doc A", "Doc B"),
        ("(Doc A & Doc B)", "Doc A", "Doc B"),
        ("[Source 1, Source 2]", "Source 1", "Source 2"),
        ("(Source 1 and Source 2)", "Source 1", "Source 2"),
    ],
)
def test_each_of_several_known_ids_is_a_citation(mark: str, first: str, second: str) -> None:
    assert ids(f"It rained {mark}.", first, second) == [first, second]


@pytest.mark.parametrize(
    ("mark", "known", "expected"),
    [
        ("(S9)", "S1", ["S9"]),
        ("(S1, S9)", "S1", ["S1", "S9"]),
        ("(doc 9)", "doc 1", ["9"]),
        ("[part 9]", "part 1", ["part 9"]),
        ("[C]", "A", ["C"]),
        ("(C)", "A", []),
        ("[c]", "A", []),
        ("(9)", "1", []),
        ("(B12)", "S1", []),
    ],
)
def test_an_id_of_the_same_series_as_a_known_one_is_a_citation(
    mark: str, known: str, expected: list[str]
) -> None:
    assert ids(f"It rained {mark}.", known) == expected


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("It fell [port]. It rose [energy].", ["port", "interview"], ["port", "energy"]),
        ("It fell [port] and [energy].", ["port"], ["port", "energy"]),
        ("It fell [energy].", ["port"], []),
        ("It fell [port] [sic].", ["port"], ["port"]),
        ("It fell [port]. The [old] tower fell.", ["port"], ["port"]),
        ("It fell [port]. It rose [Energy].", ["port"], ["port"]),
        ("It fell [port]. It (energy) rose [energy](#x).", ["port"], ["port"]),
    ],
)
def test_a_bracket_in_the_manner_of_known_ids_in_words_is_a_citation(
    text: str, known: list[str], expected: list[str]
) -> None:
    assert ids(text, *known) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained <cite>S1</cite>.", ["S1"]),
        ("It rained <cite>S9</cite>.", ["S9"]),
        ("It rained <ref>1, 2</ref>.", ["1", "2"]),
        ("It rained <citation id='a'>S1, S9</citation>.", ["S1", "S9"]),
        ("It rained in <cite>Hamlet</cite>.", []),
        ("It rained in <cite>Python3</cite>.", []),
        ("According to S9, it rained.", ["S9"]),
        ("It rained, according to S1.", ["S1"]),
        ("It rained, as stated in S9.", ["S9"]),
        ("It rained (see S9).", ["S9"]),
        ("According to source S9, it rained.", ["S9"]),
        ("According to B12, it rained.", []),
        ("According to Smith, it rained.", []),
    ],
)
def test_ids_of_a_known_kind_are_citations_in_other_forms(text: str, expected: list[str]) -> None:
    (claim,) = extract_claims(text, ("S1", "S2")).claims
    assert [ref.id for ref in claim.citations] == expected
    assert not expected or claim.text == "It rained."


def test_known_ids_match_exactly() -> None:
    assert ids("It rained [notes].", "note") == []


def test_link_text_stays_in_the_claim() -> None:
    (claim,) = extract_claims("The [old tower](https://x.com/a) is high.").claims
    assert (claim.text, claim.citations[0].id) == ("The old tower is high.", "https://x.com/a")


def test_a_footnote_stands_for_the_source_it_names() -> None:
    assert ids("It rained.[^1]\n\n[^1]: S3") == ["S3"]


def test_a_footnote_of_prose_keeps_its_label() -> None:
    assert ids("It rained.[^1]\n\n[^1]: Smith, a book") == ["1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("According to [2], it rained.", "It rained."),
        ("[S1] states that the sky is blue.", "The sky is blue."),
        ("It rained, as shown in [3].", "It rained."),
        ("It rained. [1]", "It rained."),
        ("The rain[1] was heavy.", "The rain was heavy."),
    ],
)
def test_removing_a_mark_leaves_a_sentence(text: str, expected: str) -> None:
    assert [claim.text for claim in extract_claims(text).claims] == [expected]


def test_the_mark_is_part_of_the_claims_span() -> None:
    text = "- It rained. [1]\n- It snowed [2]."
    assert [claim.span.of(text) for claim in extract_claims(text).claims] == [
        "It rained. [1]",
        "It snowed [2].",
    ]


def test_a_final_mark_speaks_for_all_claims_of_its_sentence() -> None:
    claims = extract_claims("The cat is black, and the dog is white [7].").claims
    assert [[ref.id for ref in claim.citations] for claim in claims] == [["7"], ["7"]]


def test_claims_with_marks_of_their_own_keep_them() -> None:
    claims = extract_claims("The cat is black [1], and the dog is white [2].").claims
    assert [[ref.id for ref in claim.citations] for claim in claims] == [["1"], ["2"]]


def test_an_earlier_mark_does_not_speak_for_a_later_claim() -> None:
    claims = extract_claims("The cat is black [1], and the dog is white.").claims
    assert [[ref.id for ref in claim.citations] for claim in claims] == [["1"], []]


@pytest.mark.parametrize("mark", ["<sup>9</sup>", "⁹"])
@pytest.mark.parametrize("end", ["{}.", ".{}", "{}, they say.", "”{} they say."])
def test_a_raised_number_behind_a_word_or_a_stop_is_a_citation(mark: str, end: str) -> None:
    (claim,) = extract_claims(f"The tower fell in Paris{end.format(mark)}").claims
    assert [ref.id for ref in claim.citations] == ["9"]
    assert claim.text == f"The tower fell in Paris{end.format('')}"


def test_a_raised_number_stays_with_the_sentence_before_it() -> None:
    claims = extract_claims("It fell in 2001.¹ It rose in May.²,³").claims
    assert [[ref.id for ref in claim.citations] for claim in claims] == [["1"], ["2", "3"]]


def test_zero_is_a_citation_where_numbers_are() -> None:
    assert ids("It fell [0]. It rose [1].") == ["0", "1"]
    assert ids("It fell in [0, 5] of arr[0]. It rose [1].") == ["1"]


def test_a_word_among_known_ids_is_left_out() -> None:
    assert ids("It fell [see the note, S1].", "S1") == ["S1"]
