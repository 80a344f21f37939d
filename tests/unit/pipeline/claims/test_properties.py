import re

from hypothesis import given
from hypothesis import strategies as st

from veridical.core.types import Span
from veridical.pipeline.claims import extract_claims, sentence_parts, split_sentences

_PIECES = [
    *"abAB .,;:!?\n\r\t[]()*_`~|>#-0123\"'“”。؟\x00\u2028\u202e\ufeff🎉́+=",
    *["\r\n", "```\n", "[1]", " and ", " is ", "The ", "Paris ", "- ", ", and ", "Note that "],
    *[
        "[S1|S2]",
        "［S9］",
        "\\[S9\\]",
        "word¹",
        "m²",
        "<sup>9</sup>",
        "[0]",
        "[S1,\nS9]",
        "~~~\n",
        ", right?",
    ],
    *["References\n", "## It fell in 2001\n", "[S1\u200b]", "See [S9].", "```md\n"],
    *["| a | b |\n|---|---|\n", "[^1]: ", "1. ", "# ", "\n\n", "(source: x)", "may ", "all "],
]
answers = st.one_of(st.text(), st.lists(st.sampled_from(_PIECES), max_size=60).map("".join))
# What may stand outside of all sentences: marks of lists, headings, quotes, fences and tables.
_MARKUP = re.compile(r"[\s>#*+\-=_~`|:.)(\[\]^•◦▪‣●○·–\w]*")


@given(answers)
def test_sentences_are_in_order_disjoint_and_stripped(text: str) -> None:
    end = 0
    for span in split_sentences(text):
        assert end <= span.start < span.end <= len(text)
        assert span.of(text) == span.of(text).strip()
        end = span.end


@given(answers)
def test_what_is_in_no_sentence_is_markup(text: str) -> None:
    edges = [0, *(edge for span in split_sentences(text) for edge in (span.start, span.end))]
    gaps = zip(edges[::2], [*edges[1::2], len(text)], strict=True)
    assert all(_MARKUP.fullmatch(text[start:end]) for start, end in gaps)


@given(st.lists(st.sampled_from(["Paris is big.", "Is it?", "No!", "The cat is old"]), max_size=9))
def test_prose_loses_no_character(sentences: list[str]) -> None:
    text = " ".join(sentences)
    found = "".join(span.of(text) for span in split_sentences(text))
    assert found.replace(" ", "") == text.replace(" ", "")


@given(answers)
def test_a_sentence_of_plain_prose_is_not_split_again(text: str) -> None:
    words = " ".join(re.findall(r"[A-Za-z0-9.,!? ]+", text))
    for span in split_sentences(words):
        again = split_sentences(span.of(words))
        assert len(again) <= 1 or again[0].start > 0 or not span.of(words)[0].isalpha()


@given(answers)
def test_the_parts_of_a_claim_are_sentences_of_it(text: str) -> None:
    parts = sentence_parts(text)
    sentences = split_sentences(text)
    assert not parts or len(sentences) > 1
    assert {part.span for part in parts} <= set(sentences)
    assert all(part.text == part.span.of(text) for part in parts)


@given(answers)
def test_extraction_never_raises_and_is_deterministic(text: str) -> None:
    found = extract_claims(text)
    assert found == extract_claims(text)
    assert [claim.id for claim in found.claims] == [f"c{n + 1}" for n in range(len(found.claims))]


@given(answers)
def test_claims_have_text_and_lie_in_the_answer_in_order(text: str) -> None:
    end = 0
    for claim in extract_claims(text).claims:
        assert end <= claim.span.start <= claim.span.end <= len(text)
        assert claim.text
        end = claim.span.end


@given(answers)
def test_citations_and_parts_lie_in_their_claim(text: str) -> None:
    for claim in extract_claims(text).claims:
        whole = Span(0, len(text))
        for ref in claim.citations:
            assert ref.id.strip()
            assert ref.span.of(text)[0] in "[(【［\\<⁰¹²³⁴⁵⁶⁷⁸⁹"
            assert ref.span.overlaps(whole)
        for part in claim.parts:
            assert claim.span.start <= part.span.start <= part.span.end <= claim.span.end
            assert part.text


@given(answers)
def test_crlf_gives_the_claims_that_lf_gives(text: str) -> None:
    unix = text.replace("\r\n", "\n").replace("\r", "\n")
    found = [claim.text for claim in extract_claims(unix).claims]
    assert [claim.text for claim in extract_claims(unix.replace("\n", "\r\n")).claims] == found


@given(answers)
def test_what_is_to_be_verified_has_a_word(text: str) -> None:
    for claim in extract_claims(text).claims:
        assert not claim.assertive or any(character.isalnum() for character in claim.text)
