from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import DocumentError
from veridical.evaluation.answers import LabelledAnswer, parse_answer, read_answers, sampled

Write = Callable[..., Path]


def record(number: int = 1, **changes: object) -> dict[str, Any]:
    return {
        "id": f"a{number}",
        "kind": "faq",
        "sources": [{"id": "S1", "text": "The SECRET lamp is red. It was lit in 1882."}],
        "answer": "The lamp is red. It was lit in 1890.",
        "claims": [
            {"text": "It was lit in 1890.", "label": "contradicted", "error": "quantity"},
            {
                "text": "The lamp is red.",
                "label": "supported",
                "deciding": [{"source": "S1", "text": "The SECRET lamp is red."}],
            },
        ],
        **changes,
    }


def parsed(**changes: object) -> LabelledAnswer:
    return parse_answer(json.dumps(record(**changes)))


def test_claims_are_placed_in_the_answer_and_in_its_order() -> None:
    answer = parsed()
    first, second = answer.claims
    assert first.span.of(answer.answer) == "The lamp is red."
    assert (first.supported, second.supported, second.error) == (True, False, "quantity")
    ((source, span),) = first.deciding
    assert (source, span.of(answer.sources[0].text)) == ("S1", "The SECRET lamp is red.")


def test_an_answer_is_sound_if_every_claim_is() -> None:
    assert not parsed().sound
    assert parsed(claims=[{"text": "The lamp is red.", "label": "supported"}]).sound


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"claims": []}, "claims"),
        ({"claims": [{"text": "Nowhere SECRET.", "label": "supported"}]}, "stands 0 times"),
        ({"claims": [{"text": "lamp", "label": "true"}]}, "claims.0.label"),
        ({"answer": "a a", "claims": [{"text": "a", "label": "supported"}]}, "stands 2 times"),
        ({"sources": [{"id": "S1", "text": "a"}, {"id": "S1", "text": "b"}]}, "sources.1"),
        ({"sources": [{"id": "S1"}]}, "sources.0.text"),
        (
            {
                "claims": [
                    {
                        "text": "The lamp is red.",
                        "label": "supported",
                        "deciding": [{"source": "S2", "text": "SECRET"}],
                    }
                ]
            },
            "claims.0.deciding.0",
        ),
    ],
)
def test_a_malformed_row_is_named_by_key_and_never_by_text(
    write: Write, changes: dict[str, object], problem: str
) -> None:
    path = write("bad.jsonl", record(), record(2, **changes))
    with pytest.raises(DocumentError) as raised:
        read_answers([path])
    assert "bad.jsonl, line 2" in raised.value.message
    assert problem in raised.value.message
    assert "SECRET" not in str(raised.value)


def test_every_problem_of_every_file_is_listed(write: Write) -> None:
    one = write("one.jsonl", "{", record(1, kind=3))
    two = write("two.jsonl", record(1), record(1))
    with pytest.raises(DocumentError) as raised:
        read_answers([one, two])
    assert "3 problems" in raised.value.message
    assert "two.jsonl, line 2: has the id of another line" in raised.value.message


def test_a_larger_sample_of_the_same_seed_holds_the_smaller_one(write: Write) -> None:
    sets = read_answers([write("a.jsonl", *(record(n) for n in range(20)))])
    ids = [{a.id for a in sampled(sets, limit, 3)[0].answers} for limit in (5, 9)]
    assert (len(ids[0]), len(ids[1])) == (5, 9)
    assert ids[0] < ids[1]
    assert len(sampled(sets, None, 0)[0].answers) == 20
