"""Transcripts of every format come out as one text and its turns."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import TextError, TranscriptError
from veridical.quotes.transcripts import TranscriptKind, parse_transcript

LABELS = "Ellie: how are you\nParticipant: um <sigh> tired\nreally tired\nEllie: okay\n"
JSON = '[{"speaker": "Ann", "text": "hi"}, {"speaker": "Bo", "text": " ho "}]'
VTT = """\
WEBVTT - an interview

NOTE this is
no cue

STYLE
::cue { color: red }

intro
00:00:01.000 --> 00:00:02.000 align:start
<v Ann>I can't <i>sleep</i>
at

00:02.000 --> 00:03.000
<c.loud>night</c> &amp; day

00:03.000 --> 00:04.000
<v.first Bo Li>Oh <laughter></v> <v Ann>Yes
"""
SRT = """\
1
00:00:01,000 --> 00:00:02,000
Ann: I can't

2
00:00:02,000 --> 00:00:03,000
sleep
""".replace("\n", "\r\n")
CSV = (
    "start_time\tstop_time\tspeaker\tvalue\n"
    '1.0\t2.0\tEllie\thi i\'m "ellie"\n'
    '2.0\t3.0\tParticipant\tum "yes\n\n'
    "3.0\t4.0\tParticipant\tokay\n"
)


def turns(text: str, kind: str | None = None) -> list[tuple[str, str]]:
    transcript = parse_transcript(text, kind)
    return [(turn.speaker, turn.span.of(transcript.text)) for turn in transcript.turns]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            LABELS,
            "labels",
            [
                ("Ellie", "how are you"),
                ("Participant", "um <sigh> tired\nreally tired"),
                ("Ellie", "okay"),
            ],
        ),
        ("[doctor] hi .\n[patient] ho\n[doctor] so", "labels", None),
        ("Dr. Smith: a\r\nSpeaker 2: b\r\nDr. Smith:\r\nc", "labels", None),
        (JSON, "json", [("Ann", "hi"), ("Bo", "ho")]),
        (f'{{"id": "301", "turns": {JSON}}}', "json", [("Ann", "hi"), ("Bo", "ho")]),
        ('{"id": "301"} is all that she typed', "plain", []),
        (f'\ufeff {{"turns": {JSON}}}', "json", [("Ann", "hi"), ("Bo", "ho")]),
        (
            VTT,
            "vtt",
            [("Ann", "I can't sleep at night & day"), ("Bo Li", "Oh <laughter>"), ("Ann", "Yes")],
        ),
        (SRT, "srt", [("Ann", "I can't sleep")]),
        (CSV, "csv", [("Ellie", 'hi i\'m "ellie"'), ("Participant", 'um "yes\nokay')]),
        ("Note: this is no talk", "plain", []),
        ("He said: no.\nThen: yes.", "plain", []),
        ("", "plain", []),
        ("[1] a footnote\n[1] another", "plain", []),
        ("a,b\nc,d", "plain", []),
    ],
)
def test_the_format_shows_and_the_turns_are_found(
    text: str, kind: str, expected: list[tuple[str, str]] | None
) -> None:
    assert parse_transcript(text).kind == kind
    assert turns(text, kind) == turns(text)
    if expected is not None:
        assert turns(text) == expected


def test_lines_of_a_cue_belong_to_the_speakers_that_their_labels_name() -> None:
    text = (
        "WEBVTT\n00:01.000 --> 00:02.000\nBo: Hello\nthere.\n\n00:03.000 --> 00:06.000\n"
        "Ann: Do you feel hopeless?\nBo: Yes.\none thing: never\n\n"
        "00:07.000 --> 00:09.000\nat all\nAnn: I see."
    )
    assert turns(text) == [
        ("Bo", "Hello there."),
        ("Ann", "Do you feel hopeless?"),
        ("Bo", "Yes. one thing: never at all"),
        ("Ann", "I see."),
    ]


CAPTIONS = """\
WEBVTT
Kind: captions
Language: en

00:00:00.000 --> 00:00:02.000 align:start position:0%
\x20
hello<00:00:00.500><c> there</c>

00:00:02.000 --> 00:00:02.010 align:start position:0%
how are you
\x20
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CAPTIONS, "hello there how are you"),
        (CAPTIONS.replace("\n", "\r"), "hello there how are you"),
        ("1\n00:00:01,000 --> 00:00:02,000\none\n \ntwo\n\t\n2\n00:03,0 --> 00:04,0\nthree", None),
    ],
)
def test_a_line_of_spaces_ends_no_cue_unless_times_follow(text: str, said: str | None) -> None:
    assert turns(text) == [("", said or "one two three")]


def test_a_line_of_spaces_may_come_first() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\nAnn: Hello"
    assert turns(f"  \n{cue}", "srt") == [("Ann", "Hello")]
    with pytest.raises(TranscriptError, match="line 2"):
        turns("\u2028\nA: ", "srt")


