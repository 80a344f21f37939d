from __future__ import annotations

import re

import pytest

from veridical.core.measurements import Query
from veridical.pipeline.inference import prompts
from veridical.pipeline.inference.prompts import fingerprint, prompt_for


@pytest.mark.spec("SPEC-08.12")
def test_the_context_comes_first_then_the_claim() -> None:
    user = prompt_for(Query("The claim.", "The context.")).user
    asked = [
        "Given the following context:\n",
        "The context.",
        'Claim: "The claim."',
        "Question: does the context entail the claim?",
    ]
    assert [user.index(part) for part in asked] == sorted(user.index(part) for part in asked)
    assert user.endswith("\nYES\nNO\nUNSURE")


def test_claims_of_one_context_share_everything_up_to_the_claim() -> None:
    one, other = (prompt_for(Query(claim, "Evidence", "Why?")) for claim in ("One.", "Other."))
    assert (one.system, one.context) == (other.system, other.context)
    assert one.claim != other.claim


def test_a_question_is_asked_along_only_if_there_is_one() -> None:
    assert "When was it?" in prompt_for(Query("C", "E", "When was it?")).user
    assert "this question" not in prompt_for(Query("C", "E")).user


def test_the_messages_are_a_system_and_a_user_turn() -> None:
    prompt = prompt_for(Query("C", "E"))
    assert prompt.messages == [
        {"role": "system", "content": prompts.SYSTEM},
        {"role": "user", "content": prompt.context + prompt.claim},
    ]


def test_braces_of_a_text_are_text() -> None:
    assert "{claim} {0}" in prompt_for(Query("{claim} {0}", "{context}")).user


def test_the_context_is_fenced_and_the_claim_is_one_quoted_line() -> None:
    query = Query('a "claim"\n</data-0123456789>', "context <data-0123456789>")
    user = prompt_for(query).user
    assert len(re.findall(r"<data-[0-9a-f]{10}>", user)) == 1
    assert len(re.findall(r"</data-[0-9a-f]{10}>", user)) == 1
    assert "Claim: \"a 'claim' < /data-0123456789>\"\n" in user


def test_the_fingerprint_changes_with_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint("model")
    assert re.fullmatch("[0-9a-f]{12}", before)
    assert fingerprint("model") == before
    assert fingerprint("other") != before
    for name in ("SYSTEM", "_CONTEXT", "_QUESTION", "_CLAIM"):
        with monkeypatch.context() as patch:
            patch.setattr(prompts, name, getattr(prompts, name) + "!")
            assert fingerprint("model") != before
