"""Claims too vague to be true or false: a pronoun, a copula and a judgement."""

from __future__ import annotations

import re

_VAGUE = re.compile(
    r"(?:(?:it|this|that|these|those|they|everything|things)(?:\s(?:is|are|was|were|looks?|seems?)"
    r"|['’](?:s|re))\s(?:(?:very|really|so|quite|pretty|rather|also|just|much|all|extremely)\s){0,2}"
    r"(?:good|great|bad|better|worse|nice|fine|ok|okay|important|interesting|useful|helpful|easy"
    r"|hard|simple|complicated|complex|amazing|awesome|excellent|cool|impressive|crucial|essential"
    r"|significant|relevant|worth\sit|a\sgood\s(?:thing|idea|point)|a\sbig\sdeal)"
    r"|(?:it|this|that)\s(?:(?:really|also|just)\s)?(?:works|depends|helps|matters|varies)"
    r"(?:\s(?:well|great|fine|a\slot))?)[.!]*$",
    re.IGNORECASE,
)


def is_vague(text: str) -> bool:
    """Return whether a claim has no content that could be checked."""
    return bool(_VAGUE.match(text))
