"""Judges: the words in which a chat model is asked about a claim, and the reading of its answer.

The default asks with the prompt of this package. A model that was trained to judge with a prompt of
its own is asked with that one (`presets`): asked otherwise it is another judge. Such a judge has
two words, one that supports the claim and one that does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from veridical.core.fencing import disarmed
from veridical.core.homoglyphs import fold
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.failures import malformed
from veridical.pipeline.inference.logprobs import read_logprobs, read_word, spelled
from veridical.pipeline.inference.prompts import AnswerWord, prompt_for
from veridical.pipeline.inference.sampling import answer_in, said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.measurements import Query, Unmeasured
    from veridical.pipeline.inference.completions import Completion
    from veridical.pipeline.inference.logprobs import TokenProbabilities
    from veridical.pipeline.inference.presets import Preset

FIRST_TOKEN, WORD_AFTER = "first_token", "word_after:"
"""Values of `Preset.read`: the first token, or the word after a text."""

_PLACEHOLDER = re.compile(r"\{(context|claim|question)\}")


@dataclass(frozen=True, slots=True)
class Question:
    """Messages for a chat model, and the arguments of the request that carry more of them.

    Questions with the same `context` share the text before the claim.
    """

    context: str = field(repr=False)
    messages: list[dict[str, str]] = field(repr=False)
    template_arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)
    least_tokens: int = 0
    """Number of tokens below which the model cannot have read all of it."""


class Judge(Protocol):
    """The words in which a chat model is asked, and the reading of its answer."""

    @property
    def answer_tokens(self) -> int:
        """Number of tokens that an answer takes."""
        ...

    def question(self, query: Query) -> Question:
        """Return the messages about a query."""
        ...

    def read(self, completion: Completion) -> TokenProbabilities | Unmeasured:
        """Return the answer probabilities of a completion with log-probabilities."""
        ...

    def answer_in(self, text: str) -> AnswerWord | None:
        """Return the answer that a text gives; None if it gives none."""
        ...


@dataclass(frozen=True, slots=True)
class DefaultJudge:
    """The prompt of this package: YES, NO or UNSURE."""

    answer_tokens: int = 1

    def question(self, query: Query) -> Question:
        """Return the messages about a query."""
        prompt = prompt_for(query)
        return Question(prompt.context, prompt.messages)

    def read(self, completion: Completion) -> TokenProbabilities | Unmeasured:
        """Return the answer probabilities of the first token."""
        return read_logprobs(completion.top or ())

    def answer_in(self, text: str) -> AnswerWord | None:
        """Return the answer that a text begins with; None if it is none."""
        return answer_in(text)


class PresetJudge:
    """A model's own prompt and words, as its preset has them."""

    def __init__(self, preset: Preset) -> None:
        if preset.kind != "chat":
            msg = f"the preset {preset.name!r} is for no chat model"
            raise ConfigurationError(
                msg, hint="docs/backends.md, Judges with a prompt of their own"
            )
        self._template = [(m["role"], m["content"]) for m in _messages(preset)]
        supporting, other = (word.upper() for word in preset.labels)
        self._words = {supporting: AnswerWord.YES, other: AnswerWord.UNSURE}
        self._marker = _marker(preset.read)
        words = "|".join(map(re.escape, self._words))
        self._answer = re.compile(rf"{self._marker.pattern}({words})\b", re.IGNORECASE)
        self.answer_tokens = preset.answer_tokens

    def question(self, query: Query) -> Question:
        """Return the messages about a query; texts stand in them as they were in training.

        Only control tokens of chat templates are broken up, and disguised letters written plainly.
        """
        values = {
            "context": _plain(query.context),
            "claim": _plain(query.claim),
            "question": _plain(query.question or ""),
        }
        filled = [(role, _fill(content, values)) for role, content in self._template]
        documents = [content for role, content in filled if role == "document"]
        messages = [
            {"role": role, "content": content} for role, content in filled if role != "document"
        ]
        if not documents:
            return Question(values["context"], messages)
        listed = [{"doc_id": str(i), "text": text} for i, text in enumerate(documents)]
        # A chat template that does not know documents leaves them out and says nothing.
        least = sum(len(content.split()) for _, content in filled)
        return Question(values["context"], messages, {"documents": listed}, least)

    def read(self, completion: Completion) -> TokenProbabilities | Unmeasured:
        """Return the probabilities of the two words where the answer stands."""
        place = self._place(completion)
        if place is None:
            return malformed(_no_answer(completion))
        return read_word(completion.written[place].top, partial(spelled, answers=self._words))

    def _place(self, completion: Completion) -> int | None:
        """Return the number of the token with the first letter of the answer; None without one."""
        if not self._marker.pattern:
            return 0
        text = "".join(token.text for token in completion.written)
        starts = [found.end() for found in self._marker.finditer(text)]
        if not starts:
            return None
        end = 0
        for place, token in enumerate(completion.written):
            end += len(token.text)
            if end > starts[-1]:
                return place
        return None

    def answer_in(self, text: str) -> AnswerWord | None:
        """Return the answer that a text gives last; None if it gives none."""
        text = said(text)
        if not self._marker.pattern:
            found = re.match(rf"[\W_]*{self._answer.pattern}", text, re.IGNORECASE)
            return self._words[found[1].upper()] if found else None
        answers = self._answer.findall(text)
        return self._words[answers[-1].upper()] if answers else None


def _messages(preset: Preset) -> list[Mapping[str, str]]:
    if isinstance(preset.template, str):
        msg = f"the preset {preset.name!r} has no messages"
        raise ConfigurationError(msg, hint="A template for a chat model is a list of messages")
    return list(preset.template)


def _marker(read: str) -> re.Pattern[str]:
    """Return the pattern of the text before the answer; an empty one if the answer begins."""
    if read == FIRST_TOKEN:
        return re.compile("")
    marker = re.escape(read.removeprefix(WORD_AFTER))
    return re.compile(rf"{marker}[\W_]*", re.IGNORECASE)


def _no_answer(completion: Completion) -> str:
    return "the reply ends before its answer" if completion.cut_off else "the reply has no answer"


def _plain(text: str) -> str:
    return disarmed(fold(text))


def _fill(template: str, values: Mapping[str, str]) -> str:
    # In one pass: a text may hold the name of a placeholder.
    return _PLACEHOLDER.sub(lambda name: values[name[1]], template)
