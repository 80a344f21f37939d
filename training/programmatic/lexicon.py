"""Names and things, mostly combined from parts, so that none is met often."""

# ruff: noqa: E501, SIM905 -- a template is one line, a list of words one paragraph

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from programmatic.base import World

FIRST = """Amara Bela Carmen Dmitri Elif Farid Greta Hiro Ines Jonas Kavya Leila Mateo Nadia Omar Priya
Quentin Rosa Samir Tomas Ursula Viktor Wanda Ximena Yusuf Zofia Anders Bianca Chidi Daria Emil Fatima
Gustav Helena Ivan Julia Kwame Lucia Marek Nora Oskar Paula Rafael Sofia Tariq Uma Vera Wilhelm Yara
Zoe Adrian Beatrice Connor Dalia Edgar Freya Gideon Hanna Isaac Jasmine Karl Liam Maya Noel Olga Peter
Rachel Simon Tessa Victor Wendy Alice Brian Claire Daniel Emma Frank Grace Henry Isabel Jack Kate Louis
Maria Nathan Oliver Phoebe Robert Susan Thomas Anna David Ellen George Laura Martin Mei Kofi""".split()
LAST = """Abara Bennett Castillo Dvorak Eriksen Fontaine Garcia Hassan Ito Jensen Kaur Lindqvist Moreau
Novak Okafor Petrov Quinn Rossi Schmidt Tanaka Ueda Varga Weber Xu Yamada Zhang Adeyemi Brandt Cohen
Delgado Ekman Fischer Greene Horvat Ivanov Jakobs Kim Larsen Mbeki Nakamura Osei Patel Ramos Singh
Torres Ulrich Vance Walsh Young Zimmer Ashworth Baker Clarke Dunne Ellis Foster Gallagher Hughes Irving
Jones Keller Lambert Mercer Nolan Oduya Parker Reyes Stone Turner Underwood Vogel Whitaker Nguyen
Hollis Marsh Pruitt Sandoval Thorne Albrecht Bianchi Cross Drake Fournier""".split()
PLACE_HEAD = """Alder Brook Cedar Dun East Fair Glen Harrow Iron King Lang Maple North Oak Port Raven
Salt Thorn West Winter Ash Birch Clear Elm Fox Green Haver Kes Lin Mill Nor Pem Red Silver Strat Wood""".split()
PLACE_TAIL = "bury dale ford gate ham haven hurst ley mere minster mouth port ridge stead ton view ville well wick".split()
CITIES = """Lisbon Oslo Nairobi Osaka Lima Denver Krakow Hanoi Toronto Seville Bergen Accra Boston Zurich
Cairo Montreal Leeds Austin Porto Vienna Jakarta Dublin Tunis Quito Prague Seattle Lyon Hamburg Busan
Adelaide Helsinki Chicago Naples Tallinn Bogota Geneva Cardiff Durban Riga Kyoto Valencia Munich""".split()
COUNTRIES = """Norway Kenya Peru Japan Canada Portugal Vietnam Ghana Chile Estonia Turkey Morocco Ireland
Austria Mexico Thailand Iceland Hungary Egypt Brazil Poland Sweden Indonesia Greece Colombia""".split()
ORG_HEAD = """Acorn Baltic Cobalt Delta Ember Falcon Granite Helix Indigo Juniper Kestrel Lumen Meridian
Nimbus Orchid Pioneer Quartz Ridgeline Solstice Tundra Umbra Vertex Willow Zenith Aurora Beacon Copper
Drift Everline Fjord Harbor Ivory Keystone Lattice Monarch Northwind Opal Prism Summit Trellis""".split()
ORG_TAIL = """Systems Foods Logistics Energy Media Robotics Health Capital Textiles Software Airlines
Motors Pharma Labs Holdings Bank Analytics Mining Studios Telecom Packaging Insurance""".split()
TEAM_TAIL = "Rovers Hawks Tigers United Wolves Comets Bears Pirates Giants Kings Sharks Rangers Athletic Saints Falcons".split()
FIELDS = """chemistry physics history medicine economics law linguistics botany geology mathematics
philosophy architecture astronomy sociology journalism engineering""".split()
JOBS = """architect painter surgeon novelist violinist engineer historian photographer composer judge
teacher chemist sculptor politician economist biologist journalist pilot poet economist""".split()
PRODUCTS = """tablet kettle printer router scooter camera drill blender speaker monitor thermostat vacuum
keyboard projector backpack helmet heater watch drone mixer charger lamp microphone scanner""".split()
ANIMALS = "otter heron lynx badger falcon dolphin gecko beaver tortoise fox crane salmon wolf owl hare".split()
FRUITS = "apples pears cherries oranges plums lemons melons grapes peaches figs mangoes apricots limes".split()
MONTHS = """January February March April May June July August September October November December""".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
COLOURS = "red blue green yellow black white orange purple grey brown silver pink".split()
NOUNS = """account address alert archive asset batch billing budget cache cart catalog channel claim client
contact coupon cursor customer device digest draft event export feature feed folder gateway group import
index inventory invoice item job label ledger link log lookup member message metric model node note order
page parcel partner payment plan policy price profile queue quote rate receipt record refund region
report request role route rule sample schedule score segment sensor session shipment signal snapshot
stock stream subscription summary tag task template tenant thread ticket token topic trace user vendor
visitor voucher wallet webhook worker""".split()
VERBS = """apply archive build cancel check clean close collect compute convert copy count create decode
delete dispatch download encode export fetch filter find flush format handle import insert join load
lock merge migrate normalize notify open parse publish push read refresh register release remove render
replace reset resolve restore retry save scan schedule search send sort split start stop store submit
sync track train transform trim update upload validate verify wrap write""".split()
SERVICES = """api web worker auth cache db search mailer billing gateway proxy scheduler metrics frontend
backend ingest storage notifier registry queue crawler reports""".split()


