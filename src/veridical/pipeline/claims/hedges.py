"""Hedged statements: the author does not commit to them.

`may` hedges before a state ("may be red", "may have been"), and before an event without an object
or a figure ("prices may rise"). Else it is a permission ("guests may smoke indoors") or a stated
risk ("may cause liver failure in 10 % of patients"), and these are assertions, as is an ability
(`can`, `could`). A hedge that is reported of someone else, or that stands in a subordinate clause
or a quotation, does not hedge the main clause; nor does one in another clause.
"""

from __future__ import annotations

import re

from veridical.pipeline.claims.lexicon import (
    AMBIGUOUS_PAST,
    has_any,
    has_finite_verb,
    is_regular_past,
    word_set,
)

# "appears" of what comes into sight: "It appears twice", "The rash appears to the left".
_IN_SIGHT = (
    r"(?! (?:in|on|at|under|below|above|between|only|again|as(?! if\b| though\b)|\d+ times"
    r"|once(?! again| more)|twice(?! as)"
    r"|(?:every|each) (?:\w+ )?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|time)"
    r"|to (?:the|your|our|its|his|her) (?:\w+ )?"
    r"(?:left|right|north|south|east|west|front|rear|side|naked eye))\b)"
)
# Case matters in the first: "May 5", "Theresa May" and "Might and Magic" are names.
_HEDGE = re.compile(
    r"\bmay\b|(?<!\bthe )(?<!\bhis )(?<!\bher )(?<!\bits )(?<!\btheir )(?<!\bour )(?<!\bmilitary )"
    r"\bmight(?= (?!of\b|and\b|in\b|is\b|was\b|has\b|had\b|to\b|alone\b|makes\b)\w)"
    r"|(?<!not )(?<!n't )(?<!n’t )\b(?i:possibly|perhaps|maybe|presumably|conceivably|supposedly)\b"
    r"|\bI (?:\w+ )?(?:think|believe|guess|suppose|assume|suspect|imagine)\b"
    r"|\b(?i:in my (?:opinion|view)|to my knowledge|as far as I know|if I (?:recall|remember))\b"
    rf"|\b(?i:it|there) (?:\w+ )?(?:seems?\b(?! in\b| on\b| at\b)|appears?\b{_IN_SIGHT})"
    rf"|\b(?:seems?|appears?{_IN_SIGHT}) to\b|\bseems? (?:like|that|as if)\b"
    r"|\bcould (?:be|have been|potentially|well|also be)\b"
    r"|\b(?i:it is|it's|it’s) (?:\w+ )?(?:possible|conceivable|plausible) that\b"
    r"|\b(?i:it is|it's|it’s|it remains) "
    r"(?:unclear|uncertain|not clear|not certain|unknown) (?:if|whether)\b"
    r"|\b(?i:there is|there's|there’s) a (?:\w+ )?(?:chance|possibility) that\b"
    r"|\b(?i:I am|I'm|I’m|we are) (?:not (?:\w+ )?(?:sure|certain)|unsure|uncertain)\b"
)
# Every hedge has one of these; without them, most sentences need no closer look.
_HINTS = (
    *(
        "may",
        "might",
        "could",
        "possibl",
        "plausibl",
        "conceivabl",
        "perhaps",
        "presumabl",
        "supposed",
    ),
    *("in my ", "knowledge", "i know", "if i ", "seem", "appear", "clear", "certain", "unknown"),
    *("chance", "possibility", "sure", " think", " believe", " guess", " suppose", " assume"),
    *(" suspect", " imagine"),
)
# Distance around a hedge in which its governor is searched; without a bound, time is quadratic.
_REACH = 300
_QUOTED = re.compile(r"\"[^\"]{0,400}\"|“[^”]{0,400}”|\([^()]{0,400}\)")
_PERMISSION = re.compile(r"may (?:only\b|not (?!be\b|have\b)\w+|not be \w+(?:ed|en|n|t)\b)")
# The verb that `may` governs, perhaps behind "on 30 days' notice", and the rest of its clause.
_GOVERNED = re.compile(
    r"may(?:, [^,.;:!?]{1,80},)?"
    r" (?:(?:also|sometimes|occasionally|rarely|often|even|still|in turn) ){0,2}"
    r"(?P<verb>(?!not\b)[a-z][a-z-]*)\b(?P<rest>[^.;:!?]{0,200})"
)
# "may be returned" is a permission, "may be caused" and "may be built by" are guesses.
_PASSIVE = re.compile(
    r" (?:also |freely |only )?(?P<participle>[a-z]+)\b(?! by\b| to (?:be|have)\b)"
)
_PARTICIPLES = AMBIGUOUS_PAST | word_set(
    "taken given eaten driven written chosen drawn worn thrown withdrawn broken seen done shown"
    " flown sung sought"
)
_RELATIONS = word_set(
    "caused related linked associated connected involved affected based biased inclined interested"
    " concerned located situated supposed needed required expected hundred found left lost meant"
)
# Verbs of states and of events without an agent: nobody is allowed to do that.
_NOT_DONE = word_set(
    "have seem appear look sound become remain exist belong consist contain know think believe want"
    " need like feel understand remember mean matter depend vary differ rise fall rain snow happen"
    " occur come arise grow drop shrink fail fade melt freeze die well possibly perhaps"
)
_STATES = word_set(
    "have seem appear look sound exist belong know think believe want need like feel understand"
    " remember mean matter depend well possibly perhaps"
)
_FIGURE = re.compile(
    r"\d|%|\b(?:percent|per cent|rare(?:ly)?|common(?:ly)?|half|thirds?|quarters?)\b"
    r"|\bin (?:some|most|many|few|severe|extreme|certain) (?:cases|people|patients|users)\b"
)
# Agents that can be allowed something: "guests may smoke".
_PERSON = re.compile(
    r"\b(?:[a-z]+(?:ees|ers|ors|ists|ants|ents)|guests?|people|persons?|adults?|child(?:ren)?|wo?men"
    r"|staff|citizens?|pupils?|pets|dogs|members?|everyone|everybody|he|she|we|they|families|minors)"
    r"(?: [a-z]+){0,2} $",
    re.IGNORECASE,
)
_CONTRACT = re.compile(
    r"\bshall\b|\b(?i:licensee|licensor|lessee|lessor|landlord|recipient)\b|\b(?:Part(?:y|ies)|Licens(?:ee|or)|Recipient|Discloser|Tenant|Landlord|Customer"
    r"|Supplier|Agreement"
    r"|Confidential Information|Contractor|Borrower|Lender|Lessee|Lessor|Employee|Employer)\b"
)
_YOU_MAY = re.compile(r"\b(?:[Oo]nly \w+|[Yy]ou|[Uu]sers?|[Aa]nyone|[Nn]o one) $")
_REPORTED = re.compile(
    r"\b(?:said|says?|stated|states|claim(?:s|ed)?|argu(?:es?|ed)|believe[sd]?|thinks?|thought"
    r"|report(?:s|ed)|suggest(?:s|ed)?|warn(?:s|ed)?|conclude[sd]?|notes?|noted|found|shows?|showed"
    r"|estimate[sd]?|speculated?|counter(?:s|ed)|insist(?:s|ed)?|maintain(?:s|ed)|contend(?:s|ed)?"
    r"|predict(?:s|ed)?|fear(?:s|ed)|expect(?:s|ed)?|according to)\b",
    re.IGNORECASE,
)
# Starts of another clause, and of one that depends on the rest.
_JOINT = re.compile(r"(?:;|, (?:and|but|yet|while|whereas)) ", re.IGNORECASE)
_DEPENDENT = re.compile(
    r"(?:if|unless|when|whether|because|since|so|as|although|though|while|not|only|that|which|who|to"
    r"|therefore|thus|hence|then|I|we|you)\b",
    re.IGNORECASE,
)
# A relative clause that belongs to the subject, and words that may not come after its comma.
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
    """Return whether the main clause of a sentence is hedged."""
    if not has_any(text, _HINTS):
        return False
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    return _is_hedged_between(bare, 0, len(bare)) and not _asserts_elsewhere(bare)


