import pint
import pytest

from veridical.core.units import UNITS, per, unit_named

BASE = {
    "length": "meter",
    "area": "meter**2",
    "volume": "meter**3",
    "mass": "kilogram",
    "power": "watt",
    "energy": "joule",
    "voltage": "volt",
    "frequency": "hertz",
    "pressure": "pascal",
    "speed": "meter/second",
    "temperature": "kelvin",
    "amount": "mole",
}
ASK_PINT = {
    name: name.replace("µ", "u").replace("μ", "u")
    for name, unit in UNITS.items()
    if unit.dimension in BASE and name.isalpha() and len(name) > 1
}
OTHER_IN_PINT = {"sqm", "sqft", "hp", "kmh", "kn", "ha", "cal", "mi", "atm", "kms", "mol", "kgs", "gm", "mcg", "cc", "gal", "horsepower", "gramme", "grammes", "kilo", "kilos", "kilogramme", "kilogrammes"}  # fmt: skip # noqa: E501
_pint = pint.UnitRegistry()


@pytest.mark.parametrize("name", sorted(set(ASK_PINT) - OTHER_IN_PINT))
def test_a_unit_has_the_size_that_pint_gives_it(name: str) -> None:
    unit = UNITS[name]
    found = _pint.Quantity(1, ASK_PINT[name]).to(BASE[unit.dimension]).magnitude
    if unit.dimension == "temperature":
        assert float(unit.factors[0] + unit.offset) == pytest.approx(found)
    else:
        assert any(float(factor) == pytest.approx(found, rel=1e-5) for factor in unit.factors)


def test_a_gigabyte_has_two_sizes_and_a_gibibyte_one() -> None:
    assert UNITS["GB"].factors == (1000**3, 1024**3)
    assert UNITS["GiB"].factors == (1024**3,)


def test_short_names_keep_their_case() -> None:
    assert unit_named("mW") != unit_named("MW")
    assert unit_named("Metres") == unit_named("metre")
    assert unit_named("xyz") is None


def test_kilometres_per_hour_are_a_speed() -> None:
    speed = per(UNITS["km"], UNITS["hour"])
    assert (speed.dimension, speed.factors[0] * 36) == ("speed", 10)
