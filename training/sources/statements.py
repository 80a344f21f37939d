"""Questions with an answer as one statement, by rule; what no rule fits is left out."""

from __future__ import annotations

import re

_BE = r"is|are|was|were"
_DO = r"do|does|did"
_ASKS = r"what|who|whom|which|when|where|why|how|whose"
_LEAD = re.compile(
    r"^(?:according to|based on|judging by|in|from|as per) (?:this|the) "
    r"(?:passage|text|article|excerpt|document|paragraph|table|chart|list|data),? *(?=\w)",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:not|n't|except|false|least likely|incorrect|untrue|implied|infer\w*|best describes|"
    r"passage|"
    r"you|your|following|after|before|next|previous|same|other|or)\b|n't\b|\band\?$",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"^(?:none|nothing|unknown|unclear|all of|both|neither|no\b|yes\b|i do|i don|not |"
    r"it (?:does|is) not (?:say|stated|mentioned)|"
    r"n/?a\b|true|false|the (?:passage|text|author) (?:does|do)\b)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:in|of|for|with|to|at|on|from|by|about|as|that|than)$|"
    r"(?:do|does|did) (?:the|a|he|she|they|it)\b",
    re.IGNORECASE,
)
"""What is no sentence: a preposition at its end, an auxiliary before its subject."""

_DETERMINERS = (
    r"the|a|an|this|that|these|those|his|her|its|their|our|my|one|each|every|\w+['’]s|\w+s['’]"
)
_IRREGULAR = dict(
    pair.split("/")
    for pair in [
        "say/said",
        "think/thought",
        "mean/meant",
        "want/wanted",
        "need/needed",
        "have/had",
        "do/did",
        "make/made",
        "take/took",
        "get/got",
        "give/gave",
        "see/saw",
        "feel/felt",
        "find/found",
        "become/became",
        "begin/began",
        "bring/brought",
        "build/built",
        "buy/bought",
        "come/came",
        "choose/chose",
        "draw/drew",
        "drive/drove",
        "eat/ate",
        "fall/fell",
        "fight/fought",
        "fly/flew",
        "go/went",
        "grow/grew",
        "hear/heard",
        "hold/held",
        "keep/kept",
        "know/knew",
        "lead/led",
        "leave/left",
        "lose/lost",
        "meet/met",
        "pay/paid",
        "run/ran",
        "sell/sold",
        "send/sent",
        "show/showed",
        "speak/spoke",
        "spend/spent",
        "stand/stood",
        "steal/stole",
        "teach/taught",
        "tell/told",
        "understand/understood",
        "win/won",
        "write/wrote",
        "break/broke",
        "catch/caught",
        "wear/wore",
        "sing/sang",
        "rise/rose",
        "seek/sought",
        "lie/lay",
        "play/played",
        "finish/finished",
        "score/scored",
        "produce/produced",
        "believe/believed",
        "use/used",
        "cause/caused",
        "suggest/suggested",
        "claim/claimed",
        "state/stated",
        "describe/described",
        "discuss/discussed",
        "argue/argued",
        "compare/compared",
        "create/created",
        "provide/provided",
        "require/required",
        "represent/represented",
        "refer/referred",
        "relate/related",
        "receive/received",
        "offer/offered",
        "help/helped",
        "happen/happened",
        "live/lived",
        "work/worked",
        "call/called",
        "name/named",
        "learn/learned",
        "like/liked",
        "love/loved",
        "hate/hated",
        "consider/considered",
        "contain/contained",
        "include/included",
        "involve/involved",
        "allow/allowed",
        "propose/proposed",
        "publish/published",
        "release/released",
        "study/studied",
        "serve/served",
        "start/started",
        "stop/stopped",
        "support/supported",
        "symbolize/symbolized",
        "think/thought",
        "try/tried",
        "visit/visited",
        "vote/voted",
        "warn/warned",
        "wish/wished",
        "worry/worried",
        "agree/agreed",
        "appear/appeared",
        "ask/asked",
        "attend/attended",
        "blame/blamed",
        "criticize/criticized",
        "decide/decided",
        "demand/demanded",
        "deny/denied",
        "develop/developed",
        "earn/earned",
        "emphasize/emphasized",
        "enjoy/enjoyed",
        "establish/established",
        "expect/expected",
        "fear/feared",
        "focus/focused",
        "found/founded",
        "hope/hoped",
        "indicate/indicated",
        "intend/intended",
        "introduce/introduced",
        "join/joined",
        "mention/mentioned",
        "move/moved",
        "oppose/opposed",
        "own/owned",
        "plan/planned",
        "prefer/preferred",
        "promise/promised",
        "prove/proved",
        "recommend/recommended",
        "regard/regarded",
        "remain/remained",
        "report/reported",
        "reveal/revealed",
        "save/saved",
        "share/shared",
        "stress/stressed",
        "succeed/succeeded",
        "take/took",
        "talk/talked",
        "treat/treated",
        "view/viewed",
        "compete/competed",
        "place/placed",
        "record/recorded",
        "rank/ranked",
        "host/hosted",
        "last/lasted",
        "attack/attacked",
        "carry/carried",
        "die/died",
        "design/designed",
        "open/opened",
    ]
)
_CLAUSE = re.compile(
    rf"^(?:that |if |whether )?(?:{_DETERMINERS}|he|she|it|they|we|there|people|some|many|most|"
    r"[A-Z]\w+)\b(?: [\w'’,-]+){0,6}? "
    r"(?:is|are|was|were|will|would|could|can|should|has|have|had|do|does|did|must|may|might|cannot|can't|won't|"
    rf"{'|'.join(sorted(set(_IRREGULAR.values())))})\b"
)
_PARTICIPLE = (
    r"\w{2,}ed|born|made|built|held|found|known|sold|set|lost|won|taught|written|taken|given|seen|"
    r"shown|drawn|chosen|spoken|begun|located"
)
_NUMBER = re.compile(
    r"^(?:about |around |over |more than |less than |nearly |almost )?"
    r"(?:[\d.,]+|one|two|three|four|five|six|seven|eight|nine|"
    r"ten|eleven|twelve|twenty|thirty|forty|fifty|hundred)\b",
    re.IGNORECASE,
)