def _asserts_elsewhere(text: str) -> bool:
    """Return whether a clause without a hedge asserts: `It may be red, but it fell in 2001`."""
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
    if hedge[0] == "could be" and _is_allowed(text[hedge.end() :]):
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
        or _states(text, start)
    )


def _states(text: str, start: int) -> bool:
    """Return whether `may` stands before a possible permission, or before a stated risk."""
    governed = _GOVERNED.match(text, start)
    if governed is None:
        return False
    verb, rest = governed["verb"], governed["rest"]
    if verb == "be":
        return _is_allowed(rest)
    if verb in _NOT_DONE:
        return verb not in _STATES and bool(_FIGURE.search(rest))
    return bool(rest.strip(" ,")) or bool(_PERSON.search(text[max(0, start - 60) : start]))


def _is_allowed(rest: str) -> bool:
    """Return whether `may be` is followed by the participle of a human action."""
    passive = _PASSIVE.match(rest)
    done = passive["participle"] if passive else ""
    return (done in _PARTICIPLES or is_regular_past(done)) and done not in _RELATIONS


def _is_subordinate(before: str) -> bool:
    """Return whether the hedge follows a finite clause and a word that opens a subordinate one."""
    openers = list(_SUBORDINATE.finditer(before))
    if not openers:
        return False
    main = before[: openers[-1].start()]
    inner = before[openers[-1].end() :]
    return has_finite_verb(main) and "," not in inner


def _is_in_relative_clause(before: str, after: str) -> bool:
    """Return whether the main verb follows: `The bridge, which may be red, collapsed in 2001`."""
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
    """Return whether a clause, with the subject before it, has a finite verb and no hedge."""
    return has_finite_verb(f"it {clause}") and not _HEDGE.search(clause)
