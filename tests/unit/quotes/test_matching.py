"""Places, grades and caveats of quotes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from veridical.core.cancellation import cancellable
from veridical.errors import ConfigurationError, MissingExtraError, TextError, TimeLimitError
from veridical.evidence import validate_evidence_grounding
from veridical.quotes.caveats import Caveat
from veridical.quotes.matching import ANYONE, QuoteMatch, Rejection, ground_quotes
from veridical.quotes.prepared import prepare
from veridical.quotes.transcripts import parse_transcript

TALK = """\
Ellie: do you feel tired these days
Participant: yes i feel tired all the time
Ellie: since when
Participant: about eight weeks i sleep 3 hours a night
"""


def match(quote: str, source: str, **rules: object) -> QuoteMatch:
    return ground_quotes([quote], source, **rules)[0]  # type: ignore[arg-type]


def found(quote: str, source: str, **rules: object) -> str | None:
    result = match(quote, source, **rules)
    return None if result.start is None else source[result.start : result.end]


# --- places and grades -----------------------------------------------------------------------


@pytest.mark.spec("053.substring")
@pytest.mark.parametrize(
    ("quote", "source", "there", "grade"),
    [
        ("I feel tired", "So I feel tired.", "I feel tired", "exact"),
        ("  I feel tired\n", "So I feel tired.", "I feel tired", "exact"),
        ("I feel tired", "So I\n  feel tired.", "I\n  feel tired", "whitespace"),
        ("I don't feel", "I don’t feel it", "I don’t feel", "typography"),
        ("well-known fact", "a well–known fact", "well–known fact", "typography"),
        ("the efficient one", "the eﬃcient one", "the eﬃcient one", "typography"),
        ("un\u00adbelievable pain", "unbelievable pain", "unbelievable pain", "typography"),
        ("I feel tired", "I feel <sigh> tired", "I feel <sigh> tired", "typography"),
        ("I FEEL tired", "I feel tired", "I feel tired", "case"),
        ("I DON'T feel", "I  don’t feel", "I  don’t feel", "case"),
    ],
)
def test_the_grade_says_what_differs(quote: str, source: str, there: str, grade: str) -> None:
    result = match(quote, source)
    assert (result.accepted, found(quote, source), result.grade) == (True, there, grade)
    assert result.score == 1.0


@pytest.mark.parametrize("quote", ["", "  \n", "\u200b", "<laughter>"])
def test_a_quote_of_nothing_is_not_accepted(quote: str) -> None:
    assert match(quote, "anything <laughter>").reason == "empty"


@pytest.mark.parametrize(
    "quote",
    ['"I feel tired"', "“I feel tired”", "'I feel tired'", "«I feel tired»", "`I feel tired`"],
)
def test_quotation_marks_around_a_quote_are_not_part_of_it(quote: str) -> None:
    source = "Well, I feel tired today"
    assert found(quote, source) == "I feel tired"
    assert match(quote, source).grade == "exact"


def test_quotation_marks_that_the_source_has_are_kept() -> None:
    assert found('"tired of it"', 'I was "tired of it" then') == '"tired of it"'


@pytest.mark.parametrize("quote", ['"I" and "you"', '"I\' and you"x', '"I and you'])
def test_marks_that_are_no_pair_are_part_of_the_quote(quote: str) -> None:
    assert match(quote, "I and you").reason == "not_found"


def test_all_places_are_given_and_none_overlaps_the_next() -> None:
    result = match("no no no", "oh no no no no no no no")
    assert [(span.start, span.end) for span in result.spans] == [(3, 11), (12, 20)]
    assert result.count == 2


def test_places_beyond_a_hundred_are_only_counted() -> None:
    result = match("so tired", "so tired. " * 1000)
    assert (len(result.spans), result.count) == (100, 1000)


def test_the_match_is_the_first_place_without_caveats() -> None:
    source = "I don't feel hopeless now. Then, yes, I feel hopeless now."
    result = match("feel hopeless now", source, strict=True)
    assert result.accepted
    assert result.start == source.rindex("feel")
    assert result.spans[0].start == source.index("feel")


def test_a_prepared_source_gives_the_same_as_the_text() -> None:
    quotes = ["i feel tired", "art", "not there at all", "i ... tired", "3 hours a night"]
    source = prepare(TALK)
    for mode in ("substring", "fuzzy"):
        assert ground_quotes(quotes, source, mode=mode) == ground_quotes(quotes, TALK, mode=mode)


def test_a_match_does_not_show_the_quote() -> None:
    assert "tired" not in repr(match("i feel tired", TALK))
    assert "tired" not in repr(prepare(TALK))


# --- caveats ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("feel hopeless", "I don't feel hopeless"),
        ("feel hopeless", "i do n't feel hopeless"),
        ("feel hopeless", "I do not always feel hopeless"),
        ("feel hopeless", "I don't, honestly, feel hopeless"),
        ("feel hopeless", "I don’t\nfeel hopeless"),
        ("I feel hopeless", "I wouldn't say that I feel hopeless"),
        ("feel hopeless", "I never feel hopeless"),
        ("I feel hopeless", "I don't think I feel hopeless"),
        ("feel hopeless", "I don't think I feel hopeless"),
        ("I feel hopeless", "nor do I feel hopeless"),
        ("it at all", "I don't like it at all"),
        ("slept this well", "never have I slept this well"),
        ("chest pain", "The patient denies chest pain"),
        ("appetite at all", "no appetite at all"),
        ("my pills", "I sleep without my pills"),
        ("i did", "i did not take it"),
        ("the tumour is", "the tumour is not malignant"),
        ("feel hopeless", "I no longer feel hopeless."),
        ("suicidal thoughts", "I have no more suicidal thoughts"),
        ("chest pain at rest", "There is no evidence of chest pain at rest"),
        ("chest pain at rest", "No history of chest pain at rest"),
        ("chest pain at rest", "no acute chest pain at rest"),
        ("chest pain at rest", "No fever, cough, or chest pain at rest"),
        ("chest pain at rest", "denies fever, dry cough, or chest pain at rest"),
        ("feel hopeless", "I don't... feel hopeless."),
    ],
)
def test_a_negation_just_outside_is_a_caveat(quote: str, source: str) -> None:
    result = match(quote, source)
    assert result.accepted
    assert Caveat.NEGATED_CONTEXT in result.caveats
    strict = match(quote, source, strict=True)
    assert (strict.accepted, strict.reason, strict.start) == (False, "caveats", result.start)


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("I don't feel hopeless", "I don't feel hopeless"),
        ("I feel hopeless", "I don't eat. I feel hopeless"),
        ("I feel hopeless", "I don't eat, but I feel hopeless"),
        ("I feel hopeless", "I don't eat because I feel hopeless"),
        ("I feel hopeless", "I don't eat and I feel hopeless"),
        ("I feel hopeless", "No, I feel hopeless"),
        ("i feel hopeless", "no i feel hopeless"),
        ("I feel hopeless", "I don't know I feel hopeless"),
        ("I feel hopeless", "I feel hopeless, not angry"),
        ("I feel hopeless", "I feel hopeless. Not always."),
        ("I feel hopeless", "Nothing happened in the week before that day, I feel hopeless"),
        ("feel it too", "I had to knot it and feel it too"),
        ("i fall asleep", "not great i fall asleep at ten"),
        ("fall asleep at ten", "not great i fall asleep at ten"),
        ("i'm so tired", "i did not sleep well i'm so tired"),
        ("it's so loud", "i do not sleep well it's so loud"),
        ("I feel hopeless", "I don't sleep when I feel hopeless"),
        ("feel hopeless", "I can't sleep... feel hopeless"),
        ("I feel hopeless", "no fever, or I feel hopeless"),
        ("or I feel hopeless", "no, I sleep, or I feel hopeless"),
    ],
)
def test_a_negation_of_something_else_is_none(quote: str, source: str) -> None:
    assert match(quote, source, strict=True).accepted


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("art attack", "a heart attack"),
        ("a heart att", "a heart attack"),
        ("yes i can", "yes i can't"),
        ("5 hours a night", "3.5 hours a night"),
        ("5 degrees or so", "-5 degrees or so"),
        ("5 mg of it", "took .5 mg of it"),
        ("we paid 1", "we paid 1,300"),
        ("at half past 10", "at half past 10:45"),
        ("schlaf ist gut", "mittagsschlaf ist gut"),
        ("it was caf", "it was cafe\u0301"),
    ],
)
def test_a_cut_word_or_number_is_a_caveat(quote: str, source: str) -> None:
    if quote == "it was caf":
        assert match("it was cafe\u0301", source, strict=True).accepted
    assert Caveat.PARTIAL_WORD in match(quote, source).caveats


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("known fact", "a well-known fact"),
        ("we paid 13", "we paid 13, then left"),
        ("it was 10", "it was 10."),
        ("the dogs", "the dogs' home"),
        ("5 or six", "and then...5 or six"),
        ("5 or six", "4-5 or six"),
        ("眠れません", "今日は眠れませんでした"),
    ],
)
def test_a_whole_word_is_none(quote: str, source: str) -> None:
    assert Caveat.PARTIAL_WORD not in match(quote, source).caveats


def test_a_cut_character_is_a_caveat_and_given_as_a_whole() -> None:
    result = match("61", "He has 6½ sacks")
    assert found("61", "He has 6½ sacks") == "6½"
    assert {Caveat.CUT_CHARACTER, Caveat.PARTIAL_WORD} <= set(result.caveats)
    assert match("61", "He has 6½ sacks", strict=True).reason == "caveats"


@pytest.mark.parametrize(
    ("quote", "short"),
    [("tired", True), ("i am", True), ("i am ok", False), ("眠れ", True), ("眠れません", False)],
)
def test_few_words_are_a_caveat(quote: str, short: bool) -> None:
    assert (Caveat.TOO_SHORT in match(quote, f"x {quote} x").caveats) is short


# --- speakers --------------------------------------------------------------------------------


def test_what_another_speaker_says_is_rejected() -> None:
    source = parse_transcript(TALK)
    one, other = ground_quotes(
        ["do you feel tired", "i feel tired all the time"], source, speaker="participant"
    )
    assert (one.accepted, one.reason) == (False, Rejection.OTHER_SPEAKER)
    assert one.caveats == (Caveat.OTHER_SPEAKER,)
    assert (one.start, one.end) == (source.text.index("do you"), source.text.index("do you") + 17)
    assert (other.accepted, other.caveats) == (True, ())
    assert match("do you feel tired", TALK, speaker=["Ellie", "Participant"]).caveats == ()


def test_a_place_where_the_speaker_says_it_is_preferred() -> None:
    source = "Ellie: you feel tired\nMe: what\nEllie: tell me\nMe: you feel tired, you say"
    result = match("you feel tired", source, speaker="Me")
    assert (result.start, result.caveats) == (source.rindex("you feel"), ())


def test_a_quote_across_turns_is_marked() -> None:
    source = parse_transcript(TALK)
    (result,) = ground_quotes(["all the time Ellie: since when"], source, speaker=ANYONE)
    assert (result.accepted, result.caveats) == (True, (Caveat.SPANS_TURNS,))
    (result,) = ground_quotes(["all the time Ellie: since when"], source, speaker="Participant")
    assert result.caveats == (Caveat.SPANS_TURNS, Caveat.OTHER_SPEAKER)


INTERVIEW = "Interviewer: Do you feel hopeless?\nPatient: No.\n"


@pytest.mark.parametrize("as_given", [str, parse_transcript, prepare])
@pytest.mark.parametrize("asking", ["Interviewer", "Dr. Ames", "Bo"])
@pytest.mark.parametrize("mode", ["substring", "fuzzy"])
def test_the_question_of_an_interviewer_is_no_evidence_for_who_is_assessed(
    as_given: Callable[[str], str], asking: str, mode: str
) -> None:
    talk = INTERVIEW.replace("Interviewer", asking) + f"{asking}: I see.\nPatient: I wake at four."
    quotes = ["Do you feel hopeless?", "feel hopeless", "I wake at four"]
    found = ground_quotes(quotes, as_given(talk), mode=mode)
    assert [one.accepted for one in found] == [False, False, True]
    assert {one.reason for one in found[:2]} == {Rejection.OTHER_SPEAKER}
    assert all(Caveat.DENIED_BY_ANSWER in one.caveats for one in found[:2])
    kept, _ = validate_evidence_grounding({"x": quotes}, as_given(talk), mode=mode)
    assert kept == {"x": ["I wake at four"]}
    everybody = ground_quotes(quotes, as_given(talk), mode=mode, speaker=ANYONE)
    assert all(one.accepted for one in everybody)


@pytest.mark.parametrize("label", ["Patient's wife", "Patient’s mother"])
def test_a_relative_of_the_patient_is_another_speaker(label: str) -> None:
    talk = "Doctor: Well?\nPatient: I am fine.\nX: He cannot sleep.\nDoctor: Really?\n"
    talk = f"{talk}Patient: I sleep well.\nX: He wakes at three.".replace("X", label)
    (hers,) = ground_quotes(["He cannot sleep"], talk)
    assert (hers.reason, hers.speaker) == (Rejection.OTHER_SPEAKER, label)


def test_a_question_and_its_answer_alone_tell_who_is_assessed() -> None:
    assert match("feel hopeless", INTERVIEW).reason is Rejection.OTHER_SPEAKER
    talk = INTERVIEW.replace("Patient", "Ann")  # two people, and one of them asks
    assert match("feel hopeless", f"{talk}Interviewer: Ok.").reason is Rejection.OTHER_SPEAKER


@pytest.mark.parametrize(
    "talk",
    [
        "Ann: Do you feel hopeless?\nBo: No.\nAnn: I see.",
        "Patient: Ann Lee\nDoctor: Bo Ames\nComplaint: I feel hopeless\nComplaint: cough",
        "Patient: I feel hopeless\nPatient: I wake at four",
        "I feel hopeless",
    ],
)
def test_everybodys_words_count_where_nobody_knows_who_is_assessed(talk: str) -> None:
    assert match("feel hopeless", talk).accepted


def test_the_words_of_who_is_assessed_are_found_behind_those_of_others() -> None:
    talk = "Therapist: you are tired\nPatient: I am not just tired\nTherapist: ok\nPatient: well"
    result = match("tired", talk)
    assert (result.accepted, result.start) == (True, talk.rindex("tired"))
    assert Caveat.NEGATED_CONTEXT in result.caveats


@pytest.mark.parametrize(
    ("answer", "denied"),
    [
        *[(said, True) for said in ("No.", "um, not really", "Nope", "I don't", "Never, I think")],
        *[
            (said, False)
            for said in ("Yes.", "No doubt about it", "Sometimes", "I do", "Nobody is")
        ],
    ],
)
@pytest.mark.parametrize("mark", ["?", ""])
def test_a_denial_behind_a_question_is_named(answer: str, denied: bool, mark: str) -> None:
    talk = f"Interviewer: do you feel hopeless{mark}\nParticipant: {answer}\n"
    assert (Caveat.DENIED_BY_ANSWER in match("feel hopeless", talk).caveats) is denied
    plain = f"Do you feel hopeless{mark} {answer}"
    named = Caveat.DENIED_BY_ANSWER in match("feel hopeless", plain).caveats
    assert named is (denied and mark == "?")


def test_a_statement_before_a_denial_is_not_denied() -> None:
    talk = "Doctor: I see.\nPatient: I feel hopeless.\nDoctor: No.\nPatient: Is that bad? No."
    assert match("I feel hopeless", talk).caveats == ()


def test_a_negation_of_the_turn_before_is_none() -> None:
    source = parse_transcript("A: i do not\nB: feel hopeless today\nA: i see")
    assert ground_quotes(["feel hopeless today"], source, strict=True)[0].accepted


def test_a_speaker_needs_turns_and_has_to_be_there() -> None:
    with pytest.raises(ConfigurationError, match="no turns"):
        match("tired", "tired", speaker="Ellie")
    with pytest.raises(ConfigurationError, match="1 of the speakers") as caught:
        match("tired", TALK, speaker=["Ellie", "Bob"])
    assert "Bob" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="must be names"):
        match("tired", TALK, speaker=[""])


# --- ellipses --------------------------------------------------------------------------------

LONG = "I am, since the accident, so very tired of it all today."


@pytest.mark.parametrize("dots", ["...", "…", " ... ", " [...] ", "[…]", "(...)", ". . .", "⋯"])
def test_an_ellipsis_is_marked_and_not_silently_accepted(dots: str) -> None:
    quote = f"I am{dots}so very tired"
    result = match(quote, LONG)
    assert (result.accepted, result.reason) == (False, "ellipsis")
    assert [span.of(LONG) for span in result.parts] == ["I am", "so very tired"]
    assert found(quote, LONG) == "I am, since the accident, so very tired"
    assert match(quote, LONG, mode="fuzzy", fuzzy_threshold=0.5).reason == "ellipsis"
    assert match(quote, LONG, allow_ellipsis=True, strict=True).reason == "ellipsis"
    allowed = match(quote, LONG, allow_ellipsis=True)
    assert (allowed.accepted, allowed.grade, allowed.caveats) == (True, "exact", ("ellipsis",))


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("...so very tired", "so very tired"),
        ("“I am … tired …”", "I am, since the accident, so very tired"),
        ("I am … accident … today", "I am, since the accident, so very tired of it all today"),
    ],
)
def test_an_ellipsis_may_stand_anywhere(quote: str, there: str) -> None:
    result = match(quote, LONG, allow_ellipsis=True)
    assert result.accepted
    assert LONG[result.start : result.end] == there


@pytest.mark.parametrize("quote", ["so very tired ... I am", "I am ... so very angry", "... ..."])
def test_parts_that_are_not_there_in_order_are_not_found(quote: str) -> None:
    assert match(quote, LONG, allow_ellipsis=True).reason == "not_found"


def test_parts_too_far_apart_are_not_found() -> None:
    source = f"I am {'x ' * 200}tired of it"
    assert match("I am ... tired of it", source, allow_ellipsis=True).reason == "not_found"
    assert match(
        "I am ... tired of it", f"{source}. I am tired of it", allow_ellipsis=True
    ).accepted


def test_a_negation_left_out_is_a_caveat() -> None:
    result = match("I feel … tired today", "I feel not at all tired today", allow_ellipsis=True)
    assert result.caveats == (Caveat.NEGATED_CONTEXT, Caveat.ELLIPSIS)


def test_an_ellipsis_of_the_source_is_text_like_any_other() -> None:
    result = match("wait ... what", "So wait … what?")
    assert (result.accepted, result.grade, result.caveats) == (True, "typography", ())


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["exact", "", "SUBSTRING", None])
def test_an_unknown_mode_is_refused_even_without_quotes(mode: object) -> None:
    with pytest.raises(ConfigurationError, match="substring, fuzzy"):
        ground_quotes([], "text", mode=mode)  # type: ignore[arg-type]


@pytest.mark.spec("053.fuzzy")
@pytest.mark.parametrize("threshold", [0.49, 1.01, float("nan"), True, "0.9", None])
def test_a_threshold_out_of_range_is_refused(threshold: object) -> None:
    with pytest.raises(ConfigurationError, match=r"from 0\.5 to 1"):
        ground_quotes([], "text", fuzzy_threshold=threshold)  # type: ignore[arg-type]


def test_fuzzy_without_its_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'veridical\[quotes\]'"):
        ground_quotes([], "text", mode="fuzzy")


@pytest.mark.parametrize(
    ("quotes", "source", "says"),
    [
        ("tired", "tired", "not a single str"),
        (None, "tired", "not a single NoneType"),
        (["a", 3], "tired", "quote 1 must be text, not int"),
        (["a"], b"tired", "must be text, not bytes"),
    ],
)
def test_what_is_no_text_is_named(quotes: object, source: object, says: str) -> None:
    with pytest.raises(TextError, match=says):
        ground_quotes(quotes, source)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["substring", "fuzzy"])
def test_quotes_end_at_their_deadline(mode: str) -> None:
    evidence = {"sleep": ["I sleep well", "never said"]}
    with cancellable(0.0), pytest.raises(TimeLimitError):
        ground_quotes(["I sleep well"], "I sleep well.", mode=mode)
    with cancellable(0.0), pytest.raises(TimeLimitError):
        validate_evidence_grounding(evidence, "I sleep well.", mode=mode)


# --- who says it, and when -------------------------------------------------------------------

CUES = """\
WEBVTT

