from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.sources import as_sources
from veridical.core.types import FURTHER, Citation, CitationRef, SourceSpan, Span
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Binder, Corpus, resolve_citations
from veridical.pipeline.evidence.scrubbing import MARKER

BuildBinder = Callable[..., Binder]

S1 = "The bridge opened in 1998. It carries nine thousand vehicles a day. Its pylons are 62 m tall."
S2 = "A ferry ran until the spring of 1998. The ferry sank in 2003. Nobody was hurt."
SOURCES = {"S1": S1, "S2": S2}


def cite(*ids: str, sources: dict[str, str] = SOURCES) -> tuple[Citation, ...]:
    return resolve_citations([CitationRef(i, Span(0, 1)) for i in ids], as_sources(sources))


def test_a_claim_is_read_with_the_cited_source_only(binder: BuildBinder) -> None:
    binding = binder(SOURCES).bind("The ferry sank in 2003.", cite("S1"))
    assert {piece.source for p in binding.with_evidence for piece in p.pieces} == {"S1"}


def test_a_claim_without_citations_is_read_with_all_sources(binder: BuildBinder) -> None:
    binding = binder(SOURCES).bind("The ferry sank in 2003.", ())
    assert {piece.source for p in binding.with_evidence for piece in p.pieces} == {"S1", "S2"}


def test_a_phantom_citation_leaves_all_sources_as_evidence(binder: BuildBinder) -> None:
    binding = binder(SOURCES).bind("The ferry sank in 2003.", cite("S9"))
    assert binding.windows_total == 2
    assert not binding.citations[0].resolved


def test_passages_are_the_text_at_their_place(binder: BuildBinder) -> None:
    binding = binder(SOURCES).bind("The ferry sank in 2003.", ())
    for passage in binding.with_evidence:
        if not passage.stitched:
            (piece,) = passage.pieces
            assert passage.text == piece.span.of(SOURCES[piece.source])


def test_a_line_citation_reads_just_those_lines(binder: BuildBinder) -> None:
    sources = {"a.py": "retries = 3\ntimeout = 10\nverbose = True\n"}
    binding = binder(sources).bind("The timeout is 10.", cite("a.py:2", sources=sources))
    assert [passage.text.strip() for passage in binding.with_evidence] == ["timeout = 10"]


@pytest.mark.parametrize("line", [1, 3])
@pytest.mark.parametrize("windows", [0, 2, "all"])
def test_a_cited_line_without_words_is_read_wherever_it_stands(
    binder: BuildBinder, line: int, windows: int | str
) -> None:
    sources = {"a.py": "\nretries = 3\n\n"}
    bound = binder(sources, windows=windows).bind(
        "It is 10.", cite(f"a.py:{line}", sources=sources)
    )
    assert [passage.text.strip() for passage in bound.with_evidence] == [""]
    assert bound.without_evidence


def test_the_windows_chosen_and_the_windows_there_are_are_both_told(binder: BuildBinder) -> None:
    text = " ".join(f"Sentence number {i} says something about topic{i}." for i in range(60))
    few = binder({"S1": text}, windows=2).bind("About topic7.", ())
    every = binder({"S1": text}, windows="all").bind("About topic7.", ())
    assert sum(not p.stitched for p in few.with_evidence) == 2
    assert sum(not p.stitched for p in every.with_evidence) == every.windows_total
    assert few.windows_total == every.windows_total > 2


def test_a_claim_that_needs_two_places_gets_a_stitched_passage(binder: BuildBinder) -> None:
    filler = " ".join(f"Filler sentence {i} about nothing at all here." for i in range(30))
    text = f"Zora founded Umbral in 2001. {filler} Umbral bought Quill in 2009."
    binding = binder({"S1": text}, windows=2).bind("Zora's Umbral bought Quill.", ())
    stitched = [passage for passage in binding.with_evidence if passage.stitched]
    assert [p.text for p in stitched] == [
        "Zora founded Umbral in 2001. Umbral bought Quill in 2009."
    ]


GAZETTEER = " ".join(
    f"{name} Bridge crosses the river at {place}. It was designed by {who}. It has {n} arches."
    for name, place, who, n in (
        ("Alder", "Oston", "Ada Brandt", 3),
        ("Birch", "Elm Ford", "Ion Costea", 4),
        ("Cedar", "Lower Wick", "Mary Doyle", 5),
        ("Dogwood", "Hanley", "Emil Farkas", 6),
    )
)

FILLER = " ".join(f"Filler sentence {i} says nothing at all of anything." for i in range(60))


