"""Units of measure and currencies: their dimension, and their factors to the canonical unit.

A unit with several sizes has them all: a gigabyte is 10⁹ or 2³⁰ bytes, a gallon may be British.
Factors are exact, from the SI brochure (9th edition) and NIST Handbook 44; tests hold them against
the library pint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: `dimension`, `factors` to its canonical unit, and an offset to add afterwards.

    `kinds` are the currencies it may be of, for money; the calendar or the clock, for durations.
    """

    dimension: str
    factors: tuple[Fraction, ...]
    offset: Fraction = Fraction(0)
    kinds: frozenset[str] = field(default_factory=frozenset)


_SI = {"n": "1e-9", "µ": "1e-6", "m": "1e-3", "c": "1e-2", "d": "1e-1", "": "1", "h": "100"}
_SI |= {"k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15"}

# dimension: names = factor | factor, or names of one letter with the prefixes they take
_TABLE = """
length       | metre meter metres meters = 1
length       | kilometre kilometer kilometres kilometers kms = 1000
length       | centimetre centimeter centimetres centimeters = 0.01
length       | millimetre millimeter millimetres millimeters = 0.001
length       | micrometre micrometer micrometres micrometers micron microns = 0.000001
length       | nanometre nanometer nanometres nanometers = 0.000000001
length       | inch inches = 0.0254
length       | foot feet ft = 0.3048
length       | yard yards yd = 0.9144
length       | mile miles mi = 1609.344
length       | nmi nautical_mile nautical_miles = 1852
area         | hectare hectares ha = 10000
area         | acre acres = 4046.8564224
area         | sq_m sqm = 1
area         | sq_ft sqft = 0.09290304
volume       | litre liter litres liters = 0.001
volume       | millilitre milliliter millilitres milliliters cc = 0.000001
volume       | centilitre centiliter centilitres centiliters = 0.00001
volume       | decilitre deciliter decilitres deciliters = 0.0001
volume       | gallon gallons gal = 0.003785411784 0.00454609
volume       | pint pints = 0.000473176473 0.00056826125
mass         | gram grams gramme grammes gm = 0.001
mass         | kilogram kilograms kilogramme kilogrammes kilo kilos kgs = 1
mass         | milligram milligrams = 0.000001
mass         | microgram micrograms mcg ug = 0.000000001
mass         | tonne tonnes metric_ton metric_tons metric_tonnes = 1000
mass         | ton tons = 1000 907.18474 1016.0469088
mass         | pound pounds lb lbs = 0.45359237
mass         | ounce ounces oz = 0.028349523125
power        | watt watts = 1
power        | kilowatt kilowatts = 1000
power        | megawatt megawatts = 1000000
power        | gigawatt gigawatts = 1000000000
power        | horsepower hp = 745.69987158227022 735.49875
energy       | joule joules = 1
energy       | calorie calories cal = 4.184 4184
energy       | kcal kilocalorie kilocalories = 4184
energy       | Wh = 3600
energy       | kWh kilowatt-hour kilowatt-hours kilowatt_hour kilowatt_hours = 3600000
energy       | MWh megawatt-hour megawatt-hours megawatt_hours = 3600000000
energy       | GWh = 3600000000000
energy       | TWh = 3600000000000000
voltage      | volt volts = 1
voltage      | kilovolt kilovolts = 1000
current      | amp amps ampere amperes = 1
current      | milliamp milliamps mAh = 0.001
frequency    | hertz = 1
frequency    | kilohertz = 1000
frequency    | megahertz = 1000000
frequency    | gigahertz = 1000000000
pressure     | pascal pascals = 1
pressure     | bar bars = 100000
pressure     | mbar millibar millibars = 100
pressure     | psi = 6894.757293168
pressure     | mmHg mm_Hg = 133.322387415
pressure     | atm atmosphere atmospheres = 101325
speed        | mph = 0.44704
speed        | kph kmh km/hr = 5/18
speed        | knot knots kn = 463/900
ratio        | % percent per_cent pct = 0.01
ratio        | ‰ per_mille = 0.001
points       | percentage_point percentage_points pp = 1
points       | basis_point basis_points bp bps = 0.01
angle        | degree degrees ° deg = 1
rotation     | rpm = 1
pulse        | bpm = 1
dose         | IU units_of_insulin = 1
loudness     | dB decibel decibels = 1
pixels       | px pixel pixels = 1
amount       | mol mole moles = 1
amount       | mmol millimole millimoles = 0.001
duration     | nanosecond nanoseconds ns = 0.000000001
duration     | microsecond microseconds µs μs us = 0.000001
duration     | millisecond milliseconds ms msec msecs = 0.001
duration     | second seconds sec secs s = 1
duration     | minute minutes min mins = 60
duration     | hour hours hr hrs h = 3600
duration     | day days d = 86400
duration     | week weeks wk wks = 604800
duration     | fortnight fortnights = 1209600
months       | month months mo mos = 1
months       | year years yr yrs = 12
months       | decade decades = 120
months       | century centuries = 1200
times        | times time-fold fold × x = 1
"""