def statement(question: str, answer: str) -> str | None:
    """Return the question answered as one sentence, or `None` where no rule fits."""
    asked = re.sub(r"\s+", " ", _LEAD.sub("", question.strip())).strip()
    given = re.sub(r"\s+", " ", answer).strip().rstrip(".")
    if not given or _NO_ANSWER.match(given) or _VAGUE.search(asked) or len(given) > 160:
        return None
    found = next(filter(None, (rule(asked, given) for rule in _RULES)), None)
    if found is None or "?" in found or len(found.split()) < 4 or _OPEN.search(found):
        return None
    return found[0].upper() + found[1:] + "."


def _ends_with_what(asked: str, given: str) -> str | None:
    """Turn "X purchased which business?"; the answer takes the last words' place."""
    match = re.match(r"^(.+) (?:what|who|whom|which \w+|what \w+)\?$", asked, re.IGNORECASE)
    if match is None or re.match(
        rf"(?:{_ASKS}|in|by|for|to|from|{_DO}|{_BE})\b", asked, re.IGNORECASE
    ):
        return None
    if re.search(
        rf"\b(?:{_ASKS}|{_DO}|{_BE}|can|will|would|could) ?$", match[1], re.IGNORECASE
    ) and (not re.search(rf"\b(?:{_BE})$", match[1]) or _CLAUSE.match(given)):
        return None
    return f"{match[1]} {small(given)}"


def _open_end(asked: str, given: str) -> str | None:
    """Turn "The author's purpose is to"; the answer goes on."""
    if asked.endswith((".", "!", "?")) or re.match(
        rf"(?:{_ASKS}|{_DO}|{_BE}|by|in)\b", asked, re.IGNORECASE
    ):
        return None
    if not re.search(
        r"\b(?:is|are|was|were|to|of|by|for|as|the|a|that|because|in|with)[: _]*$", asked
    ):
        return None
    return f"{asked.rstrip(': _')} {small(given)}"


