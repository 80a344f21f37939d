"""Responses through the proxy, asked for by the official client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("openai")

import httpx2
import openai
from hypothesis import given
from hypothesis import strategies as st

from _upstream import Upstream
from veridical.interfaces.http.proxy.request import ProxyRequest, read
from veridical.interfaces.http.proxy.responses import (
    ResponseTranscript,
    read_response,
    response_turns,
)
from veridical.settings.service_blocks import ProxySettings

pytestmark = pytest.mark.slow

Start = Callable[..., str]
Value: TypeAlias = Any

EVIDENCE = "[S1] The bridge opened in 1998. It carries eight lanes."
WRONG = "The bridge opened in 1998. It has six lanes."
RIGHT = "The bridge opened in 1998. It has eight lanes."
CALL = {"type": "function_call", "id": "f1", "call_id": "c", "name": "x", "arguments": '{"q":  1}'}


def message(*texts: str, **more: Value) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": [], **more} for text in texts]
    return {"type": "message", "id": "m1", "status": "completed", "role": "assistant"} | {
        "content": parts
    }


def response(*items: Value, status: str = "completed", **more: Value) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "m",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "incomplete_details": None,
        **more,
    }


def reply(*items: Value, **more: Value) -> bytes:
    """Write a reply with odd spacing, which has to survive."""
    return json.dumps(response(*items, **more), indent=1).replace('"model"', '"x":1.50 , "model"'
    ).encode()  # fmt: skip


def stream(text: str, *items: Value) -> list[bytes]:
    """Write a stream of one message, and of whole items behind it."""
    item, where = message(text), {"item_id": "m1", "output_index": 0, "content_index": 0}
    steps: list[dict[str, Any]] = [
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        {"type": "response.content_part.added", **where, "part": message("")["content"][0]},
        *(
            {"type": "response.output_text.delta", **where, "delta": f"{word} ", "logprobs": []}
            for word in text.split()
        ),
        {"type": "response.output_text.done", **where, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **where, "part": item["content"][0]},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    for index, more in enumerate(items, 1):
        steps += [
            {"type": f"response.output_item.{kind}", "output_index": index, "item": more}
            for kind in ("added", "done")
        ]
    steps += [{"type": "response.completed", "response": response(item, *items)}]
    return [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': number})}\n\n".encode()
        for number, one in enumerate(steps)
    ]


opened: list[openai.OpenAI] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the clients of a test."""
    yield
    while opened:
        opened.pop().close()


def client(url: str) -> openai.OpenAI:
    opened.append(openai.OpenAI(base_url=url, api_key="client-key", max_retries=0))
    return opened[-1]


def ask(url: str, ours: Value = None, **more: Value) -> Value:
    body = {} if ours is None else {"extra_body": {"veridical": ours}}
    asked = {"input": "Tell me about the bridge.", "instructions": EVIDENCE} | more
    return client(url).responses.create(model="m", **asked, **body)


def post(url: str, **more: Value) -> httpx2.Response:
    body = {"model": "m", "instructions": EVIDENCE, "input": "Q?", **more}
    return httpx2.post(f"{url}/responses", json=body)


# --- a reply in one piece --------------------------------------------------------------------


def test_an_answer_comes_with_its_verdict(start: Start) -> None:
    upstream = Upstream([reply(message(WRONG))])
    found = ask(start(upstream, on_failure="pass"))
    assert found.output_text == WRONG
    assert (found.veridical["outcome"], found.veridical["flagged"]) == ("flagged", 1)
    (choice,) = found.veridical["choices"]
    assert (choice["action"], choice["claims_checked"]) == ("passed", 2)
    assert choice["report"]["claims"][1]["evidence"][0]["source"] == "S1"
    assert upstream.paths == ["/v1/responses?"]


