"""Limits of size for what is checked, with errors that name the limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.errors import SizeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.core.types import ClaimSet, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Greatest sizes of a check; None is no limit.

    Characters are code points; those of the sources count together. `max_answer_claims` counts all
    claims of an answer, verified or not; `Policy.max_claims` leaves claims out instead.
    """

    max_answer_chars: int | None = None
    max_source_chars: int | None = None
    max_answer_claims: int | None = None

    def ensure_answer(self, text: str, what: str = "the answer") -> None:
        """Raise `SizeError` if an answer, a claim or another text in its place is too long."""
        _ensure(len(text), self.max_answer_chars, f"{what} has", "characters", "max_answer_chars")

    def ensure_sources(self, sources: Iterable[Source], what: str = "the sources have") -> None:
        """Raise `SizeError` if the texts of the sources are too long together."""
        size = sum(len(source.text) for source in sources)
        _ensure(size, self.max_source_chars, what, "characters", "max_source_chars")

    def ensure_claims(self, claims: ClaimSet) -> None:
        """Raise `SizeError` if an answer has too many claims."""
        size = len(claims.claims)
        _ensure(size, self.max_answer_claims, "the answer has", "claims", "max_answer_claims")


def _ensure(size: int, most: int | None, what: str, unit: str, name: str) -> None:
    if most is not None and size > most:
        msg = f"{what} {size} {unit}, and {most} are allowed ({name})"
        raise SizeError(msg, hint="Send less at once, or raise the limit")
