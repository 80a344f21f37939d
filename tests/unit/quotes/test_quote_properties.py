"""Invariants of every quote and every text, however hostile."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.core.text import normal_form, normal_forms, normalise
from veridical.errors import TranscriptError, VeridicalError
from veridical.quotes.caveats import Caveat
from veridical.quotes.matching import Grounder, Rules, ground_quotes
from veridical.quotes.prepared import prepare
from veridical.quotes.transcripts import parse_transcript

PIECES = [
    *"abzAB 19.,'\"-_/<>\t\n\r\x1c\x00",
    *"ﬁﬃ½²％１＜＞Ⅷ㎏ÅẛﷺßẞıİΣςσſ",
    *"éȩ\u0300\u0301\u0323\u0327\u0338\u0345각각ㄱㅏ\u1100\u1161\u11a8カﾞ今日क\u093cि",
    *"\u00ad\u034f\u200b\u200d\u202e\u2060\ufeff\ufe0f\ufffe\U000e0041\ud800",
    *"\xa0\u2003\u2028“”‘’«»‐–—−…",
    *(
        "👩\u200d👩\u200d👧",
        "❤\ufe0f",
        "🇬🇧",
        "<laughter>",
        "<deep breath>",
        "<a",
        "<a<b>c>",
        " ... ",
    ),
    *("don't ", "not ", "tired ", "so ", "A: ", "\nB: ", "three ", "8 ", "so\u00adft "),
]
hostile = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=20)


@st.composite
def quoted(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text, and an inexact copy of a stretch of it, or another text."""
    text = draw(hostile)
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    quote = draw(st.just(text[start:end]) | st.just(text[start:end].upper()) | hostile)
    return text, draw(st.sampled_from(["{}", '"{}"', "{} ", "… {}"])).format(quote)


def reference(quote: str, text: str) -> bool:
    return normalise(quote).text != "" and normalise(quote).text in normalise(text).text


def forms(quote: str) -> list[str]:
    """Return the quote, and the text between its quotation marks if they are a pair."""
    normal = normalise(quote).text
    pair = len(normal) > 2 and normal[0] + normal[-1] in {'""', "''", "``"}
    inner = normal[1:-1]
    return [quote, inner] if pair and (normal[0] == "'" or normal[0] not in inner) else [quote]


@given(hostile)
def test_the_short_way_to_a_normal_form_leads_to_the_same(text: str) -> None:
    assert normal_form(text) == normalise(text).text


several = st.lists(hostile | st.sampled_from(["", " ", "\0", "a \0 b", "So  tired", "it’s\xa0so"]))


@given(several | st.lists(st.text(alphabet="\0 \t\nabA<>’…\xa0", max_size=6)))
@example([])
@example([""])
@example(["\0"])
@example(["", "a \0 b"])
@example(["a", " ", "b"])
@example(["a\0", "b"])
def test_many_normal_forms_at_once_are_those_of_each(texts: list[str]) -> None:
    assert normal_forms(texts) == [normalise(text).text for text in texts]


@pytest.mark.spec("053.substring")
@given(quoted())
@example(("ﬁ", "f"))
@example(("a b c d", "b c"))
@example(("xa b cx a b c", "a b c"))
def test_a_quote_is_accepted_exactly_by_the_rule(pair: tuple[str, str]) -> None:
    text, quote = pair
    (match,) = ground_quotes([quote], text)
    assert match.accepted == any(reference(form, text) for form in forms(quote))


@given(quoted())
@example(("ﬁ", "f"))
@example(("6½", "61"))
@example(("so <sigh>\u3099 x", "\u3099 x"))
def test_what_is_given_as_the_quote_is_the_quote(pair: tuple[str, str]) -> None:
    text, quote = pair
    (match,) = ground_quotes([quote], text)
    if not match.accepted:
        return
    wanted = {normalise(form).text for form in forms(quote)}
    there = normalise(text[match.start : match.end]).text
    if Caveat.CUT_CHARACTER in match.caveats:
        # "f" of "ﬁ": a character of the original cannot be given in part.
        assert any(form in there for form in wanted)
    else:
        assert there in wanted
    assert match.count >= len(match.spans) >= 1
    assert {match.start, match.end} <= {at for span in match.spans for at in (span.start, span.end)}