00:10.000 --> 00:12.000
<v Ann>I can not sleep

00:12.000 --> 00:15.500
at night, I am tired

00:16.000 --> 00:18.000
<v Bo>Since when are you tired? Since May?
"""


def said(quote: str, **rules: object) -> tuple[str | None, float | None, float | None]:
    result = ground_quotes([quote], parse_transcript(CUES), **rules)[0]  # type: ignore[arg-type]
    return result.speaker, result.start_s, result.end_s


@pytest.mark.parametrize(
    ("quote", "who", "start_s", "end_s"),
    [
        ("I can not sleep", "Ann", 10.0, 12.0),
        ("sleep at night", "Ann", 10.0, 15.5),
        ("Since when are you", "Bo", 16.0, 18.0),
        ("I am tired Bo: Since when", None, 12.0, 18.0),
        ("I can not ... tired", "Ann", 10.0, 15.5),
        ("somebody else", None, None, None),
    ],
)
def test_a_quote_has_its_speaker_and_its_times(
    quote: str, who: str | None, start_s: float | None, end_s: float | None
) -> None:
    assert said(quote) == (who, start_s, end_s)


def test_a_similar_text_has_its_speaker_and_its_times_too() -> None:
    assert said("I can not sleeep at night", mode="fuzzy") == ("Ann", 10.0, 15.5)


def test_without_turns_nobody_and_no_time_is_named() -> None:
    result = match("i feel tired", "so i feel tired")
    assert (result.accepted, result.speaker, result.start_s, result.end_s) == (True, *[None] * 3)


def test_labels_alone_name_the_speaker_without_times() -> None:
    result = ground_quotes(["about eight weeks"], parse_transcript(TALK))[0]
    assert (result.speaker, result.start_s) == ("Participant", None)
    assert "Participant" not in repr(result)


def test_no_time_is_named_where_one_end_of_the_quote_has_none() -> None:
    head = "start_time\tstop_time\tspeaker\tvalue\n"
    talk = parse_transcript(f"{head}1.0\t2.0\tAnn\ti sleep\n?\t?\tAnn\ttoo late\n")
    both, first = ground_quotes(["i sleep too late", "i sleep"], talk)
    assert (both.speaker, both.start_s, both.end_s) == ("Ann", None, None)
    assert (first.start_s, first.end_s) == (1.0, 2.0)
