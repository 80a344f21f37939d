"""Phrases of marks, legends and notices in an answer, in the language of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.language import language_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_READ = 4_000
"""Characters of an answer that decide about its language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Phrases of one language.

    `one` and `many` are titles of a legend. `contradicted` to `carried_less` are statuses, the last
    one that of a supported claim to be corrected. `says`, `part` and `nearest` introduce evidence.
    `withheld` and `withheld_unverified` take the place of an answer, `unverified` follows one.
    """

    one: str
    many: str
    contradicted: str
    phantom_citation: str
    unsupported: str
    partially_supported: str
    unverifiable: str
    carried_less: str
    unsure: str
    no_source: str
    says: str
    part: str
    nearest: str
    withheld: str
    withheld_unverified: str
    unverified: str


ENGLISH = Phrases(
    one="This claim is not confirmed by the sources:",
    many="These {count} claims are not confirmed by the sources:",
    contradicted="contradicted",
    phantom_citation="phantom citation",
    unsupported="unsupported",
    partially_supported="partially supported",
    unverifiable="unverifiable",
    carried_less="supported, but less surely than it is stated",
    unsure="unsure: please look",
    no_source="no source",
    says="{source} says: “{text}”",
    part="{source} carries a part of it: “{text}”",
    nearest="nearest in {source}: “{text}”",
    withheld="This answer was withheld: {count} of {checked} checked claims could not be confirmed"
    " by the sources.",
    withheld_unverified="This answer was withheld: it could not be verified against the sources.",
    unverified="This answer was not verified against the sources.",
)

PHRASES: Mapping[str, Phrases] = {
    "de": Phrases(
        one="Diese Aussage ist durch die Quellen nicht bestätigt:",
        many="Diese {count} Aussagen sind durch die Quellen nicht bestätigt:",
        contradicted="widerlegt",
        phantom_citation="Quelle gibt es nicht",
        unsupported="nicht belegt",
        partially_supported="teilweise belegt",
        unverifiable="nicht überprüfbar",
        carried_less="belegt, aber weniger sicher als behauptet",
        unsure="unsicher: bitte ansehen",
        no_source="keine Quelle",
        says="{source} sagt: „{text}“",
        part="{source} belegt einen Teil davon: „{text}“",
        nearest="am nächsten in {source}: „{text}“",
        withheld="Diese Antwort wurde zurückgehalten: {count} von {checked} geprüften Aussagen sind"
        " durch die Quellen nicht bestätigt.",
        withheld_unverified="Diese Antwort wurde zurückgehalten: Sie konnte nicht anhand der"
        " Quellen geprüft werden.",
        unverified="Diese Antwort wurde nicht anhand der Quellen geprüft.",
    ),
    "fr": Phrases(
        one="Cette affirmation n’est pas confirmée par les sources :",
        many="Ces {count} affirmations ne sont pas confirmées par les sources :",
        contradicted="contredite",
        phantom_citation="source inexistante",
        unsupported="non étayée",
        partially_supported="partiellement étayée",
        unverifiable="invérifiable",
        carried_less="étayée, mais moins sûrement qu’affirmé",
        unsure="incertain : à vérifier",
        no_source="aucune source",
        says="{source} dit : « {text} »",
        part="{source} en confirme une partie : « {text} »",
        nearest="le plus proche dans {source} : « {text} »",
        withheld="Cette réponse a été retenue : {count} des {checked} affirmations vérifiées n’ont"
        " pas pu être confirmées par les sources.",
        withheld_unverified="Cette réponse a été retenue : elle n’a pas pu être vérifiée à l’aide"
        " des sources.",
        unverified="Cette réponse n’a pas été vérifiée à l’aide des sources.",
    ),
    "es": Phrases(
        one="Las fuentes no confirman esta afirmación:",
        many="Las fuentes no confirman estas {count} afirmaciones:",
        contradicted="contradicha",
        phantom_citation="fuente inexistente",
        unsupported="sin respaldo",
        partially_supported="respaldada en parte",
        unverifiable="no verificable",
        carried_less="respaldada, pero con menos seguridad de la que se afirma",
        unsure="inseguro: conviene revisarlo",
        no_source="no existe la fuente",
        says="{source} dice: «{text}»",
        part="{source} respalda una parte: «{text}»",
        nearest="lo más cercano en {source}: «{text}»",
        withheld="Esta respuesta fue retenida: las fuentes no confirman {count} de las {checked}"
        " afirmaciones verificadas.",
        withheld_unverified="Esta respuesta fue retenida: no se pudo verificar con las fuentes.",
        unverified="Esta respuesta no fue verificada con las fuentes.",
    ),
    "it": Phrases(
        one="Questa affermazione non è confermata dalle fonti:",
        many="Queste {count} affermazioni non sono confermate dalle fonti:",
        contradicted="contraddetta",
        phantom_citation="fonte inesistente",
        unsupported="non supportata",
        partially_supported="supportata in parte",
        unverifiable="non verificabile",
        carried_less="supportata, ma con meno certezza di quanto affermato",
        unsure="incerto: da controllare",
        no_source="nessuna fonte",
        says="{source} dice: «{text}»",
        part="{source} ne supporta una parte: «{text}»",
        nearest="il passo più vicino in {source}: «{text}»",
        withheld="Questa risposta è stata trattenuta: {count} di {checked} affermazioni verificate"
        " non sono confermate dalle fonti.",
        withheld_unverified="Questa risposta è stata trattenuta: non è stato possibile verificarla"
        " con le fonti.",
        unverified="Questa risposta non è stata verificata con le fonti.",
    ),
    "pt": Phrases(
        one="Esta afirmação não é confirmada pelas fontes:",
        many="Estas {count} afirmações não são confirmadas pelas fontes:",
        contradicted="contradita",
        phantom_citation="fonte inexistente",
        unsupported="sem respaldo",
        partially_supported="respaldada em parte",
        unverifiable="não verificável",
        carried_less="respaldada, mas com menos certeza do que se afirma",
        unsure="incerto: convém verificar",
        no_source="não existe a fonte",
        says="{source} diz: “{text}”",
        part="{source} respalda uma parte: “{text}”",
        nearest="o mais próximo em {source}: “{text}”",
        withheld="Esta resposta foi retida: {count} de {checked} afirmações verificadas não foram"
        " confirmadas pelas fontes.",
        withheld_unverified="Esta resposta foi retida: não foi possível verificá-la com as fontes.",
        unverified="Esta resposta não foi verificada com as fontes.",
    ),
    "nl": Phrases(
        one="Deze bewering wordt niet door de bronnen bevestigd:",
        many="Deze {count} beweringen worden niet door de bronnen bevestigd:",
        contradicted="tegengesproken",
        phantom_citation="bron bestaat niet",
        unsupported="niet onderbouwd",
        partially_supported="deels onderbouwd",
        unverifiable="niet te controleren",
        carried_less="onderbouwd, maar minder zeker dan gesteld",
        unsure="onzeker: graag nakijken",
        no_source="geen bron",
        says="{source} zegt: “{text}”",
        part="{source} onderbouwt een deel: “{text}”",
        nearest="het dichtst bij in {source}: “{text}”",
        withheld="Dit antwoord is achtergehouden: {count} van {checked} gecontroleerde beweringen"
        " zijn niet door de bronnen bevestigd.",
        withheld_unverified="Dit antwoord is achtergehouden: het kon niet aan de bronnen worden"
        " getoetst.",
        unverified="Dit antwoord is niet aan de bronnen getoetst.",
    ),
    "sv": Phrases(
        one="Det här påståendet bekräftas inte av källorna:",
        many="De här {count} påståendena bekräftas inte av källorna:",
        contradicted="motsägs",
        phantom_citation="källan finns inte",
        unsupported="saknar stöd",
        partially_supported="har delvis stöd",
        unverifiable="går inte att kontrollera",
        carried_less="har stöd, men mindre säkert än det påstås",
        unsure="osäkert: kontrollera gärna",
        no_source="ingen källa",
        says="{source} säger: ”{text}”",
        part="{source} ger stöd för en del: ”{text}”",
        nearest="närmast i {source}: ”{text}”",
        withheld="Svaret hölls inne: {count} av {checked} kontrollerade påståenden bekräftas inte"
        " av källorna.",
        withheld_unverified="Svaret hölls inne: det kunde inte kontrolleras mot källorna.",
        unverified="Svaret har inte kontrollerats mot källorna.",
    ),
    "da": Phrases(
        one="Denne påstand bekræftes ikke af kilderne:",
        many="Disse {count} påstande bekræftes ikke af kilderne:",
        contradicted="modsagt",
        phantom_citation="kilden findes ikke",
        unsupported="ikke underbygget",
        partially_supported="delvist underbygget",
        unverifiable="kan ikke efterprøves",
        carried_less="underbygget, men mindre sikkert end påstået",
        unsure="usikkert: se venligst efter",
        no_source="ingen kilde",
        says="{source} siger: “{text}”",
        part="{source} underbygger en del: “{text}”",
        nearest="nærmest i {source}: “{text}”",
        withheld="Svaret blev holdt tilbage: {count} af {checked} kontrollerede påstande bekræftes"
        " ikke af kilderne.",
        withheld_unverified="Svaret blev holdt tilbage: det kunne ikke kontrolleres mod kilderne.",
        unverified="Svaret er ikke kontrolleret mod kilderne.",
    ),
    "pl": Phrases(
        one="Źródła nie potwierdzają tego twierdzenia:",
        many="Źródła nie potwierdzają tych twierdzeń ({count}):",
        contradicted="sprzeczne ze źródłem",
        phantom_citation="źródło nie istnieje",
        unsupported="bez potwierdzenia",
        partially_supported="częściowo potwierdzone",
        unverifiable="nie do sprawdzenia",
        carried_less="potwierdzone, ale mniej pewnie, niż podano",
        unsure="niepewne: proszę sprawdzić",
        no_source="brak źródła",
        says="{source} podaje: „{text}”",
        part="{source} potwierdza część: „{text}”",
        nearest="najbliżej w {source}: „{text}”",
        withheld="Odpowiedź została wstrzymana: źródła nie potwierdzają {count} z {checked}"
        " sprawdzonych twierdzeń.",
        withheld_unverified="Odpowiedź została wstrzymana: nie udało się jej sprawdzić ze"
        " źródłami.",
        unverified="Odpowiedź nie została sprawdzona ze źródłami.",
    ),
    "cs": Phrases(
        one="Zdroje toto tvrzení nepotvrzují:",
        many="Zdroje nepotvrzují tato tvrzení ({count}):",
        contradicted="v rozporu se zdrojem",
        phantom_citation="zdroj neexistuje",
        unsupported="nedoloženo",
        partially_supported="částečně doloženo",
        unverifiable="neověřitelné",
        carried_less="doloženo, ale méně jistě, než je uvedeno",
        unsure="nejisté: prosím ověřte",
        no_source="žádný zdroj",
        says="{source} uvádí: „{text}“",
        part="{source} dokládá část: „{text}“",
        nearest="nejblíže v {source}: „{text}“",
        withheld="Odpověď byla zadržena: zdroje nepotvrzují {count} z {checked} ověřených tvrzení.",
        withheld_unverified="Odpověď byla zadržena: nebylo možné ji ověřit podle zdrojů.",
        unverified="Odpověď nebyla ověřena podle zdrojů.",
    ),
    "hu": Phrases(
        one="A források nem erősítik meg ezt az állítást:",
        many="A források nem erősítik meg ezt a {count} állítást:",
        contradicted="a forrás ellentmond",
        phantom_citation="nem létező forrás",
        unsupported="nincs alátámasztva",
        partially_supported="részben alátámasztva",
        unverifiable="nem ellenőrizhető",
        carried_less="alátámasztva, de kevésbé biztosan, mint ahogy szerepel",
        unsure="bizonytalan: kérjük, nézze meg",
        no_source="nincs ilyen forrás:",
        says="{source} szerint: „{text}”",
        part="{source} egy részét alátámasztja: „{text}”",
        nearest="a legközelebbi itt: {source}: „{text}”",
        withheld="A választ visszatartottuk: {checked} ellenőrzött állításból {count} nem"
        " igazolható a forrásokkal.",
        withheld_unverified="A választ visszatartottuk: nem lehetett a forrásokkal ellenőrizni.",
        unverified="A választ nem ellenőriztük a forrásokkal.",
    ),
    "fi": Phrases(
        one="Lähteet eivät vahvista tätä väitettä:",
        many="Lähteet eivät vahvista näitä {count} väitettä:",
        contradicted="ristiriidassa lähteen kanssa",
        phantom_citation="lähdettä ei ole",
        unsupported="ei tukea",
        partially_supported="osittain tuettu",
        unverifiable="ei tarkistettavissa",
        carried_less="tuettu, mutta epävarmemmin kuin väitetään",
        unsure="epävarma: tarkista",
        no_source="ei lähdettä",
        says="{source} sanoo: ”{text}”",
        part="{source} tukee osaa siitä: ”{text}”",
        nearest="lähimpänä lähteessä {source}: ”{text}”",
        withheld="Vastaus pidätettiin: lähteet eivät vahvista {count}/{checked} tarkistetusta"
        " väitteestä.",
        withheld_unverified="Vastaus pidätettiin: sitä ei voitu tarkistaa lähteistä.",
        unverified="Vastausta ei ole tarkistettu lähteistä.",
    ),
    "tr": Phrases(
        one="Kaynaklar bu iddiayı doğrulamıyor:",
        many="Kaynaklar bu {count} iddiayı doğrulamıyor:",
        contradicted="kaynakla çelişiyor",
        phantom_citation="böyle bir kaynak yok",
        unsupported="desteklenmiyor",
        partially_supported="kısmen destekleniyor",
        unverifiable="doğrulanamaz",
        carried_less="destekleniyor, ancak belirtildiği kadar kesin değil",
        unsure="kesin değil: lütfen bakın",
        no_source="kaynak yok:",
        says="{source} şöyle diyor: “{text}”",
        part="{source} bir kısmını destekliyor: “{text}”",
        nearest="{source} içinde en yakını: “{text}”",
        withheld="Bu yanıt gösterilmedi: denetlenen {checked} iddiadan {count} tanesi kaynaklarca"
        " doğrulanmadı.",
        withheld_unverified="Bu yanıt gösterilmedi: kaynaklarla doğrulanamadı.",
        unverified="Bu yanıt kaynaklarla doğrulanmadı.",
    ),
    "ro": Phrases(
        one="Sursele nu confirmă această afirmație:",
        many="Sursele nu confirmă aceste {count} afirmații:",
        contradicted="contrazisă",
        phantom_citation="sursă inexistentă",
        unsupported="nesusținută",
        partially_supported="susținută parțial",
        unverifiable="neverificabilă",
        carried_less="susținută, dar mai puțin sigur decât se afirmă",
        unsure="nesigur: vă rugăm verificați",
        no_source="nicio sursă",
        says="{source} spune: „{text}”",
        part="{source} susține o parte: „{text}”",
        nearest="cel mai apropiat în {source}: „{text}”",
        withheld="Acest răspuns a fost reținut: {count} din {checked} afirmații verificate nu au"
        " fost confirmate de surse.",
        withheld_unverified="Acest răspuns a fost reținut: nu a putut fi verificat cu sursele.",
        unverified="Acest răspuns nu a fost verificat cu sursele.",
    ),
    "id": Phrases(
        one="Pernyataan ini tidak dikonfirmasi oleh sumber:",
        many="{count} pernyataan ini tidak dikonfirmasi oleh sumber:",
        contradicted="bertentangan",
        phantom_citation="sumber tidak ada",
        unsupported="tidak didukung",
        partially_supported="didukung sebagian",
        unverifiable="tidak dapat diverifikasi",
        carried_less="didukung, tetapi kurang pasti daripada yang dinyatakan",
        unsure="tidak pasti: mohon diperiksa",
        no_source="tidak ada sumber",
        says="{source} menyatakan: “{text}”",
        part="{source} mendukung sebagian: “{text}”",
        nearest="terdekat di {source}: “{text}”",
        withheld="Jawaban ini ditahan: {count} dari {checked} pernyataan yang diperiksa tidak"
        " dikonfirmasi oleh sumber.",
        withheld_unverified="Jawaban ini ditahan: tidak dapat diverifikasi dengan sumber.",
        unverified="Jawaban ini tidak diverifikasi dengan sumber.",
    ),
    "vi": Phrases(
        one="Các nguồn không xác nhận khẳng định này:",
        many="Các nguồn không xác nhận {count} khẳng định này:",
        contradicted="trái với nguồn",
        phantom_citation="nguồn không tồn tại",
        unsupported="không có căn cứ",
        partially_supported="có căn cứ một phần",
        unverifiable="không thể kiểm chứng",
        carried_less="có căn cứ, nhưng kém chắc chắn hơn so với cách nêu",
        unsure="không chắc: vui lòng xem lại",
        no_source="không có nguồn",
        says="{source} viết: “{text}”",
        part="{source} xác nhận một phần: “{text}”",
        nearest="gần nhất trong {source}: “{text}”",
        withheld="Câu trả lời này bị giữ lại: {count} trong {checked} khẳng định đã kiểm tra không"
        " được các nguồn xác nhận.",
        withheld_unverified="Câu trả lời này bị giữ lại: không thể kiểm chứng bằng các nguồn.",
        unverified="Câu trả lời này chưa được kiểm chứng bằng các nguồn.",
    ),
}
"""Phrases by the code of their language; English stands in for any other."""


def phrases_for(answer: str) -> Phrases:
    """Return the phrases in the language of an answer."""
    return PHRASES.get(language_of(answer[:_READ]) or "", ENGLISH)
