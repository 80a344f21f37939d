"""The order of events: prose, numbered steps, dates, logs and changelogs."""

# ruff: noqa: E501 -- a template is one line, a list of words one paragraph

from __future__ import annotations

from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, capital, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from programmatic.base import World

# Infinitive:past:gerund, with {x} for the one who acts.
_ACTS = """visit the museum:visited the museum:visiting the museum
sign the contract:signed the contract:signing the contract
repair the roof:repaired the roof:repairing the roof
call the bank:called the bank:calling the bank
move to {p}:moved to {p}:moving to {p}
finish the thesis:finished the thesis:finishing the thesis
open a bakery:opened a bakery:opening a bakery
learn to sail:learned to sail:learning to sail
sell the car:sold the car:selling the car
join the choir:joined the choir:joining the choir
study {f}:studied {f}:studying {f}
paint the kitchen:painted the kitchen:painting the kitchen
pass the exam:passed the exam:passing the exam
write a novel:wrote a novel:writing a novel
leave the company:left the company:leaving the company
break an arm:broke an arm:breaking an arm
buy a boat:bought a boat:buying a boat
win the award:won the award:winning the award
adopt a dog:adopted a dog:adopting a dog
work in {p}:worked in {p}:working in {p}
meet the mayor:met the mayor:meeting the mayor
plant the trees:planted the trees:planting the trees
found a magazine:founded a magazine:founding a magazine
submit the report:submitted the report:submitting the report
cancel the lease:cancelled the lease:cancelling the lease
serve in the navy:served in the navy:serving in the navy
run the marathon:ran the marathon:running the marathon
record an album:recorded an album:recording an album
lose the keys:lost the keys:losing the keys
teach {f}:taught {f}:teaching {f}
fly to {p}:flew to {p}:flying to {p}
inspect the bridge:inspected the bridge:inspecting the bridge
pay the fine:paid the fine:paying the fine
publish the results:published the results:publishing the results
resign from the board:resigned from the board:resigning from the board
renew the passport:renewed the passport:renewing the passport"""
_STEPS = """preheat the oven:melt the butter:sift the flour:whisk the eggs:grease the tin:line the tray:
chop the onions:rinse the rice:drain the beans:toast the seeds:stop the service:back up the database:
apply the migration:restart the workers:clear the cache:rotate the keys:tag the release:build the image:
run the tests:push the branch:update the changelog:notify the team:open the valve:drain the tank:
check the pressure:replace the filter:tighten the bolts:reset the alarm:sign the form:scan the badge:
weigh the sample:label the tube:spin the centrifuge:record the reading:wash the hands:calibrate the scale:
prime the pump:disable the alerts:verify the backup:switch the traffic:remove the cover:lift the tray""".replace(
    "\n", ""
).split(":")
_CLAIMS = """{x} {a} before {b_ing}|{x} {b} after {a_ing}|before {b_ing}, {x} {a}|after {a_ing}, {x} {b}|
{x} first {a} and then {b}|{x} {a}, and only later {b}|{x} {b} only after {a_ing}|
when {x} {b}, {x} had already {a_done}|{x} {a} earlier than {x} {b}|{a_Ing} came before {b_ing} for {x}""".replace(
    "\n", ""
).split("|")
_TOLD = (
    """{x} {a}. Then {x} {b}.|{x} first {a}. Later, {x} {b}.|{x} {a}; afterwards {x} {b}.|After {a_ing},
 {x} {b}.|Before {b_ing}, {x} {a}.|{x} {b} after {a_ing}.|{x} {a} before {b_ing}.|Once {x} had {a_done}, {x}
 {b}.|{x} {b}, having {a_done} first.|In {y1}, {x} {a}. In {y2}, {x} {b}.|{x} {b} in {y2}. {x} {a} in {y1}.|
By the time {x} {b} in {y2}, {x} had {a_done}.|{x} {a} ({y1}) and {b} ({y2}).|{y1}: {x} {a}\n{y2}: {x} {b}|
{x} {b} in {y2}, some years after {a_ing}.|Years before {b_ing}, {x} {a}.""".replace("\n ", " ")
    .replace("|\n", "|")
    .split("|")
)
_DONE = {"wrote": "written", "broke": "broken", "ran": "run", "flew": "flown"}
_EXTRA = """{x} also {c}.|At some point {x} {c} as well.|{x} liked to talk about it.|The family stayed in
 {p}.|It was a busy time for {x}.|{x}'s sister {c} too.|Nobody in {p} noticed.""".replace(
    "\n", ""
).split("|")


