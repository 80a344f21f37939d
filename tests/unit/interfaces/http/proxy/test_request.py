from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest

from veridical.interfaces.http.proxy.options import FieldError
from veridical.interfaces.http.proxy.request import ProxyRequest, chat_turns, read
from veridical.settings.service_blocks import ProxySettings

Json: TypeAlias = Any
TEXT = "Zanzibar"
MESSAGES = [{"role": "system", "content": "S."}, {"role": "user", "content": "Q?"}]


def asked(ours: Json = None, **more: Json) -> ProxyRequest:
    body = {"model": "m", "messages": MESSAGES, **more}
    if ours is not None:
        body["veridical"] = ours
    found = read(json.dumps(body).encode(), ProxySettings(), chat_turns)
    assert found is not None
    return found


def test_our_field_is_taken_out_and_the_rest_stays_byte_for_byte() -> None:
    body = b'{ "model":"m",\n "veridical" : {"verify": true},  "messages": [], "x": 1.50e0 }'
    found = read(body, ProxySettings(), chat_turns)
    assert found is not None
    assert found.body == b'{ "model":"m",\n "messages": [], "x": 1.50e0 }'
    untouched = b'{"model": "\\u00e9\xc3\xa9", "messages": [ ], "stream":false}'
    found = read(untouched, ProxySettings(), chat_turns)
    assert found is not None
    assert found.body == untouched


def test_messages_are_the_evidence_in_the_roles_of_the_settings() -> None:
    assert asked().sources == {"system-1": "S.", "user-1": "Q?"}
    body = json.dumps({"messages": MESSAGES}).encode()
    found = read(body, ProxySettings(evidence=["system"]), chat_turns)
    assert found is not None
    assert found.sources == {"system-1": "S."}
    assert asked({"evidence": ["user"]}).sources == {"user-1": "Q?"}


@pytest.mark.parametrize(
    ("documents", "sources"),
    [
        ({"S1": "A."}, {"S1": "A."}),
        ([{"id": "S1", "text": "A."}], {"S1": "A."}),
        (["A.", "B."], {"1": "A.", "2": "B."}),
    ],
)
def test_documents_are_the_evidence_instead_of_messages(
    documents: Json, sources: dict[str, str]
) -> None:
    assert asked({"documents": documents}).sources == sources
    both = asked({"documents": documents, "evidence": ["system"]})
    assert both.sources == {**sources, "system-1": "S."}


def test_the_question_is_what_the_user_said_last() -> None:
    assert asked().question == "Q?"


def test_in_json_mode_no_mark_may_stand() -> None:
    assert asked().prose
    assert asked(response_format={"type": "text"}).prose
    assert not asked(response_format={"type": "json_object"}).prose
    assert not asked(response_format={"type": []}).prose
    assert not asked(response_format={"type": "json_schema", "json_schema": {}}).prose


@pytest.mark.parametrize(
    ("ours", "where"),
    [
        ([], "veridical"),
        ({"on_failure": TEXT}, "veridical.on_failure"),
        ({TEXT.lower(): 1}, f"veridical.{TEXT.lower()}"),
        ({"documents": {"S1": 1}}, "veridical.documents"),
        ({"documents": {}}, "veridical.documents"),
        ({"documents": {"S1": ""}}, "veridical.documents"),
        ({"documents": {TEXT: ""}}, "veridical.documents"),
        ({"documents": [{"id": "S1", "text": TEXT}] * 2}, "veridical.documents"),
        ({"policy": {"windows": -1}}, "veridical.policy"),
        ({"evidence": ["assistant"]}, "veridical.evidence"),
        ({"verify": 1}, "veridical.verify"),
    ],
)
def test_what_is_wrong_with_our_field_is_said_without_its_text(ours: Json, where: str) -> None:
    with pytest.raises(FieldError) as caught:
        asked(ours)
    assert caught.value.where.startswith(where)
    assert TEXT not in str(caught.value)


def test_our_field_may_not_stand_there_twice() -> None:
    with pytest.raises(FieldError, match="twice"):
        read(b'{"veridical": {}, "veridical": {"verify": false}}', ProxySettings(), chat_turns)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"null"])
def test_what_cannot_be_read_is_left_to_the_upstream(body: bytes) -> None:
    assert read(body, ProxySettings(), chat_turns) is None


def test_another_attempt_has_the_answer_and_the_guidance_at_its_end() -> None:
    found = asked({"verify": True}, temperature=0.5, n=1)
    again = json.loads(found.again("An answer.", "Correct it."))
    assert again.pop("messages") == [
        *MESSAGES,
        {"role": "assistant", "content": "An answer."},
        {"role": "user", "content": "Correct it."},
    ]
    assert again == {"model": "m", "temperature": 0.5, "n": 1}
