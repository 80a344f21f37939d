"""Values end up in logs and tracebacks; their `repr` holds no text of an answer or a source."""

from __future__ import annotations

import dataclasses
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module

import pytest

import veridical
from veridical.core.measurements import Generated, Query, TextRequest
from veridical.core.types import Source
from veridical.pipeline.claims import extract_claims
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Case, Verifier

# What fields that hold text are called, wherever they are.
TEXTS = frozenset(
    {"text", "texts", "answer", "question", "claim", "context", "whole", "weaker", "read_as"}
    | {"quote", "evidence", "prose", "content", "lead_in", "masked", "words", "rest", "system"}
    | {"user", "fact", "goal", "prompt", "guidance", "entity", "relation", "others"}
)
# Fields of these names that hold none: a figure, a function.
NO_TEXTS = frozenset({"BitsBar.text", "FakeTextModel.answer"})
ANSWER = (
    "Zebras are black [S1], but they have two tails [S9]. Some zebras have wings and eat zebrawood."
)
SOURCES = {"S1": "Zebras are black and white. All zebras have one tail.", "S2": "The zebra is big."}


def classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(veridical.__path__, "veridical."):
        if "__main__" in module.name or ".migrations" in module.name:
            continue
        home = import_module(module.name)
        for value in vars(home).values():
            if isinstance(value, type) and value.__module__ == home.__name__:
                yield value


def is_text(kind: object) -> bool:
    return any(word in str(kind) for word in ("str", "Source", "Any"))


def test_no_value_shows_a_text_in_its_repr() -> None:
    shown = [
        f"{one.__name__}.{field.name}"
        for one in classes()
        if dataclasses.is_dataclass(one) and one.__dataclass_params__.repr  # type: ignore[attr-defined]
        for field in dataclasses.fields(one)
        if field.repr and field.name in TEXTS and is_text(field.type)
    ]
    assert sorted(set(shown) - NO_TEXTS) == []


def values(root: object) -> Iterator[object]:
    """Yield a value and all that it is made of."""
    yield root
    if dataclasses.is_dataclass(root):
        for field in dataclasses.fields(root):
            yield from values(getattr(root, field.name))
    elif isinstance(root, Mapping):
        yield from (each for value in root.values() for each in values(value))
    elif isinstance(root, list | tuple):
        yield from (each for value in root for each in values(value))


@pytest.mark.anyio
async def test_the_values_of_a_check_show_no_text() -> None:
    async with Verifier(FakeBackend(lambda _: fake_estimate(0.2))) as verifier:
        report = await verifier.check(ANSWER, SOURCES, "What is a zebra?")
        verdict = await verifier.verify("All zebras fly. A zebra runs.", SOURCES)
    made = [
        *(report, verdict, extract_claims(ANSWER, ("S1",)), Case(ANSWER, SOURCES, "a zebra?")),
        *(Source("S1", "A zebra."), Query("zebra", "zebra", "zebra", "zebra")),
        *(TextRequest("zebra", "zebra"), Generated("zebra", "m")),
    ]
    found = [each for one in made for each in values(one) if dataclasses.is_dataclass(each)]
    assert len({type(each) for each in found}) > 12
    assert not [type(each) for each in found if "zebra" in repr(each).lower()]
