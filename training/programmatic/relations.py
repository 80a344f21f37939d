"""Who did what to whom, from lists of verbs and of comparatives: too many to be learnt by heart."""

# ruff: noqa: E501, SIM905 -- a list of words is one paragraph

from __future__ import annotations

from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import CONTRADICTED, NOT_SUPPORTED, Trio, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from programmatic.base import World

# Past and participle, where they differ.
_VERBS = """admired advised annoyed answered arrested assisted attacked avoided betrayed blamed blocked called caught/caught cheated
chose/chosen comforted congratulated contacted convinced corrected criticised criticized cured deceived defended described disappointed
distracted divorced embarrassed employed encouraged envied examined excused fed/fed fired followed fooled found/found frightened greeted
guided hated healed heard/heard helped hid/hidden hit/hit hugged hurt/hurt ignored imitated impressed informed injured inspired insulted
interrupted invited kicked kissed led/led left/left liked loved mentioned mentored missed mocked moved noticed obeyed offended
outlived outran/outrun paid/paid persuaded photographed praised promoted protected provoked punished pushed questioned raised
recognised recommended reminded replaced represented robbed saved saw/seen scared shot/shot shoved sketched slapped
stabbed startled stopped struck/struck supervised supported surprised suspected tackled threatened
touched tracked tricked trusted tutored underestimated upset/upset visited watched welcomed wounded woke/woken""".split()
_PREPOSITIONAL = """apologised to|argued against|bowed to|cared for|cheered for|competed against|complained about|depended on|dreamt of|fled from|
hid from|inherited from|joked about|laughed at|learned from|lied to|listened to|looked after|lost to|objected to|paid for|
prayed for|ran away from|ran into|relied on|shouted at|smiled at|spied on|stared at|stole from|testified against|voted for|waited for|
waved at|whispered to|won against|wrote about|wrote to""".replace("\n", "").split("|")
_COMPARED = """heavier:lighter richer:poorer faster:slower stronger:weaker louder:quieter kinder:ruder busier:idler
higher:lower larger:smaller longer:shorter wider:narrower brighter:darker newer:older deeper:shallower harder:easier closer:farther
earlier:later happier:sadder calmer:wilder thicker:thinner sharper:blunter healthier:sicker braver:shyer softer:harder""".split()
_GRADED = """experienced famous expensive reliable patient popular careful successful efficient dangerous
important modern nervous generous talented isolated crowded polite""".split()
_ACTIVE = (
    "{a} {past} {b}",
    "{a} {past} {b}",
    "it was {a} who {past} {b}",
    "{a} is the one who {past} {b}",
    "the one whom {a} {past} was {b}",
    "what {a} did was this: {a} {past} {b}",
)
_PASSIVE = (
    "{b} was {done} by {a}",
    "{b} was {done} by {a}",
    "it was {b} who was {done} by {a}",
    "{b} got {done} by {a}",
    "the one who was {done} by {a} is {b}",
    "by {a}, {b} was {done}",
)
_TO = (
    "{a} {past} {b}",
    "{a} {past} {b}",
    "it was {a} who {past} {b}",
    "{b} was the one that {a} {past}",
    "the one who {past} {b} was {a}",
    "{a} is the person who {past} {b}",
)
_ROLES = ("teacher:pupil", "boss:assistant", "doctor:patient", "uncle:nephew", "grandmother:grandson", "landlord:tenant", "buyer:seller",
          "lender:borrower", "client:lawyer", "coach:player", "host:guest", "author:editor", "plaintiff:defendant", "employer:employee",
          "sender:recipient", "predecessor:successor", "winner:loser", "driver:passenger", "master:apprentice", "speaker:listener")  # fmt: skip
_PRESENT = ("{b} is not {a}", "{c} knows both", "{a} and {b} both live in {t}", "{c} was there too", "this happened in {t}", "{a} comes from {t}",
            "{b} comes from {t}", "it was in the newspaper", "{b} is a friend of {c}", "{a} is a friend of {c}")  # fmt: skip


def relations(world: World) -> Iterator[Trio]:
    """Yield a directed fact with the two parties as they are, swapped, and with a third one."""
    make = world.rng.choice((_acted, _acted, _acted, _went, _compared, _compared, _paired))
    forms = make(world)
    a, b, c = _parties(world)
    claim, form = world.rng.choice(forms), world.rng.choice(forms)
    lacking = _fill(form, *world.rng.choice(((a, c), (c, b), (b, c), (c, a))))
    texts = (_fill(form, a, b), _fill(form, b, a), lacking)
    asides = [
        text.format(a=a, b=b, c=c, t=lexicon.place(world))
        for text in world.several(_PRESENT, world.rng.choice((0, 0, 0, 1, 2)))
    ]
    first = world.chance(0.5)
    # That B helped A does not exclude that A helped B.
    opposed = NOT_SUPPORTED if make in {_acted, _went} else CONTRADICTED
    told = (_passage(text, asides, first=first) for text in texts)
    yield Trio(sentence(_fill(claim, a, b)), *told, opposed=opposed)


def _fill(form: str, a: str, b: str) -> str:
    return form.format(a=a, b=b)


def _passage(fact: str, asides: Sequence[str], *, first: bool) -> str:
    return " ".join(map(sentence, (fact, *asides) if first else (*asides, fact)))


_THE = """cat dog nurse judge lawyer senator actor banker doctor author student tourist manager artist secretary professor president
scientist athlete teacher farmer pilot baker neighbour officer sailor guard painter chef driver""".split()


def _parties(world: World) -> list[str]:
    makers: tuple[Callable[[World], list[str]], ...] = (
        lambda w: lexicon.people(w, 3),
        lambda w: w.several(lexicon.FIRST, 3),
        lambda w: [f"the {noun}" for noun in w.several(_THE, 3)],
    )
    return world.rng.choice(makers)(world)


def _acted(world: World) -> list[str]:
    past, _, done = world.pick(_VERBS).partition("/")
    forms = world.pick(_ACTIVE), world.pick(_PASSIVE)
    return [form.replace("{past}", past).replace("{done}", done or past) for form in forms]


def _went(world: World) -> list[str]:
    past = world.pick(_PREPOSITIONAL)
    return [form.replace("{past}", past) for form in (world.pick(_TO), world.pick(_TO))]


def _compared(world: World) -> list[str]:
    if world.chance(0.5):
        more, less = world.pick(_COMPARED).split(":")
    else:
        word = world.pick(_GRADED)
        more, less = f"more {word}", f"less {word}"
    return [f"{{a}} is {more} than {{b}}", f"{{b}} is {less} than {{a}}", f"of {{a}} and {{b}}, {{a}} is the {more} one",
            f"compared with {{a}}, {{b}} is {less}"]  # fmt: skip


def _paired(world: World) -> list[str]:
    one, other = world.pick(_ROLES).split(":")
    return [f"{{a}} is the {one} of {{b}}", f"{{b}} is the {other} of {{a}}", f"{{a}} is the {one} and {{b}} the {other}",
            f"{{b}} has {{a}} as {one}", f"{other}: {{b}}; {one}: {{a}}"]  # fmt: skip
