"""The report as Markdown: a table of all claims, then the claims to look at with their evidence.

Texts stand within a line, after words of ours, with the characters that Markdown obeys escaped: no
text can open a heading, a table, a picture or an element of HTML.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.core.cancellation import checkpoint, in_pieces
from veridical.pipeline.reports.escaping import one_line
from veridical.pipeline.reports.page import to_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veridical.core.assessment import Assessment
    from veridical.pipeline.reports.page import ClaimCard, EvidenceCard, Page

_OBEYED = re.compile(r"[\\`*_{}\[\]<>|~$#&!]")


def to_markdown(assessment: Assessment) -> str:
    """Return the assessment as Markdown with tables, as GitHub and notebooks read it."""
    return in_pieces(f"{line}\n" for line in _lines(to_page(assessment)))


def _lines(page: Page) -> Iterator[str]:
    yield f"## {escaped(page.headline)}"
    yield ""
    yield f"{escaped(page.denominators)}."
    yield from _table(page)
    for card in page.listed:
        yield from _details(card)
    yield ""
    yield f"Checked with {escaped(page.made_by)}."


def _table(page: Page) -> Iterator[str]:
    checked = [card for card in page.cards if card.verdict.checked]
    if checked:
        yield from ("", "| | claim | verdict |", "|---|---|---|")
    for card in checked:
        look = card.badge.look
        name = escaped(card.badge.id)
        yield f"| {escaped(look.mark)} {name} | {_claim(card)} | {look.label} |"


def _details(card: ClaimCard) -> Iterator[str]:
    checkpoint()
    look = card.badge.look
    yield from ("", f"### {escaped(look.mark)} {escaped(card.badge.id)} {look.label}", "")
    yield f"- Claim: {_claim(card)}"
    yield f"- Why: {escaped(card.reason)}"
    for quote in card.evidence[:1]:
        yield f"- {quote.role.value.capitalize()}, {_place(quote)}: “{_quote(quote)}”"
    if card.action:
        yield f"- To do: {card.action}"


def _claim(card: ClaimCard) -> str:
    return escaped(card.verdict.claim.text)


def _place(quote: EvidenceCard) -> str:
    line = "" if quote.line is None else f", line {quote.line}"
    return f"{escaped(quote.source)}{line}"


def _quote(quote: EvidenceCard) -> str:
    return escaped("".join(text for text, _ in quote.pieces))


def escaped(text: str) -> str:
    """Return a text on one line, with the characters escaped that Markdown obeys."""
    return _OBEYED.sub(r"\\\g<0>", one_line(text))
