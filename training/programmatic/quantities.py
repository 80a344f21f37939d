"""Counts, sums, shares, comparisons, units, spans of years and ages."""

# ruff: noqa: E501, SIM905 -- a template is one line, a list of words one paragraph

from __future__ import annotations

from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, listed, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from programmatic.base import World

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_THINGS = """employees visitors patients books tickets trees houses lorries students chairs cameras votes
orders servers samples members seats boats parcels complaints""".split()
_VAGUE = ("{o} did not publish the figure.", "The exact number for {o} is not given.", "{o} keeps its records in {t}.",
          "A report on {o} is due in spring.", "{o} is based in {t}.", "The figures of {o} are under review.")  # fmt: skip


def _vague(world: World, name: str) -> str:
    return world.pick(_VAGUE).format(o=name, t=lexicon.place(world))


def _elsewhere(world: World, text: str, name: str, otherwise: str) -> str:
    """Return the fact told of another name, or a text without the fact."""
    stranger = world.other(lexicon.ORG_HEAD, name.split(maxsplit=1)[0])
    return (
        text.replace(name, f"{stranger} {world.pick(lexicon.ORG_TAIL)}")
        if world.chance(0.5)
        else otherwise
    )


def _say(world: World, number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) and world.chance(0.6) else f"{number:,}"


def counts(world: World) -> Iterator[Trio]:
    """Yield the length of a list: a longer or shorter list is another number."""
    pool = world.rng.choice(
        (
            lexicon.FRUITS,
            lexicon.ANIMALS,
            lexicon.PRODUCTS,
            lexicon.COUNTRIES,
            lexicon.CITIES,
            lexicon.FIRST,
        )
    )
    size, owner = world.rng.randint(2, 6), lexicon.organisation(world)
    items = world.several(pool, size + 2)
    form = world.pick(
        (
            "{o} named {i}.",
            "The list of {o} has these entries: {i}.",
            "{o} chose {i}.",
            "{o}:\n- {b}",
            "On the list of {o} are {i}.",
            "Listed by {o}: {i}.",
        )
    )
    claim = world.pick(("{o} lists {n} items", "there are {n} entries on the list of {o}", "{n} names are given by {o}", "the list of {o} has {n} entries",
                        "{o} came up with {n}", "the number of entries of {o} is {n}")).format(o=owner, n=_say(world, size))  # fmt: skip
    longer = items[: size + world.rng.choice((1, 2, -1 if size > 2 else 1))]
    texts = [
        form.format(o=owner, i=listed(part), b="\n- ".join(part)) for part in (items[:size], longer)
    ]
    yield Trio(sentence(claim), *texts, _elsewhere(world, texts[0], owner, _vague(world, owner)))


def sums(world: World) -> Iterator[Trio]:
    """Yield a total, a difference, a change or a share of two numbers."""
    thing, name = world.pick(_THINGS), lexicon.organisation(world)
    first, second = world.rng.sample(world.shuffled(lexicon.DAYS), 2)
    a, b = world.rng.sample(range(2, 90), 2)
    wrong = max(1, b + world.rng.choice((-9, -5, -3, 4, 6, 11)))
    wrong = wrong if wrong not in {b, a} else b + 7
    form = world.pick(("{o} counted {a} {x} on {f} and {b} on {s}.", "On {f}, {o} had {a} {x}. On {s} it had {b}.", "| {x} of {o} | |\n|---|---|\n| {f} | {a} |\n| {s} | {b} |",
                       "{o}, {x}: {f} {a}, {s} {b}.", "{o} reported {b} {x} for {s}, against {a} for {f}.", "There were {a} {x} at {o} on {f} and {b} more on {s}."))  # fmt: skip
    claim = _of_two(world, a, b).format(o=name, x=thing, f=first, s=second)
    texts = [form.format(o=name, x=thing, f=first, s=second, a=a, b=v) for v in (b, wrong)]
    if not _differs(claim, a, b, wrong):
        return
    yield Trio(
        sentence(claim),
        *texts,
        _elsewhere(
            world, texts[0], name, f"{name} counted {a} {thing} on {first}. {_vague(world, name)}"
        ),
    )


