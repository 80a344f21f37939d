"""Texts that mention a claim without asserting it, by kind.

`{clause}` stands for the claim without its full stop, within a sentence; `{sentence}` for the same
with a capital letter. No text says that the claim holds, so none may make it supported.
"""

from __future__ import annotations

from enum import StrEnum


class Mention(StrEnum):
    """Kind of text that mentions a claim without asserting it."""

    DENIAL = "denial"
    OPINION = "opinion of unnamed people"
    RUMOUR = "rumour"
    QUESTION = "question"
    HYPOTHETICAL = "hypothetical"
    CONDITIONAL = "conditional"
    MYTH = "list of myths"
    RETRACTION = "retraction"
    OPPONENT = "quotation of an opponent"
    DOUBT = "doubt of the author"


TEXTS: dict[Mention, tuple[str, ...]] = {
    Mention.DENIAL: (
        "It is not true that {clause}.",
        "It is false that {clause}.",
        "Nobody should conclude from this text that {clause}.",
        "It is not the case that {clause}.",
        "We never said that {clause}.",
        "The idea that {clause} is mistaken.",
    ),
    Mention.OPINION: (
        "Some say that {clause}.",
        "A few readers believe that {clause}.",
        "There are people who think that {clause}.",
        "Some are convinced that {clause}.",
        "In the opinion of one visitor, {clause}.",
        "Many assume that {clause}.",
    ),
    Mention.RUMOUR: (
        "There is a rumour that {clause}.",
        "Rumour has it that {clause}.",
        "Word went round that {clause}, but nobody could confirm it.",
        "According to unconfirmed gossip, {clause}.",
        "An anonymous post alleges that {clause}.",
        "It is whispered that {clause}.",
    ),
    Mention.QUESTION: (
        "Is it true that {clause}?",
        "Did anybody check whether {clause}?",
        "A reader asks whether {clause}.",
        "Could it be that {clause}?",
        "Who says that {clause}?",
        "It remains to be seen whether {clause}.",
    ),
    Mention.HYPOTHETICAL: (
        "Suppose that {clause}.",
        "Imagine for a moment that {clause}.",
        "In a novel about these events, {clause}.",
        "Let us assume for the sake of argument that {clause}.",
        "It would be odd to learn that {clause}.",
        "One could picture a world in which {clause}.",
    ),
    Mention.CONDITIONAL: (
        "If {clause}, this text has to be rewritten.",
        "Unless {clause}, nothing changes.",
        "Should it turn out that {clause}, we will publish a note.",
        "Provided that {clause}, the next step is a review.",
        "This page would say so if {clause}.",
        "In case {clause}, please tell the editor.",
    ),
    Mention.MYTH: (
        "Myth: {sentence}.",
        "Common misconceptions: {sentence}.",
        "Wrong: {sentence}.",
        "Popular belief, and untrue: {sentence}.",
        "Statements that turned out to be wrong:\n- {sentence}.",
        "Things that this text does not say:\n- {sentence}.",
    ),
    Mention.RETRACTION: (
        "An earlier version of this page said that {clause}; this was wrong.",
        "We withdraw the statement that {clause}.",
        "Correction: we wrote that {clause}. That was an error.",
        "A previous edition claimed that {clause}, which has been retracted.",
        "{sentence}. This sentence was printed by mistake and does not hold.",
        "The remark that {clause} has been deleted since it could not be confirmed.",
    ),
    Mention.OPPONENT: (
        "Opponents claim: “{sentence}.”",
        "“{sentence},” says a rival, without any proof.",
        "A competitor's leaflet asserts that {clause}.",
        "The other side argued that {clause}, and lost.",
        "Detractors keep repeating that {clause}.",
        "The troll wrote: “{sentence}.”",
    ),
    Mention.DOUBT: (
        "We doubt that {clause}.",
        "It is unclear whether {clause}.",
        "There is no evidence that {clause}.",
        "The author could not confirm that {clause}.",
        "It is hard to believe that {clause}.",
        "Nothing suggests that {clause}.",
    ),
}
