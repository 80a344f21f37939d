"""English words that keep a sentence from asserting what it says, as regular expressions."""

from __future__ import annotations

import re


def any_of(*stems: str) -> re.Pattern[str]:
    """Return a pattern of whole words in letters of either case."""
    return re.compile(rf"\b(?:{'|'.join(stems)})\b", re.IGNORECASE)


_UNTRUE = (
    r"false(?:ly|hoods?)?|untrue|untruths?|wrong(?:ly)?|incorrect(?:ly)?|mistak(?:e|es|en|enly)",
    r"erroneous(?:ly)?|(?:an|in|by) error|inaccurate(?:ly)?|inaccurac(?:y|ies)|myths?|mythical",
    r"misconceptions?|misunderstandings?|misreadings?|misprints?|misinformation|fallac(?:y|ies)",
    r"hoax(?:es)?|fakes?|faked|lie|lies|lied|lying|fabricat(?:ed|ion|ions)|invention|made up",
    r"retract(?:s|ed|ion|ions)?|withdr(?:aw|aws|awn|ew)|rescinded|revoked|struck out|disproved",
    r"disproven|debunk(?:s|ed|ing)?|refut(?:e|es|ed|ation)|rebutted|discredited|unfounded",
    r"baseless|groundless|unproven|unproved|unconfirmed|unverified|unsubstantiated|nonsense",
    r"rubbish|absurd|superseded|do not use",
)
_FICTION = (
    r"fiction(?:al|ally)?|novels?|short story|fairy ?tales?|tales?|legends?|fables?|satir(?:e|es)",
    r"satirical|parod(?:y|ies)|jok(?:e|es|ed|ing|ingly)|jests?|spoofs?|screenplay|sitcom",
    r"dream(?:s|t|ed|ing)?|fantas(?:y|ies)|imaginary|make-believe|alternate|alternative history",
    r"lorem|made-up|hypothetical(?:ly)?|thought experiment",
)
_PLACEHOLDER = (
    r"placeholders?|(?:dummy|filler|sample|example|test|default) (?:text|sentence|entry|data)",
    r"boilerplate|(?:replace|change|edit|remove) (?:it|this|before)",
)
_HEARSAY = (
    r"rumou?r(?:s|ed)?|gossip|hearsay|whisper(?:s|ed|ing)?|alleg(?:es?|ed|edly|ations?|ing)",
    r"purported(?:ly)?|supposed(?:ly)?|reportedly|speculat(?:e|es|ed|ion|ing)|grapevine",
    r"(?:over)?heard|conspiracy|old wives|propaganda|ostensibly|apparently",
)
_OPINION = (
    r"opinions?|belie(?:f|fs|ve|ves|ved|ving)|think|thinks|thinking|thought|suspect(?:s|ed)?",
    r"suspicions?|assumes?|assumed|assuming|assumptions?|presum(?:e|es|ed|ably)|suppos(?:e|es|ing)",
    r"imagines?|imagined|imagining|pretend(?:s|ed|ing)?|hypothes(?:is|es|ise|ize|ised|ized)",
    r"conjectures?|wish(?:es|ed|ing)?|hop(?:e|es|ed|ing)|fear(?:s|ed)?|guess(?:es|ed)?",
    r"bet|bets|wager(?:s|ed)?|predict(?:s|ed|ion|ions)?|prophe(?:cy|sied|sy)|theor(?:y|ies)",
    r"claim(?:s|ed|ing)?|argu(?:e|es|ed|ing|ments?)|assert(?:s|ed|ing|ions?)|contend(?:s|ed|ing)?",
    r"insist(?:s|ed|ing)?|insinuat(?:es?|ed|ing|ions?)|accus(?:es?|ed|ing|ations?)|swears?|swore",
    r"convinced|persuaded|sure|certain|feels?|felt|fancy|picture|envision|envisage",
    r"boast(?:s|ed)?|brag(?:s|ged)?|reckons?|reckoned|would have us|wants? us|led to",
)
_DOUBT = (
    r"doubt(?:s|ed|ful|ing)?|sceptic\w{0,6}|skeptic\w{0,6}|unclear|uncertain|unknown",
    r"conceivable|imaginable|possible|plausible|questionable|questions?|questioned|unlikely",
    r"improbable|implausible|impossible|unsure",
    r"undecided|unresolved|disput(?:e|es|ed)|contest(?:s|ed)|den(?:y|ies|ied|ials?|ying)",
    r"reject(?:s|ed|ing)?|dismiss(?:es|ed)?|contradict(?:s|ed|ions?)?|far from|hard to|wonders?",
    r"wondered|wondering|(?:odd|strange|absurd|a surprise) to \w+|ask|asks|asked|asking|pending",
    r"remains to be|yet to be|too early|failed to|fails to|unable|refus(?:e|es|ed)",
)
_NEGATION = (
    r"not|\w+n[’']t|never|no|nobody|no one|none|nothing|nowhere|neither|nor|cannot|without",
    r"hardly|scarcely|barely|little|few|lacks?|absence|lacking|ruled out|opposite|contrary",
)
_CONDITION = (
    r"if|unless|should|supposing|provided|providing|assuming|in case|in the event|lest|could",
    r"(?:had|were) (?:it|this)|might|(?-i:may)|would|must|as though|until",
)
_THIRD_PARTIES = (
    r"(?:some|many|most|few|several|half|certain|others)(?: \w+){0,4}? (?:say|said|tell|told|hear)",
    r"word (?:went|has it|is|spread|on the street)|those",
    r"somebody|someone|people|they|critics?|opponents?|detractors?|insiders?|pundits?|hecklers?",
    r"rivals?|competitors?|adversar(?:y|ies)|anonymous|unnamed|trolls?|the other side|lobby",
    r"online|forums?|social media|everyone|everybody|anyone|anybody|bloggers?|commenters?",
    r"opposing|opposition|counterpart(?:y|s)?|plaintiffs?|defendants?|defence|defense|prosecution",
    r"respondents?|claimants?|appellants?|counsel|leaflet|it is (?:said|told)|we are told|posters?",
    r"posts?|comments?|advert(?:s|isements?)?|villagers?|neighbou?rs?|observers|commentators?",
    r"opponent[’']s|pamphlets?",
)
_FACTIVE = (
    r"know|knows|knew|known|knowing|learn(?:s|ed|t)?|reali[sz]e[sd]?|notice[sd]?|forg[eo]t\w{0,4}",
    r"regret(?:s|ted)?|aware|remember(?:s|ed)?|recall(?:s|ed)?|surpris\w{1,5}|secret|no wonder",
    r"fact that|acknowledge[sd]?|admit(?:s|ted)?|concede[sd]?|glad|pleased|happy|sorry|surely",
    r"see[sn]?|saw|hears|could (?:\w+ ){0,2}(?:tell|hear|smell|feel|see)",
)
_PROVING = (
    r"confirm(?:s|ed|ing|ation)?|prove[sdn]?|proof|show(?:s|ed|n|ing)?|demonstrate[sd]?",
    r"establish(?:es|ed)?|document(?:s|ed)?|verif(?:y|ies|ied)|conclude[sd]?|discover(?:s|ed)?",
    r"found|finds?|determine[sd]?|reveal(?:s|ed)?|record(?:s|ed)?|true|correct(?:ly)?|rightly",
    r"because|since|certified|ascertain(?:s|ed)?|evident|obvious|case",
)