def test_only_our_field_is_added_and_headers_say_the_outcome(start: Start) -> None:
    came = reply(message(WRONG), CALL)
    back = post(start(Upstream([came]), on_failure="flag"), veridical={"report": False})
    place = came.rindex(b"null") + 4
    assert back.content.startswith(came[:place] + b',"veridical":{"schema"')
    assert back.content.endswith(came[place:])
    assert back.headers["x-veridical-outcome"] == "flagged"
    assert back.headers["x-veridical-flagged"] == "1"


def test_flagging_marks_the_claims_in_the_text(start: Start) -> None:
    found = ask(start(Upstream([reply(message(WRONG))]), on_failure="flag"))
    assert found.output_text.startswith(f"{WRONG}[!1]\n\n---")
    assert found.veridical["choices"][0]["action"] == "flagged"


def test_where_marks_would_move_annotations_a_message_follows(start: Start) -> None:
    note = {"type": "url_citation", "start_index": 0, "end_index": 3, "url": "u", "title": "t"}
    item = message(WRONG, annotations=[note])
    found = ask(start(Upstream([reply(item)]), on_failure="flag"))
    first, second = found.output
    assert first.content[0].text == WRONG
    assert second.content[0].text.startswith("\n\n---\n\nThis claim is not confirmed")
    assert found.output_text == first.content[0].text + second.content[0].text


def test_retrying_asks_again_with_guidance_and_takes_the_better_answer(start: Start) -> None:
    upstream = Upstream([reply(message(WRONG)), reply(message(RIGHT))])
    found = ask(start(upstream, on_failure="retry"))
    assert found.output_text == RIGHT
    assert found.veridical["choices"][0]["action"] == "retried"
    again = json.loads(upstream.bodies[1])["input"]
    assert again[:2] == [
        {"role": "user", "content": "Tell me about the bridge."},
        {"role": "assistant", "content": WRONG},
    ]
    assert "It has six lanes." in again[2]["content"]


def test_what_is_written_into_a_conversation_is_not_written_twice(start: Start) -> None:
    upstream = Upstream([reply(message(WRONG)), reply(message(RIGHT))])
    found = ask(start(upstream, on_failure="retry"), conversation="conv_1")
    assert found.veridical["choices"][0]["action"] == "flagged"
    assert len(upstream.bodies) == 1


def test_blocking_withholds_all_of_the_output(start: Start) -> None:
    thought = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": WRONG}]}
    came = reply(thought, message(WRONG), output_text=WRONG)
    back = post(start(Upstream([came]), on_failure="block", report=False))
    assert b"six" not in back.content
    found = back.json()
    assert found["output_text"].startswith("This answer was withheld: 1 of 2 checked claims")
    assert found["status"] == "incomplete"
    assert found["incomplete_details"] == {"reason": "content_filter"}
    assert ask(start(Upstream([reply(message(RIGHT))]), on_failure="block")).output_text == RIGHT


@pytest.mark.parametrize("on_failure", ["pass", "flag", "retry", "block"])
def test_tool_calls_are_left_alone(start: Start, on_failure: str) -> None:
    upstream = Upstream([reply(message(WRONG), CALL)])
    found = ask(start(upstream, on_failure=on_failure))
    assert found.output_text == WRONG
    assert found.output[1].arguments == CALL["arguments"]
    assert found.veridical["choices"][0]["action"] == "passed"
    assert len(upstream.bodies) == 1


def test_of_an_answer_in_json_the_values_are_verified_and_nothing_is_marked(start: Start) -> None:
    said = json.dumps({"text": "It has six lanes.", "opened": 1998})
    found = ask(
        start(Upstream([reply(message(said))]), on_failure="flag"),
        text={"format": {"type": "json_object"}},
    )
    assert found.output_text == said
    claims = found.veridical["choices"][0]["report"]["claims"]
    assert [claim["text"] for claim in claims] == ["It has six lanes.", "opened: 1998"]