@given(quoted(), st.sampled_from([0.5, 0.85, 1.0]), st.booleans())
def test_fuzzy_accepts_more_and_strict_less(
    pair: tuple[str, str], threshold: float, ellipsis: bool
) -> None:
    text, quote = pair

    def accepted(**rules: object) -> bool:
        (match,) = ground_quotes([quote], text, allow_ellipsis=ellipsis, **rules)  # type: ignore[arg-type]
        assert match.accepted == (match.reason is None)
        assert not (rules.get("strict") and match.accepted and match.caveats)
        return match.accepted

    plain, near = accepted(), accepted(mode="fuzzy", fuzzy_threshold=threshold)
    assert near or not plain
    assert plain or not accepted(strict=True)
    assert near or not accepted(strict=True, mode="fuzzy", fuzzy_threshold=threshold)


@given(quoted(), several, st.sampled_from(["substring", "fuzzy"]), st.booleans(), st.booleans())
def test_the_quick_decisions_are_those_of_the_matches(
    pair: tuple[str, str], others: list[str], mode: str, strict: bool, ellipsis: bool
) -> None:
    text, quotes = pair[0], [*others, pair[1], *others]
    grounder = Grounder(text, Rules(mode, 0.6, strict, ellipsis))
    decided = [grounder.match(quote).accepted for quote in quotes]
    assert grounder.accepts(quotes) == decided
    assert [grounder.accepts([quote])[0] for quote in quotes] == decided


@st.composite
def placed(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text of few words, and a stretch of it or of another such."""
    few = st.lists(st.sampled_from(["a", "ab", "aba", "b'a", "sleepless", "sleeplessly"]))
    text, other = " ".join(draw(few)), " ".join(draw(few))
    drawn = draw(st.sampled_from([text, other]))
    start = draw(st.integers(0, len(drawn)))
    return text, drawn[start : start + draw(st.integers(0, 40))]


@given(
    placed()
    | st.tuples(st.text(alphabet="ab '", max_size=40), st.text(alphabet="ab '", max_size=9))
)
@example(("a sleepless ab", "aa sleepless ab"))
@example(("x ab sleepless", "ab sleepless"))
@example(("ab sleepless a " * 9 + "b sleepless ab", "b sleepless ab"))
@example(("ab sleepless a " * 9 + "b sleepless ab", "b sleepless abb"))
def test_the_index_finds_the_places_that_searching_finds(pair: tuple[str, str]) -> None:
    source, form = prepare(pair[0]), normal_form(pair[1])
    expected, at = [], source.normal.find(form) if form else -1
    while at >= 0:
        expected.append(at)
        at = source.normal.find(form, at + len(form))
    assert list(source.places(form)) == expected
    assert source.held([form]) == [bool(expected)]


TALK = (
    "Ann: i have been so very tired of all this lately\nBo: oh no not at all tired then\nAnn: yes"
)


@given(
    hostile | st.just(TALK),
    st.lists(hostile | st.none() | st.integers(), max_size=2) | hostile,
    st.sampled_from(["substring", "fuzzy", "other"]),
    st.sampled_from([None, "Ann", "i have been so very tired of all this", 3]),
    st.sampled_from([0.5, 0.85, 2]),
)
def test_nothing_but_named_errors_without_the_text_is_raised(
    text: str, quotes: list[str], mode: str, speaker: str | None, threshold: float
) -> None:
    rules = {"mode": mode, "speaker": speaker, "fuzzy_threshold": threshold}
    with suppress(TranscriptError):
        source = parse_transcript(text)
        said: object = None
        try:
            said = ground_quotes(quotes, source, **rules)  # type: ignore[arg-type]
        except VeridicalError as error:
            said = (error, str(error))
        assert "so very tired" not in repr(said)