def narratives(world: World) -> Iterator[Trio]:
    """Yield two events told in order, in the other order, and with one of them missing."""
    x = lexicon.person(world)
    a, b, c = acts(world)
    claim = _tell(world.pick(_CLAIMS), x, a, b, ("", ""))
    years = sorted(world.rng.sample(range(1950, 2024), 2))
    dates = (str(years[0]), str(years[1]))
    told = world.pick(_TOLD)
    extra = world.rng.choice(("", "", world.pick(_EXTRA).format(x=x, c=c.split(":")[1], p="town")))
    lacking = _tell(told, x, *world.rng.choice(((a, c), (c, b))), dates)
    texts = (_tell(told, x, a, b, dates), _tell(told, x, b, a, dates), lacking)
    place = world.chance(0.5)
    yield Trio(sentence(claim), *(_join(text, extra, first=place) for text in texts))


def acts(world: World) -> list[str]:
    """Return three acts, each as `infinitive:past:gerund`."""
    place, field = lexicon.place(world), world.pick(lexicon.FIELDS)
    return [act.format(p=place, f=field) for act in world.several(_ACTS.splitlines(), 3)]


def _tell(form: str, x: str, a: str, b: str, years: tuple[str, str]) -> str:
    (_, a_past, a_ing), (_, b_past, b_ing) = a.split(":"), b.split(":")
    first, _, rest = a_past.partition(" ")
    return form.format(
        x=x, a=a_past, b=b_past, a_ing=a_ing, b_ing=b_ing, a_Ing=capital(a_ing),
        a_done=f"{_DONE.get(first, first)} {rest}", y1=years[0], y2=years[1],
    )  # fmt: skip


def _join(text: str, extra: str, *, first: bool) -> str:
    return " ".join(part for part in ((extra, text) if first else (text, extra)) if part)


_STEP_CLAIMS = """{a} before you {b}|{b} only after you {a}|first {a}, later {b}|you should {a} before you {b}|
the step "{a}" comes before "{b}"|"{b}" follows "{a}"|the instructions say to {a} before the step "{b}"|
you have to {a} earlier than you {b}|it is not until you {a} that you {b}""".replace(
    "\n", ""
).split("|")
_TITLES = (
    "Steps",
    "Procedure",
    "Checklist",
    "How to",
    "Runbook",
    "Instructions",
    "Recipe",
    "Order of work",
)


def steps(world: World) -> Iterator[Trio]:
    """Yield a list of steps; the claim is on the order of two of them."""
    chosen = world.several(_STEPS, world.rng.randint(3, 6))
    i, j = sorted(world.rng.sample(range(len(chosen)), 2))
    a, b = chosen[i], chosen[j]
    swapped = [b if s == a else a if s == b else s for s in chosen]
    spare = world.other(_STEPS, *chosen)
    lacking = [spare if s == world.rng.choice((a, b)) else s for s in chosen]
    lacking = [spare if s == a else s for s in chosen] if lacking == chosen else lacking
    shape = _layout(world)
    claim = sentence(world.pick(_STEP_CLAIMS).format(a=a, b=b))
    yield Trio(claim, shape(chosen), shape(swapped), shape(lacking))


def _layout(world: World) -> Callable[[Sequence[str]], str]:
    title = world.rng.choice(
        ("", f"{world.rng.choice(_TITLES)}:\n", f"## {world.rng.choice(_TITLES)}\n\n")
    )
    joint = world.rng.choice((", then ", ", and after that ", "; next, "))
    forms: tuple[Callable[[Sequence[str]], str], ...] = (
        lambda s: title + "\n".join(f"{i}. {capital(x)}" for i, x in enumerate(s, 1)),
        lambda s: title + "\n".join(f"Step {i}: {x}" for i, x in enumerate(s, 1)),
        lambda s: title + "\n".join(f"- [ ] {x}" for x in s),
        lambda s: sentence(f"first {s[0]}, then {joint.join(s[1:])}"),
        lambda s: " ".join(sentence(f"{w} {x}") for w, x in zip(_words(len(s)), s, strict=True)),
        lambda s: sentence(joint.join(s)),
    )
    return world.rng.choice(forms)


