"""Fuzzing of all text stages: a bounded share of it, and every input that failed once."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")
pytest.importorskip("fastapi")

from hypothesis import HealthCheck, given, settings

from _fuzz_targets import CORPUS, TARGETS, FuzzTarget

pytestmark = pytest.mark.slow

by_name = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@by_name
def test_any_text_is_refused_by_name_or_its_result_is_right(target: FuzzTarget) -> None:
    given(target.inputs)(
        settings(max_examples=target.examples, suppress_health_check=list(HealthCheck))(
            target.check
        )
    )()


@by_name
def test_what_failed_once_is_right(target: FuzzTarget) -> None:
    for text in target.replayed():
        target.check(text)


def test_every_file_of_the_corpus_belongs_to_a_target() -> None:
    files = {target.corpus for target in TARGETS}
    assert {*CORPUS.glob("*.json")} <= files
