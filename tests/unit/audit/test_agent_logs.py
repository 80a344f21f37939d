"""Traces, and logs of agents in the formats of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.audit.agent_logs import read_trace
from veridical.audit.steps import StepTrace, parse_trace
from veridical.errors import DocumentError, InputError, VeridicalError
from veridical.traces import ReasoningTraces

pytestmark = pytest.mark.spec("SPEC-08.23")

RESULT = "The bridge was opened in 1998."
CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}


def read(document: object) -> StepTrace:
    return read_trace(json.dumps(document), "trace.json")


def said(trace: StepTrace) -> list[tuple[str, bool, list[str]]]:
    """Return each step's text, whether it is part of the answer, and the ids of its context."""
    return [(step.claim, step.final, [one.id for one in step.context]) for step in trace.steps]


LOOKED_UP = [
    ("I look it up.", False, ["system1", "user1"]),
    ("It opened in 1998.", True, ["call_1"]),
    ("It is old.", True, []),
]


def is_looked_up(trace: StepTrace) -> None:
    assert said(trace) == LOOKED_UP
    assert trace.question == "When did it open?"
    assert trace.answer == "It opened in 1998. It is old."
    assert trace.observations == {"call_1"}
    assert trace.steps[1].context[0].text == RESULT
    assert trace.left_out == {"tool_calls": 1}


# --- OpenAI ----------------------------------------------------------------------------------

OPENAI: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "When did it open?"}]},
    {"role": "assistant", "content": "I look it up.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": RESULT},
    {"role": "assistant", "content": "It opened in 1998. It is old."},
]


def test_messages_of_openai_are_read() -> None:
    is_looked_up(read(OPENAI))
    is_looked_up(read({"model": "x", "messages": OPENAI}))


def test_a_request_with_its_response_is_one_conversation() -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": OPENAI[-1]}
    is_looked_up(read({"messages": OPENAI[:-1], "choices": [choice]}))
    is_looked_up(read({"messages": OPENAI[:-1], "response": {"choices": [choice]}}))


def test_one_message_a_line_is_read_too() -> None:
    lines = "\n".join(json.dumps(message) for message in OPENAI)
    is_looked_up(read_trace(lines + "\n", "trace.jsonl"))


def test_items_of_openai_responses_are_read() -> None:
    items = [
        {"role": "user", "content": "When did it open?"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look it up."}]},
        {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": RESULT},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It opened in 1998. It is old."}],
        },
    ]
    is_looked_up(read({"instructions": "Be brief.", "input": items[:2], "output": items[2:]}))


def test_reasoning_beside_the_content_is_steps_too() -> None:
    message = {"role": "assistant", "reasoning_content": "It is 1998.", "content": "1998"}
    trace = read([{"role": "user", "content": "When?"}, message])
    assert [step.claim for step in trace.steps] == ["It is 1998.", "1998"]


# --- Anthropic -------------------------------------------------------------------------------


def test_messages_of_anthropic_are_read() -> None:
    thinking = {"type": "thinking", "thinking": "I look it up.", "signature": "x"}
    use = {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {}}
    parts = [{"type": "text", "text": RESULT}]
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": parts}
    answer = {"type": "text", "text": "It opened in 1998. It is old."}
    messages = [
        {"role": "user", "content": "When did it open?"},
        {"role": "assistant", "content": [thinking, use]},
        {"role": "user", "content": [result]},
    ]
    reply = {"type": "message", "role": "assistant", "content": [answer]}
    system = [{"type": "text", "text": "Be brief."}]
    is_looked_up(read({"system": system, "messages": [*messages, reply]}))
    is_looked_up(read({"system": "Be brief.", "messages": messages, "response": reply}))


# --- OpenTelemetry ---------------------------------------------------------------------------


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


