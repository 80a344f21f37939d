"""Comparison of answers, and the rules for the conclusion about a trace.

Pure: the texts and the measurements come from elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from veridical.audit.values import Cited, Overall, PostHocVerdict, Soundness
from veridical.core.text import normalise
from veridical.core.verdicts import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.audit.values import PostHoc, StepAudit

ALIKE = 0.5
"""Answers are the same from this semantic similarity on, where texts and numbers do not decide."""

# --- are these the same answer? --------------------------------------------------------------

_LEAD_IN = re.compile(
    r"^(?:so|thus|hence|therefore|finally)?,?\s*(?:the |my |our )?(?:final |correct )?"
    r"(?:answer|result)\s*(?:is|:|=)\s*:?\s*"
)
_OPTION = re.compile(r"^\(?(?P<letter>[a-h])\)")
_TOKEN = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?|[^\W\d_]+(?:['’][^\W\d_]+)?")
_SYMBOL = re.compile(r"[^\w\s.,;:!?()'\"$€£%/+-]|_|\w[/+]\w*[^\W\d]|\b\d*+[^\W\d]\w*+[/+]\w")
_LITTLE_WORDS = (
    "a an the is are was were be been being am do does did has have had of in on at to for from by"
    " with as that this these those it its he she they there then so thus hence therefore"
)
_IDLE = frozenset(_LITTLE_WORDS.split())
_YES = frozenset({"yes", "true", "correct"})
_NO = frozenset({"no", "false", "incorrect"})
_STEM = 4


@dataclass(frozen=True, slots=True)
class _Figure:
    """Number, with a flag for percent."""

    value: Fraction
    percent: bool

    def equals(self, other: _Figure) -> bool:
        if self.percent == other.percent:
            return self.value == other.value
        return self._share() == other._share()

    def _share(self) -> Fraction:
        return self.value / 100 if self.percent else self.value


def same_answer(answer: str, derived: str, question: str | None = None) -> bool | None:
    """Return whether two answers have the same text or numbers; None where meaning decides.

    Letter case, typography, lead-ins ("the answer is"), articles and words of the question do not
    count; numbers are compared by value, options by their letter, yes and no by polarity.

        >>> same_answer("1,998", "The answer is 1998.")
        True
        >>> same_answer("(B)", "(C) Eli finished second")
        False
    """
    first, second = _bare(answer), _bare(derived)
    if first == second:
        return True
    if not re.search(r"\w", first + second):  # brackets and the like: only the same is the same
        return "".join(first.split()) == "".join(second.split())
    options = _OPTION.match(f"{first})"[:4]), _OPTION.match(f"{second})"[:4])
    if options[0] and options[1]:
        return options[0]["letter"] == options[1]["letter"]
    if _SYMBOL.search(first) or _SYMBOL.search(second):
        return None
    return _same_words(_tokens(first), _tokens(second), question or "")


def _bare(text: str) -> str:
    plain = normalise(text).text
    plain = _LEAD_IN.sub("", plain, count=1).strip().rstrip(".!").strip()
    return re.sub(r"^[(\[{](\w+)[)\]}]$", r"\1", plain)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _same_words(first: Sequence[str], second: Sequence[str], question: str) -> bool | None:
    polar = _polarity(first), _polarity(second)
    if None not in polar and polar[0] != polar[1]:
        return False
    if None not in polar and 1 in {len(first), len(second)}:
        return True
    asked = {word[:_STEM] for word in _tokens(normalise(question).text)}
    for dropped in (frozenset[str](), asked):
        kept = [_content(words, dropped) for words in (first, second)]
        if kept[0] and kept[1] and _match(*kept):
            return True
    figures = [_alone(_content(words, asked)) for words in (first, second)]
    if figures[0] is not None and figures[1] is not None:
        return figures[0].equals(figures[1])
    return None


def _polarity(words: Sequence[str]) -> bool | None:
    if not words or words[0] not in _YES | _NO:
        return None
    return words[0] in _YES


def _content(words: Sequence[str], asked: Iterable[str]) -> list[str]:
    stems = frozenset(asked)
    return [
        word
        for word in words
        if word[0] in "+-0123456789" or (word not in _IDLE and word[:_STEM] not in stems)
    ]


def _match(first: Sequence[str], second: Sequence[str]) -> bool:
    if len(first) != len(second):
        return False
    return all(a == b or _equal_figures(a, b) for a, b in zip(first, second, strict=True))


def _equal_figures(first: str, second: str) -> bool:
    a, b = _figure(first), _figure(second)
    return a is not None and b is not None and a.equals(b)


def _alone(words: Sequence[str]) -> _Figure | None:
    """Return the number that is the whole answer; None if there is more to it."""
    return _figure(words[0]) if len(words) == 1 else None


def _figure(word: str) -> _Figure | None:
    number = word.replace(",", "").removesuffix("%")
    if len(number) > 100 or not number[-1:].isdigit():  # noqa: PLR2004 -- no number of an answer
        return None
    try:
        return _Figure(Fraction(number), percent=word.endswith("%"))
    except (ValueError, ZeroDivisionError):
        return None


# --- does the answer follow? -----------------------------------------------------------------

_FOLLOWS: Mapping[Status, tuple[PostHocVerdict, str]] = {
    Status.UNDETERMINED: (PostHocVerdict.UNDETERMINED, "the_answer_could_not_be_measured"),
    Status.SUPPORTED: (PostHocVerdict.DERIVABLE, "the_entailed_steps_support_the_answer"),
    Status.CONTRADICTED: (
        PostHocVerdict.DERIVES_SOMETHING_ELSE,
        "the_entailed_steps_oppose_the_answer",
    ),
}


def by_entailment(status: Status) -> tuple[PostHocVerdict, str]:
    """Return verdict and rule for an answer by its status against the entailed steps."""
    otherwise = (PostHocVerdict.NOT_DERIVABLE, "the_entailed_steps_do_not_support_the_answer")
    return _FOLLOWS.get(status, otherwise)


def by_comparison(same: bool | None, similarity: float | None) -> tuple[PostHocVerdict, str]:  # noqa: FBT001 -- the result of `same_answer`
    """Return verdict and rule for an answer by its comparison with the derived answer.

    `same` decides. Where it is None the similarity decides; where that was not measured, nothing.
    """
    if same is not None:
        if same:
            return PostHocVerdict.DERIVABLE, "the_derived_answer_is_the_same"
        return PostHocVerdict.DERIVES_SOMETHING_ELSE, "the_derived_answer_is_another"
    if similarity is None:
        return PostHocVerdict.UNDETERMINED, "the_answers_could_not_be_compared"
    if similarity >= ALIKE:
        return PostHocVerdict.DERIVABLE, "the_derived_answer_means_the_same"
    return PostHocVerdict.DERIVES_SOMETHING_ELSE, "the_derived_answer_means_something_else"


# --- the whole trace -------------------------------------------------------------------------


def overall(steps: Iterable[StepAudit], post_hoc: PostHoc | None) -> Overall:
    """Return the conclusion about a trace: the first of these rules that applies, in this order.

    INVALID      a step is contradicted; steps cite each other in a circle; another answer follows
                 from the entailed steps; the answer does not follow from them
    WARNING      a citation is of a later step, or of an unknown id; a step is not in context
    UNAUDITABLE  a step, or the post-hoc check, could not be measured; no step asserts anything
    VALID        every asserting step is entailed
    """
    labels, faults = set(), set()
    for step in steps:
        labels.add(step.label)
        faults |= {citation.kind for citation in step.citations if citation.fault}
    verdict = None if post_hoc is None else post_hoc.verdict
    rules = (
        (Soundness.INVALID, "a_step_is_contradicted", "CONTRADICTED" in labels),
        (Soundness.INVALID, "steps_cite_in_a_circle", Cited.CYCLIC in faults),
        (
            Soundness.INVALID,
            "something_else_follows_than_the_answer",
            verdict is PostHocVerdict.DERIVES_SOMETHING_ELSE,
        ),
        (
            Soundness.INVALID,
            "the_answer_does_not_follow",
            verdict is PostHocVerdict.NOT_DERIVABLE,
        ),
        (Soundness.WARNING, "a_step_cites_a_later_one", Cited.FORWARD in faults),
        (Soundness.WARNING, "a_step_cites_what_does_not_exist", Cited.PHANTOM in faults),
        (Soundness.WARNING, "a_step_is_not_in_context", "NOT_IN_CONTEXT" in labels),
        (Soundness.UNAUDITABLE, "a_step_could_not_be_measured", None in labels),
        (
            Soundness.UNAUDITABLE,
            "the_answer_could_not_be_checked",
            verdict is PostHocVerdict.UNDETERMINED,
        ),
        (Soundness.UNAUDITABLE, "no_step_asserts_anything", "ENTAILED" not in labels),
    )
    for soundness, rule, applies in rules:
        if applies:
            return Overall(soundness, rule)
    return Overall(Soundness.VALID, "every_step_is_entailed")