def person(world: World) -> str:
    """Return a full name."""
    return f"{world.pick(FIRST)} {world.pick(LAST)}"


def people(world: World, count: int) -> list[str]:
    """Return full names that share no part."""
    firsts, lasts = world.several(FIRST, count), world.several(LAST, count)
    short = world.chance(0.3)
    return [a if short else f"{a} {b}" for a, b in zip(firsts, lasts, strict=True)]


def place(world: World) -> str:
    """Return a town, real or made up."""
    if world.chance(0.4):
        return world.pick(CITIES)
    return world.pick(PLACE_HEAD) + world.pick(PLACE_TAIL)


def organisation(world: World) -> str:
    """Return a company's name."""
    return f"{world.pick(ORG_HEAD)} {world.pick(ORG_TAIL)}"


def team(world: World) -> str:
    """Return a team's name."""
    return f"{place(world)} {world.pick(TEAM_TAIL)}"


def function(world: World) -> str:
    """Return the name of a function."""
    verb, noun = world.pick(VERBS), world.pick(NOUNS)
    return f"{verb}_{noun}" if world.chance(0.75) else f"{verb}{noun.capitalize()}"


def variable(world: World) -> str:
    """Return the name of a variable or a field."""
    return f"{world.pick(NOUNS)}_{world.pick(('id', 'count', 'name', 'total', 'limit', 'size'))}"


def year(world: World) -> str:
    """Return a year."""
    return str(world.rng.randint(1890, 2024))


def date(world: World) -> str:
    """Return a date in one of a few spellings."""
    month, day = world.rng.choice(MONTHS), world.rng.randint(1, 28)
    number = MONTHS.index(month) + 1
    of = year(world)
    forms = (f"{month} {day}, {of}", f"{day} {month} {of}", f"{of}-{number:02}-{day:02}")
    return world.rng.choice(forms)


def distinct(world: World, make: object, count: int) -> list[str]:
    """Return different values of a maker."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[make(world)] = None  # type: ignore[operator]
    return list(found)
