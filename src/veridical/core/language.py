"""Language identification: English or not, and which one, by script and function words.

Conservative: names, numbers, code and texts too short to tell count as English. A text is in
another language only if it has clear evidence of one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Letters before a digit are no word: the `v` of "v2.1" is one in Czech.
_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?!\d)")
_LATIN = re.compile(r"[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\uff21-\uff5a]+")
# A letter such as `ß`, and no ligature or sign: English words hardly have any.
_MARKED = re.compile(r"[\u00df-\u00f6\u00f8-\u024f\u1ea0-\u1eff]")
_ENGLISH = _words(
    "the of and to is was were are in that for with by it its from be been has have had not this"
    " these those an as at on or but which who when than their there they he she his her you your"
    " we our i my if will would can could should may might more most all any some no into about"
    " after before over between such also only other one two do does did being because while where"
    " what how why both each many much very during under up out so then just per new first men me"
    " dan dont t s don didn doesn isn wasn weren hasn haven couldn wouldn won re ve ll pardon even"
    " like off down here am mod"
)
# Words of English that the other language has, too: no evidence for either.
_SHARED = {
    "de": "in was will so an am also her over under",
    "fr": "on a an or as",
    "es": "no me a he",
    "it": "a in no me",
    "pt": "no do a as me",
    "nl": "is in was of over had we me her die an under after",
    "sv": "i for over at man so under her men vi",
    "da": "i for over at man so under her men vi",
    "pl": "to i a no we",
    "cs": "to a i by s",
    "fi": "on me",
    "hu": "is a",
    "ro": "a in an",
}
# Function words and numerals that English does not have; those in names stand apart.
_FOREIGN = {
    "de": "und ist nicht ein eine einen einem einer eines das dem mit für auf zum zur wird wurde"
    " werden wurden sind haben auch sich wie oder aber durch über kann nur noch mehr sie er es wir"
    " ich dass seit vom unter zwischen nach bei aus ihre seine keine diese dieser beträgt liegt"
    " steht gibt kommt zwei drei vier fünf sechs sieben acht neun zehn zwölf",
    "fr": "les une est sont dans pour par sur avec qui que ne pas plus aux ce cette ces il elle ils"
    " nous vous été être ses leur mais où comme depuis fut était ont sans entre dont peut"
    " deux trois quatre cinq sept huit neuf douze",
    "es": "los las una que por con para su sus como más pero fue está muy también desde entre sobre"
    " es se en lo son tiene puede según hasta fueron"
    " cuatro cinco seis siete ocho nueve doce",
    "it": "gli della dei delle che non nel nella sono alla più come anche è stato stata suo sua dal"
    " dalla fu ha una viene questo questa degli ed"
    " tre quattro cinque sei sette otto nove dieci dodici",
    "pt": "uma que não em na por para com se ao foi são mais como está pelo pela os um seu sua é"
    " tem entre até também dos das",
    "nl": "het een van op dat niet met voor zijn wordt werd aan ook maar naar bij uit heeft hebben"
    " door om deze dit werden kan niet zich en",
    "sv": "och att det som är ett på av för med inte har till från blev ligger kan men sig en",
    "da": "og det som er på af av med ikke har til fra blev ble ligger kan men sig seg en et",
    "pl": "się nie jest że od po jak przez są oraz było był była która który dla ale na w z",
    "cs": "je se na že od po jako není byl byla jsou pro který která ve v z",
    "hu": "az és hogy nem egy volt meg csak már még",
    "fi": "ja ei että oli ovat mutta kuin joka myös sekä",
    "tr": "ve bir bu için ile olarak çok daha olan gibi değil",
    "ro": "și este cu nu în pe din care sunt mai pentru că au fost",
    "id": "dan yang dari untuk dengan adalah ini itu pada tidak dalam oleh akan",
    "vi": "là và của có không được một trong cho với",
}
_LISTS = {name: _words(found) - _ENGLISH for name, found in _FOREIGN.items()}
_ENGLISH_BESIDE = {name: _ENGLISH - _words(_SHARED.get(name, "")) for name in _LISTS}
# Words of names and of learned English, which decide nothing alone: "Rio de la Plata", "et al.".
_PARTICLES = _words(
    "de la le el du di da do del della des dei der den von van zu y e et al un o a i dos das los"
    " las en un per se con pro que est il lo san santa in ad ex via vs op na po ha cum non sur"
    " sans son sa is mit das"
)
# Articles that tell of a language where a word in lower case follows: "Le pont", not "Le Monde".
_ARTICLES = {
    "fr": _words("le la"),
    "es": _words("el la los las"),
    "it": _words("il la lo gli"),
    "nl": _words("de"),
}
_AFTER_ARTICLES = _words("facto jure novo minimis luxe rigueur trop carte mode niño niña")
"""Words that follow such an article in English."""
# English words that are written with a mark.
_NATURALISED = _words(
    "café cafés naïve résumé résumés façade cliché clichés fiancé fiancée déjà vu première jalapeño"
    " über à la carte décor entrée mêlée protégé protégée exposé soirée crème brûlée coöperate"
    " naïvely naïveté soufflé touché sauté sautéed purée pâté"
)
_SPEAKS_FOR = {
    word: tuple(name for name, found in _LISTS.items() if word in found)
    for word in frozenset().union(*_LISTS.values()) - _PARTICLES
}
_MIN_SHARE = 0.2
_SHORT = 6


@lru_cache(maxsize=1024)
def is_foreign(text: str) -> bool:
    """Return whether a text is surely in a language other than English."""
    words = _WORD.findall(text if text.isascii() else _without_loose_marks(text))
    if not words:
        return False
    if not text.isascii():
        letters = sum(map(len, words))
        latin = sum(len(part) for word in words for part in _LATIN.findall(word))
        if 2 * latin < letters:
            return any(len(word) > 1 and not _LATIN.search(word) for word in words)
    return any(_reads_as(name, words) for name in _candidates(words))


@lru_cache(maxsize=1024)
def language_of(text: str) -> str | None:
    """Return the code of a foreign text's language, such as "de"; None for English and others."""
    if not is_foreign(text):
        return None
    words = _WORD.findall(text if text.isascii() else _without_loose_marks(text))
    # Marked letters tell of a foreign language, not of which: its function words do.
    own = {name: sum(word.lower() in _LISTS[name] for word in words) for name in _LISTS}
    best = max(own, key=lambda name: own[name])
    return best if own[best] and _reads_as(best, words) else None