def test_a_reply_without_an_output_is_passed_on_as_it_is(start: Start) -> None:
    for body in (b'{"output": 1}', b'{"id": "r"}', b"[]", b"\xff"):
        back = post(start(Upstream([body])))
        assert (back.status_code, back.content) == (200, body)
        assert back.headers["x-veridical-outcome"] == "undetermined"


def test_an_answer_that_is_still_to_be_written_has_nothing_to_check(start: Start) -> None:
    found = ask(start(Upstream([reply(status="queued")])), background=True)
    assert found.status == "queued"
    assert found.veridical["choices"][0]["reason"] == "no_answer"


def test_two_proxies_one_behind_the_other_give_one_verdict(start: Start) -> None:
    inner = start(Upstream([reply(message(WRONG))]))
    found = post(start(None, upstream_url=inner))
    assert found.content.count(b'"veridical":{') == 1


# --- requests --------------------------------------------------------------------------------


def asked(**body: Value) -> ProxyRequest:
    found = read(json.dumps(body).encode(), ProxySettings(), response_turns)
    assert found is not None
    return found


def test_evidence_is_what_is_said_and_what_tools_return() -> None:
    found = asked(
        instructions="S.",
        input=[
            {"role": "developer", "content": "D."},
            {"role": "user", "content": [{"type": "input_text", "text": "U."}]},
            {"type": "message", "role": "assistant", "content": "A."},
            CALL,
            {"type": "function_call_output", "call_id": "c", "output": "T."},
            {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "C."}]},
        ],
    )
    assert found.sources == {
        "system-1": "S.",
        "system-2": "D.",
        "user-1": "U.",
        "tool-1": "T.",
        "tool-2": "C.",
    }
    assert found.question == "U."
    assert asked(input="Q?").sources == {"user-1": "Q?"}
    assert asked(prompt={"id": "p"}).sources == {}


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["input", "text", "format", "type", "content", "output", "role"]), x
            )
        ),
    )
)
def test_no_shape_breaks_it(value: object) -> None:
    body = json.dumps({"input": value, "text": value, "output": value}).encode()
    assert read(body, ProxySettings(), response_turns) is not None
    found = read_response(body)
    assert (found is not None) == isinstance(value, list)
    transcript = ResponseTranscript()
    transcript.note(json.dumps(value).encode())
    transcript.note(body)
    transcript.note(json.dumps({"type": "response.output_item.done", "item": value}).encode())
    assert not transcript.whole()


# --- a reply in pieces -----------------------------------------------------------------------


def final(events: Value) -> tuple[str, Any]:
    """Return the text that was streamed, and the event that ended the stream."""
    text, last = "", None
    for last in events:
        text += last.delta if last.type == "response.output_text.delta" else ""
    return text, last


def test_a_stream_is_passed_on_as_it_is_with_the_verdict_in_its_last_event(start: Start) -> None:
    sent = stream(WRONG)
    back = post(start(Upstream([sent]), on_failure="pass"), stream=True).content
    assert back.startswith(b"".join(sent[:-1]))
    last = back[len(b"".join(sent[:-1])) :]
    end = sent[-1].index(b'"incomplete_details": null') + len(b'"incomplete_details": null')
    assert last.startswith(sent[-1][:end] + b',"veridical":{"schema"')
    assert last.endswith(sent[-1][end:])


def test_the_official_client_reads_the_stream_and_the_verdict(start: Start) -> None:
    text, last = final(ask(start(Upstream([stream(WRONG)]), on_failure="pass"), stream=True))
    assert (text, last.type) == (f"{WRONG} ", "response.completed")
    assert last.response.veridical["outcome"] == "flagged"
    assert last.response.output_text == WRONG


def test_the_client_s_own_assembly_of_a_stream_works(start: Start) -> None:
    for on_failure, said in (("pass", WRONG), ("flag", f"{WRONG}\n\n---")):
        url = start(Upstream([stream(WRONG)]), on_failure=on_failure)
        with client(url).responses.stream(model="m", input="Q?", instructions=EVIDENCE) as events:
            found: Any = events.get_final_response()
        assert found.output_text.startswith(said)
        assert found.veridical["flagged"] == 1


