"""Hedged statements: the author does not commit to them.

`may not` before a plain verb, `may only`, "you may" and `may` in the language of contracts speak of
permission and are assertions. A hedge that someone else is reported to have made, or that stands in
a subordinate clause or a quotation, does not hedge the main clause; nor does one in another clause.
"""

from __future__ import annotations

import re

from veridical.pipeline.claims.lexicon import has_finite_verb

# Case matters in the first: "May 5", "Theresa May" and "Might and Magic" are names.
_HEDGE = re.compile(
    r"\bmay\b|(?<!\bthe )(?<!\bhis )(?<!\bher )(?<!\bits )(?<!\btheir )(?<!\bour )(?<!\bmilitary )"
    r"\bmight(?= (?!of\b|and\b|in\b|is\b|was\b|has\b|had\b|to\b|alone\b|makes\b)\w)"
    r"|(?<!not )(?<!n't )(?<!n’t )\b(?i:possibly|perhaps|maybe|presumably|conceivably|supposedly)\b"
    r"|\bI (?:\w+ )?(?:think|believe|guess|suppose|assume|suspect|imagine)\b"
    r"|\b(?i:in my (?:opinion|view)|to my knowledge|as far as I know|if I (?:recall|remember))\b"
    r"|\b(?i:it|there) (?:\w+ )?(?:seems?|appears?)\b(?! in\b| on\b| at\b)"
    r"|\b(?:seems?|appears?) to\b|\bseems? (?:like|that|as if)\b"
    r"|\bcould (?:be|have been|potentially|well|also be)\b"
    r"|\b(?i:it is|it's|it’s) (?:\w+ )?(?:possible|conceivable|plausible) that\b"
    r"|\b(?i:it is|it's|it’s|it remains) "
    r"(?:unclear|uncertain|not clear|not certain|unknown) (?:if|whether)\b"
    r"|\b(?i:there is|there's|there’s) a (?:\w+ )?(?:chance|possibility) that\b"
    r"|\b(?i:I am|I'm|I’m|we are) (?:not (?:\w+ )?(?:sure|certain)|unsure|uncertain)\b"
)
# How far around a hedge to look for what governs it; without a bound, time grows with the square.
_REACH = 300
_QUOTED = re.compile(r"\"[^\"]{0,400}\"|“[^”]{0,400}”|\([^()]{0,400}\)")
_PERMISSION = re.compile(r"may (?:only\b|not (?!be\b|have\b)\w+|not be \w+(?:ed|en|n|t)\b)")
_CONTRACT = re.compile(
    r"\bshall\b|\b(?i:licensee|licensor|lessee|lessor|landlord|recipient)\b|\b(?:Part(?:y|ies)|Licens(?:ee|or)|Recipient|Discloser|Tenant|Landlord|Customer"
    r"|Supplier|Agreement"
    r"|Confidential Information|Contractor|Borrower|Lender|Lessee|Lessor|Employee|Employer)\b"
)
_YOU_MAY = re.compile(r"\b(?:[Oo]nly \w+|[Yy]ou|[Uu]sers?|[Aa]nyone|[Nn]o one) $")
_REPORTED = re.compile(
    r"\b(?:said|says?|stated|states|claim(?:s|ed)?|argu(?:es?|ed)|believe[sd]?|thinks?|thought"
    r"|report(?:s|ed)|suggest(?:s|ed)?|warn(?:s|ed)?|conclude[sd]?|notes?|noted|found|shows?|showed"
    r"|estimate[sd]?|speculated?|according to)\b",
    re.IGNORECASE,
)
# Where another clause begins, and how one begins that depends on the rest.
_JOINT = re.compile(r"(?:;|, (?:and|but|yet|while|whereas)) ", re.IGNORECASE)
_DEPENDENT = re.compile(
    r"(?:if|unless|when|whether|because|since|so|as|although|though|while|not|only|that|which|who|to"
    r"|therefore|thus|hence|then|I|we|you)\b",
    re.IGNORECASE,
)
# A relative clause that belongs to the subject, and what may not come after its comma.
_RELATIVE = re.compile(r"(?P<comma>,)?\s(?:which|who|whose|whom|that|where)\s(?P<inner>[^,;:]*)$")
_NOT_MAIN = re.compile(
    r"(?:and |or |but )?(?:which|who|whose|whom|that|where|because|since|if|although|though|while"
    r"|so|perhaps|maybe|possibly)\b",
    re.IGNORECASE,
)
# Another finite verb of the same clause: "that may be red collapsed in 2001".
_VERB_BEHIND = re.compile(
    r"^ (?!not )(?:\w+ ){1,6}?(?<!have )(?<!been )(?<!be )(?<!not )(?<!and )(?<!or )(?<!to )"
    r"(?:is|are|was|were|has|had|does|did|became|fell|broke|stood|[a-z]{2,}ed) "
)
_FIRST_PERSON = re.compile(r"\b(?:I|we|We)\b")
_SUBORDINATE = re.compile(
    r"\b(?:which|who|whose|whom|where|that|because|although|though|while|whereas|if|when|whenever"
    r"|unless|since|so)\b"
)


