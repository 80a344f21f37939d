"""Assessed speaker of an interview, identified by role labels.

A role label (`Participant`, `Patient 2`) identifies the assessed speaker; so does one of the other
side (`Interviewer`, `Doctor`) where only two people speak. Without either the speaker is unknown,
and the words of all speakers count.
"""

from __future__ import annotations

import re
from collections import Counter

from veridical.quotes.transcripts import (
    Transcript,
    TranscriptKind,
    parse_transcript,
)

_ASSESSED = frozenset(("participant", "patient", "interviewee", "respondent"))
_ASKING = frozenset(
    """interviewer therapist psychotherapist doctor dr physician clinician counselor counsellor
    psychologist psychiatrist nurse examiner assessor researcher moderator""".split()  # noqa: SIM905 -- a paragraph of words
)
_FIRST_WORD = re.compile(r"[^\W\d_]++(?!['’])")  # "Patient's wife" is not the patient
_BOTH = 2


def assessed(transcript: Transcript) -> frozenset[str]:
    """Return the folded names of the assessed speakers; empty if the roles do not tell.

    A speaker of such a role who has one turn among several is no evidence: "Patient: " may head a
    form.
    """
    counts = Counter(turn.speaker.casefold() for turn in transcript.turns)
    found = {
        name
        for name, times in counts.items()
        if _role(name) in _ASSESSED and (times > 1 or len(counts) == _BOTH)
    }
    if not found and len(counts) == _BOTH:
        asking = {name for name in counts if _role(name) in _ASKING}
        found = counts.keys() - asking if len(asking) == 1 else set()
    return frozenset(found) if len(counts) > 1 else frozenset()


def conversation(text: str) -> Transcript:
    """Return a text with the turns of a conversation, or without turns if it is none.

    Two people with roles may have one turn each; otherwise one speaker needs two turns.
    """
    transcript = parse_transcript(text, TranscriptKind.LABELS)
    counts = Counter(turn.speaker.casefold() for turn in transcript.turns)
    roles = {_role(name) for name in counts}
    pair = len(counts) == _BOTH and roles & _ASSESSED and roles & _ASKING
    twice = len(counts) > 1 and max(counts.values()) > 1
    return transcript if pair or twice else Transcript(text)


def _role(name: str) -> str:
    """Return the first word of a label, without its number: "patient" of "patient_301"."""
    found = _FIRST_WORD.match(name)
    return "" if found is None else found[0].casefold()
