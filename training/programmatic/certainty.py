"""Whether it happened, how sure it is, for how many it holds: words that change what follows."""

# ruff: noqa: E501, SIM905 -- a template is one line, a list of words one paragraph

from __future__ import annotations

from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, sentence
from programmatic.events import acts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programmatic.base import World

# {i} infinitive, {a} past, {g} gerund.
_DID = """{p} managed to {i}|after {g}, {p} went home|{p} finally {a}|{p} regrets {g}|it was {p} who {a}|{p} remembered to {i}|
{p} was proud of {g}|{p} happened to {i}|everyone knows that {p} {a}|having little time, {p} nevertheless {a}|
{p} did not fail to {i}|{p} admitted {g}|{p} succeeded in {g}|not only {q} but also {p} {a}|{p}, who {a}, was asked about it""".replace(
    "\n", ""
).split("|")
_DID_NOT = """{p} refused to {i}|{p} never got round to {g}|{p} failed to {i}|{p} decided against {g}|{p} forgot to {i}|
{p} had no chance to {i}|{q}, not {p}, {a}|{p} avoided {g}|{p} was kept from {g}|{p} left without {g}|
nobody but {q} {a}; {p} stayed away|{p} would have liked to {i}, but it was too late|{p} neglected to {i}|it is false that {p} {a}|
{p} gave up before {g}""".replace("\n", "").split("|")
_UNKNOWN = """{p} planned to {i}|{p} promised to {i}|{p} thought about {g}|{q} asked {p} to {i}|{p} wanted to {i}|{p} hopes to {i}|
it is not known whether {p} {a}|{q} believes that {p} {a}|{p} was advised to {i}|{p} was supposed to {i}|{p} has the right to {i}|
{p} talked about {g}|{q} doubts that {p} {a}|rumour has it that {p} {a}|if {p} {a}, there is no record of it""".replace(
    "\n", ""
).split("|")
_YES = """{p} {a}|{p} did {i}|it is true that {p} {a}|{p} indeed {a}|in fact, {p} {a}|according to the text, {p} {a}""".split(
    "|"
)
_NO = """{p} did not {i}|{p} never {a}|it is not the case that {p} {a}|{p} did not end up {g}|according to the text, {p} did not {i}""".split(
    "|"
)


def happened(world: World) -> Iterator[Trio]:
    """Yield whether someone did something: done, not done, or only planned."""
    p, q = lexicon.people(world, 2)
    infinitive, past, gerund = acts(world)[0].split(":")
    slots = {"p": p, "q": q, "i": infinitive, "a": past, "g": gerund}
    positive = world.chance(0.6)
    forms = (_YES, _DID, _DID_NOT, _UNKNOWN) if positive else (_NO, _DID_NOT, _DID, _UNKNOWN)
    claim, *texts = (sentence(world.pick(form).format(**slots)) for form in forms)
    yield Trio(claim, *texts)


