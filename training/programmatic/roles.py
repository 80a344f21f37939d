"""Who did what to whom: the same words with the roles swapped, in the active and the passive."""

# ruff: noqa: E501 -- a template is one line, a list of words one paragraph

from __future__ import annotations

from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from programmatic.base import World

# Each line is one fact told in several ways; `|` separates them, {a} and {b} are the parties.
PEOPLE = """{a} taught {b}|{b} was taught by {a}|{b} was a student of {a}|{a} was {b}'s teacher
{a} emailed {b}|{b} received an email from {a}|{b} was emailed by {a}|{a} sent {b} an email
{a} is taller than {b}|{b} is shorter than {a}|{b} is not as tall as {a}
{a} is older than {b}|{b} is younger than {a}|{a} was born before {b}|{b} was born after {a}
{a} hired {b}|{b} was hired by {a}|{b} got a job from {a}|{a} gave {b} a job
{a} reports to {b}|{b} is {a}'s manager|{b} manages {a}|{a} works under {b}
{a} interviewed {b}|{b} was interviewed by {a}|{b} gave {a} an interview
{a} lent money to {b}|{b} borrowed money from {a}|{b} owes {a} money
{a} reviewed {b}'s code|{b}'s code was reviewed by {a}|{a} did the code review for {b}
{a} accused {b} of fraud|{b} was accused of fraud by {a}|{a} says that {b} committed fraud
{a} defeated {b} in the final|{b} lost the final to {a}|{b} was beaten in the final by {a}
{a} succeeded {b} as mayor|{b} was followed as mayor by {a}|{b} was mayor before {a}
{a} is the parent of {b}|{b} is {a}'s child|{b} has {a} as a parent
{a} introduced {b} to the board|{b} was introduced to the board by {a}|the board met {b} through {a}
{a} trained {b} on the new machine|{b} was trained by {a} on the new machine
{a} sold a house to {b}|{b} bought a house from {a}|{a} was the seller of {b}'s house
{a} invited {b} to the wedding|{b} was invited to the wedding by {a}|{b} got an invitation from {a}
{a} nominated {b} for the prize|{b} was nominated for the prize by {a}|{b}'s nominator was {a}
{a} painted a portrait of {b}|{b} was painted by {a}|{b} sat for a portrait by {a}
{a} warned {b} about the delay|{b} was warned about the delay by {a}|{b} heard of the delay from {a}
{a} earns more than {b}|{b} earns less than {a}|{b} is paid less than {a}
{a} voted against {b}'s motion|{b}'s motion was opposed by {a}|{b} did not get {a}'s vote
{a} arrived before {b}|{b} arrived after {a}|{b} came later than {a}
{a} outscored {b}|{b} scored fewer points than {a}|{a} scored more points than {b}
{a} forgave {b}|{b} was forgiven by {a}|{b} had the forgiveness of {a}
{a} treated {b} at the clinic|{b} was treated by {a} at the clinic|{b} was {a}'s patient
{a} paid {b} for the repair|{b} was paid by {a} for the repair|{b} got {a}'s money for the repair
{a} passed the ball to {b}|{b} got the ball from {a}|{b} received {a}'s pass
{a} thanked {b}|{b} was thanked by {a}|{b} received thanks from {a}
{a} rescued {b}|{b} was rescued by {a}|{b} owes the rescue to {a}
{a} translated {b}'s novel|{b}'s novel was translated by {a}|{a} is the translator of {b}'s novel
{a} phoned {b}|{b} was phoned by {a}|{b} got a call from {a}|{a} gave {b} a call"""
COMPANIES = """{a} acquired {b}|{b} was acquired by {a}|{a} took over {b}|{b} now belongs to {a}
{a} sued {b}|{b} was sued by {a}|{a} took {b} to court|{a} is the plaintiff against {b}
{a} supplies {b} with parts|{b} buys its parts from {a}|{b} is supplied with parts by {a}
{a} licensed its patents to {b}|{b} holds a licence for {a}'s patents|{b} uses patents of {a}
{a} invested in {b}|{b} received an investment from {a}|{b} took {a}'s money
{a} is a subsidiary of {b}|{b} is the parent company of {a}|{b} owns {a}
{a} has more employees than {b}|{b} has fewer employees than {a}|{b} is smaller than {a} by headcount
{a} outsold {b} last year|{b} sold less than {a} last year|{b} was outsold by {a} last year
{a} rejected an offer from {b}|{b}'s offer was rejected by {a}|{a} turned {b} down
{a} audits {b}|{b} is audited by {a}|{b} has {a} as its auditor
{a} leases its warehouse from {b}|{b} leases a warehouse to {a}|{a} is {b}'s tenant
{a} was founded before {b}|{b} was founded after {a}|{b} is the younger company next to {a}
{a} copied a design of {b}|{b}'s design was copied by {a}|{b} had its design copied by {a}
{a} overtook {b} in market share|{b} was overtaken by {a}|{b} now has a smaller share than {a}
{a} hosts the servers of {b}|{b}'s servers are hosted by {a}|{b} keeps its servers at {a}
{a} owes {b} two million|{b} is owed two million by {a}|{b} is a creditor of {a}"""
TEAMS = """{a} beat {b}|{b} lost to {a}|{b} were beaten by {a}|{a} won against {b}
{a} finished above {b}|{b} finished below {a}|{b} ended the season behind {a}
{a} signed a striker from {b}|{b} sold a striker to {a}|a striker moved from {b} to {a}
{a} knocked {b} out of the cup|{b} were eliminated from the cup by {a}
{a} hosted {b}|{b} played away at {a}|{b} were the visitors at {a}
{a} scored first against {b}|{b} conceded the first goal to {a}"""
FUNCTIONS = """`{a}` calls `{b}`|`{b}` is called by `{a}`|`{b}` is invoked from `{a}`|`{a}` invokes `{b}`
`{a}` runs before `{b}`|`{b}` runs after `{a}`|`{b}` is executed later than `{a}`
`{a}` depends on `{b}`|`{b}` is a dependency of `{a}`|`{a}` needs `{b}`
`{a}` replaces the deprecated `{b}`|`{b}` is deprecated in favour of `{a}`|use `{a}` instead of `{b}`
`{a}` wraps `{b}`|`{b}` is wrapped by `{a}`|`{a}` is a wrapper around `{b}`
`{a}` inherits from `{b}`|`{b}` is the base of `{a}`|`{a}` is derived from `{b}`
`{a}` is faster than `{b}`|`{b}` is slower than `{a}`|`{b}` takes longer than `{a}`
`{a}` reads what `{b}` writes|`{b}` writes what `{a}` reads
`{a}` overrides `{b}`|`{b}` is overridden by `{a}`
`{a}` imports `{b}`|`{b}` is imported by `{a}`"""
PLACES = """{a} lies north of {b}|{b} lies south of {a}|{b} is to the south of {a}
{a} has more inhabitants than {b}|{b} has fewer inhabitants than {a}|{b} is less populous than {a}
{a} exports grain to {b}|{b} imports grain from {a}|{b} buys grain from {a}
{a} is warmer than {b}|{b} is colder than {a}|{b} is not as warm as {a}
the train runs from {a} to {b}|the train starts in {a} and ends in {b}|{b} is reached by train from {a}
{a} is upstream of {b}|{b} is downstream of {a}
{a} is more expensive than {b}|{b} is cheaper than {a}|living in {b} costs less than in {a}
{a} surrendered to {b}|{b} accepted the surrender of {a}|{b} forced {a} to surrender"""
_SCENES: tuple[tuple[str, Callable[[World], str]], ...] = (
    (PEOPLE, lexicon.person), (PEOPLE, lexicon.person), (PEOPLE, lexicon.person),
    (COMPANIES, lexicon.organisation), (COMPANIES, lexicon.organisation), (TEAMS, lexicon.team),
    (FUNCTIONS, lexicon.function), (PLACES, lexicon.place),
)  # fmt: skip
_TIMES = ("in {y}", "last week", "on {d}", "two years ago", "in {m}", "")
_LEADS = ("{t}, {f}", "{f} {t}", "{f} {t}", "according to the notes, {f}", "it is known that {f}",
          "{f}, as reported {t}", "the record shows that {f}")  # fmt: skip