NO_DOUBT = re.compile(
    r"\b(?:(?:no|without|beyond|little|leaves? no|any) (?:\w+ )?(?:doubts?|questions?|dispute)"
    r"|(?:undoubted|undeniab|indisputab|unquestionab|doubtless)\w*"
    r"|not (?:an?|the|merely|just|simply|only|some)? ?(?:\w+ )?"
    r"(?:rumou?rs?|myths?|lies?|jokes?|hoax|opinion|exaggeration|mistake|error|secret|surprise)"
    r"|(?:not|never|nobody|no one|none|cannot|\w+n[’']t) (?:\w+ ){0,2}"
    r"(?:doubt(?:ed|s)?|den(?:y|ied|ies)|dispute[sd]?|contest(?:ed|s)?|wrong|false|untrue"
    r"|mistaken|question(?:ed|s)?|refuted?|in doubt|in dispute|surpris\w+)"
    r"|for (?:certain|sure)|it is (?:\w+ )?(?:certain|sure|clear)|not only"
    r"|fail(?:s|ed)? to (?:mention|say|report|note|state|record)"
    r"|(?:they|critics|sceptics|skeptics|doubters|opponents|all|both)"
    r" (?:were|are) (?:\w+ )?(?:wrong|mistaken)|(?:wrong|mistake|error|remiss) (?:not )?to"
    r" (?:omit|leave out|forget|deny|ignore|overlook|doubt))\b",
    re.IGNORECASE,
)
"""Denials of a doubt: with them a claim is asserted."""

