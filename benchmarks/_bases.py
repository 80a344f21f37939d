"""Base pairs of the attacks: evidence and claim with an unambiguous verdict."""

from __future__ import annotations

from dataclasses import dataclass

from veridical.core.verdicts import Status


@dataclass(frozen=True, slots=True)
class Base:
    """A claim, the evidence to judge it by, and the right verdict: one of three statuses."""

    name: str
    evidence: str
    claim: str
    right: Status


_SUPPORTED, _CONTRADICTED, _ABSENT = Status.SUPPORTED, Status.CONTRADICTED, Status.UNSUPPORTED

_VIADUCT = (
    "The Harrowdale viaduct was opened to goods trains in March 1874. It has eleven arches of"
    " local sandstone and carries a single track across the river. Passenger services ended in"
    " 1962, and the council turned the deck into a footpath nine years later."
)
_GLACIER = (
    "Researchers drilled three holes through the Tasvik glacier last summer. The deepest reached"
    " bedrock at 412 metres. Water samples from the bottom contained living bacteria, but no algae."
    " The team plans to return with a larger drill."
)
_CLINIC = (
    "Mr. Okafor, 58, was admitted with a fractured left wrist after a fall from a ladder. He has"
    " type 2 diabetes and takes metformin 500 mg twice daily. He is allergic to penicillin. The"
    " wrist was put in a cast, and he was discharged the next morning."
)
_CONFIG = (
    "server:\n"
    "  port: 9090\n"
    "  workers: 4\n"
    "  tls: false\n"
    "cache:\n"
    "  backend: redis\n"
    "  ttl_seconds: 300"
)
_CODE = (
    "def parse_date(text):\n"
    '    """Return the date that an ISO 8601 string stands for.\n'
    "\n"
    "    Raises ValueError if the string is empty.\n"
    '    """\n'
    "    if not text:\n"
    '        raise ValueError("empty")\n'
    "    return date.fromisoformat(text)"
)
_TABLE = (
    "| Town | Population | Mayor |\n"
    "|---|---|---|\n"
    "| Velden | 18,400 | Ana Kovac |\n"
    "| Brusk | 7,950 | Piet Maas |\n"
    "| Ostmark | 31,200 | Lena Voss |"
)
_DIALOGUE = (
    "Marta: Did the printer arrive?\n"
    "Jonas: Yes, this morning. I put it next to the kitchen.\n"
    "Marta: And the invoice?\n"
    "Jonas: The invoice comes by post next week. I asked for a copy by e-mail, too.\n"
    "Marta: Thanks, then I will wait."
)

BASES = (
    Base("viaduct, stated", _VIADUCT, "The Harrowdale viaduct has eleven arches.", _SUPPORTED),
    Base("viaduct, absent", _VIADUCT, "The viaduct was designed by a Swiss engineer.", _ABSENT),
    Base(
        "glacier, other depth",
        _GLACIER,
        "The deepest hole reached bedrock at 90 metres.",
        _CONTRADICTED,
    ),
    Base("clinic, stated", _CLINIC, "Mr. Okafor takes metformin twice a day.", _SUPPORTED),
    Base("clinic, other side", _CLINIC, "Mr. Okafor fractured his right wrist.", _CONTRADICTED),
    Base("config, other port", _CONFIG, "The server listens on port 8080.", _CONTRADICTED),
    Base("code, stated", _CODE, "parse_date raises ValueError for an empty string.", _SUPPORTED),
    Base("code, absent", _CODE, "parse_date was written by the payments team.", _ABSENT),
    Base("table, stated", _TABLE, "The mayor of Brusk is Piet Maas.", _SUPPORTED),
    Base("table, other number", _TABLE, "Velden has a population of 9,000.", _CONTRADICTED),
    Base("dialogue, stated", _DIALOGUE, "Jonas put the printer next to the kitchen.", _SUPPORTED),
    Base("dialogue, absent", _DIALOGUE, "The printer cost 240 euros.", _ABSENT),
)