def _words(count: int) -> list[str]:
    return ["first,", *["then"] * (count - 2), "finally,"] if count > 1 else ["first,"]


_LOGGED = """connection opened|cache warmed|migration applied|config reloaded|worker started|index rebuilt|
backup finished|token refreshed|health check failed|health check passed|request timed out|queue drained|
leader elected|replica promoted|disk full|certificate renewed|rollback started|deploy finished|user logged in|
session expired|alert fired|alert resolved|job enqueued|job cancelled|snapshot taken|node joined|node left|
payment authorised|order shipped|scan completed""".replace("\n", "").split("|")
_LOG_CLAIMS = """"{a}" was logged before "{b}"|"{b}" appears after "{a}"|the log shows {a} and later {b}|
{a} preceded {b}|{b} came after {a}|"{a}" happened earlier than "{b}"|by the time of "{b}", "{a}" had been logged|
{a} was the earlier event, {b} the later one""".replace("\n", "").split("|")


def logs(world: World) -> Iterator[Trio]:
    """Yield a log with times; the lines are not always in the order of time."""
    chosen = world.several(_LOGGED, world.rng.randint(2, 5))
    i, j = sorted(world.rng.sample(range(len(chosen)), 2))
    a, b = chosen[i], chosen[j]
    swapped = [b if s == a else a if s == b else s for s in chosen]
    spare = world.other(_LOGGED, *chosen)
    lacking = [spare if s == (a if world.rng.random() < 0.5 else b) else s for s in chosen]
    lacking = lacking if not {a, b} <= set(lacking) else [spare if s == b else s for s in chosen]
    shape = _log(world, len(chosen))
    yield Trio(
        sentence(world.pick(_LOG_CLAIMS).format(a=a, b=b)),
        shape(chosen), shape(swapped), shape(lacking),
    )  # fmt: skip


def _log(world: World, count: int) -> Callable[[Sequence[str]], str]:
    start, day = (
        world.rng.randint(0, 80000),
        f"2024-{world.rng.randint(1, 12):02}-{world.rng.randint(1, 28):02}",
    )
    times = [start + gap for gap in sorted(world.rng.sample(range(1, 5000), count))]
    level = world.rng.choice(
        (" INFO", " [main]", "", " INFO " + world.pick(lexicon.SERVICES) + ":")
    )
    form = world.rng.choice(
        ("{d} {t}{l} {e}", "[{t}]{l} {e}", "{d}T{t}Z{l} {e}", "{t} - {e}", "{e} (at {t})")
    )
    order = list(range(count))
    if world.chance(0.3):
        world.rng.shuffle(order)
    return lambda events: "\n".join(
        form.format(d=day, t=_clock(times[i]), l=level, e=events[i]) for i in order
    )


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


_CHANGES = """{n} export|dark mode|{n} search|rate limits|single sign-on|{n} filters|audit log|CSV import|
retry policy|offline mode|two-factor login|{n} templates|webhook signatures|bulk {n} editing""".replace(
    "\n", ""
).split("|")
_RELEASED = """{a} was added before {b}|{a} came in an earlier release than {b}|{b} was introduced after {a}|
{a} is older than {b}|when {b} arrived, {a} was already there|{a} first shipped before {b}""".replace(
    "\n", ""
).split("|")


def changelogs(world: World) -> Iterator[Trio]:
    """Yield a changelog, newest first or last."""
    noun = world.pick(lexicon.NOUNS)
    a, b, c, d = (text.format(n=noun) for text in world.several(_CHANGES, 4))
    major, minor = world.rng.randint(0, 9), world.rng.randint(0, 8)
    newest = world.chance(0.7)
    form = world.rng.choice(
        ("## {v}\n- Added {e}", "v{v}: {e} added", "### [{v}]\n* New: {e}", "{v} - adds {e}")
    )

    def shape(features: Sequence[str]) -> str:
        lines = [form.format(v=f"{major}.{minor + i}.0", e=e) for i, e in enumerate(features)]
        return "\n".join(reversed(lines) if newest else lines)

    claim = sentence(world.pick(_RELEASED).format(a=a, b=b))
    yield Trio(
        claim,
        shape((a, d, b)),
        shape((b, d, a)),
        shape((a, d, c) if world.chance(0.5) else (d, b, c)),
    )