_PREFIXED = """
length m nµmcdk | mass g nµmk | volume l µmcdh | volume L µmcdh | power W mkMG | voltage V mkM
current A µmk | frequency Hz kMGT | pressure Pa hkMG | energy J kMG
"""
_BASES = {"mass": Fraction(1, 1000), "volume": Fraction(1, 1000)}

_BYTES = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_BYTE_WORDS = {"kilo": 1, "mega": 2, "giga": 3, "tera": 4, "peta": 5}

_CURRENCIES = """
$ dollar dollars = USD AUD CAD NZD SGD HKD
US$ USD U.S.$ us_dollar us_dollars american_dollars = USD
A$ AUD australian_dollars = AUD
C$ CA$ CAD canadian_dollars = CAD
NZ$ NZD = NZD
HK$ HKD = HKD
€ EUR euro euros = EUR
£ GBP quid pounds_sterling pound_sterling british_pounds = GBP
¥ yen = JPY CNY
JPY = JPY
CNY RMB yuan renminbi = CNY
₹ INR Rs rupee rupees Rs. = INR
₩ KRW won = KRW
CHF franc francs swiss_francs = CHF
SEK = SEK
NOK = NOK
DKK = DKK
krona kronor krone kroner crowns = SEK NOK DKK
₽ RUB rouble roubles ruble rubles = RUB
zł PLN zloty zlotys = PLN
₿ BTC bitcoin bitcoins = BTC
BRL R$ reais = BRL
ZAR rand = ZAR
MXN peso pesos = MXN
TRY lira liras = TRY
"""
_CENTS = {"cent": "USD AUD CAD NZD SGD HKD EUR", "cents": "USD AUD CAD NZD SGD HKD EUR"}
_CENTS |= {"¢": "USD AUD CAD NZD", "pence": "GBP", "penny": "GBP", "p": "GBP"}


def _exact(written: str) -> Fraction:
    return Fraction(written)


def _tabled() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        dimension, _, rest = line.partition("|")
        names, _, factors = rest.partition(" = ")
        kinds = frozenset(["clock" if dimension.strip() == "duration" else "calendar"])
        dimension = dimension.strip()
        timed = dimension in {"duration", "months"}
        unit = Unit(
            "duration" if timed else dimension,
            tuple(map(_exact, factors.split())),
            kinds=kinds if timed else frozenset(),
        )
        found |= {name.replace("_", " "): unit for name in names.split()}
    return found


def _prefixed() -> dict[str, Unit]:
    found = {}
    for entry in _PREFIXED.replace("\n", "|").split("|"):
        if entry.strip():
            dimension, name, prefixes = entry.split()
            for prefix in ("", *prefixes):
                factor = _exact(_SI[prefix]) * _BASES.get(dimension, 1)
                for written in {prefix, "μ" if prefix == "µ" else prefix}:
                    found[written + name] = Unit(dimension, (factor,))
    return found


def _areas(lengths: dict[str, Unit]) -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for name, unit in lengths.items():
        square = Unit("area", (unit.factors[0] ** 2,))
        cube = Unit("volume", (unit.factors[0] ** 3,))
        found |= {f"{name}²": square, f"{name}2": square, f"square {name}": square}
        found |= {f"sq {name}": square, f"{name}³": cube, f"cubic {name}": cube}
    return found


