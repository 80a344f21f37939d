"""Classification of sentences: checkable assertions, and everything else."""

from __future__ import annotations

import re

from veridical.core.types import Exclusion
from veridical.pipeline.claims.headings import announces_only
from veridical.pipeline.claims.hedges import is_hedged
from veridical.pipeline.claims.imperatives import is_instruction
from veridical.pipeline.claims.lexicon import AUXILIARIES, has_finite_verb, word_set, words
from veridical.pipeline.claims.references import is_reference

_CLOSING = "\"'”’»)]*"
# The assertion is that someone asked.
_QUOTED_QUESTION = re.compile(r"\w[^\"“]*[\"“][^\"”]{1,400}\?[\"”]$")
# A title behind a statement: "He wrote the book What Is Life?"
_TITLE = re.compile(
    r"\s(?:['‘](?:[^'‘’?]|\b['’]\b){1,200}\?['’]"
    r"|(?:What|Who|Whose|Which|Where|When|Why|How|Is|Are|Do|Does|Did|Can|Will)"
    r" [A-Z][\w'’-]*(?: [A-Z][\w'’-]*| (?:an?|the|of|in|to|and|for|with|my|your|it)\b){0,12}\?)$"
)
_ASKS = word_set("what who whom whose which where when why how")
_OPEN_QUESTION = re.compile(
    r"(?:what|who|where|when|why|how|which)(?: \w+)? "
    r"(?:is|are|was|were|do|does|did|can|should|would)"
    r" (?:a|an|the|i|we|you|it|he|she|they|this|that|my|your)\b[^.!;:]*$",
    re.IGNORECASE,
)
_CITATIONS_ONLY = re.compile(
    r"(?:(?:the )?(?:sources?|references?|citations?|footnotes?|see|see also|further reading"
    r"|read more|cited sources?|sources? cited|sources? used)\b)?\W*$",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"""(?:
      (?:hello|hi|hey|greetings|howdy)(?![\w-])(?:[\s,]+(?:there|everyone|all|team|\w+))?\s?[!.,:)]*$
    | good\s(?:morning|afternoon|evening|day|night)\b[\w\s,]{0,20}[!.,]*$
    | dear\s[\w\s.]{1,40},?$
    | (?:many\s)?thank(?:s|\syou)\b(?!\sto\b)[^.!]{0,80}[.!]*$
    | you(?:'|’)?(?:\sa)?re\s(?:very\s)?welcome\b[^.!]{0,30}[.!]*$
    | (?:sure|certainly|absolutely|of\scourse|great|okay|ok|alright|understood|got\sit|no\sproblem
        |gladly|perfect|sounds\sgood|you\sgot\sit)(?:\sthing)?\s?[!.,:]*$
    | (?:sure|certainly|absolutely|of\scourse|okay|ok|alright|great)\s?[!,.]\s?
        (?:here|i(?:'|’)?(?:\sa)?m|i\s(?:can|will|would|'ll|’ll)|let\sme|i(?:'|’)(?:d|ll)|below|happy)\b
    | (?:that(?:'|’)s\s|what\s)?an?\s(?:great|good|excellent|interesting)\squestion\b.{0,3}$
    | (?:great|good|excellent)\squestion\b[^.]{0,30}[.!]*$
    | (?:i\s)?hope\s(?:this|that|it|the)\b.{0,40}\b(?:help|useful|clear|answer)
    | (?:please\s)?(?:do\snot\shesitate|don(?:'|’)t\shesitate)\b
    | (?:please\s)?(?:feel\sfree|let\sme\sknow)\b
    | if\s(?:you|there)\b.{0,80}\b(?:let\sme\sknow|feel\sfree|please\sask|just\sask
        |don(?:'|’)t\shesitate|happy\sto\shelp|glad\sto\shelp|reach\sout)\b
    | i(?:'|’)?(?:\sa)?m\s(?:happy|glad|here|sorry|afraid|unable|not\sable|just\san?\sai)\b
    | i(?:'|’|\swoul)d\sbe\s(?:happy|glad)\b
    | i\sapologi[sz]e\b | (?:my\s)?apologies\b | sorry\b
    | as\san\s(?:ai|artificial|llm)\b
    | i\s(?:could\snot|couldn(?:'|’)t|cannot|can(?:'|’)t|can\snot|was\s(?:unable|not\sable)
        |do(?:\snot|n(?:'|’)t)\s(?:know|have)|did(?:\snot|n(?:'|’)t)\sfind)\b(?!.*\bbut\b)
    | (?:best|kind|warm)\sregards\b
    | (?:here(?:'|’)?s?|here\s(?:is|are)|below\s(?:is|are)|the\sfollowing\s(?:is|are))\b
        [^.]{0,200}:$
    | (?:here(?:'|’)s|here\s(?:is|are)|below\s(?:is|are))\s(?:the|an?|your|some|my)\s(?:\w+\s){0,4}
        (?:summary|answer|list|overview|breakdown|explanation|response|table|example|examples
        |results?|version|steps|analysis|comparison)\b[^.:]{0,100}[.!]?$
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# How far into a greeting to look for an assertion; without a bound, time grows with the square.
_MAX_GREETING = 300
# Where a greeting may turn into an assertion: "Sorry, the bridge is closed."
_TURN = re.compile(
    r"[,;:—–]\s+(?:(?:but|and|however|though|although|yet)\b,?\s+)?|\s(?:but|however|although)\b,?\s+"
    r"|\b(?:happy|glad|can|will|would|(?:'|’)(?:ll|d)|let me)\s(?:also\s)?(?:to\s)?"
    r"(?:report|say|tell\syou|confirm|inform\syou|add|clarify|state|explain)\sthat\s",
    re.IGNORECASE,
)
# Remains of a greeting after such a turn: someone is addressed, or it is about the answer itself.
_STILL_GREETS = re.compile(
    r"(?:i|we|you|your|my|me|let|have|here|please|happy|glad|who|which|whose|where|when|what|if|as|so|that"
    r"|because|since|unless|while|to|at|in|on|for|from|with|based)\b"
    r"|.*\b(?:contexts?|documents?|sources?|passages?|texts?|information|evidence|excerpts?|details?"
    r"|questions?|answers?|requests?|confusion|you|your)\b",
    re.IGNORECASE,
)
# A text that ends in one of these, or mentions one of them, only announces the text after it.
_ANNOUNCING = re.compile(
    r"\b(?:follows|below|includes?|included|contains?|supports?|offers?|provides?|are|is|was|were"
    r"|has|have|as|that|by|to|for|of)$",
    re.IGNORECASE,
)
_PRESENTING = re.compile(
    r"\b(?:following|these|points?|reasons?|steps?|things?|ways?|details?|examples?|takeaways?|summary"
    r"|highlights?|considerations?|options?|topics?|findings?|factors?|aspects?)\b",
    re.IGNORECASE,
)
_SOURCE_LIST = re.compile(
    r"(?:sources?|references?|citations?|see also|further reading):", re.IGNORECASE
)


def exclusion(text: str) -> Exclusion | None:
    """Return the reason not to verify a sentence, already without marks and markup."""
    return next((reason for applies, reason in _RULES if applies(text)), None)


def _is_heading(text: str) -> bool:
    """Return whether a text is a list of sources, or only announces the text after it."""
    if _CITATIONS_ONLY.match(text) or not words(text):
        return True
    if source := _SOURCE_LIST.match(text):
        return is_reference(text[source.end() :].strip(), marked=False)
    return text.endswith((":", "：")) and not _GREETING.match(text) and not _says_something(text)


def without_greeting(text: str) -> str:
    """Return a sentence without its opening greeting or apology, if an assertion follows it."""
    return _behind_greeting(text) or text if _GREETING.match(text) else text


def _is_greeting(text: str) -> bool:
    return bool(_GREETING.match(text)) and not _behind_greeting(text)


def _behind_greeting(greeting: str) -> str:
    """Return the first assertion that a greeting turns into; nothing if it does not."""
    rests = (greeting[turn.end() :] for turn in _TURN.finditer(greeting, 0, _MAX_GREETING))
    # A rest that greets again is left to its own turns: asking `exclusion` would recurse.
    asserted = (
        rest
        for rest in rests
        if not (_STILL_GREETS.match(rest) or _GREETING.match(rest))
        and has_finite_verb(rest)
        and exclusion(rest) is None
    )
    return next(asserted, "")


def _is_question(text: str) -> bool:
    if _QUOTED_QUESTION.match(text):
        return False
    if _ends_as_question(text):
        return not _ends_in_a_title(text)
    return bool(_OPEN_QUESTION.match(text))


def _ends_in_a_title(text: str) -> bool:
    """Return whether only the title or quotation at the end of a statement is a question."""
    title = _TITLE.search(text)
    if title is None:
        return False
    before = text[: title.start()]
    found = [word.lower() for word in words(before)]
    return has_finite_verb(before) and found[0] not in AUXILIARIES and _ASKS.isdisjoint(found)


def _ends_as_question(text: str) -> bool:
    """Return whether a text ends with a question mark, before closing marks or others."""
    ended = text.removesuffix("\n").rstrip(_CLOSING)
    before = ended.rstrip("!?")
    return "?" in ended[len(before) :] or before.endswith(("？", "؟"))


def _says_something(lead_in: str) -> bool:
    """Return whether a text that ends in a colon asserts anything by itself, such as a number."""
    body = lead_in.rstrip(":： ")
    if _ANNOUNCING.search(body) or _PRESENTING.search(body):
        return not announces_only(body)
    return has_finite_verb(body)


# In the order of decision.
_RULES = (
    (_is_heading, Exclusion.HEADING),
    (_is_greeting, Exclusion.GREETING),
    (_is_question, Exclusion.QUESTION),
    (is_instruction, Exclusion.INSTRUCTION),
    (is_hedged, Exclusion.HEDGED),
)