def _without_loose_marks(text: str) -> str:
    """Return the text without accents where some belong to no letter: struck through, stacked."""
    composed = unicodedata.normalize("NFC", text)
    if not any(map(unicodedata.combining, composed)):
        return composed
    parts = unicodedata.normalize("NFD", text)
    return "".join(char for char in parts if not unicodedata.combining(char))


def _candidates(words: list[str]) -> frozenset[str]:
    """Return the languages indicated by any of the words: none, for most English texts."""
    lowered = [word.lower() for word in words]
    if sum(word in _PARTICLES for word in lowered) > 3 or _MARKED.search(" ".join(lowered)):  # noqa: PLR2004 -- as many as decide alone
        return frozenset(_LISTS)
    by_article = [name for name in _ARTICLES if _begins_with_article(name, words)]
    return frozenset(by_article).union(*(_SPEAKS_FOR.get(word, ()) for word in lowered))


def _begins_with_article(language: str, words: list[str]) -> bool:
    """Return whether a short text begins with an article of a language, and no name."""
    if not 1 < len(words) <= _SHORT or words[0].lower() not in _ARTICLES.get(language, ()):
        return False
    return words[1].islower() and words[1] not in _AFTER_ARTICLES


def _reads_as(language: str, words: list[str]) -> bool:
    """Return whether function words and letters of another language prevail over English."""
    # A capital within a text makes a name.
    common = [word.lower() for index, word in enumerate(words) if word.islower() or not index]
    found = _LISTS[language]
    english = sum(word in _ENGLISH_BESIDE[language] for word in common)
    marked = sum(
        word.islower() and word not in _NATURALISED | found and bool(_MARKED.search(word))
        for word in words
    )
    telling = marked + sum(
        word in found - _PARTICLES and (index > 0 or not _MARKED.search(word))
        for index, word in enumerate(common)
    )
    telling += _begins_with_article(language, words)
    score = telling + 0.5 * sum(word in _PARTICLES - _ENGLISH for word in common)
    if score <= 2 * english or score < _MIN_SHARE * len(words):
        return False
    return score >= (1.0 if telling and len(words) <= _SHORT and not english else 2.0)
