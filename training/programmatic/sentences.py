"""Pairs from licensed text: a sentence as the claim, its passage as the evidence, then changes."""

# ruff: noqa: E501, SIM905 -- a template is one line, a list of words one paragraph

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutting import coverage

from programmatic.base import (
    NOT_IN_CONTEXT,
    SUPPORTED,
    Pair,
    capital,
)
from programmatic.changes import CHANGES, names_of
from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from programmatic.changes import Change

SOURCES = ("fever_nli_part", "fever_symmetric_dev", "cg2c", "conjnli_train", "fool_me_twice_dev",
           "vitaminc_sample", "evidence_inference_train", "defacto_train", "citint_train")  # fmt: skip
_END = re.compile(r"(?<=[a-z0-9\"”)][.!?]) +(?=[A-Z\"“])|\n+")
_FACT = re.compile(r"^[A-Z\"“].{30,260}[.!]$")
_UNFIT = re.compile(r"^(?:It|He|She|They|This|That|These|Those|But|And|We|I|You)\b|\?|\||U\.S\.$")
_PARENTHESIS = re.compile(r" ?\([^()]*\)")
_ADVERBIAL = re.compile(
    r"^(?:In|On|At|After|During|Since|By|However|Although|Later|Today)[^,]{0,50}, "
)
_APPENDIX = re.compile(r", (?:which|who|where|including|with|and) [^,]+(?=\.$)")
_SYNONYMS = dict(
    pair.split(":")
    for pair in """began:started started:began received:got obtained:received located:situated
    large:big purchased:bought bought:purchased located:found approximately:about about:roughly
    film:movie movie:film children:kids assist:help helped:assisted showed:demonstrated
    demonstrated:showed used:employed created:made made:produced famous:well-known known:recognised
    joined:entered wrote:authored died:passed~away become:turn~into became:turned~into city:town
    nation:country country:nation primary:main main:principal often:frequently ended:finished
    also:additionally after:following before:prior~to because:since many:numerous
    numerous:many several:a~number~of nearly:almost almost:nearly currently:now however:but
    released:issued established:set~up founded:established company:firm killed:slain
    significantly:markedly higher:greater increased:rose reduced:lowered
    study:investigation trial:study risk:danger""".split()
)
_SYNONYM = re.compile(rf"\b({'|'.join(_SYNONYMS)})\b")
_RARE = frozenset({"increased", "country"})


@dataclass(frozen=True, slots=True)
class Text:
    """A passage in sentences, one of which is the claim's."""

    before: str
    fact: str
    after: str

    def with_fact(self, fact: str) -> str:
        """Return the passage with another sentence in the fact's place."""
        return " ".join(part for part in (self.before, fact, self.after) if part)


def passages(rows: Sequence[Pair]) -> list[list[str]]:
    """Return the evidence texts in sentences, each text once."""
    texts = dict.fromkeys(row.evidence for row in rows if row.source in SOURCES)
    return [_END.split(text) for text in texts]


def sentence_pairs(rows: Sequence[Pair], count: int, rng: Random) -> list[Pair]:
    """Return about `count` pairs made of the sentences of labelled evidence."""
    texts = passages(rows)
    names = _names(texts)
    found: dict[Pair, None] = {}
    for _ in range(20 * count if texts else 0):
        if len(found) >= count:
            break
        text = _text(rng.choice(texts), texts, rng)
        if text is not None:
            found.update(dict.fromkeys(_pairs(text, names, texts, rng)))
    return list(found)


def _names(texts: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for sentences in texts:
        for kind, name in (entry for text in sentences for entry in names_of(text)):
            found[kind][name] = None
    return {kind: list(names) for kind, names in found.items()}


def _text(sentences: Sequence[str], texts: Sequence[Sequence[str]], rng: Random) -> Text | None:
    """Return a passage around one of the sentences, with strange ones where it has too few."""
    fit = [i for i, text in enumerate(sentences) if _FACT.match(text) and not _UNFIT.search(text)]
    if not fit:
        return None
    i = rng.choice(fit)
    before, after = list(sentences[max(0, i - 2) : i]), list(sentences[i + 1 : i + 3])
    if len(sentences) < 3 and rng.random() < 0.6:
        before += [rng.choice(rng.choice(texts))][: rng.randint(0, 1)]
        after += [rng.choice(rng.choice(texts)) for _ in range(rng.randint(0, 2))]
    text = Text(" ".join(before), sentences[i], " ".join(after))
    others = text.with_fact("")
    repeated = coverage(text.fact, others) > 0.5
    return None if repeated or estimate_tokens(text.with_fact(text.fact)) > 170 else text


def _pairs(
    text: Text, names: dict[str, list[str]], texts: Sequence[Sequence[str]], rng: Random
) -> Iterator[Pair]:
    changes = [c for c in (make(text.fact, rng, names) for make in rng.sample(CHANGES, 4)) if c]
    for change in changes[:1]:
        yield from _changed(text, change, rng)
    claim = rewritten(text.fact, rng)
    if rng.random() < 0.35:
        yield Pair(text.with_fact(text.fact), claim, SUPPORTED, "text/whole")
    if rng.random() < 0.45:
        yield _without(text, claim, texts, rng)


def _changed(text: Text, change: Change, rng: Random) -> Iterator[Pair]:
    """Yield the two claims against the two passages: neither side alone tells the label."""
    plain, changed = text.with_fact(text.fact), text.with_fact(change.text)
    old, new = rewritten(text.fact, rng, keep=True), rewritten(change.text, rng, keep=True)
    source = f"text/{change.kind}"
    options = [Pair(plain, new, change.label, source), Pair(changed, new, SUPPORTED, source)]
    if change.symmetric:
        options += [Pair(changed, old, change.label, source), Pair(plain, old, SUPPORTED, source)]
    first = rng.randrange(0, len(options), 2)
    yield from options[first : first + 2] if rng.random() < 0.7 else options[:4]


def _without(text: Text, claim: str, texts: Sequence[Sequence[str]], rng: Random) -> Pair:
    """Return the claim with its sentence removed, or replaced by one of another text."""
    other = rng.choice(rng.choice(texts))
    stranger = rng.random() < 0.5 or not (text.before or text.after)
    evidence = text.with_fact(other if stranger else "")
    return Pair(evidence, claim, NOT_IN_CONTEXT, "text/without")


def rewritten(text: str, rng: Random, *, keep: bool = False) -> str:
    """Return a claim that says no more than the sentence; with `keep`, no less either."""
    if not keep:
        for pattern in (_PARENTHESIS, _ADVERBIAL, _APPENDIX):
            if rng.random() < 0.6:
                text = capital(pattern.sub("", text))
    if rng.random() < 0.5:
        text = _SYNONYM.sub(lambda match: _synonym(match.group(), rng), text)
    return text


def _synonym(word: str, rng: Random) -> str:
    if word in _RARE or rng.random() < 0.4:
        return word
    return _SYNONYMS[word].replace("~", " ")