def test_with_no_windows_all_of_short_evidence_is_read(binder: BuildBinder) -> None:
    sources = {"S1": GAZETTEER, "S2": S1}
    bound = binder(sources, windows=0).bind("Mary Doyle designed Cedar Bridge.", ())
    read = " ".join(passage.text for passage in bound.with_evidence)
    assert all(sentence in read for sentence in [*GAZETTEER.split(". "), *S1.split(". ")])
    assert [passage.turn for passage in bound.with_evidence[:3]] == [0, 1, FURTHER]


def test_with_no_windows_what_is_always_read_is_read_in_the_first_turn(binder: BuildBinder) -> None:
    sources = {"S1": f"{GAZETTEER} {FILLER}", "S2": "It rains."}
    bound = binder(sources, windows=0).bind("Mary Doyle designed Cedar Bridge.", (), ["S2"])
    assert [p.text for p in bound.with_evidence if not p.turn][1:] == ["It rains."]


def test_with_no_windows_of_long_evidence_only_the_nearest_is_read(binder: BuildBinder) -> None:
    bound = binder({"S1": f"{GAZETTEER} {FILLER}"}, windows=0).bind("Doyle designed it.", ())
    assert not any(passage.turn == FURTHER for passage in bound.with_evidence)


def test_with_no_windows_of_short_evidence_only_what_is_cited_is_read(binder: BuildBinder) -> None:
    sources = {"S1": "\n".join(GAZETTEER.split(". "))}
    cited = cite(*(f"S1:{line}" for line in (1, 2, 5, 6)), sources=sources)
    bound = binder(sources, windows=0, window_tokens=20).bind("Ada Brandt designed it.", cited)
    assert any(passage.turn == FURTHER for passage in bound.with_evidence)
    read = " ".join(passage.text for passage in bound.with_evidence)
    assert "Ion Costea" in read
    assert "Mary Doyle" not in read


def test_with_no_windows_the_closest_sentences_are_read_beside_the_stitched_passage(
    binder: BuildBinder,
) -> None:
    text = f"{GAZETTEER} {FILLER}"
    bound = binder({"S1": text}, windows=0).bind("Mary Doyle designed Cedar Bridge.", ())
    closest, stitched = bound.with_evidence
    assert closest.text == (
        "Cedar Bridge crosses the river at Lower Wick. It was designed by Mary Doyle."
    )
    assert len(stitched.pieces) > len(closest.pieces)


def test_the_closest_sentence_is_completed_from_its_own_neighbourhood(binder: BuildBinder) -> None:
    text = f"{GAZETTEER} {FILLER}"
    binding = binder({"S1": text}, windows=0).bind("Mary Doyle designed Alder Bridge.", ())
    assert "Alder" not in binding.with_evidence[0].text


@given(
    texts=st.lists(st.sampled_from(GAZETTEER.split(". ")), min_size=1, max_size=12),
    claim=st.sampled_from(["Cedar Bridge has 5 arches.", "Ion Costea designed it.", "zzz", "4"]),
    cited=st.lists(st.integers(1, 12), max_size=3),
)
def test_what_is_read_lies_in_what_is_cited(texts: list[str], claim: str, cited: list[int]) -> None:
    sources = {"S1": ".\n".join(texts)}
    lines = [f"S1:{number}" for number in cited if number <= len(texts)]
    citations = cite(*lines, sources=sources)
    regions = [c.region for c in citations if c.region] or [Span(0, len(sources["S1"]))]
    readable = {place for region in regions for place in range(region.start, region.end)}
    corpus = Corpus(as_sources(sources), split_sentences, window_tokens=40)
    for windows in (0, 2):
        for passage in Binder(corpus, windows=windows).bind(claim, citations).with_evidence:
            read = {i for piece in passage.pieces for i in range(piece.span.start, piece.span.end)}
            assert read
            assert read <= readable


def test_of_a_sentence_that_reaches_into_cited_lines_only_these_are_read(
    binder: BuildBinder,
) -> None:
    filler = "\n".join(f"Filler {i} says nothing at all about it." for i in range(30))
    text = f"The ferry that sank\nwas new in 2003. It was blue.\n{filler}\nThe ferry was long."
    citations = cite("S1:2", "S1:33", sources={"S1": text})
    for windows in (0, 2):
        bound = binder({"S1": text}, windows=windows).bind("The new ferry sank in 2003.", citations)
        assert bound.with_evidence
        assert not any("sank" in passage.text for passage in bound.with_evidence)