FIRST_PERSON = re.compile(
    r"\b(?:i|we) (?:guess|think|suppose|believe|feel|reckon|assume)\b", re.IGNORECASE
)
"""A statement of the author, if a cautious one."""

ATTITUDE = any_of(*_UNTRUE, *_FICTION, *_PLACEHOLDER, *_HEARSAY, *_OPINION, *_DOUBT)
"""What somebody believes, says or makes up: what it governs is not asserted."""

WEAKENED = any_of(*_NEGATION, *_CONDITION)
"""Negations and conditions: with them a proof asserts nothing."""

UNNAMED = any_of(*_THIRD_PARTIES)
"""Speakers for whom the text does not answer: opponents, unnamed people."""

KNOWN = any_of(*_FACTIVE)
"""What it governs is asserted, also if it is negated."""

PROVED = any_of(*_PROVING)
"""What it governs is asserted, unless it is weakened."""

DOUBTFUL_ORIGIN = any_of(
    *_FICTION, *_HEARSAY, r"opinions?|belie(?:f|fs|ve|ves|ved)|view of (?:some|many)|whom? you ask"
)
"""Where a claim comes from, in an adverbial before it: "according to gossip"."""

DOUBTED_AFTERWARDS = any_of(
    *_UNTRUE,
    r"or so|would like us|would have us|anonymous|unnamed|rumou?rs?|hearsay|doubtful|implausible",
    r"unlikely|far-fetched|satire|to be believed|unsourced|uncited|dubious|tbc|source missing",
    r"(?:citation|source|reference|proof|check|verification) needed",
    r"(?:please|must|to be) (?:check|verify|confirm|checked|verified|confirmed)",
)
"""Words behind a claim by which its sentence takes it back."""

UNPROVEN = re.compile(
    r"\b(?:not|\w+n[’']t|never|nobody|no one|nothing|without|no longer|neither|no|yet to be)\b"
    r"[^.;]{0,40}\b(?:true|so|right|correct|accurate|the case|hold|holds|stand|stands|happen(?:ed)?"
    r"|proofs?|evidence|confirm(?:ed|s)?|prove[dn]?|verif(?:y|ied)|support(?:ed|s)?|shown"
    r"|established|substantiated?|checked|trusted|valid|apply|applies|rely|relied|real|reliable"
    r"|believed?|bet|buy)\b",
    re.IGNORECASE,
)
"""A negation with what would have shown the claim: "nobody could confirm"."""

ANNOUNCED = any_of(
    r"myths?|misconceptions?|misinformation|false|untrue|untruths?|falsehoods?|fiction(?:al)?",
    r"rumou?rs?|hoax(?:es)?|fakes?|fake news|retract(?:ed|ions?)|withdrawn|disproved|debunked",
    *_PLACEHOLDER,
    r"hypothetical|hypotheses|legends?|fallac(?:y|ies)|nonsense|lies|wrong",
    r"incorrect|mistaken|superstitions?|unconfirmed|unproven|unverified|allegations?|alleged",
    r"invented|refuted|distractors?|opponents|critics|detractors|urban|hearsay|gossip|satire",
    r"jokes?|open questions|to be verified|true or false|old wives|some people|made-up|overheard",
    r"common (?:errors|mistakes)",
)
"""Words of a heading over texts that are not asserted."""

ANNULLED = any_of(
    *_UNTRUE,
    r"fiction(?:al)?|satir(?:e|ical)|jok(?:e|ing)|imaginary|hypothetical|placeholder|disregard",
    r"ignore|deleted?|removed|corrected|apologi[sz]e|kidding|rumou?rs?|hearsay|denie[sd]|strike",
    r"(?:take|taken) (?:it|that|this)? ?back|cancelled|overturned|reversed|cannot be relied",
)
"""Words by which a sentence takes back the one before it."""

RECANTED = any_of(
    r"(?:takes?|taken|took) (?:it|that|this|everything) back",
    r"(?:invented|denied|retracted|withdrawn|withdrew|recanted|deleted) (?:it|that|this)",
    r"(?:made|mixed) (?:it|that|this|everything) up|scratch that|recanted",
)
"""The same, whatever the rest of the sentence says."""
