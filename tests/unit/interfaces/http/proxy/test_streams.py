from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.interfaces.http.proxy.streams import ChatTranscript, Events, data_of

ENDS = st.sampled_from([b"\n", b"\r\n"])
LINES = st.sampled_from([b'data: {"a": 1}', b"data:x", b": note", b"event: e", b"id: 7"])


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.lists(LINES, min_size=1, max_size=3), ENDS), max_size=6),
    st.lists(st.integers(0, 200), max_size=12),
)
def test_however_a_stream_is_cut_its_events_are_the_same_bytes(
    events: list[tuple[list[bytes], bytes]], cuts: list[int]
) -> None:
    written = [end.join(lines) + end + end for lines, end in events]
    whole = b"".join(written)
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    reader, found = Events(), list[bytes]()
    for start, end in pairwise(places):
        found += reader.feed(whole[start:end])
    assert b"".join(found) + reader.rest() == whole
    kept = [data_of(event) for event in found]
    assert kept == [data_of(event) for event in written]


def test_an_event_is_out_as_soon_as_it_is_whole() -> None:
    reader = Events()
    assert list(reader.feed(b"data: 1")) == []
    assert list(reader.feed(b"\n")) == []
    assert list(reader.feed(b"\ndata: 2\n\nda")) == [b"data: 1\n\n", b"data: 2\n\n"]
    assert reader.rest() == b"da"


def test_data_may_have_several_lines() -> None:
    assert data_of(b"data: a\ndata:b\n: c\n\n") == b"a\nb"


def test_texts_are_put_together_by_choice() -> None:
    heard = ChatTranscript()
    for index, text in ((0, "A"), (1, "X"), (0, "B"), (1, None)):
        choice = {"index": index, "delta": {"content": text}}
        heard.note(json.dumps({"id": "i", "model": "m", "choices": [choice]}).encode())
    heard.note(b'{"choices": [], "usage": {}}')
    assert heard.whole() == {0: "AB", 1: "X"}
    assert heard.head == {"id": "i", "model": "m"}


@settings(max_examples=50)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(st.sampled_from(["choices", "delta", "index", "content", "id"]), x)
        ),
    )
)
def test_no_chunk_breaks_it(chunk: object) -> None:
    heard = ChatTranscript()
    heard.note(json.dumps(chunk).encode())
    heard.note(b"\xff{")
    assert all(isinstance(text, str) for text in heard.whole().values())