_ASIDES = """{a} was not available for comment|{b} has been in the news before|both {a} and {b} declined to
say more|neither {a} nor {b} was surprised|the matter had been discussed for months|{a} and {b} have known
each other for years|more details are expected soon|{b} was mentioned twice in the report|{a} published a
short statement|a spokesperson gave no reason|few people had expected it|{a} and {b} met again in spring|
the local paper wrote about {a}|a friend of {b} confirmed the date|{a} has a long history""".replace(
    "\n", " "
).split("|")


def role_swaps(world: World) -> Iterator[Trio]:
    """Yield a directed fact with the two parties as they are, swapped, and without the fact."""
    lines, make = world.rng.choice(_SCENES)
    table = lines.splitlines()
    told = world.pick(table).split("|")
    a, b, c = lexicon.distinct(world, make, 3)
    claim = _fill(world.rng.choice(told), a, b)
    plain = [form for form in told if _fill(form, a, b) != claim] or told
    form = world.rng.choice(told) if world.chance(0.25) else world.rng.choice(plain)
    frame = _frame(world)
    lacking = _lacking(world, (a, b, c), told, table)
    yield Trio(
        sentence(claim),
        _passage(world, frame(_fill(form, a, b)), a, b),
        _passage(world, frame(_fill(form, b, a)), a, b),
        lacking,
    )


