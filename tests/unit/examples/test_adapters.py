"""The adapters of `examples/adapters`, with payloads of the shapes that providers document."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.verdicts import Status
from veridical.errors import InputError, SourceError
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Verifier

FOLDER = Path(__file__).parents[3] / "examples" / "adapters"


@pytest.fixture(scope="module", autouse=True)
def _on_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield


def adapter(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.fixture
def verifier() -> Iterator[SyncVerifier]:
    with SyncVerifier(Verifier(FakeBackend(lambda _: fake_estimate(0.95)))) as opened:
        yield opened


@given(st.text(), st.data())
def test_offsets_of_others_come_back_as_code_points(text: str, data: st.DataObject) -> None:
    offsets = adapter("offsets")
    at = data.draw(st.integers(0, len(text)))
    assert offsets.from_utf8(text, len(text[:at].encode())) == at
    assert offsets.from_utf16(text, len(text[:at].encode("utf-16-le")) // 2) == at


@given(st.text(alphabet="ab .!é🙂"), st.data())
def test_marks_change_nothing_but_themselves(text: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), unique=True))
    marked = adapter("offsets").with_marks(text, [(at, ["S1"]) for at in places])
    assert marked.replace(" [S1]", "") == text
    assert bool(places) <= marked.count("[S1]") <= len(places)


DOCUMENTS = ("The bridge opened in 1998 🌉. It has eight lanes.", "Drivers pay a toll.")


def message(*citations: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "About the bridge: "},
            {"type": "text", "text": "it opened in 1998.", "citations": list(citations)},
            {"type": "text", "text": " It is long.", "citations": None},
        ],
    }


def char_location(document: int, start: int, end: int, text: str) -> dict[str, Any]:
    return {
        "type": "char_location",
        "cited_text": text,
        "document_index": document,
        "document_title": "x",
        "start_char_index": start,
        "end_char_index": end,
    }


def test_anthropic_citations_become_marks() -> None:
    cited = char_location(0, 0, 28, DOCUMENTS[0][:28])
    answer, sources = adapter("anthropic_citations").to_check(message(cited), DOCUMENTS)
    assert answer == "About the bridge: it opened in 1998 [D1]. It is long."
    assert sources == {"D1": DOCUMENTS[0], "D2": DOCUMENTS[1]}


def test_anthropic_objects_read_like_their_json() -> None:
    types = pytest.importorskip("anthropic.types")
    cited = char_location(1, 0, 7, "Drivers")
    block = types.TextBlock.model_validate(
        {"type": "text", "text": "They pay.", "citations": [cited]}
    )
    answer, _ = adapter("anthropic_citations").to_check({"content": [block]}, DOCUMENTS)
    assert answer == "They pay [D2]."


def test_anthropic_quote_that_is_elsewhere_is_an_error() -> None:
    wrong = char_location(0, 1, 5, "The ")
    with pytest.raises(InputError, match="characters 1 to 5 of document 0") as caught:
        adapter("anthropic_citations").to_check(message(wrong), DOCUMENTS)
    assert "bridge" not in str(caught.value)


def test_document_that_was_not_given_is_a_phantom(verifier: SyncVerifier) -> None:
    answer, sources = adapter("anthropic_citations").to_check(
        message(char_location(4, 0, 3, "The")), DOCUMENTS
    )
    report = verifier.check(answer, sources)
    assert [v.status for v in report.flagged] == [Status.PHANTOM_CITATION]


SAID = "Die Brücke 🌉 öffnete 1998. Sie ist lang."
SEGMENT = "Die Brücke 🌉 öffnete 1998."


def grounded(**context: dict[str, str]) -> dict[str, Any]:
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": SAID}]},
                "groundingMetadata": {
                    "groundingChunks": [context],
                    "groundingSupports": [
                        {
                            "segment": {"endIndex": len(SEGMENT.encode()), "text": SEGMENT},
                            "groundingChunkIndices": [0],
                            "confidenceScores": [0.9],
                        }
                    ],
                },
            }
        ]
    }


def test_google_bytes_become_code_points() -> None:
    response = grounded(retrievedContext={"uri": "gs://x", "text": "Eröffnet 1998."})
    answer, sources = adapter("google_grounding").to_check(response)
    assert answer == "Die Brücke 🌉 öffnete 1998 [G1]. Sie ist lang."
    assert sources == {"G1": "Eröffnet 1998."}


def test_google_page_without_a_text_has_to_be_passed() -> None:
    response = grounded(web={"uri": "https://e.org/a", "title": "e.org"})
    with pytest.raises(SourceError, match="grounding chunk 0 has no text"):
        adapter("google_grounding").to_check(response)
    texts = {"https://e.org/a": "Eröffnet 1998."}
    _, sources = adapter("google_grounding").to_check(response, texts)
    assert sources == {"G1": "Eröffnet 1998."}


def test_google_segment_that_is_elsewhere_is_an_error() -> None:
    response = grounded(retrievedContext={"text": "Eröffnet 1998."})
    support = response["candidates"][0]["groundingMetadata"]["groundingSupports"][0]
    support["segment"]["endIndex"] = len(SEGMENT)  # code points, not bytes
    with pytest.raises(InputError, match="not the segment"):
        adapter("google_grounding").to_check(response)


@dataclass
class Document:
    page_content: str
    id: str | None = None


def test_langchain_state_gets_a_report(verifier: SyncVerifier) -> None:
    state = {
        "input": "When?",
        "context": [Document("It opened in 1998."), Document("It is long.", id="S7")],
        "answer": "It opened in 1998 [1]. It is long [S7].",
    }
    found = adapter("langchain_runnable").checked(verifier, state)
    assert found["report"].summary.outcome == "grounded"
    assert found["report"].question == "When?"
    assert {key: found[key] for key in state} == state


def test_langchain_documents_of_one_id_stay_two() -> None:
    documents = [Document("a", id="x"), Document("b", id="x")]
    assert adapter("langchain_runnable").sources_of(documents) == {"x": "a", "x#2": "b"}


@dataclass
class Node:
    text: str

    def get_content(self) -> str:
        return self.text


@dataclass
class Response:
    response: str
    source_nodes: list[Node]
    metadata: dict[str, Any] | None = field(default=None)

    def __str__(self) -> str:
        return self.response


def test_llamaindex_response_carries_its_report(verifier: SyncVerifier) -> None:
    response = Response("It opened in 1998 [1]. It is long [2].", [Node("It opened in 1998.")])
    report = adapter("llamaindex_postprocessor").postprocess(response, verifier)
    assert [v.status for v in report.flagged] == [Status.PHANTOM_CITATION]
    assert response.metadata == {"veridical": report.to_dict()}