ASKED = {"role": "user", "parts": [text_part("When did it open?")]}
LOOKING = {
    "role": "assistant",
    "parts": [text_part("I look it up."), {"type": "tool_call", "id": "call_1", "name": "x"}],
}
FOUND = {
    "role": "tool",
    "parts": [{"type": "tool_call_response", "id": "call_1", "response": RESULT}],
}
ANSWERED = {
    "role": "assistant",
    "parts": [text_part("It opened in 1998. It is old.")],
    "finish_reason": "stop",
}
SYSTEM = [text_part("Be brief.")]


def any_value(value: object) -> dict[str, object]:
    """Return a value as OTLP writes it."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": key_values(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    return {"stringValue": value}


def key_values(value: dict[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": any_value(one)} for key, one in value.items()]


def span(number: int, end: int, *, text: bool, **attributes: object) -> dict[str, Any]:
    """Return a span with attributes as structures, or as JSON strings."""
    named = {f"gen_ai.{name.replace('__', '.')}": one for name, one in attributes.items()}
    held = {
        name: json.dumps(one) if text and not isinstance(one, str) else one
        for name, one in named.items()
    }
    return {"spanId": f"{number}", "endTimeUnixNano": f"{end}", "attributes": key_values(held)}


def spans(*, text: bool) -> list[dict[str, Any]]:
    """Return an agent's span, which repeats all, and of two requests and a tool; out of order."""
    return [
        span(0, 90, text=text, input__messages=[ASKED], output__messages=[ANSWERED]),
        span(
            3,
            40,
            text=text,
            system_instructions=SYSTEM,
            input__messages=[ASKED, LOOKING, FOUND],
            output__messages=[ANSWERED],
        ),
        span(
            1,
            10,
            text=text,
            system_instructions=SYSTEM,
            input__messages=[ASKED],
            output__messages=[LOOKING],
        ),
        span(2, 20, text=text, tool__call__id="call_1", tool__call__result=RESULT),
    ]


@pytest.mark.parametrize("text", [True, False])
def test_spans_of_opentelemetry_are_read_and_each_message_counts_once(text: bool) -> None:
    found = spans(text=text)
    export = {"resourceSpans": [{"scopeSpans": [{"spans": found}]}]}
    is_looked_up(read(export))
    is_looked_up(read({"spans": found}))
    is_looked_up(read(found))
    is_looked_up(read_trace("\n".join(map(json.dumps, found)), "spans.jsonl"))


def test_events_of_earlier_versions_are_read() -> None:
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be brief."}},
        {"name": "gen_ai.user.message", "attributes": {"content": "When did it open?"}},
        {
            "name": "gen_ai.assistant.message",
            "body": {"content": "I look it up.", "tool_calls": [CALL]},
        },
        {"name": "gen_ai.tool.message", "attributes": {"id": "call_1", "content": RESULT}},
        {
            "name": "gen_ai.choice",
            "attributes": {
                "gen_ai.event.content": json.dumps(
                    {"index": 0, "message": {"content": "It opened in 1998. It is old."}}
                )
            },
        },
    ]
    is_looked_up(read({"trace_id": "a", "attributes": {}, "events": events}))


# --- ours, and what is none ------------------------------------------------------------------


def test_a_trace_of_ours_is_read_as_it_is() -> None:
    assert read(["It is so.", "So it is."]).answer is None
    steps = [{"claim": "It is so.", "cites": ["S1"]}]
    assert read(steps).steps[0].cites == ("S1",)
    assert read({"steps": steps, "answer": "Yes"}).answer == "Yes"
    with pytest.raises(InputError, match="step 1 has an unknown shape"):
        read({"steps": [{"claim": "x", "cite": []}]})