def _of_two(world: World, a: int, b: int) -> str:
    total = world.pick(("{{o}} had {t} {{x}} on the two days together", "in total, {{o}} counted {t} {{x}}", "over both days there were {t} {{x}} at {{o}}",
                        "{{o}} recorded {t} {{x}} altogether", "{{f}} and {{s}} together brought {{o}} {t} {{x}}", "the sum of the two days is {t} {{x}} for {{o}}"))  # fmt: skip
    gap = ("{{s}} brought {{o}} {g} more {{x}} than {{f}}", "the difference between the two days is {g} {{x}} at {{o}}") if b > a else (
        "{{f}} brought {{o}} {g} more {{x}} than {{s}}", "the difference between the two days is {g} {{x}} at {{o}}")  # fmt: skip
    return world.rng.choice((total, total, world.rng.choice(gap))).format(t=a + b, g=abs(a - b))


def _differs(claim: str, a: int, b: int, wrong: int) -> bool:
    """Return whether the claim's figure is false of the other number."""
    return abs(a - b) != abs(a - wrong) or "more" not in claim


def shares(world: World) -> Iterator[Trio]:
    """Yield a percentage or a fraction of a whole."""
    whole, percent = (
        world.rng.choice((20, 40, 50, 80, 100, 200, 400, 500, 1000)),
        world.rng.choice((5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90)),
    )
    if whole * percent % 100:
        return
    part, thing, name = whole * percent // 100, world.pick(_THINGS), lexicon.organisation(world)
    other = world.rng.choice([p for p in (5, 10, 20, 25, 40, 50, 60, 75, 90) if p != percent])
    fraction = {
        25: "a quarter",
        50: "half",
        75: "three quarters",
        20: "a fifth",
        10: "a tenth",
    }.get(percent, f"{percent}%")
    said = world.rng.choice((f"{percent}%", f"{percent} percent", fraction))
    form = world.pick(("Of the {w} {x} of {o}, {p} were checked.", "{o} checked {p} of its {w} {x}.", "{p} out of {w} {x} at {o} were checked.", "{o} has {w} {x}. {p} of them were checked.",
                       "{o}: {x} {w}, checked {p}.", "Checked: {p} {x} of {w} ({o})."))  # fmt: skip
    claim = world.pick(
        (
            "{s} of the {x} of {o} were checked",
            "{o} checked {s} of its {x}",
            "the share of {x} checked at {o} is {s}",
            "{s} of {o}'s {x} have been checked",
            "at {o}, {s} of the {x} were checked",
        )
    )
    texts = [
        form.format(w=whole, x=thing, o=name, p=value) for value in (part, whole * other // 100)
    ]
    if part == whole * other // 100:
        return
    yield Trio(
        sentence(claim.format(s=said, x=thing, o=name)),
        *texts,
        _elsewhere(world, texts[0], name, f"{name} has {whole} {thing}. {_vague(world, name)}"),
    )


def thresholds(world: World) -> Iterator[Trio]:
    """Yield a number against a bound or a range; some claims hold, though no number is shared."""
    name, thing = lexicon.organisation(world), world.pick(_THINGS)
    low = world.rng.randrange(20, 900, 10)
    high = low + world.rng.randrange(20, 300, 10)
    inside, below, above = (
        world.rng.randint(low + 1, high - 1),
        max(1, low - world.rng.randint(1, 60)),
        high + world.rng.randint(1, 90),
    )
    claim, true, false = world.pick((
        ("{o} has more than {l} {x}", inside, below), ("{o} has fewer than {h} {x}", inside, above), ("{o} has between {l} and {h} {x}", inside, world.rng.choice((below, above))),
        ("{o} has at least {l} {x}", inside, below), ("{o} has at most {h} {x}", inside, above), ("{o} has over {h} {x}", above, inside),
        ("{o} has under {l} {x}", below, inside), ("the number of {x} of {o} exceeds {h}", above, inside), ("{o} has no more than {l} {x}", below, inside),
        ("{o} has less than {l} {x}", below, above),
    ))  # fmt: skip
    form = world.pick(
        (
            "{o} has {v} {x}.",
            "There are {v} {x} at {o}.",
            "The number of {x} of {o} is {v}.",
            "{o} counts {v} {x} in all.",
            "{o} ({v} {x}) is growing.",
            '{{"{x}": {v}, "name": "{o}"}}',
        )
    )
    texts = [form.format(o=name, v=value, x=thing) for value in (true, false)]
    spare = world.other(_THINGS, thing)
    lacking = (
        form.format(o=name, v=true, x=spare)
        if world.chance(0.6)
        else _elsewhere(world, texts[0], name, _vague(world, name))
    )
    yield Trio(sentence(claim.format(o=name, l=low, h=high, x=thing)), *texts, lacking)


# Small unit, large unit, factor, what is measured, the verb's phrase.
_UNITS = (("metres", "kilometres", 1000, "the path to {t}"), ("m", "km", 1000, "the distance to {t}"), ("minutes", "hours", 60, "the drive to {t}"),
          ("MB", "GB", 1000, "the {x} archive"), ("grams", "kilograms", 1000, "the {w}"), ("seconds", "minutes", 60, "the {x} job"),
          ("days", "weeks", 7, "the stay in {t}"), ("months", "years", 12, "the lease of {o}"), ("cents", "dollars", 100, "the price of the {w}"),
          ("millilitres", "litres", 1000, "the tank of the {w}"), ("ms", "s", 1000, "the timeout of {s}"))  # fmt: skip


def units(world: World) -> Iterator[Trio]:
    """Yield a quantity that is told in another unit; the contradiction keeps the number."""
    small, large, factor, what = world.pick(_UNITS)
    name = what.format(
        t=lexicon.place(world),
        x=world.pick(lexicon.NOUNS),
        w=world.pick(lexicon.PRODUCTS),
        o=lexicon.organisation(world),
        s=world.pick(lexicon.SERVICES),
    )
    value = world.rng.randint(2, 12)
    wrong = world.rng.choice([v for v in range(2, 13) if v != value])
    tell = world.pick(
        (
            "{o} is {v}",
            "{o}: {v}",
            "{o} comes to {v}",
            "{o} amounts to {v}",
            "for {o}, {v} is given",
            "{o} measures {v}",
        )
    )
    claim = world.pick(
        (
            "{o} is {v}",
            "{o} comes to {v}",
            "{o} takes up {v}",
            "{o} equals {v}",
            "{v} is the figure for {o}",
            "{o} is given as {v}",
        )
    )
    forms = (
        (f"{value * factor} {small}", f"{value} {large}", f"{wrong} {large}"),
        (
            f"{value} {large}",
            f"{value * factor} {small}",
            world.rng.choice((f"{value} {small}", f"{wrong * factor} {small}")),
        ),
    )
    said, right, false = world.rng.choice(forms)
    texts = [sentence(tell.format(o=name, v=value)) for value in (right, false)]
    yield Trio(
        sentence(claim.format(o=name, v=said)),
        *texts,
        sentence(
            world.pick(
                (
                    "{o} was checked last week",
                    "nobody has measured {o}",
                    "{o} is described elsewhere",
                    "the notes mention {o}",
                    "{o} is under review",
                )
            ).format(o=name)
        ),
    )


_LIVES: tuple[tuple[str, str, Callable[[int, int], object]], ...] = (
    ("{p} was born in {a} and died in {b}.", "{p} lived for about {v} years", lambda a, b: b - a),
    ("{p} ({a}-{b}) was a painter.", "{p} died at the age of about {v}", lambda a, b: b - a),
    ("{p} worked for the bank from {a} to {b}.", "{p} was with the bank for {v} years", lambda a, b: b - a),
    ("The bridge in {t} was built in {a} and rebuilt in {b}.", "the bridge in {t} was rebuilt {v} years after it was built", lambda a, b: b - a),
    ("{o} was founded in {a}. It closed in {b}.", "{o} existed for {v} years", lambda a, b: b - a),
    ("{p} moved to {t} in {a} and left in {b}.", "{p} spent {v} years in {t}", lambda a, b: b - a),
    ("The strike in {t} began in {a}; it ended in {b}.", "the strike in {t} went on for {v} years", lambda a, b: b - a),
    ("{p} married in {a} and divorced in {b}.", "the marriage of {p} lasted {v} years", lambda a, b: b - a),
    ("{p} was born in {a}. The first book came out in {b}.", "{p} was about {v} when the first book came out", lambda a, b: b - a),
    ("{o} opened in {t} in {a} and went public in {b}.", "{o} went public {v} years after it opened", lambda a, b: b - a),
)  # fmt: skip


def spans(world: World) -> Iterator[Trio]:
    """Yield a length of time or an age that follows from two years."""
    form, claim, value = world.pick(_LIVES)
    slots = {
        "p": lexicon.person(world),
        "t": lexicon.place(world),
        "o": lexicon.organisation(world),
    }
    start = world.rng.randint(1900, 1980)
    end = start + world.rng.randint(3, 40)
    wrong = end + world.rng.choice((-2, 5, 9, 14, 20))
    texts = [form.format(a=start, b=year, **slots) for year in (end, wrong)]
    lacking = form.format(a=start, b="an unknown year", **slots)
    yield Trio(sentence(claim.format(v=value(start, end), **slots)), *texts, lacking)


QUANTITIES: Sequence[Callable[[World], Iterator[Trio]]] = (
    counts,
    sums,
    shares,
    thresholds,
    units,
    spans,
)


# A thing, its evidence and its claims: the same number there and here, or another one.
_PLAIN = (("bridge", "carries {n} lanes", "has {n} lanes"), ("house", "was sold with {n} bedrooms", "has {n} bedrooms"), ("app", "supports {n} languages", "is available in {n} languages"),
          ("hotel", "offers {n} rooms", "has {n} rooms"), ("tower", "is {n} metres tall", "is {n} metres high"), ("team", "lost {n} matches", "was beaten {n} times"),
          ("book", "runs to {n} pages", "has {n} pages"), ("trial", "enrolled {n} patients", "had {n} participants"), ("ship", "carried {n} containers", "had {n} containers on board"),
          ("patient", "was given {n} mg of the drug", "received a dose of {n} mg"), ("meeting", "lasted {n} hours", "took {n} hours"), ("lake", "is {n} metres deep", "has a depth of {n} metres"),
          ("server", "allows {n} connections", "has a limit of {n} connections"), ("fine", "was set at {n} euros", "amounted to {n} euros"), ("school", "has {n} classrooms", "counts {n} classrooms"),
          ("car", "seats {n} people", "has room for {n} people"), ("orchestra", "gave {n} concerts", "played {n} times"), ("library", "lends {n} items at once", "lets readers borrow {n} items at once"),
          ("tank", "holds {n} litres", "has a capacity of {n} litres"), ("job", "failed after {n} attempts", "was tried {n} times"))  # fmt: skip
_BESIDE = ("It was inspected last {d}.", "Nothing else is known about it.", "The {t} paper wrote about it.", "It stands out in {t}.", "More will be told on {d}.",
           "In {t} people talk about it.", "The report was filed on {d}.", "This was confirmed in {t} on {d}.")  # fmt: skip


def plain(world: World) -> Iterator[Trio]:
    """Yield a number as it is told: small or large, in words or digits, the other one near it."""
    thing, told, claimed = world.pick(_PLAIN)
    number = world.rng.choice((world.rng.randint(2, 12), world.rng.randint(2, 60), world.rng.randrange(50, 4000, 10)))  # fmt: skip
    other = world.rng.choice((number + 1, number - 1, number + 2, number + 3, number * 2, number * 10, int(str(number)[::-1])))  # fmt: skip
    if other in {number, 0, 1}:
        return
    subject = world.pick((f"The {thing}", f"The {thing} in {lexicon.place(world)}", f"{lexicon.organisation(world)}'s {thing}"))  # fmt: skip
    beside = [
        world.pick(_BESIDE).format(t=lexicon.place(world), d=world.pick(lexicon.DAYS)) for _ in "12"
    ]
    order = world.rng.choice(((0,), (0, 1), (1, 0), (1, 0, 2)))
    texts = [
        " ".join((fact, *beside)[i] for i in order)
        for fact in (f"{subject} {told.format(n=_say(world, n))}." for n in (number, other))
    ]
    spare, unsaid, _ = world.other(_PLAIN, (thing, told, claimed))
    lacking = f"{subject.replace(thing, spare)} {unsaid.format(n=_say(world, number))}."
    about = world.pick((subject, f"The {thing}", "It"))
    yield Trio(sentence(f"{about} {claimed.format(n=_say(world, number))}"), *texts, lacking)