def test_with_no_windows_the_nearest_is_read_where_it_holds_all(binder: BuildBinder) -> None:
    binding = binder(SOURCES, windows=0).bind("The ferry sank in 2003.", cite("S2"))
    assert [(p.stitched, p.text) for p in binding.with_evidence] == [(False, S2)]


def test_with_no_windows_the_closest_of_what_is_left_is_read_without_the_evidence(
    binder: BuildBinder,
) -> None:
    sources = {"S1": "It was built in 1950.", "S2": GAZETTEER}
    bound = binder(sources, windows=0).bind("Mary Doyle designed Cedar Bridge.", cite("S1"))
    assert [passage.text for passage in bound.without_evidence] == [
        "Cedar Bridge crosses the river at Lower Wick. It was designed by Mary Doyle."
    ]


def test_cited_lines_far_apart_do_not_complete_each_other(binder: BuildBinder) -> None:
    filler = "\n".join(f"Filler {i} says nothing at all about it." for i in range(40))
    text = (
        f"The Alder Bridge is red.\n{filler}\nIt was designed by Mary Doyle.\nIt is long.\n{filler}"
    )
    citations = cite("S1:1", *(f"S1:{line}" for line in range(42, 84)), sources={"S1": text})
    bound = binder({"S1": text}, windows=0).bind("Alder Bridge was designed by Doyle.", citations)
    closest = bound.with_evidence[0]
    assert not ("Alder" in closest.text and "Doyle" in closest.text)


def test_with_no_windows_what_was_scrubbed_between_two_sentences_is_marked(
    binder: BuildBinder,
) -> None:
    text = "Alder Bridge is red.\nIt was built in 1950.\nMary Doyle designed it."
    cited = cite("S1:2", sources={"S1": text})
    bound = binder({"S1": text}, windows=0).bind("Mary Doyle designed Alder Bridge.", cited)
    assert [passage.text for passage in bound.without_evidence] == [
        f"Alder Bridge is red.\n{MARKER}\nMary Doyle designed it."
    ]


def test_without_the_cited_source_the_others_are_still_read(binder: BuildBinder) -> None:
    binding = binder(SOURCES).bind("The ferry sank in 2003.", cite("S1"))
    assert [passage.text for passage in binding.without_evidence] == [S2]


def test_without_any_source_left_the_structure_is_read(binder: BuildBinder) -> None:
    sources = {"S1": "# Ferry\n- It sank in 2003."}
    binding = binder(sources).bind("The ferry sank in 2003.", ())
    assert [p.text for p in binding.without_evidence] == [f"# {MARKER}\n- {MARKER}"]


@pytest.mark.spec("SPEC-08.10")
def test_copies_of_the_cited_text_are_scrubbed_too(binder: BuildBinder) -> None:
    sources = {"S1": S1, "S2": f"{S2} It carries nine thousand vehicles a day."}
    binding = binder(sources).bind(
        "It carries nine thousand vehicles.", cite("S1", sources=sources)
    )
    (without,) = binding.without_evidence
    assert without.text == f"{S2} {MARKER}"


def test_lines_beside_the_cited_ones_stay(binder: BuildBinder) -> None:
    sources = {"a.py": "retries = 3\ntimeout = 10\nverbose = True\n"}
    binding = binder(sources).bind("The timeout is 10.", cite("a.py:2", sources=sources))
    (without,) = binding.without_evidence
    assert without.text == f"retries = 3\n{MARKER}\nverbose = True"


def test_the_closest_sentences_without_some_of_them_are_of_the_cited_evidence(
    binder: BuildBinder,
) -> None:
    texts = {
        "S1": "Some say the ferry sank in 2003. It rained. The ferry went down in 2003.",
        "S2": "The ferry sank in 2003.",
    }
    claim, left_out = "The ferry sank in 2003.", SourceSpan("S1", Span(0, 32))
    bound = binder(texts, windows=0)
    found = bound.without(claim, cite("S1", sources=texts), [left_out])
    assert found is not None
    assert found.text == "It rained. The ferry went down in 2003."
    assert not any(piece.overlaps(left_out) for piece in found.pieces)
    assert all(piece.span.of(texts[piece.source]).strip() in found.text for piece in found.pieces)
    anywhere = bound.without(claim, (), [left_out])
    assert anywhere is not None
    assert anywhere.text == texts["S2"]
    everything = [SourceSpan(name, Span(0, len(text))) for name, text in texts.items()]
    assert bound.without(claim, (), everything) is None
