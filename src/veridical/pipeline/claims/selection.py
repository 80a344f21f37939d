"""Selection of the claims to verify: all, a sample, or the critical ones; and their number.

Unselected claims stay in the report, with the reason.
"""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import blake2b
from math import ceil
from typing import TYPE_CHECKING

from veridical.core.fact_tokens import figure, negates, words
from veridical.core.types import ClaimSet, Skip

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from veridical.core.policy import Policy
    from veridical.core.types import Claim

# A capital after the first word, or marks of names: camelCase, snake_case, dots, slashes.
_NAME = re.compile(
    r"(?<=[\w,;:)'’] )[\"'(]?[A-Z][\w-]*|\b\w+(?:[_./]\w+)+\b|\b[a-z]+[A-Z]\w*|\w\(\)"
)
_PRONOUN = re.compile(r"\"?I(?:['’]\w+)?$")
_UNSURE = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|likely|probably|perhaps|maybe|possibly"
    r"|may|might|could|seems?|appears?|suggests?|believed?|estimated|expected|reportedly|apparently"
    r"|presumably|generally|usually|typically|often|clearly|obviously|certainly|definitely"
    r"|undoubtedly|always|all|every|only|most)\b",
    re.IGNORECASE,
)


def select(claims: ClaimSet, policy: Policy, answer: str) -> ClaimSet:
    """Return the claims, with those that the policy's mode and limit leave out marked as skipped.

    The same answer gives the same choice: a sample is drawn by a hash of each claim, its place,
    `answer` and the policy's seed. A sentence that recurs in answers is in some of their samples.
    """
    wanted = [claim for claim in claims.claims if claim.verifiable]
    skipped: dict[str, Skip] = {}
    if policy.mode == "sample":
        chosen = _sample(wanted, policy.sample_rate, _lot(answer, policy.seed))
        skipped = _skip(wanted, chosen, Skip.NOT_SAMPLED)
        wanted = chosen
    elif policy.mode == "critical_only":
        chosen = [claim for claim in wanted if is_critical(claim)]
        skipped = _skip(wanted, chosen, Skip.NOT_CRITICAL)
        wanted = chosen
    if policy.max_claims is not None:
        chosen = sorted(wanted, key=lambda claim: not is_critical(claim))[: policy.max_claims]
        skipped |= _skip(wanted, chosen, Skip.OVER_LIMIT)
    if not skipped:
        return claims
    marked = (replace(claim, skipped=skipped.get(claim.id)) for claim in claims.claims)
    return replace(claims, claims=tuple(marked))


def is_critical(claim: Claim) -> bool:
    """Return whether a claim is error-prone: it has a number, name, negation or certainty word."""
    if claim.confidence is not None or _UNSURE.search(claim.text):
        return True
    if any(negates(word.text) or figure(word.text) for word in words(claim.text.lower())):
        return True
    return any(not _PRONOUN.match(match[0]) for match in _NAME.finditer(claim.text))


def _sample(claims: Collection[Claim], rate: float, lot: bytes) -> list[Claim]:
    """Return the share `rate` of the claims, rounded up, in text order."""
    count = ceil(rate * len(claims) - 1e-9)  # .3 of 10 is 3, not 4
    drawn = {claim.id for claim in sorted(claims, key=lambda claim: _drawn(claim, lot))[:count]}
    return [claim for claim in claims if claim.id in drawn]


def _lot(answer: str, seed: int) -> bytes:
    """Return the bytes by which the draws of different answers differ."""
    # A lone surrogate, which Python's texts may hold, has no UTF-8.
    return blake2b(f"{seed}:{answer}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _drawn(claim: Claim, lot: bytes) -> tuple[bytes, int]:
    text = f"{claim.span.start}:{claim.text}".encode("utf-8", "surrogatepass")
    return blake2b(text, key=lot, digest_size=8).digest(), claim.span.start


def _skip(claims: Iterable[Claim], chosen: Iterable[Claim], why: Skip) -> dict[str, Skip]:
    kept = {claim.id for claim in chosen}
    return {claim.id: why for claim in claims if claim.id not in kept}