def test_flagging_a_stream_adds_a_message_at_its_end(start: Start) -> None:
    events = list(ask(start(Upstream([stream(WRONG)]), on_failure="flag"), stream=True))
    numbers = [one.sequence_number for one in events]
    assert numbers == list(range(len(events)))
    text, last = final(events)
    assert text.startswith(f"{WRONG} \n\n---\n\nThis claim is not confirmed")
    assert [item.id for item in last.response.output] == ["m1", "msg_veridical"]
    assert last.response.output_text == text.replace(f"{WRONG} ", WRONG)


def test_a_stream_that_may_be_written_again_is_held_back(start: Start) -> None:
    upstream = Upstream([stream(WRONG), stream(RIGHT)])
    text, last = final(ask(start(upstream, on_failure="retry"), stream=True))
    assert (text, last.response.output_text) == (f"{RIGHT} ", RIGHT)
    assert last.response.veridical["choices"][0]["action"] == "retried"


def test_a_stream_that_is_blocked_never_shows_its_text(start: Start) -> None:
    url = start(Upstream([stream(WRONG)]), on_failure="block", report=False)
    assert b"six" not in post(url, stream=True).content
    events = list(ask(url, stream=True))
    assert events[0].type == "response.created"
    text, last = final(events)
    assert text.startswith("This answer was withheld")
    assert (last.type, last.response.status) == ("response.incomplete", "incomplete")
    assert last.response.output_text == text
    text, last = final(ask(start(Upstream([stream(RIGHT)]), on_failure="block"), stream=True))
    assert (text, last.response.veridical["outcome"]) == (f"{RIGHT} ", "grounded")


def test_a_stream_of_tool_calls_is_left_alone(start: Start) -> None:
    sent = stream(WRONG, CALL)
    for on_failure in ("flag", "retry", "block"):
        back = post(start(Upstream([sent]), on_failure=on_failure), stream=True).content
        assert b"".join(sent[:-1]) in back
        assert b'"action":"passed"' in back


def test_a_stream_that_breaks_off_or_fails_is_an_error_for_the_client(start: Start) -> None:
    pieces: list[bytes | Exception] = [*stream(WRONG)[:4], RuntimeError("broken")]
    with pytest.raises(openai.APIError, match="broke off"):
        final(ask(start(Upstream([pieces])), stream=True))
    failed = {"type": "response.failed", "response": response(status="failed")}
    sent = [*stream(WRONG)[:4], b"data: " + json.dumps(failed).encode() + b"\n\n"]
    back = post(start(Upstream([sent]), on_failure="flag"), stream=True).content
    assert back == b"".join(sent)


def test_what_a_model_thinks_is_no_part_of_its_answer() -> None:
    transcript = ResponseTranscript()
    for kind in ("output_text", "reasoning_text", "refusal"):
        done = {"type": "response.content_part.done", "part": {"type": kind, "text": kind}}
        transcript.note(json.dumps({**done, "item_id": kind}).encode())
    assert transcript.whole() == {0: "output_text"}
    assert not transcript.other_content


def test_pieces_of_a_text_and_the_whole_of_it_are_one_text() -> None:
    """Some services leave the names of items out of the pieces."""
    transcript = ResponseTranscript()
    delta = {"type": "response.output_text.delta", "delta": RIGHT}
    done = {"type": "response.output_item.done", "item": message(RIGHT)}
    for event in (delta, done):
        transcript.note(json.dumps(event).encode())
    assert transcript.whole() == {0: RIGHT}


def test_a_stream_without_its_last_event_is_passed_on(start: Start) -> None:
    sent = stream(WRONG)[:-1]
    assert post(start(Upstream([sent])), stream=True).content == b"".join(sent)
