"""Entailments in generated pairs: quantifiers, conditions, facts, swapped names."""

from __future__ import annotations

import importlib
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).resolve().parents[3] / "training"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    monkeypatch.syspath_prepend(str(FOLDER))
    known = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - known:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def trios(load: Callable[[str], Any], name: str, count: int) -> list[Any]:
    base, module = load("programmatic.base"), load(f"programmatic.{name}")
    world = base.World(random.Random(3))  # noqa: S311 -- no secret
    return [trio for _ in range(count) for trio in getattr(module, name)(world)]


@pytest.mark.parametrize(
    ("quantifier", "noun", "verb"),
    [("all", -1, 1), ("no ", -1, -1), ("some {n} {past}", 1, 1), ("not all", 1, -1)],
)
def test_the_square_of_opposition_points_as_in_the_literature(
    load: Callable[[str], Any], quantifier: str, noun: int, verb: int
) -> None:
    found = load("programmatic.monotone")._FORMS
    form = next(form for form in found if form.text.startswith(quantifier))
    assert (form.noun, form.verb) == (noun, verb)


def test_what_supports_a_quantified_claim_is_never_what_leaves_it_open(
    load: Callable[[str], Any],
) -> None:
    for trio in trios(load, "monotone", 2000):
        texts = {trio.supports, trio.contradicts, trio.lacks}
        assert len(texts) == 3
        assert trio.claim not in trio.lacks
        assert not re.search(r"[{}]", " ".join((trio.claim, *texts)))


def test_a_claim_of_all_follows_from_more_of_them_and_not_from_fewer(
    load: Callable[[str], Any],
) -> None:
    monotone = load("programmatic.monotone")
    form, world = monotone._FORMS[0], load("programmatic.base").World(random.Random(0))  # noqa: S311 -- no secret
    for _ in range(50):
        noun, verb = monotone._moved(world, form, (1, 1), monotone.UP)
        assert noun <= 1 <= verb
        assert (noun, verb) != (1, 1)
        noun, verb = monotone._moved(world, form, (1, 1), monotone.DOWN)
        assert noun > 1 or verb < 1


def test_a_conclusion_and_its_fallacy_differ_in_more_than_their_order(
    load: Callable[[str], Any],
) -> None:
    for trio in trios(load, "logic", 500):
        supports, lacks = (sorted(text.split(". ")) for text in (trio.supports, trio.lacks))
        assert supports != lacks


def test_a_directed_fact_and_its_reverse_have_the_same_words(load: Callable[[str], Any]) -> None:
    for trio in trios(load, "relations", 500):
        words = [set(re.findall(r"\w+", t.lower())) for t in (trio.supports, trio.contradicts)]
        assert words[0] == words[1]
        assert trio.supports != trio.contradicts


def test_names_change_places_only_where_the_sentence_does_not_treat_them_alike(
    load: Callable[[str], Any],
) -> None:
    change = load("programmatic.changes").change_places
    rng = random.Random(0)  # noqa: S311 -- no secret
    assert change("Mary Shelley and Jane Austen were writers.", rng, {}) is None
    assert change("Mary Shelley married Percy Bly in London.", rng, {}) is None
    found = change("Anna Novak was painted by Jonas Ito in 1990.", rng, {})
    assert found.text == "Jonas Ito was painted by Anna Novak in 1990."
    assert found.label == "not_supported"


def test_a_plain_number_is_the_same_in_what_supports_it_and_another_in_what_opposes_it(
    load: Callable[[str], Any],
) -> None:
    module = load("programmatic.quantities")
    base = load("programmatic.base")
    world = base.World(random.Random(3))  # noqa: S311 -- no secret
    found = [trio for _ in range(500) for trio in module.plain(world)]
    assert len(found) > 400
    for trio in found:
        claimed, told, opposed = (
            numbers(text, module._WORDS) for text in (trio.claim, trio.supports, trio.contradicts)
        )
        assert claimed == told
        assert claimed != opposed


def numbers(text: str, names: list[str]) -> set[int]:
    """Return the numbers of a text, in words or digits."""
    words = re.findall(r"[\w,]+", text.lower())
    digits = {int(word.replace(",", "")) for word in words if word[0].isdigit()}
    return digits | {names.index(word) for word in words if word in names}
