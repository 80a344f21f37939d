from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.language import is_foreign

DEV = Path(__file__).parents[4] / "shared" / "data" / "dev"
FOREIGN = {
    "de": "Die Brücke wurde 1998 eröffnet.|Berlin ist groß.|Der Umsatz stieg nicht."
    "|Die Brücke hat sechs Spuren.|Der Turm steht in Berlin.",
    "fr": "Le pont a été ouvert en 1998.|Paris est la capitale de la France."
    "|Le pont compte huit voies.|Le pont a six voies.|La tour mesure 300 m.",
    "es": "El puente se abrió en 1998.|Madrid es la capital de España."
    "|El puente mide 300 m.|Los barcos salen hoy.",
    "it": "Il ponte è stato aperto nel 1998.|Roma è la capitale d'Italia."
    "|Il treno parte tardi.|La torre risale al 1936.",
    "pt": "A ponte foi inaugurada em 1998.|Lisboa é a capital de Portugal."
    "|A ponte tem seis faixas.",
    "nl": "De brug werd in 1998 geopend.|Het regent niet in Utrecht.|De brug kost 9 euro.",
    "sv": "Stockholm är huvudstad i Sverige.|Det regnar inte i Malmö.",
    "da": "Broen blev åbnet i 1998.|Det regner ikke i Odense.",
    "pl": "Warszawa jest stolicą Polski.|Sprzedaż wzrosła o 12 procent.",
    "tr": "Köprü 1998 yılında açıldı.|Bu ilaç için reçete gerekli değil.",
    "ru": "Мост открыли в 1998 году.|Дождя нет.",
    "zh": "桥于1998年开放。|不下雨。",
    "ja": "橋は1998年に開通した。",
    "ar": "القاهرة عاصمة مصر.",
    "hi": "यह सच है।",
    "el": "Η γέφυρα άνοιξε το 1998.",
}


@pytest.mark.parametrize("text", [text for texts in FOREIGN.values() for text in texts.split("|")])
def test_a_sentence_of_another_language_is_foreign(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The bridge was opened in 1998.",
        "Men sit.",
        "Charles de Gaulle",
        "Ludwig van Beethoven wrote nine symphonies.",
        "Rio de la Plata",
        "São Paulo",
        "El Niño returned.",
        "Le Monde reports losses.",
        "Il Messaggero reports losses.",
        "Los Angeles grew quickly.",
        "De facto standards emerge.",
        "De novo mutations occur.",
        "La carte menus cost more.",
        "Die casting costs less.",
        "Smith et al. disagreed.",
        "In vitro, de facto",
        "The café is über cool.",
        "x_1 = foo(bar)",
        "Δx = 5 α",
        "E = mc²",
        "4 € 3,5 %",
        'The German word for bridge is "Brücke".',
        "naïve Bayes",
    ],
)
def test_english_names_numbers_and_code_are_not(text: str) -> None:
    assert not is_foreign(text)


@given(st.text(max_size=200))
def test_it_never_raises(text: str) -> None:
    assert isinstance(is_foreign(text), bool)


@given(st.text(alphabet="0123456789 .,;:()%$€+-*/=", max_size=80))
def test_figures_and_signs_are_no_language(text: str) -> None:
    assert not is_foreign(text)


@pytest.mark.skipif(not DEV.is_dir(), reason="the development data is not in the repository")
def test_fewer_than_one_english_claim_in_a_thousand_is_called_foreign() -> None:
    claims: list[str] = []
    for path in sorted(DEV.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            claims += [
                claim
                for _, line in zip(range(200), lines, strict=False)
                if (claim := json.loads(line).get("claim"))
            ]
    assert len(claims) > 5000
    assert sum(map(is_foreign, claims)) < len(claims) / 1000


def test_marks_that_belong_to_no_letter_make_no_other_language() -> None:
    claim = "The pump was repaired on Monday and the valve was replaced."
    for mark in ("\u0336", "\u0301\u0308\u0323"):
        assert not is_foreign("".join(char + mark if char.isalpha() else char for char in claim))


@pytest.mark.parametrize(
    "text",
    [
        "diff v2.41.0..v2.42.0 config/pool.yaml max_connections: 80",
        "v1.2, v1.3, v1.4",
        "z3 na2 se4",
    ],
)
def test_letters_before_a_digit_are_no_word_of_a_language(text: str) -> None:
    assert not is_foreign(text)


def test_words_beside_numbers_still_tell_the_language() -> None:
    assert is_foreign("Firma byla založena v roce 1998 a sídlí v Praze.")
