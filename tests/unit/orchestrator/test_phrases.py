"""Marks, legends and notices speak the language of the answer."""

from __future__ import annotations

import re
from dataclasses import fields
from string import Formatter
from types import ModuleType

import anyio
import pytest

from veridical import Report
from veridical.core import language
from veridical.core.language import is_foreign, language_of
from veridical.core.status_table import STATUS_TABLE
from veridical.orchestrator import annotate
from veridical.orchestrator.phrases import ENGLISH, PHRASES, Phrases, phrases_for
from veridical.testing import fake_estimate

ANSWERS = {
    "de": "Die Brücke wurde 1998 eröffnet und ist nicht sehr breit.",
    "fr": "Le pont a été ouvert en 1998 et il est dans la ville.",
    "es": "El puente fue abierto en 1998 y está muy cerca de la ciudad.",
    "it": "Il ponte è stato aperto nel 1998 e non è più chiuso.",
    "pt": "A ponte foi inaugurada em 1998 e não está muito longe.",
    "nl": "De brug werd in 1998 geopend en is niet erg breed.",
    "sv": "Bron öppnades 1998 och den är inte särskilt bred.",
    "da": "Broen blev åbnet i 1998, og den er ikke særlig bred.",
    "pl": "Most został otwarty w 1998 roku i nie jest szeroki.",
    "cs": "Most byl otevřen v roce 1998 a není široký, ale je dlouhý.",
    "hu": "A híd 1998-ban nyílt meg, és nem volt széles, de hosszú.",
    "fi": "Silta avattiin vuonna 1998 ja se ei ole kovin leveä, mutta pitkä.",
    "tr": "Köprü 1998 yılında açıldı ve çok geniş değil, daha uzun.",
    "ro": "Podul a fost deschis în 1998 și nu este foarte lat, dar este lung.",
    "id": "Jembatan itu dibuka pada tahun 1998 dan tidak lebar.",
    "vi": "Cây cầu được mở cửa năm 1998 và không rộng, của thành phố.",
}


@pytest.mark.parametrize(("code", "answer"), ANSWERS.items())
def test_an_answer_is_spoken_to_in_its_language(code: str, answer: str) -> None:
    assert language_of(answer) == code
    assert phrases_for(answer) is PHRASES[code]


@pytest.mark.parametrize(
    "answer", ["", "It opened in 1998.", "São Paulo", "橋は1998年に開通した。"]
)
def test_any_other_answer_is_spoken_to_in_english(answer: str) -> None:
    assert phrases_for(answer) is ENGLISH


def test_a_language_is_told_only_of_a_foreign_text() -> None:
    assert not is_foreign("The bridge was opened in 1998.")
    assert language_of("The bridge was opened in 1998.") is None


def test_there_are_phrases_for_every_language_that_is_told() -> None:
    assert set(PHRASES) == set(language._LISTS) == set(ANSWERS)


@pytest.mark.parametrize("phrases", PHRASES.values(), ids=list(PHRASES))
def test_a_translation_has_the_same_places_and_is_none_of_english(phrases: Phrases) -> None:
    for one in fields(Phrases):
        own, english = getattr(phrases, one.name), getattr(ENGLISH, one.name)
        assert own != english
        assert sorted(_places(own)) == sorted(_places(english))


def _places(phrase: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(phrase) if name is not None]


def test_a_status_that_is_marked_has_words_that_english_shares_with_the_table() -> None:
    marked = {status: row.label for status, row in STATUS_TABLE.items() if row.flagged}
    assert {status: getattr(ENGLISH, status.value) for status in marked} == marked


@pytest.mark.parametrize(("code", "answer"), ANSWERS.items())
def test_no_word_of_a_legend_is_english_in_an_answer_of_another_language(
    bridge: ModuleType, code: str, answer: str
) -> None:
    async def run() -> Report:
        verifier = bridge.verifier(lambda _: fake_estimate(0.01, 0.98))
        found: Report = await verifier.check(answer, {"S1": "1998: 8."})
        return found

    text = annotate(anyio.run(run))
    legend = text.rpartition("\n\n---\n\n")[2]
    assert PHRASES[code].one in legend
    assert PHRASES[code].contradicted in legend
    assert not re.search(r"not confirmed|contradicted|says", legend)