def _fill(form: str, a: str, b: str) -> str:
    return form.format(a=a, b=b)


def _frame(world: World) -> Callable[[str], str]:
    """Return how a fact is told: the same way for both directions."""
    lead = world.pick(_LEADS) if world.chance(0.4) else "{f}"
    time = world.rng.choice(_TIMES).format(
        y=lexicon.year(world), d=lexicon.date(world), m=world.rng.choice(lexicon.MONTHS)
    )
    # A time behind a present tense would read badly: it goes before, or nowhere.
    return lambda fact: sentence(lead.format(f=fact, t=time or "recently").strip())


def _lacking(world: World, names: Sequence[str], told: Sequence[str], table: Sequence[str]) -> str:
    """Return text on both parties without the fact: asides, another fact, another party."""
    a, b, c = names
    other = world.rng.choice([line for line in table if line.split("|") != list(told)]).split("|")
    facts = [
        _fill(world.rng.choice(told), a, c), _fill(world.rng.choice(told), c, b),
        _fill(world.rng.choice(told), c, a),
    ]  # fmt: skip
    # "A is taller than C, C is taller than B" would tell the claim: one strange party at a time.
    fact = world.rng.choice(facts)
    strange = [sentence(fact)] if world.chance(0.7) else []
    if world.chance(0.4) and world.rng.random() < 0.5:
        strange.append(sentence(_fill(world.rng.choice(other), a, b)))
    return _passage(world, " ".join(strange), a, b, least=0 if strange else 1)


def _passage(world: World, fact: str, a: str, b: str, least: int = 0) -> str:
    if a.replace("_", "").isalnum() and a[0].islower():
        return fact or f"The docstrings of `{a}` and `{b}` are missing."
    asides = world.several(_ASIDES, world.rng.choice((least, least, 1, 2, 3)))
    told = [sentence(_fill(aside, a, b)) for aside in asides]
    place = world.rng.randint(0, len(told))
    joint = world.rng.choice((" ", " ", " ", "\n", "\n- "))
    return joint.join(part for part in [*told[:place], fact, *told[place:]] if part)
