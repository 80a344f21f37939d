"""Evidence as the product would show it to the model: its windows, its stitched passage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.types import Source
from veridical.pipeline.claims.sentences import split_sentences
from veridical.pipeline.evidence import Binder, Corpus
from veridical.pipeline.evidence.tokens import estimate_tokens, words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from veridical.core.types import Passage

SHORT = 130
"""Estimated tokens up to which evidence is left whole."""

LONGEST = 200
JOINED = 150
DECENT = 0.65
"""Share of a supported claim's content words that a cut must still hold."""


def coverage(claim: str, text: str) -> float:
    """Return the share of a claim's content words that a text has."""
    wanted = set(words(claim))
    return len(wanted & set(words(text))) / len(wanted) if wanted else 0.0


def cut(text: str, claim: str, rng: Random, *, supported: bool) -> str | None:
    """Return the evidence to train with, or `None` if a cut would lose the support."""
    if estimate_tokens(text) <= SHORT:
        return text
    wanted = min(DECENT, 0.9 * coverage(claim, text)) if supported else 0.0
    options = _options(text, claim, supported=supported)
    good = [option for option in options if coverage(claim, option) >= wanted]
    short = [option for option in good if estimate_tokens(option) <= JOINED]
    if short and not (supported and _loses(claim, text, short)):
        return rng.choice(_close(short, claim) if supported else short)
    return good[-1] if good else None


def _close(options: list[str], claim: str) -> list[str]:
    """Return the options that hold nearly as much of the claim as the best one."""
    best = max(coverage(claim, option) for option in options)
    return [option for option in options if coverage(claim, option) > best - 0.1]


def _loses(claim: str, text: str, options: list[str]) -> bool:
    """Return whether every cut is poor and the whole text was much better."""
    best = max(coverage(claim, option) for option in options)
    return best < DECENT and coverage(claim, text) - best > 0.1


def _options(text: str, claim: str, *, supported: bool) -> list[str]:
    """Return the best window, the stitched passage and two windows, short ones first."""
    passages = _bind(text, claim, 96)
    return [passages[0].text, *_further(passages), *(_wide(text, claim) if supported else ())]


def _bind(text: str, claim: str, tokens: int) -> list[Passage]:
    corpus = Corpus({"S1": Source("S1", text)}, split_sentences, window_tokens=tokens)
    return list(Binder(corpus, windows=2).bind(claim, ()).with_evidence)


def _further(passages: list[Passage]) -> Iterator[str]:
    stitched = [passage.text for passage in passages if len(passage.pieces) > 1]
    yield from stitched
    windows = [passage for passage in passages if len(passage.pieces) == 1]
    ordered = sorted(windows, key=lambda passage: passage.pieces[0].span)
    joined = " ".join(passage.text.strip() for passage in ordered)
    if len(ordered) > 1 and estimate_tokens(joined) <= JOINED:
        yield joined


def _wide(text: str, claim: str) -> Iterator[str]:
    if estimate_tokens(text) <= LONGEST:
        yield text
    else:
        yield _bind(text, claim, LONGEST)[0].text
