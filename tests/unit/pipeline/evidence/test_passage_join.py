from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from veridical.core.sources import as_sources
from veridical.core.types import CitationRef, Passage, SourceSpan, Span
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Binder, Corpus, join_passages, resolve_citations
from veridical.pipeline.evidence.passage_join import ROOM
from veridical.pipeline.evidence.scrubbing import MARKER
from veridical.pipeline.evidence.tokens import estimate_tokens

BuildBinder = Callable[..., Binder]


def numbered(name: str, count: int) -> str:
    return " ".join(f"Place {i} of {name} has a gate and a well." for i in range(count))


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from([1, 2, 3, "all"]))
def test_what_the_passages_hold_is_there_once_and_in_order(
    first: int, second: int, windows: int
) -> None:
    sources = as_sources({"S1": numbered("Arl", first), "S2": numbered("Bek", second)})
    binder = Binder(Corpus(sources, split_sentences), windows=windows)
    passages = binder.bind("Place 3 of Arl and place 7 of Bek have a well.", ()).with_evidence
    found = join_passages(passages, sources)
    text = "\n".join(passage.text for passage in found)
    sentences = [
        f"Place {i} of {n} " for n, c in (("Arl", first), ("Bek", second)) for i in range(c)
    ]
    read = [one for one in sentences if any(one in passage.text for passage in passages)]
    assert [text.count(one) for one in read] == [1] * len(read)
    assert sorted(read, key=text.index) == read


def test_one_passage_stays_as_it_is() -> None:
    sources = as_sources({"S1": "It rains."})
    passage = Passage("It rains.", (SourceSpan("S1", Span(0, 9)),))
    assert join_passages((passage,), sources) == (passage,)
    assert join_passages((), sources) == ()


def test_a_text_has_room_for_so_much_and_the_rest_is_another(binder: BuildBinder) -> None:
    sources = {"S1": numbered("Arl", 400)}
    passages = binder(sources, windows="all").bind("Place 3 of Arl.", ()).with_evidence
    found = join_passages(passages, as_sources(sources))
    assert 1 < len(found) < len(passages) / 4
    assert all(estimate_tokens(passage.text) <= ROOM * 1.01 for passage in found)


def test_what_is_scrubbed_stays_scrubbed(binder: BuildBinder) -> None:
    sources = {"S1": numbered("Arl", 30), "S2": numbered("Bek", 3)}
    cites = resolve_citations([CitationRef("S2", Span(0, 1))], as_sources(sources))
    passages = binder(sources).bind("Place 1 of Bek has a gate.", cites).without_evidence
    (whole,) = join_passages(passages, as_sources(sources))
    assert "Bek" not in whole.text
    scrubbed = [
        Passage(f"{MARKER} b.", (SourceSpan("S1", Span(0, 9)),)),
        Passage("c.", (SourceSpan("S1", Span(5, 12)),)),
    ]
    (both,) = join_passages(scrubbed, as_sources(sources))
    assert both.text == f"{MARKER} b.\nc."


def test_the_sentences_nearest_to_the_claim_are_its_focus(binder: BuildBinder) -> None:
    sources = {
        "S1": numbered("Arl", 30) + " The old ferry sank in March.",
        "S2": numbered("Bek", 30) + " The ferry carried coal.",
    }
    passages = binder(sources).bind("The old ferry carried coal and sank.", ()).with_evidence
    (whole,) = join_passages(passages, as_sources(sources))
    focus = [piece.span.of(sources[piece.source]) for piece in whole.focus]
    assert focus == ["The old ferry sank in March.", "The ferry carried coal."]
    assert whole.relevance == max(passage.relevance for passage in passages)
