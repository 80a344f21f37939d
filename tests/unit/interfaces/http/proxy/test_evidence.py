from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.interfaces.http.proxy.evidence import question_of, sources_of, text_of

ALL = ("system", "tool", "user")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_each_message_is_a_source_numbered_by_its_role() -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "A."},
        {"role": "assistant", "content": "Never evidence."},
        {"role": "tool", "content": "Found it.", "tool_call_id": "1"},
        {"role": "user", "content": "B."},
    ]
    assert sources_of(messages, ALL) == {
        "system-1": "Be brief.",
        "user-1": "A.",
        "tool-1": "Found it.",
        "user-2": "B.",
    }
    assert sources_of(messages, ["tool"]) == {"tool-1": "Found it."}
    assert question_of(messages) == "B."


def test_what_is_marked_with_an_id_is_a_source_of_that_id() -> None:
    text = "Use these:\n[S1] Eight lanes.\n  [doc.md]: Opened 1998.\nSource S3:\nClosed.\n[a](b) c"
    assert sources_of([{"role": "user", "content": text}], ALL) == {
        "user-1": "Use these:\n",
        "S1": "Eight lanes.\n",
        "doc.md": "Opened 1998.\n",
        "S3": "\nClosed.\n[a](b) c",
    }


def test_a_tool_may_return_documents_as_json() -> None:
    documents = [{"id": "S1", "text": "Eight lanes.", "score": 1}, {"id": "S2", "text": "1998."}]
    message = {"role": "tool", "content": json.dumps(documents)}
    assert sources_of([message], ALL) == {"S1": "Eight lanes.", "S2": "1998."}
    other = {"role": "tool", "content": '{"lanes": 8}'}
    assert sources_of([other], ALL) == {"tool-1": '{"lanes": 8}'}


def test_what_has_the_same_id_is_put_together() -> None:
    messages = [{"role": "user", "content": f"[S1] {text}"} for text in ("A.", "B.")]
    assert sources_of(messages, ALL) == {"S1": "A.\n\nB."}


def test_parts_of_a_message_that_are_no_text_are_left_out() -> None:
    parts = [{"type": "text", "text": "A."}, {"type": "image_url", "image_url": {"url": "x"}}]
    assert text_of({"role": "user", "content": parts}) == "A."
    assert sources_of([{"role": "user", "content": [parts[1]]}], ALL) == {}


@settings(max_examples=40)
@given(st.lists(JSON | st.fixed_dictionaries({"role": st.sampled_from(ALL), "content": JSON})))
def test_no_shape_of_messages_breaks_it(messages: list[object]) -> None:
    found = sources_of(messages, ALL)
    assert all(text.strip() for text in found.values())
    assert question_of(messages) is None or str(question_of(messages)).strip()
