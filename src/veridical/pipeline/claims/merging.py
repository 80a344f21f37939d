"""Merging of a text model's claims with the claims of the rules.

The rules put back everything that the model leaves out or gets wrong: no reply can reduce the
number of things to check.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.measurements import UNKNOWN, Generated, Taken, Unmeasured, UnmeasuredReason
from veridical.core.text import normalise
from veridical.core.types import (
    ClaimExtraction,
    ClaimKind,
    ClaimSet,
    EvidenceMap,
    ExtractionMethod,
    Span,
)
from veridical.errors import EvidenceSchemaError
from veridical.pipeline.claims.anchored_quotes import (
    QuoteAnchors,
    blanked,
    sentences_by_rules,
    shared,
    within,
)
from veridical.pipeline.claims.assertions import exclusion
from veridical.pipeline.claims.citations import find_marks
from veridical.pipeline.claims.confidence import find_confidence
from veridical.pipeline.claims.decomposition import parse_decomposition
from veridical.pipeline.claims.faithfulness import Vocabulary, facts, is_faithful, lacks
from veridical.pipeline.claims.lead_ins import capitalised, without_announcement, without_tag
from veridical.pipeline.claims.softening import soften
from veridical.pipeline.claims.strip_markup import plain
from veridical.pipeline.claims.vagueness import is_vague

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from veridical.core.types import Claim
    from veridical.pipeline.claims.anchored_quotes import AnchoredQuote, AnswerSentence
    from veridical.pipeline.claims.decomposition import AnswerChunk, Proposal

_MAX_CLAIM = 600
_MAX_TRIED = 3
_CONTEXT = 2000
"""Characters before a sentence in which the antecedents of its pronouns may stand."""


def decompose(
    answer: str,
    rules: ClaimSet,
    replies: Mapping[AnswerChunk, Generated | Unmeasured],
    sources: Collection[str],
) -> ClaimSet:
    """Return the claims of an answer, with the model's in place of the rules' where they hold.

    `rules` are the claims by rules, `replies` the model's to the pieces they were cut into. Every
    span is in the answer, every assertion is covered; never raises for a reply.
    """
    run = _Run(answer, rules, tuple(sources))
    for piece, reply in replies.items():
        run.take(piece, reply)
    return run.result(replies)


class _Run:
    """One answer, and the results of the model's replies so far."""

    def __init__(self, answer: str, rules: ClaimSet, sources: tuple[str, ...]) -> None:
        self._answer = answer
        self._rules = rules
        self._sources = sources
        self._sentences = sentences_by_rules(rules)
        # Citations and emphasis are no words: a model leaves them out of its quotes.
        refs = (ref.span for sentence in self._sentences for ref in sentence.refs)
        self._bare = blanked(answer, refs)
        self._claims: dict[int, list[Claim]] = {}
        self._vocabularies: dict[int, Vocabulary] = {}
        self._counts: Counter[str] = Counter()
        self._reasons: list[UnmeasuredReason] = []

    def take(self, piece: AnswerChunk, reply: Generated | Unmeasured) -> None:
        """Add the valid claims of the reply to a piece."""
        proposals = _read(reply, piece)
        if isinstance(proposals, UnmeasuredReason):
            self._reasons.append(proposals)
            return
        sentences = self._sentences[piece.first : piece.last + 1]
        self._claims |= {sentence.number: [] for sentence in sentences}
        places = QuoteAnchors(self._answer, self._bare, piece.span, sentences, self._sources)
        for proposal in proposals:
            self._counts["proposed"] += 1
            self._counts[self._accept(proposal, places)] += 1

    def _accept(self, proposal: Proposal, places: QuoteAnchors) -> str:
        """Keep a claim that holds; return the name of the counter of its outcome."""
        unknown = [each for each in proposal.evidence if each not in self._sources]
        self._counts["unknown_sources"] += len(unknown)
        text = self._worded(proposal.text)
        found = places.of(proposal.quote)
        if not found:
            return "dropped_unanchored"
        asserted = [place for place in found if place.rules]
        if not asserted:
            return "dropped_excluded"
        if not 0 < len(text) <= _MAX_CLAIM or _SURROGATE.search(text):
            return "dropped_unfaithful"
        place = next((p for p in self._likely(text, asserted) if self._holds(text, p)), None)
        if place is None:
            return "dropped_unfaithful"
        if place.rules[0].kind is not ClaimKind.TABLE_ROW and exclusion(text) is not None:
            return "dropped_excluded"
        places.reached(place)
        return self._keep(self._claim(text, place, proposal), place)

    def _worded(self, text: str) -> str:
        """Return a claim's text as the rules would write it: no marks, no markup."""
        if len(text) > 2 * _MAX_CLAIM:
            return ""
        whole = Span(0, len(text))
        bare = plain(text, whole, find_marks(text, whole, self._sources))
        rest = find_confidence(bare).rest
        bare = capitalised(rest) if rest != bare else bare
        return without_announcement(without_tag(bare))

    def _likely(self, text: str, places: Sequence[AnchoredQuote]) -> list[AnchoredQuote]:
        """Return the few places whose sentences share most with a claim: a quote may span many."""
        said = frozenset(facts(text))
        shared = [len(said & self._vocabulary(place.sentence).sentence) for place in places]
        ranked = sorted(range(len(places)), key=lambda index: -shared[index])
        return [places[index] for index in ranked[:_MAX_TRIED]]

    def _holds(self, text: str, place: AnchoredQuote) -> bool:
        return is_faithful(text, place.span.of(self._bare), self._vocabulary(place.sentence))

    def _vocabulary(self, sentence: AnswerSentence) -> Vocabulary:
        if sentence.number not in self._vocabularies:
            self._vocabularies[sentence.number] = self._new_vocabulary(sentence)
        return self._vocabularies[sentence.number]

    def _new_vocabulary(self, sentence: AnswerSentence) -> Vocabulary:
        span = sentence.span
        own = [span.of(self._bare), *(claim.text for claim in sentence.claims)]
        before = self._bare[max(0, span.start - _CONTEXT) : span.start]
        return Vocabulary(frozenset(facts(" ".join(own))), frozenset(facts(before)))

    def _claim(self, text: str, place: AnchoredQuote, proposal: Proposal) -> Claim:
        rule = max(place.rules, key=lambda claim: shared(claim.span, place.span))
        span = self._widened(place)
        inside = tuple(ref for ref in place.sentence.refs if within(ref.span, span))
        refs = inside or tuple(dict.fromkeys(r for each in place.rules for r in each.citations))
        stated = rule.confidence if rule.confidence and rule.confidence.stated else None
        parts = tuple(part for part in rule.parts if within(part.span, span))
        claim = replace(
            rule,
            text=text,
            read_as=None,
            span=span,
            citations=refs,
            confidence=stated or find_confidence(text).confidence,
            vague=is_vague(text),
            parts=parts if len(parts) > 1 and parts == rule.parts else (),
            weaker=soften(text),
        )
        if normalise(text).text == normalise(rule.text).text:
            claim = rule
        return claim if claim.citations else replace(claim, evidence_map=self._map(proposal))

    def _map(self, proposal: Proposal) -> EvidenceMap | None:
        known = tuple(each for each in self._sources if each in proposal.evidence)
        return EvidenceMap(known) if 0 < len(known) < len(self._sources) else None

    def _widened(self, place: AnchoredQuote) -> Span:
        """Return the span with the citations that follow it, and the end of the sentence."""
        start, end, last = place.span.start, place.span.end, place.sentence.span.end
        for ref in place.sentence.refs:
            if ref.span.end <= end:
                continue
            if _STOPS.sub("", self._answer[end : ref.span.start]):
                break
            end = ref.span.end
        if not any(character.isalnum() for character in self._answer[end:last]):
            end = max(end, last)
        return Span(start, end)

    def _keep(self, claim: Claim, place: AnchoredQuote) -> str:
        kept = self._claims[place.sentence.number]
        form = normalise(claim.text).text
        if any(normalise(each.text).text == form for each in kept):
            return "dropped_repeated"
        kept.append(claim)
        return "kept"

    # --- restoring by the rules ---

    def result(self, replies: Mapping[AnswerChunk, Generated | Unmeasured]) -> ClaimSet:
        """Return all claims in the order of the text."""
        claims = [claim for sentence in self._sentences for claim in self._of(sentence)]
        numbered = (replace(claim, id=f"c{number}") for number, claim in enumerate(claims, 1))
        return replace(
            self._rules, claims=tuple(numbered), extraction=self._extraction(replies.values())
        )

    def _of(self, sentence: AnswerSentence) -> list[Claim]:
        made = self._claims.get(sentence.number)
        if made is None:
            return list(sentence.claims)
        kept = [claim for claim in sentence.claims if self._is_needed(claim, made)]
        own = _with_all_refs(sentence, made, kept)
        return sorted([*kept, *own], key=lambda claim: claim.span)

    def _is_needed(self, rule: Claim, made: Sequence[Claim]) -> bool:
        """Return whether a claim of the rules says something that none of the model's says."""
        if not rule.assertive:
            return True
        texts = [claim.text for claim in made if claim.span.overlaps(rule.span)]
        needed = not texts or lacks(rule.text, texts)
        self._counts["filled"] += needed
        return needed

    def _extraction(self, replies: Collection[Generated | Unmeasured]) -> ClaimExtraction:
        took = Taken.by(replies) if replies else UNKNOWN
        by_model = len(self._reasons) < len(replies)
        counts = self._counts
        return ClaimExtraction(
            method=ExtractionMethod.MODEL if by_model else ExtractionMethod.RULES,
            pieces=len(replies),
            fallen_back=len(self._reasons),
            fallback=self._reasons[0] if self._reasons else None,
            tokens=took.tokens,
            cost_usd=took.cost_usd,
            proposed=counts["proposed"],
            dropped_unanchored=counts["dropped_unanchored"],
            dropped_unfaithful=counts["dropped_unfaithful"],
            dropped_excluded=counts["dropped_excluded"],
            dropped_repeated=counts["dropped_repeated"],
            unknown_sources=counts["unknown_sources"],
            filled=counts["filled"],
        )


