"""Claim extraction from an answer by rules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from veridical.core.cancellation import checkpoint
from veridical.core.types import CitationRef, Claim, ClaimKind, ClaimSet, Exclusion, Part, Span
from veridical.pipeline.claims.antecedents import resolve
from veridical.pipeline.claims.assertions import exclusion, without_greeting
from veridical.pipeline.claims.atomic import split_clauses
from veridical.pipeline.claims.block_context import places
from veridical.pipeline.claims.citations import alike, find_marks, zero_based
from veridical.pipeline.claims.confidence import find_confidence
from veridical.pipeline.claims.footnotes import Footnotes, read_footnotes
from veridical.pipeline.claims.headings import asserts, may_answer, states_value
from veridical.pipeline.claims.lead_ins import capitalised, without_announcement, without_tag
from veridical.pipeline.claims.lexicon import has_finite_verb, words
from veridical.pipeline.claims.parts import find_conjuncts
from veridical.pipeline.claims.references import is_reference
from veridical.pipeline.claims.sentences import mask_quote_marks, sentences_of, split_sentences
from veridical.pipeline.claims.softening import soften
from veridical.pipeline.claims.strip_markup import plain
from veridical.pipeline.claims.syntax import mask_marks
from veridical.pipeline.claims.tables import row_text
from veridical.pipeline.claims.vagueness import is_vague

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from veridical.pipeline.claims.block_context import BlockContext
    from veridical.pipeline.claims.citations import CitationMark
    from veridical.pipeline.claims.parts import Conjunct

_MAX_FRAGMENT_WORDS = 6
_MAYBE_ASSERTIVE = frozenset({None, Exclusion.HEDGED})


def extract_claims(
    answer: str, known_ids: Collection[str] = (), question: str | None = None
) -> ClaimSet:
    """Return all claims of an answer, in text order, excluded ones too.

    A bracket whose content equals one of `known_ids` is a citation, whatever it looks like. A bold
    line that opens the answer to a `question`, or is all of an answer, may be a statement.
    """
    known = frozenset(known_ids)
    known |= zero_based(answer, known) | alike(answer, known)
    sentences = list(_sentences(answer, known))
    if sentences and (question is not None or len(sentences) == 1):
        sentences[0] = replace(sentences[0], answers=True)
    claims = list(_named(sentences))
    numbered = (replace(claim, id=f"c{number}") for number, claim in enumerate(claims, 1))
    return ClaimSet(tuple(numbered), len(sentences))


def _named(sentences: Sequence[_Sentence]) -> Iterator[Claim]:
    """Yield the claims, with the antecedents of their first words in the sentence before."""
    before, paragraph = "", Span(0, 0)
    for sentence in sentences:
        checkpoint()
        claims = sentence.claims()
        if sentence.place.block.span != paragraph:
            before, paragraph = "", sentence.place.block.span
        first, *others = claims
        claims = [_with_name(first, before), *(_with_name(claim, "") for claim in others)]
        yield from claims
        before = claims[0].as_read if len(claims) == 1 and claims[0].assertive else ""


def _with_name(claim: Claim, before: str) -> Claim:
    """Replace the word that points back by the name, in the claim as read and its parts."""
    if not claim.assertive:
        return claim
    name = resolve(claim.text, before)
    read_as = claim.text if name is None else name
    texts: list[str] = []
    for part in claim.parts:
        ahead = texts[-1] if texts else before
        texts.append(resolve(part.text, ahead) or part.text)
    pairs = zip(claim.parts, texts, strict=True)
    return replace(
        claim,
        read_as=name,
        weaker=soften(read_as),
        parts=tuple(replace(part, text=text) for part, text in pairs),
    )


def sentence_parts(claim: str) -> tuple[Part, ...]:
    """Return the sentences of a claim that is taken as it stands: assertions only.

    Empty for a claim of one sentence.
    """
    spans = split_sentences(claim)
    if len(spans) == 1:
        return ()
    return tuple(
        Part(span.of(claim), span)
        for span in spans
        if exclusion(span.of(claim)) in _MAYBE_ASSERTIVE
    )


def _sentences(answer: str, known: frozenset[str]) -> Iterator[_Sentence]:
    footnotes = read_footnotes(answer, known)
    index = 0
    for place in places(answer):
        for span in _spans(answer, place, known):
            checkpoint()
            prose = mask_quote_marks(span.of(answer), quoted=place.block.quoted)
            marks = tuple(find_marks(prose, Span(0, len(prose)), known))
            yield _Sentence(place, span, prose, marks, footnotes, index)
            index += 1


def _spans(answer: str, place: BlockContext, known: frozenset[str]) -> list[Span]:
    block = place.block
    if block.kind in {ClaimKind.SENTENCE, ClaimKind.BULLET} and block.label is None:
        return sentences_of(answer, block, known)
    return [block.span]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """Sentence of the answer; the offsets of `marks` are into `prose`."""

    place: BlockContext
    span: Span
    prose: str = field(repr=False)
    marks: tuple[CitationMark, ...]
    footnotes: Footnotes
    index: int
    answers: bool = False

    def claims(self) -> list[Claim]:
        """Return the claims of this sentence; at least one."""
        kind = self.place.block.kind
        if kind is ClaimKind.CODE:
            return [self._whole("\n".join(self.prose.splitlines()), Exclusion.CODE, ())]
        if kind is ClaimKind.TABLE_ROW:
            return [self._row()]
        whole = Span(0, len(self.prose))
        text = self._plain(whole)
        why = Exclusion.HEADING if self._is_heading(text) else self._exclusion(whole)
        if why not in _MAYBE_ASSERTIVE:
            return [self._whole(text, why, self.marks)]
        return self._clauses(text)

    def _is_heading(self, text: str) -> bool:
        block = self.place.block
        if block.kind is ClaimKind.HEADING:
            return bool(block.header) or not self._states(text)
        is_source = self.place.in_sources or block.label is not None
        if not is_source:
            return False
        marked = any(mark.refs for mark in self.marks)
        return block.label in self.footnotes.targets or is_reference(text, marked=marked)

    def _states(self, title: str) -> bool:
        """Return whether a title is true or false: by its verb, its value, or as an answer."""
        bold = self.prose.startswith(("**", "__"))
        answers = self.answers and bold and may_answer(title)
        announced = without_announcement(title)
        if announced != title and has_finite_verb(announced):
            return True
        return answers or asserts(title) or states_value(title, bold=bold)

    def _row(self) -> Claim:
        block = self.place.block
        values = row_text(self.prose, self.marks, block.header)
        claim = self._claim(Span(0, len(self.prose)), values, self.marks)
        # A cell may start with a verb or a greeting without addressing anyone.
        if claim.excluded in {Exclusion.INSTRUCTION, Exclusion.GREETING, Exclusion.QUESTION}:
            return replace(claim, excluded=None)
        return claim

    def _whole(self, text: str, why: Exclusion | None, marks: tuple[CitationMark, ...]) -> Claim:
        return Claim(
            id="",
            text=text if words(text) else _one_line(self.prose),
            span=self.span,
            sentence=self.index,
            kind=self.place.block.kind,
            citations=self._refs(marks),
            excluded=why,
        )

    def _clauses(self, whole: str) -> list[Claim]:
        masked = without_announcement(mask_marks(self.prose, self.marks), blank=True)
        clauses = split_clauses(masked)
        stated = find_confidence(whole).confidence
        claims = []
        for clause in clauses:
            text = _as_sentence(self._plain(clause), alone=len(clauses) == 1)
            claim = self._claim(clause, text, self._marks_of(clause, clauses))
            if stated is not None and stated.stated:
                claim = replace(claim, confidence=stated)
            claims.append(self._with_parts(claim, masked, clause))
        return claims

    def _claim(self, clause: Span, text: str, marks: tuple[CitationMark, ...]) -> Claim:
        found = find_confidence(text)
        bare = _bare(text)
        why = self._exclusion(clause) if words(bare) else Exclusion.HEADING
        bare = self._in_context(bare) if why is None else bare
        return Claim(
            id="",
            text=bare if words(bare) else _one_line(clause.of(self.prose)),
            span=clause.shift(self.span.start),
            sentence=self.index,
            kind=self.place.block.kind,
            citations=self._refs(marks),
            confidence=found.confidence,
            excluded=why,
            vague=why is None and is_vague(bare),
            weaker=soften(bare) if why is None else None,
        )

    def _in_context(self, text: str) -> str:
        """Close a lead-in with a stop; put one before a bullet that is no sentence."""
        lead_in = self.place.lead_in
        if text.endswith((":", "：")):
            return f"{text[:-1].rstrip()}."
        if not lead_in or exclusion(lead_in) is Exclusion.GREETING:
            return text
        if (
            ":" in text
            or len(words(text)) > _MAX_FRAGMENT_WORDS
            or has_finite_verb(text, participles=False)
        ):
            return text
        return f"{lead_in} {text}"

    def _with_parts(self, claim: Claim, masked: str, clause: Span) -> Claim:
        if not claim.assertive:
            return claim
        parts = tuple(self._part(conjunct) for conjunct in find_conjuncts(masked, clause))
        if any(exclusion(part.text) is not None for part in parts):
            return claim
        return replace(claim, parts=parts)

    def _part(self, conjunct: Conjunct) -> Part:
        texts = [self._plain(span) for span in (*conjunct.shared, conjunct.span)]
        return Part(
            _as_sentence(_bare(" ".join(texts)), alone=False), conjunct.span.shift(self.span.start)
        )

    def _marks_of(self, clause: Span, clauses: list[Span]) -> tuple[CitationMark, ...]:
        """Return a clause's own marks, else those of the clause that ends the sentence."""
        inside = _within(self.marks, clause)
        if any(mark.refs for mark in inside):
            return inside
        return _within(self.marks, clauses[-1])

    def _refs(self, marks: tuple[CitationMark, ...]) -> tuple[CitationRef, ...]:
        return tuple(
            CitationRef(target, ref.span.shift(self.span.start))
            for mark in marks
            for ref in mark.refs
            for target in self.footnotes.resolve(ref.id)
        )

    def _exclusion(self, span: Span) -> Exclusion | None:
        return _excluded(self.prose, span, self.marks)

    def _plain(self, span: Span) -> str:
        return plain(self.prose, span, self.marks)


@lru_cache(maxsize=4)  # most sentences are one clause: the same stretch is asked for twice
def _excluded(prose: str, span: Span, marks: tuple[CitationMark, ...]) -> Exclusion | None:
    # Backticks stay: they tell "Run `make`." from "Run time is short."
    return exclusion(_bare(plain(prose, span, marks, backticks=True)))


def _within(marks: tuple[CitationMark, ...], clause: Span) -> tuple[CitationMark, ...]:
    return tuple(mark for mark in marks if mark.span.overlaps(clause))


def _one_line(text: str) -> str:
    return " ".join(text.split()) or text


def _bare(text: str) -> str:
    """Return a text without the words that state a confidence or announce an assertion."""
    rest = find_confidence(text).rest
    text = capitalised(rest) if rest != text else text
    text = without_announcement(without_tag(text))
    behind = without_greeting(text)
    return capitalised(behind) if behind != text else text


def _as_sentence(text: str, *, alone: bool) -> str:
    """Return a clause that is no longer part of its sentence with a capital and a full stop."""
    if alone or not text:
        return text
    text = capitalised(text)
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text.rstrip(',;: ')}."