def _what_is(asked: str, given: str) -> str | None:
    """Turn "What was the cause?", "Who is the author?", "What is missing from it?"."""
    match = re.match(rf"^(what|who|which)(?:'s|’s| ({_BE})) (.+?) ?\??$", asked, re.IGNORECASE)
    if match is None or re.search(rf"\b(?:{_DO}|called|like|about|for|doing|to do)$", match[3]):
        return None
    be, rest = (match[2] or "is").lower(), match[3]
    named = re.match(rf"(?:{_DETERMINERS})\b", rest, re.IGNORECASE)
    if not named:
        if re.match(
            r"(?:in|on|at|from|responsible|missing|used|needed|required|\w+ed|\w+ing)\b", rest
        ):
            return f"{given} {be} {rest}" if not _CLAUSE.match(given) else None
        return None
    if re.search(
        rf"(?:^|\s)(?:{_PARTICIPLE}|\w+ing)(?: (?:to|by|in|as|on|with|from|at|of)(?: .+)?)?$", rest
    ) and not re.search(r"\b(?:that|who|which|to be|been|being)\b", rest):
        return None
    if match[1].lower() == "who":
        return f"{given} {be} {rest}" if not _CLAUSE.match(given) else None
    joined = (
        f"that {small(given)}"
        if _CLAUSE.match(given) and not given.startswith("that")
        else small(given)
    )
    return f"{rest} {be} {joined}"


def _subject(asked: str, given: str) -> str | None:
    """Turn "Who warns them?", "What causes it?", "Which team won the most games?"."""
    match = re.match(r"^(?:who|what) (\w+)( .+?)? ?\??$", asked, re.IGNORECASE)
    if match and not _CLAUSE.match(given):
        verb = match[1].lower()
        known = verb in PAST - {"did", "had"} or (
            verb.endswith("s") and base_of(verb) in _IRREGULAR
        )
        aux = verb in {"has", "had", "have", "will"} and re.match(
            r" (?:been|\w+ed|\w+en)\b", match[2] or ""
        )
        if aux or (known and verb not in {"does", "has"}):
            return f"{given} {verb}{match[2] or ''}"
    match = re.match(r"^(?:which|what) (?:\w+ ){1,2}?(\w+)( .+?)? ?\??$", asked, re.IGNORECASE)
    if match and not _CLAUSE.match(given):
        verb = match[1].lower()
        inverted = re.match(
            rf" (?:\w+ )?(?:{_BE}|{_DO}|has|have|had|can|will|would|could)\b", match[2] or ""
        )
        if not inverted and (
            verb in PAST - {"had", "did"} or (verb in {"has", "had"} and match[2])
        ):
            return f"{given} {verb}{match[2] or ''}"
    return None


def _how_many(asked: str, given: str) -> str | None:
    """Turn "How many countries have agreed?", "How many games were there?", "... did she win?"."""
    match = re.match(r"^how many (.+?) ?\??$", asked, re.IGNORECASE)
    if match is None or not _NUMBER.match(given) or len(given.split()) > 4:
        return None
    rest = match[1]
    there = re.match(rf"^(.+?) ({_BE}) there\b(.*)$", rest)
    if there:
        be = "was" if given == "1" and there[2] == "were" else there[2]
        return f"there {be} {given} {there[1]}{there[3]}"
    done = re.match(rf"^(.+?) ({_DO}) (.+)$", rest)
    if done:
        turned = inflected(done[2], done[3])
        return turned and f"{turned[0]} {turned[1]} {given} {done[1]}{turned[2]}"
    if re.match(
        r"^(?:\w+ ){1,3}?(?:have|had|were|are|scored|won|took|finished|lived|died|received)\b"
        r"(?! (?:the|he|she|it|they|a)\b)",
        rest,
    ):
        return f"{given} {rest}" if given not in {"1", "one", "0"} else None
    return None


