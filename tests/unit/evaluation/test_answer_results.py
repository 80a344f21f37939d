from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.evaluation.answer_results import (
    AnswerEvaluation,
    AnswerOutcome,
    check_answers,
    evaluate_answers,
    scores,
)
from veridical.evaluation.answer_tables import answers_to_json, answers_to_markdown, render_answers
from veridical.evaluation.answers import AnswerSet, LabelledAnswer, parse_answer
from veridical.evaluation.bootstrap import Resampling
from veridical.testing import FAKE, FakeBackend, fake_estimate
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Verifier

GOOD, BAD = "supported", "not_in_context"
P_SURE, P_UNSURE = 0.99, 0.72
"""P(supported) of a claim that passes: far from the threshold of 0.7, and close to it."""


def answer(number: int, *claims: tuple[str, str]) -> LabelledAnswer:
    """Return an answer by the texts and labels of its claims."""
    row = {
        "id": f"a{number}",
        "kind": f"kind {number % 2}",
        "sources": [{"id": "S1", "text": "The house has a door."}],
        "answer": " ".join(text for text, _ in claims),
        "claims": [
            {"text": text, "label": label, "error": None if label == GOOD else "quantity"}
            for text, label in claims
        ],
    }
    return parse_answer(json.dumps(row))


def says(query: Query) -> Measurement:
    """Read the verdict out of the claim: pass, doubtful, fail or lost."""
    if "lost" in query.claim:
        return Unmeasured(UnmeasuredReason.TIMEOUT)
    if "fail" in query.claim:
        return fake_estimate(0.01, 0.01)
    return fake_estimate(P_UNSURE if "doubtful" in query.claim else P_SURE)


def outcomes(*answers: LabelledAnswer) -> tuple[AnswerOutcome, ...]:
    with SyncVerifier(Verifier(FakeBackend(says))) as verifier:
        return check_answers([AnswerSet("x", "f", answers)], verifier)


def evaluation(*answers: LabelledAnswer) -> AnswerEvaluation:
    return evaluate_answers(
        outcomes(*answers), ["x.jsonl"], backend=FAKE, policy=Policy(), resampling=Resampling(50)
    )


ANSWERS = (
    answer(1, ("House one will pass.", GOOD), ("House two will fail.", GOOD)),
    answer(2, ("House three will fail.", BAD), ("House four will pass.", GOOD)),
    answer(3, ("House five will pass.", GOOD), ("House six will pass.", GOOD)),
    answer(4, ("House seven will pass.", BAD), ("House eight will be lost.", BAD)),
)


def test_the_figures_of_four_hand_computed_answers() -> None:
    found = scores(outcomes(*ANSWERS))
    assert (found.answers, found.claims, found.unsupported) == (4, 8, 3)
    assert (found.undetermined, found.not_extracted) == (1, 0)
    assert found.detection == pytest.approx(1 / 2)  # the lost one is neither found nor missed
    assert found.false_alarms == pytest.approx(1 / 5)
    assert found.flags_right == pytest.approx(1 / 2)
    assert found.sound_pass == pytest.approx(1 / 2)
    assert found.errors_removed_pass == pytest.approx(3 / 4)


def test_a_claim_in_whose_place_nothing_is_checked_passes() -> None:
    found = scores(outcomes(answer(1, ("Will the house fail?", BAD))))
    assert (found.not_extracted, found.detection) == (1, 0.0)


def test_a_claim_found_in_two_pieces_is_flagged_if_one_is() -> None:
    whole = "The house will pass. The door will fail."
    found = scores(outcomes(answer(1, (whole, BAD))))
    assert found.detection == 1.0


def test_sure_figures_count_sure_verdicts_only() -> None:
    found = scores(outcomes(answer(1, ("One will pass.", GOOD), ("Two is doubtful.", BAD))))
    assert (found.sure_passes, found.sure_passes_right) == (1, 1.0)


def test_groups_hold_the_claims_of_their_kind_length_and_error() -> None:
    long = "The house that " + "stands near the river and " * 12 + "has a door will fail."
    found = evaluation(*ANSWERS, answer(5, (long, BAD)))
    assert {name: one.answers for name, one in found.by_kind.items()} == {"kind 0": 2, "kind 1": 3}
    assert [one.claims for one in found.by_length.values()] == [8, 0, 0, 1]
    assert found.by_length[">300"].detection == 1.0
    assert found.by_error["quantity"].claims == 4


def test_the_interval_holds_its_figure_and_is_repeatable() -> None:
    first, again = evaluation(*ANSWERS), evaluation(*ANSWERS)
    interval = first.intervals["false_alarms"]
    assert interval is not None
    assert first.total.false_alarms is not None
    assert interval.low <= first.total.false_alarms <= interval.high
    assert first.intervals == again.intervals


def test_the_document_has_every_figure_and_no_text() -> None:
    document: dict[str, Any] = json.loads(answers_to_json(evaluation(*ANSWERS)))
    assert document["schema"] == "veridical.eval_answers/1"
    assert document["total"]["false_alarms"] == pytest.approx(0.2)
    assert set(document["by_kind"]) == {"kind 0", "kind 1"}
    assert "House" not in json.dumps(document)


def test_the_markdown_names_counts_and_definitions() -> None:
    text = answers_to_markdown(evaluation(*ANSWERS))
    assert "4 answers, 8 claims, 3 wrong" in text
    assert "undetermined and in no figure: 1" in text
    assert "House" not in text


def test_no_word_of_a_head_is_folded_on_a_terminal_of_80_columns() -> None:
    out = io.StringIO()
    render_answers(evaluation(*ANSWERS), Console(file=out, width=80))
    by_kind = out.getvalue().partition("By kind of text")[2].partition("kind 0")[0].split()
    assert {"claims", "detection", "alarms", "answers", "removed", "overlap"} <= set(by_kind)


def test_without_kinds_of_error_there_is_no_table_of_them() -> None:
    sound = evaluation(answer(1, ("House one will pass.", GOOD)))
    assert "By kind of error" not in answers_to_markdown(sound)
    assert "By kind of error" in answers_to_markdown(evaluation(*ANSWERS))
