"""No hostile text moves a verdict of the real embedded verifier (benchmarks/hostile.py)."""

from __future__ import annotations

from functools import partial

import pytest

from _attacks import Kind
from _bases import BASES
from _flips import Found, judged, measure, verified
from veridical import Verifier
from veridical.pipeline.inference.embedded import EmbeddedVerifier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def alone() -> Found:
    return measure(partial(judged, EmbeddedVerifier()))


@pytest.fixture(scope="module")
def whole() -> Found:
    return measure(partial(verified, Verifier(EmbeddedVerifier())), every=3)


def flipped(found: Found, kind: Kind) -> list[str]:
    """Return the names of what flipped, never a text."""
    return [
        f"{flip.attack.name}: {flip.base.name}, {flip.before} to {flip.after}"
        for flip in found.flips
        if flip.attack.kind is kind
    ]


def test_without_an_attack_every_verdict_is_right(alone: Found, whole: Found) -> None:
    assert (alone.right, whole.right) == (len(BASES), len(BASES))


@pytest.mark.parametrize("kind", Kind)
def test_no_attack_flips_the_model(alone: Found, kind: Kind) -> None:
    assert alone.tried[kind] > 0
    assert flipped(alone, kind) == []


@pytest.mark.parametrize("kind", Kind)
def test_no_attack_flips_the_status_of_the_whole_verifier(whole: Found, kind: Kind) -> None:
    assert whole.tried[kind] > 0
    assert flipped(whole, kind) == []
