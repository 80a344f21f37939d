"""Entries of a list of sources, told from sentences that stand among them."""

from __future__ import annotations

import re

from veridical.pipeline.claims.headings import has_main_verb, without_question
from veridical.pipeline.claims.lexicon import has_finite_verb

# Maximum length of the authors and year at the start of an entry.
_REACH = 200
_ADDRESS = re.compile(
    r"<?\b(?:https?://|www\.|doi:\s?|10\.\d{4,9}/)\S+|\b[\w./~-]{1,80}\.(?:pdf|md|txt|html?|docx?|csv)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(
    r"(?:\((?:1[5-9]|20)\d\d[a-z]?\)|(?<=[.,] )(?:1[5-9]|20)\d\d[a-z]?)(?=\s?[.,:;]|$)"
)
_TITLE = re.compile(r"\"[^\"]{1,300}\"|“[^”]{1,300}”")


def is_reference(text: str, *, marked: bool) -> bool:
    """Return whether a text names a source and asserts nothing; `marked` is one with an id."""
    body = _ADDRESS.sub(" ", text)
    if _starts_with_author(body):
        return True
    is_entry = marked or body != text
    body = without_question(_TITLE.sub(" ", body) if is_entry or _YEAR.search(body) else body)
    if has_main_verb(body):
        return False
    behind_first = body.strip().partition(" ")[2]
    return is_entry or not (behind_first.endswith((".", "!")) and has_finite_verb(behind_first))


def _starts_with_author(text: str) -> bool:
    """Return whether an entry starts like `Smith, J. (2020).`, without a verb before the year."""
    year = _YEAR.search(text, 0, _REACH)
    return bool(year) and text[:1].isupper() and not has_main_verb(text[: year.start()])  # type: ignore[union-attr]