def _data() -> dict[str, Unit]:
    found = {name: Unit("data", (Fraction(1),)) for name in ("B", "byte", "bytes")}
    found |= {name: Unit("data", (Fraction(1, 8),)) for name in ("bit", "bits")}
    for prefix, power in _BYTES.items():
        both = (Fraction(1000**power), Fraction(1024**power))
        found[f"{prefix}B"] = Unit("data", both)
        found[f"{prefix}iB"] = Unit("data", both[1:])
        bits = tuple(factor / 8 for factor in both)
        found |= {f"{prefix}bit": Unit("data", bits), f"{prefix}b": Unit("data", (*bits, *both))}
        rate = Unit("data/duration", bits)
        found |= {f"{prefix}bps": rate, f"{prefix}bit/s": rate}
    for prefix, power in _BYTE_WORDS.items():
        both = (Fraction(1000**power), Fraction(1024**power))
        found |= {f"{prefix}byte{s}": Unit("data", both) for s in ("", "s")}
        found |= {f"{prefix}bit{s}": Unit("data", tuple(f / 8 for f in both)) for s in ("", "s")}
    return found


def _temperatures() -> dict[str, Unit]:
    celsius = Unit("temperature", (Fraction(1),), Fraction("273.15"))
    fahrenheit = Unit("temperature", (Fraction(5, 9),), Fraction("273.15") - Fraction(160, 9))
    kelvin = Unit("temperature", (Fraction(1),))
    found = dict.fromkeys(("K", "kelvin", "kelvins"), kelvin)
    names = ("°C", "° C", "℃", "degrees C", "degrees Celsius", "degree Celsius", "celsius")
    found |= dict.fromkeys((*names, "degrees celsius", "deg C"), celsius)
    names = ("°F", "° F", "℉", "degrees F", "degrees Fahrenheit", "degree Fahrenheit", "fahrenheit")
    return found | dict.fromkeys((*names, "degrees fahrenheit", "deg F"), fahrenheit)


def _money() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for line in _CURRENCIES.strip().splitlines():
        names, _, kinds = line.partition(" = ")
        unit = Unit("money", (Fraction(1),), kinds=frozenset(kinds.split()))
        found |= {name.replace("_", " "): unit for name in names.split()}
    for name, written in _CENTS.items():
        found[name] = Unit("money", (Fraction(1, 100),), kinds=frozenset(written.split()))
    return found


CURRENCIES = _money()
_TABLED, _WITH_PREFIXES = _tabled(), _prefixed()
_LENGTHS = {n: u for n, u in {**_TABLED, **_WITH_PREFIXES}.items() if u.dimension == "length"}
UNITS: dict[str, Unit] = {
    **_areas(_LENGTHS),
    **_TABLED,
    **_WITH_PREFIXES,
    **_data(),
    **_temperatures(),
    **CURRENCIES,
}
_FOLDED = {name.casefold(): unit for name, unit in reversed(UNITS.items()) if len(name) > 2}  # noqa: PLR2004 -- "MB", "mb" differ
TWO_WORDS = frozenset(name.casefold() for name in UNITS if " " in name)


def unit_named(name: str) -> Unit | None:
    """Return the unit of a name as it is written; longer names in any case."""
    found = UNITS.get(name)
    if found is None and len(name) > 2:  # noqa: PLR2004 -- "MB" and "mb" differ
        found = _FOLDED.get(name.casefold())
    return found


def per(one: Unit, other: Unit) -> Unit:
    """Return the unit of a rate: metres per second, milligrams per decilitre."""
    if one.dimension == "length" and other.dimension == "duration" and "clock" in other.kinds:
        return Unit("speed", tuple(f / g for f in one.factors for g in other.factors))
    factors = tuple(f / g for f in one.factors for g in other.factors)
    calendar = other.kinds if other.dimension == "duration" else frozenset[str]()
    name = f"{one.dimension}/{other.dimension}{''.join(calendar)}"
    return Unit(name, factors, kinds=one.kinds)