def is_hedged(text: str) -> bool:
    """Say whether the main clause of a sentence is hedged."""
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    return _is_hedged_between(bare, 0, len(bare)) and not _asserts_elsewhere(bare)


def _asserts_elsewhere(text: str) -> bool:
    """Say whether a clause without a hedge asserts: `It may be red, but it collapsed in 2001`."""
    joints = [*_JOINT.finditer(text)]
    starts = [0, *(joint.end() for joint in joints)]
    ends = [*(joint.start() for joint in joints), len(text)]
    return any(
        has_finite_verb(text[start:end])
        and not _DEPENDENT.match(text, start)
        and not _is_hedged_between(text, start, end)
        for start, end in zip(starts, ends, strict=True)
    )


def _is_hedged_between(text: str, start: int, end: int) -> bool:
    return any(_commits_to_nothing(text, hedge) for hedge in _HEDGE.finditer(text, start, end))


def _commits_to_nothing(text: str, hedge: re.Match[str]) -> bool:
    before = text[max(0, hedge.start() - _REACH) : hedge.start()]
    if hedge[0] == "may" and _is_permission(text, hedge.start()):
        return False
    if _REPORTED.search(before) and not _FIRST_PERSON.search(before):
        return False
    after = text[hedge.end() : hedge.end() + _REACH]
    return not (_is_subordinate(before) or _is_in_relative_clause(before, after))


def _is_permission(text: str, start: int) -> bool:
    return bool(
        _PERMISSION.match(text, start)
        or _CONTRACT.search(text, max(0, start - _REACH), start + _REACH)
        or _YOU_MAY.search(text[max(0, start - 30) : start])
    )


def _is_subordinate(before: str) -> bool:
    """Say whether the hedge follows a finite clause and a word that opens a subordinate one."""
    openers = list(_SUBORDINATE.finditer(before))
    if not openers:
        return False
    main = before[: openers[-1].start()]
    inner = before[openers[-1].end() :]
    return has_finite_verb(main) and "," not in inner


def _is_in_relative_clause(before: str, after: str) -> bool:
    """Say whether the main verb follows: `The bridge, which may be red, collapsed in 2001`."""
    relative = _RELATIVE.search(before)
    if relative is None or not before[: relative.start()].strip():
        return False
    if relative["comma"]:
        _, comma, main = after.partition(",")
        main = main.lstrip()
        return bool(comma) and not _NOT_MAIN.match(main) and _asserts(main)
    inner = relative["inner"].strip()
    return not inner and bool(_VERB_BEHIND.search(after))


def _asserts(clause: str) -> bool:
    """Say whether a clause, with the subject before it, has a finite verb and no hedge."""
    return has_finite_verb(f"it {clause}") and not _HEDGE.search(clause)