def test_a_trace_of_the_store_is_read(tmp_path: Path) -> None:
    with ReasoningTraces(store=f"sqlite:///{tmp_path}/v.db") as traces:
        goal = traces.add_goal("When did it open?")
        action = traces.add_action(goal, "Look it up.")
        traces.add_evidence(action, "S1", RESULT)
        first = traces.add_claim(goal, "It opened in 1998.", ["S1", "S7"])
        second = traces.add_claim(goal, "It is old.")
        tree = traces.tree(goal)
    trace = read(tree.to_dict())
    assert parse_trace(tree) == trace
    assert said(trace) == [("It opened in 1998.", False, ["S1"]), ("It is old.", False, [])]
    assert [step.id for step in trace.steps] == [first, second]
    assert [step.cites for step in trace.steps] == [("S1", "S7"), None]
    assert (trace.question, trace.observations) == ("When did it open?", {"S1"})


def test_a_claim_of_the_store_may_cite_by_the_id_of_a_node(tmp_path: Path) -> None:
    with ReasoningTraces(store=f"sqlite:///{tmp_path}/v.db") as traces:
        goal = traces.add_goal("When did it open?")
        node = traces.add_evidence(goal, "S1", RESULT)
        outcome = traces.add_outcome(goal, RESULT)
        traces.add_claim(goal, "It opened in 1998.", [node, outcome], 0.9)
        (step,) = parse_trace(traces.tree(goal)).steps
        assert (step.cites, step.confidence) == (("S1", outcome), 0.9)
        empty = traces.tree(traces.add_goal("Why?"))
    with pytest.raises(InputError, match="no claim"):
        parse_trace(empty)


def test_an_answer_without_anything_before_it_is_the_trace() -> None:
    trace = read([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}])
    assert trace.answer is None
    assert said(trace) == [("So.", True, ["user1"])]


def test_what_comes_after_the_answer_and_what_is_no_text_is_counted() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    trace = read(
        [
            {"role": "user", "content": [picture, {"type": "text", "text": "What is it?"}]},
            {"role": "assistant", "content": "A cat."},
            {"role": "user", "content": "Thanks."},
        ]
    )
    assert trace.left_out == {"image_url_parts": 1, "messages_after_the_answer": 1}


def test_ids_that_come_twice_are_told_apart() -> None:
    tool = {"role": "tool", "tool_call_id": "step1", "content": "x"}
    trace = read([tool, tool, {"role": "assistant", "content": "It is so. So it is."}])
    assert [one.id for one in trace.steps[0].context] == ["step1", "tool1"]
    assert [step.id for step in trace.steps] == ["step1-2", "step2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ('{"role": "user"}\n{', "line 2 is no JSON value"),
        ("NaN", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("3", "neither a trace nor a log"),
        ("{}", "neither a trace nor a log"),
        ("[]", "no text of an assistant"),
        ("[3]", "message 1 must be an object"),
        ('[{"role": "robot", "content": "x"}]', "message 1 has no known role"),
        ('[{"role": "user", "content": "x"}]', "no text of an assistant"),
        ('[{"role": "assistant", "content": null}]', "no text of an assistant"),
        ('{"resourceSpans": []}', "no text of an assistant"),
        ('{"steps": []}', "there are no steps"),
    ],
)
def test_what_is_no_trace_is_a_named_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_trace(text, "trace.json")
    assert raised.value.hint


def test_a_log_in_a_form_of_its_own_is_told_the_form_of_steps() -> None:
    with pytest.raises(InputError) as raised:
        read_trace('{"type": "thought", "text": "x"}\n{"type": "observation", "text": "y"}', "own")
    assert '"context": observation' in str(raised.value.hint)


def test_errors_hold_no_text() -> None:
    with pytest.raises(DocumentError) as raised:
        read_trace('[{"role": "The patient sleeps badly", "content": "x"}]', "trace.json")
    assert "patient" not in str(raised.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "messages",
                    "attributes",
                    "spanId",
                    "events",
                    "resourceSpans",
                    "steps",
                    "claim",
                    "output",
                    "parts",
                    "gen_ai.output.messages",
                ]
            ),
            inner | st.sampled_from(["assistant", "user", "tool_result", "reasoning"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_trace_or_a_named_error(document: object) -> None:
    try:
        assert read(document).steps
    except VeridicalError as error:
        assert error.hint  # noqa: PT017 -- either outcome is right