# Strong form | weak form | denial, with {s} the subject and {r} the result.
_STRENGTHS = """{s} causes {r}|{s} may cause {r}|{s} does not cause {r}
{s} proved to reduce {r}|{s} was suspected to reduce {r}|{s} had no effect on {r}
it is certain that {s} leads to {r}|it is possible that {s} leads to {r}|it is ruled out that {s} leads to {r}
{s} always brings {r}|{s} sometimes brings {r}|{s} never brings {r}
the trial proves that {s} affects {r}|the trial suggests that {s} affects {r}|the trial shows that {s} does not affect {r}
all patients with {s} had {r}|some patients with {s} had {r}|no patient with {s} had {r}
every site with {s} reported {r}|several sites with {s} reported {r}|none of the sites with {s} reported {r}
{s} is the only cause of {r}|{s} is one of the causes of {r}|{s} is not a cause of {r}
{s} will end {r}|{s} could end {r}|{s} will not end {r}
{s} is responsible for {r}|{s} has been linked to {r}|{s} has nothing to do with {r}
doctors are sure that {s} explains {r}|doctors wonder whether {s} explains {r}|doctors exclude that {s} explains {r}
{s} cured {r}|{s} was given against {r}|{s} made {r} worse
{s} prevents {r} in all cases|{s} prevents {r} in many cases|{s} prevents {r} in no case
the board approved {s} because of {r}|the board discussed {s} because of {r}|the board rejected {s} because of {r}
{s} definitely increased {r}|{s} probably increased {r}|{s} definitely left {r} unchanged
most people who chose {s} had {r}|a few people who chose {s} had {r}|nobody who chose {s} had {r}"""
_SUBJECTS = """the new diet|the vaccine|daily walking|the filter|the training|the merger|the toll|night work|the coating|
the surgery|low humidity|the update|the subsidy|screen time|the pesticide|the detergent|the bypass|the fertiliser|loud noise|
the supplement|the programme|early planting|the relocation""".replace("\n", "").split("|")
_RESULTS = """headaches|traffic|lower costs|fatigue|crop loss|delays|skin irritation|better sleep|corrosion|weight loss|errors|
flooding|higher sales|anxiety|leaks|congestion|infections|staff turnover|rust|fever|complaints|shortages|vibration""".replace(
    "\n", ""
).split("|")
# The same three strengths in words that share little.
_CAUSE = """{s} causes {r}|{r} is the result of {s}|there is no doubt that {s} leads to {r}|{s} is behind {r}, beyond question|
it has been proven that {r} comes from {s}|{s} always produces {r}|without exception, {s} was followed by {r}|{s} brings about {r}|
{r} is due to {s}|the cause of {r} is {s}|{s} is to blame for {r}|{s} has been shown to cause {r}""".replace(
    "\n", ""
).split("|")
_MIGHT = """{s} may cause {r}|{r} could be a result of {s}|some suspect that {s} leads to {r}|it is unclear whether {s} causes {r}|
{s} is being studied as a cause of {r}|{s} and {r} tend to occur together|{r} is possibly due to {s}|there are hints that {s} brings about {r}|
in a few cases {s} was followed by {r}|{s} might be behind {r}|whether {r} comes from {s} remains to be seen|{r} has been associated with {s}""".replace(
    "\n", ""
).split("|")
_NOT = """{s} does not cause {r}|{r} has nothing to do with {s}|it was shown that {s} does not lead to {r}|{s} is ruled out as a cause of {r}|
{s} never produces {r}|{r} is not due to {s}|{s} is not to blame for {r}|the idea that {s} causes {r} was refuted|{s} has no effect on {r}|
{r} occurs without {s} just as often, so {s} is not its cause""".replace("\n", "").split("|")
_SURE = (
    "{c}",
    "the notes say that {c}",
    "it says that {c}",
    "as reported, {c}",
    "the source states that {c}",
    "{c}, according to the report",
)


def strength(world: World) -> Iterator[Trio]:
    """Yield a claim as strong as its evidence, or stronger, or denied."""
    if world.chance(0.6):
        yield _caused(world)
        return
    strong, weak, denied = world.pick(_STRENGTHS.splitlines()).split("|")
    slots = {"s": world.pick(_SUBJECTS), "r": world.pick(_RESULTS)}
    frame = world.pick(_SURE) if world.chance(0.4) else "{c}"
    around = world.rng.choice(
        (
            "",
            "",
            f" {sentence(f'the study ran in {lexicon.place(world)}')}",
            f" {sentence(f'{lexicon.person(world)} wrote the summary')}",
        )
    )

    def tell(form: str) -> str:
        return sentence(frame.format(c=form.format(**slots))) + around

    if world.chance(0.7):
        yield Trio(sentence(strong.format(**slots)), tell(strong), tell(denied), tell(weak))
    else:
        other = {"s": slots["s"], "r": world.other(_RESULTS, slots["r"])}
        lacking = sentence(frame.format(c=weak.format(**other))) + around
        yield Trio(sentence(weak.format(**slots)), tell(weak), tell(denied), lacking)


def _caused(world: World) -> Trio:
    """Return a claim on a cause with evidence in other words."""
    slots = {"s": world.pick(_SUBJECTS), "r": world.pick(_RESULTS)}
    forms = (_CAUSE, _CAUSE, _NOT, _MIGHT) if world.chance(0.6) else (_NOT, _NOT, _CAUSE, _MIGHT)
    claim, *texts = (sentence(world.pick(form).format(**slots)) for form in forms)
    return Trio(claim, *texts)