def _when_where(asked: str, given: str) -> str | None:
    """Turn "When was it founded?", "Where are they held?"."""
    match = re.match(
        rf"^(?:when|where|(?:in )?(?:what|which) year) ({_BE}) (.+?) "
        rf"((?:first |originally )?(?:{_PARTICIPLE}))( .+?)? ?\??$",
        asked,
        re.IGNORECASE,
    )
    if match is None or _CLAUSE.match(given):
        return None
    placed = re.match(
        r"(?:in|on|at|by|during|near|under|from|since|around|after|before|behind|inside|outside|between)\b",
        given,
        re.IGNORECASE,
    )
    if not placed and not re.fullmatch(r"\d{4}s?|[A-Z][a-z]+(?: \d{4})?(?:, [A-Z][a-z]+)*", given):
        return None
    place = small(given) if placed else f"in {given}"
    return f"{match[2]} {match[1].lower()} {match[3]}{match[4] or ''} {place}"


def _done(asked: str, given: str) -> str | None:
    """Turn "What does the author say about it?", "Why did they leave?"."""
    match = re.match(rf"^(what|why|where|when) ({_DO}) (.+?) ?\??$", asked, re.IGNORECASE)
    if match is None or (turned := inflected(match[2].lower(), match[3])) is None:
        return None
    subject, verb, rest = turned
    if match[1].lower() == "what":
        be = "was" if match[2].lower() == "did" else "is"
        joined = (
            f"that {small(given)}"
            if _CLAUSE.match(given) and not given.startswith("that")
            else small(given)
        )
        return f"what {subject} {verb}{rest} {be} {joined}" if base_of(verb) != "do" else None
    if match[1].lower() == "why":
        if re.match(
            r"(?:because|to|due to|in order|for|so that|as|since|out of)\b", given, re.IGNORECASE
        ):
            return f"{subject} {verb}{rest} {small(given)}"
        return f"{subject} {verb}{rest} because {small(given)}" if _CLAUSE.match(given) else None
    if re.match(
        r"(?:in|on|at|by|during|near|under|from|to|since|around|when|while)\b", given, re.IGNORECASE
    ):
        return f"{subject} {verb}{rest} {small(given)}"
    return f"{subject} {verb}{rest} in {given}" if re.fullmatch(r"\d{4}", given) else None


def inflected(auxiliary: str, rest: str) -> tuple[str, str, str] | None:
    """Return subject, inflected verb and what follows, of "the author say about it"."""
    words = rest.split()
    for place in range(1, min(len(words), 7)):
        verb = words[place].lower()
        if verb in _IRREGULAR and words[place - 1].lower() not in {
            "the",
            "a",
            "of",
            "to",
            "his",
            "their",
        }:
            form = {"did": _IRREGULAR[verb], "does": third(verb), "do": verb}[auxiliary.lower()]
            after = " ".join(words[place + 1 :])
            return " ".join(words[:place]), form, f" {after}" if after else ""
    return None


def third(verb: str) -> str:
    """Return a verb with the ending of the third person."""
    if verb in {"have", "do", "go"}:
        return {"have": "has", "do": "does", "go": "goes"}[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x")) else "s")


def base_of(verb: str) -> str:
    """Return the base form of a verb in the third person, else the verb."""
    return _BASES.get(verb, verb)


def small(text: str) -> str:
    """Return a text that goes on a sentence: its first letter small, unless it is a name."""
    head = re.split(r"[ '’,]", text, maxsplit=1)[0].lower()
    return text[0].lower() + text[1:] if head in _SMALL else text


_SMALL = frozenset(
    [
        "the",
        "a",
        "an",
        "to",
        "because",
        "it",
        "they",
        "he",
        "she",
        "this",
        "that",
        "these",
        "those",
        "by",
        "in",
        "on",
        "at",
        "for",
        "from",
        "with",
        "of",
        "as",
        "their",
        "his",
        "her",
        "its",
        "there",
        "people",
        "some",
        "many",
        "most",
        "when",
        "while",
        "if",
        "being",
        "having",
        "using",
        "how",
        "what",
        "who",
        "both",
        "due",
        "during",
        "after",
        "before",
        "more",
        "less",
        "no",
        "not",
        "we",
    ]
)
PAST = frozenset(_IRREGULAR.values())
_BASES = {third(verb): verb for verb in _IRREGULAR}
_RULES = (_how_many, _when_where, _what_is, _subject, _done, _ends_with_what, _open_end)
