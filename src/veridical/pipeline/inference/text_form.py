"""Texts in which a served classifier reads evidence and claim."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.fencing import disarmed
from veridical.core.homoglyphs import fold
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.windows import counter, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.measurements import Query
    from veridical.pipeline.inference.classifier_servers import Input
    from veridical.pipeline.inference.presets import Preset

_KINDS = frozenset({"pair", "joined"})
"""Kinds of presets that a classifier server can serve."""

_WORDS_PER_TOKEN = 0.75
_PLACEHOLDER = re.compile(r"\{(context|claim|question)\}")
_SEPARATOR = re.compile(r"\[(?=(?:SEP|CLS|MASK|PAD|UNK)\])|<(?=mask>)")
"""Start of a control token of encoders; the others are those of chat models."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """Form in which a model reads evidence and claim, and the names of its classes.

    A pair has the `template` as its first text (default: the evidence). `labels` are None if the
    server's names are taken, `preset` is None for a model that has none.
    """

    template: str | None = None
    labels: tuple[str, ...] | None = None
    preset: Preset | None = None

    @classmethod
    def of(
        cls, preset: Preset | None, labels: Sequence[str] | None, template: str | None
    ) -> TextForm:
        """Return the form of a preset, or of the options; `ConfigurationError` for both."""
        if preset is None:
            _ensure_template(template)
            return cls(template, None if labels is None else tuple(labels))
        if labels is not None or template is not None:
            msg = "a preset has labels and a template of its own"
            raise ConfigurationError(msg, hint="Leave classify.labels and classify.template out")
        if preset.kind not in _KINDS or preset.aggregation != "max":
            msg = f"the preset {preset.name!r} is for no classifier of texts"
            raise ConfigurationError(msg, hint="docs/backends.md, Classifier servers")
        own = None if isinstance(preset.labels, str) else preset.labels
        return cls(str(preset.template), own, preset)

    @property
    def is_pair(self) -> bool:
        """True if the model reads evidence and claim as a pair."""
        return self.template is None if self.preset is None else self.preset.kind == "pair"

    def inputs(self, query: Query) -> list[Input]:
        """Return the inputs about a query, one for each window of its evidence.

        Control tokens in its texts are broken up.
        """
        claim, question = _plain(query.claim), _plain(query.question or "")
        return [self._input(one, claim, question) for one in self._windows(_plain(query.context))]

    def _input(self, context: str, claim: str, question: str) -> Input:
        template = self.template or "{context}"
        if question and self.preset is not None and self.preset.question_template is not None:
            template = self.preset.question_template
        texts = {"context": context, "claim": claim, "question": question}
        # In one pass: a text may hold the name of a placeholder.
        filled = _PLACEHOLDER.sub(lambda name: texts[name[1]], template)
        return [filled, claim] if self.is_pair else [filled]

    def _windows(self, context: str) -> list[str]:
        preset = self.preset
        if preset is None or preset.window_words is None:
            return [context]
        size, unit = preset.window_words, preset.window_unit
        if unit == "tokens":  # only the server has the tokenizer
            size, unit = int(size * _WORDS_PER_TOKEN), "words_and_marks"
        return windows(context, size, preset.window_joint, counter(unit, len))


def _plain(text: str) -> str:
    """Return a text with ordinary letters, and without control tokens and lone surrogates."""
    safe = _SEPARATOR.sub(lambda sign: sign.group() + " ", disarmed(fold(text)))
    return safe.encode("utf-8", "replace").decode("utf-8")


def _ensure_template(template: str | None) -> None:
    found = set(_PLACEHOLDER.findall(template or ""))
    if template is not None and not {"context", "claim"} <= found:
        msg = "classify.template does not hold {context} and {claim}"
        raise ConfigurationError(msg, hint="Such as '{context}</s>{claim}'")