@pytest.mark.parametrize("text", [LABELS, "no turns", "\ufeffA: x\nA: y"])
def test_plain_and_labelled_text_stays_as_it_is(text: str) -> None:
    assert parse_transcript(text).text == text


@pytest.mark.parametrize("text", [JSON, VTT, SRT, CSV])
def test_the_text_made_of_a_format_has_the_same_turns_by_its_labels(text: str) -> None:
    made = parse_transcript(text)
    assert parse_transcript(made.text, "labels").turns == made.turns


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ('[{"speaker": "A"}]', None, "text of turn 0 must be text, not NoneType"),
        ('[{"speaker": "A", "text": "a"}, {"speaker": 1, "text": "x"}]', None, "speaker of turn 1"),
        ('[{"speaker": "A", "text": "a"}, 3]', None, "turn 1 must be an object, not int"),
        ('[{"speaker": "A", ', None, "invalid JSON at line 1"),
        ('{"turns": {}}', None, "turns must be a list, not dict"),
        ("[]", "json", "holds no turn"),
        ("3", "json", "turns must be a list, not int"),
        ("WEBVTT\n\n", None, "holds no turn"),
        ("WEBVTT\n\nhello there\nyou\n\n", None, "the block from line 3"),
        ("WEBVTT\n\n00:01 -> 00:02\nyou\n\n", None, "the block from line 3"),
        ("1\n00:00:01,000 --> 00:00:02,000\na\n\n2\n00:00 --> x\nb", None, "the block from line 5"),
        ("speaker\tvalue\nA\ta\nB\n", None, "line 3 has 1 columns, the first has 2"),
        ("a\tb\n", "csv", "does not name the columns"),
        ("speaker\tvalue\n", None, "holds no turn"),
        ("A: b", "docx", "no such kind"),
    ],
)
def test_what_is_malformed_is_named_by_its_place(text: str, kind: str | None, says: str) -> None:
    with pytest.raises(TranscriptError, match=says):
        parse_transcript(text, kind)


def timed(text: str) -> list[tuple[str, float, float]]:
    transcript = parse_transcript(text)
    return [
        (timing.span.of(transcript.text), timing.start_s, timing.end_s)
        for timing in transcript.timings
    ]


def test_every_cue_and_line_keeps_its_times() -> None:
    assert timed(VTT) == [
        ("I can't sleep at", 1.0, 2.0),
        ("night & day", 2.0, 3.0),
        ("Oh <laughter>", 3.0, 4.0),
        ("Yes", 3.0, 4.0),
    ]
    assert timed(SRT) == [("I can't", 1.0, 2.0), ("sleep", 2.0, 3.0)]
    assert timed(CSV)[1:] == [('um "yes', 2.0, 3.0), ("okay", 3.0, 4.0)]
    assert timed("WEBVTT\n\n01:02:03.500 --> 100:00:00.000\nA: b") == [("b", 3723.5, 360_000.0)]


@pytest.mark.parametrize("times", ["a\t2.0", "1.0\t", "nan\t2.0", "2.0\t1.0", "0\tinf"])
def test_times_that_are_none_are_unknown(times: str) -> None:
    assert timed(f"start_time\tstop_time\tspeaker\tvalue\n{times}\tA\tb\n") == []


@pytest.mark.parametrize("text", [LABELS, JSON, "no turns"])
def test_formats_without_times_have_none(text: str) -> None:
    assert timed(text) == []


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TextError, match="not bytes"):
        parse_transcript(b"A: b")  # type: ignore[arg-type]


def test_a_transcript_does_not_show_what_was_said() -> None:
    assert repr(parse_transcript(LABELS)) == "Transcript(labels, 73 characters, 3 turns)"


PIECES = [*'Aa :[]{}<>",\n\t', "WEBVTT\n\n", "00:01.000 --> 00:02.000\n", "<v A>", "B: "]
formatted = st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join)


@given(formatted, st.sampled_from([None, *TranscriptKind]))
def test_any_text_is_parsed_or_refused_by_name(text: str, kind: TranscriptKind | None) -> None:
    try:
        found = parse_transcript(text, kind)
    except TranscriptError:
        return
    ends = [0]
    for turn in found.turns:
        assert ends[-1] <= turn.span.start <= turn.span.end <= len(found.text)
        ends.append(turn.span.end)


@pytest.mark.parametrize(
    "text",
    [
        *("A" * 200_000, " " * 200_000, "A: \n" * 50_000, "A " * 100_000, "speaker\t" * 50_000),
        *("WEBVTT\n\n" + " " * 200_000, "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<v" * 50_000),
        *("\n" * 200_000, "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<c." * 50_000),
        "A: x\n" + " \t" * 100_000,
    ],
    ids=lambda text: ascii(text[:3] + text[-3:]),
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    began = time.process_time()
    for kind in (None, *TranscriptKind):
        try:
            parse_transcript(text, kind)
        except TranscriptError:
            continue
    assert time.process_time() - began < 10  # quadratic time would be minutes