_STOPS = re.compile(r"[\s.,;:!?\"'”’)]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _read(
    reply: Generated | Unmeasured, piece: AnswerChunk
) -> tuple[Proposal, ...] | UnmeasuredReason:
    """Return the claims of a reply; the reason if it has none that could be read."""
    if isinstance(reply, Unmeasured):
        return reply.reason
    if reply.cut_off:
        return UnmeasuredReason.MALFORMED_REPLY
    try:
        return parse_decomposition(reply.text, piece.limit)
    except EvidenceSchemaError:
        return UnmeasuredReason.MALFORMED_REPLY


def _with_all_refs(
    sentence: AnswerSentence, made: Sequence[Claim], kept: Sequence[Claim]
) -> list[Claim]:
    """Add citations that no claim has any more to the last claim before: none gets lost."""
    claims = sorted(made, key=lambda claim: claim.span)
    cited = {ref for claim in (*claims, *kept) for ref in claim.citations}
    for ref in sentence.refs:
        if ref not in cited and claims:
            before = [i for i, claim in enumerate(claims) if claim.span.start <= ref.span.start]
            index = before[-1] if before else 0
            claim = claims[index]
            refs = (*claim.citations, ref)
            claims[index] = replace(claim, citations=refs, evidence_map=None)
    return claims
