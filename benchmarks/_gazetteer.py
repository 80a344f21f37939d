"""Claims on a text of similar entries, all with the same words.

Twenty buildings, each described in the same four sentences; a claim is true, or has the designer,
the year or the place of another entry. Invented for this benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.types import Source
from veridical.evaluation.rows import Label3, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = """Aldern Brosk Calder Dunmere Elvan Farrow Gresk Halden Ingle Jorvik Keld Lorne Marsk Nevin
    Orrin Pell Quarn Rusk Selby Torvald""".split()  # noqa: SIM905 -- reads better than a list
PEOPLE = """Silva Costea Wolf Farkas Eriksen Jelic Lund Meer Berg Quist Brandt Urban Doyle Zaman
    Orlov Denis Holm Kral Lind Moser""".split()  # noqa: SIM905 -- as above
KINDS = ("Bridge", "Lighthouse", "Library", "Station")
OTHER = 5
"""How many entries further on a false claim has its facts from."""


@dataclass(frozen=True)
class Building:
    """An entry."""

    name: str
    place: str
    designer: str
    year: int

    @property
    def text(self) -> str:
        """The entry as it stands in the text."""
        return (
            f"{self.name} stands in the north of {self.place}, close to the river. It was designed "
            f"by {self.designer}. It was opened to the public in {self.year}. Repairs in "
            f"{self.year + 60} took two years and closed it to visitors."
        )

    def claims(self, facts: Building) -> Iterator[str]:
        """Yield claims on this building with the facts of one."""
        yield f"{self.name} was designed by {facts.designer}."
        yield f"{self.name} opened in {facts.year}."
        yield f"{facts.designer} designed {self.name}, which opened in {self.year}."
        yield f"{self.name} stands near the river in {facts.place}."


def rows() -> Iterator[Row]:
    """Yield the claims, each with the whole text."""
    entries = [
        Building(f"{name} {KINDS[i % 4]}", f"{NAMES[(7 * i + 3) % 20]}ton", PEOPLE[i], 1850 + 7 * i)
        for i, name in enumerate(NAMES)
    ]
    text = (Source("S1", "\n\n".join(entry.text for entry in entries)),)
    for i, entry in enumerate(entries):
        for facts in (entry, entries[(i + OTHER) % len(entries)]):
            label = Label3.SUPPORTED if facts is entry else Label3.CONTRADICTED
            for number, claim in enumerate(entry.claims(facts)):
                yield Row(f"{i}-{number}-{label}", claim, text, facts is entry, label)
