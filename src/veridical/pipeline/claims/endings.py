"""Ends of sentences that nupunkt misses.

Its list of abbreviations was learnt from legal and scanned text and holds ordinary words (`enter`,
`fish`, `car`, `Grenada`) and units (`kg`, `h`); it takes "B and C. He" for an initial; and it knows
ASCII stops only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.pipeline.claims.lexicon import word_set

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHER_SCRIPTS = re.compile(
    r"[。！？｡]+[」』”’）)\]]*(?=.)|(?<![؟۔।॥])[؟۔।॥]++[\"'”’»)\]]*+(?=\s)", re.DOTALL
)
# Words that open a sentence and do not go on after an initial or a name's abbreviation.
_STARTER = (
    r"(?=[\"“‘'(]?(?:The|An?|He|She|It|They|This|That|These|Those|We|I|In|On|At|However|But|And|If"
    r"|When|There|For|As|After|Its|His|Her|Their|To|Some|Many|Most|No|Not|You|Your|Our|My|All|Each)"
    r"\b)"
)
_AFTER_LETTER = re.compile(r"(?<=[a-z,] )[A-Z]\. +" + _STARTER)
_AFTER_NAME = re.compile(r"(?<![\w.'’-])[A-Z][a-z]{3,}\.[\"”’)]* +" + _STARTER)
_AFTER_WORD = re.compile(r"(?<![\w.'’-])(?P<word>[a-z]{2,})\.[\"”’)]* +(?=[\"“‘'(\[]?[A-Z])")
# A unit behind a figure ends a sentence before a capital: "lost 4 kg. Dr. Ames". Single capitals
# are left out: they may be initials ("On May 5 J. Smith").
_AFTER_UNIT = re.compile(
    r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty"
    r"|sixty|hundred|thousand|million|half|few|several))[ \u00a0\u202f-]?"
    r"(?:[kcdmµμnM]?(?:g|m|l|L|s|V|W|A|J|N|Hz|Pa|t|bar|mol|cal|Wh|eV)|[kMGTP]i?[bB]|[GT]Hz|[GT]W|h|hr|hrs|d|min|mins|sec|secs"
    r"|wk|wks|mo|mos|yr|yrs|lb|lbs|oz|ft|in|mi|yd|yds|gal|pt|qt|ha|ac|sq|mph|kph|km/h|m/s|rpm|fps|dB|ppm|bpm|mmHg"
    r"|k|m|mn|bn|tn|pct|pp|pts|bps)"
    r"(?<!\d[VWAJNL])(?<! [VWAJNL])[²³]?\.[\"”’)]* +(?=[\"“‘'(\[]?[A-Z])"
)
_ABBREVIATIONS = word_set(
    "approx assoc dept univ corp assn govt intl natl misc temp orig incl excl resp figs refs"
    " vols chap secs eqns prof capt supp suppl trans illus cert proc appx pres messrs comm bros"
)
_SHORT_WORDS = word_set(
    "add age ago aid aim air all and any are arm ask bad bag ban bar be bed bet big bit boy bus"
    " but buy by can car cat cup cut day did die do dog dry due ear eat egg end err eye far fat"
    " fee few fit fix fly fox fun gas get go god got gun guy had has hat he her here him his hit"
    " hot how ice ill ink is it its job joy key kid law lay leg let lie log lot low mad man map"
    " me men met mix mob mud net new nor not now odd of off oil old on one or our out own owe"
    " pan pay pen pet pie pig pit pop pot put ran raw red rid row run sad sat saw say sea see"
    " set sex she shy sit six sky so son tax tea ten the them then they tie tip to toe too top"
    " toy try two up us use van war was way we web wet who why win won yes yet you zoo"
)


def missed_ends(text: str) -> Iterator[int]:
    """Yield the offsets at which the next sentence starts, in no order."""
    for pattern in (_OTHER_SCRIPTS, _AFTER_LETTER, _AFTER_NAME, _AFTER_UNIT):
        yield from (match.end() for match in pattern.finditer(text))
    for match in _AFTER_WORD.finditer(text):
        if _is_word(match["word"]):
            yield match.end()


def _is_word(word: str) -> bool:
    """Return whether a lower-case word before a full stop is a word and no abbreviation."""
    if len(word) <= 3:  # noqa: PLR2004 -- most abbreviations are that short
        return word in _SHORT_WORDS
    return word not in _ABBREVIATIONS
