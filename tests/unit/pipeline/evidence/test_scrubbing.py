from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.core.sources import as_sources
from veridical.core.types import Span
from veridical.pipeline.evidence.corpus import Corpus
from veridical.pipeline.evidence.scrubbing import MARKER, merge, near_copies, scrub


def whole(text: str) -> str:
    return scrub(text, [Span(0, len(text))])


@pytest.mark.spec("SPEC-08.10")
def test_only_the_cited_span_is_replaced() -> None:
    assert scrub("Keep. Drop this. Keep.", [Span(6, 16)]) == f"Keep. {MARKER} Keep."


def test_several_spans_are_replaced_each_by_itself() -> None:
    text = "Keep. Drop this. Keep. Drop. Keep."
    expected = f"Keep. {MARKER} Keep. {MARKER} Keep."
    assert scrub(text, [Span(23, 28), Span(6, 16)]) == expected


@pytest.mark.spec("SPEC-08.11")
@pytest.mark.parametrize(
    ("line", "scrubbed"),
    [
        ("## Revenue rose", f"## {MARKER}"),
        ("- first item", f"- {MARKER}"),
        ("  3. third item", f"  3. {MARKER}"),
        ("> a quote", f"> {MARKER}"),
        ("Ellie: how are you", f"Ellie: {MARKER}"),
        ('  "name": "Ada",', f'  "name": "{MARKER}"'),
        ('{"age": 36,', f'{{"age": {MARKER}'),
        (
            ' {"age": 36, "of": [{"is": null}]}',
            f' {{"age": "{MARKER}", "of": [{{"is": "{MARKER}"}}]}}',
        ),
        ('[{"age": 36}]', f'[{{"age": "{MARKER}"}}]'),
        ('{"größe": 36}', f'{{"größe": "{MARKER}"}}'),
        ('  "name":', '  "name":'),
        ("Speaker 1: how are you", f"Speaker 1: {MARKER}"),
        ("Ellie: Bob: how are you", f"Ellie: {MARKER}"),
        ("participant: I sleep", f"participant: {MARKER}"),
        ("[doctor] I sleep", f"[doctor] {MARKER}"),
        ("[1] I sleep", MARKER),
        ("what he said was: nothing", MARKER),
        ("| Paris | 2.1 |", f"| {MARKER} | {MARKER} |"),
        ("  | Paris |", f"  | {MARKER} |"),
        ("plain words", MARKER),
        ("", ""),
    ],
)
def test_the_structure_of_a_line_is_kept(line: str, scrubbed: str) -> None:
    assert whole(line) == scrubbed


@pytest.mark.parametrize("depth", [400, 20_000])
def test_json_of_any_depth_loses_what_it_holds(depth: int) -> None:
    done = whole('{"a": [' * depth + '"secret"' + "]}" * depth)
    assert "secret" not in done
    assert MARKER in done


def test_line_breaks_are_kept() -> None:
    assert whole("one\n\n- two\r\n") == f"{MARKER}\n\n- {MARKER}\r\n"


@given(st.text(), st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=5))
def test_what_lies_outside_the_spans_is_untouched(text: str, ends: list[tuple[int, int]]) -> None:
    spans = [Span(min(a, b), max(a, b)) for a, b in ends if max(a, b) <= len(text)]
    done = scrub(text, spans)
    first = min((span.start for span in spans), default=len(text))
    last = max((span.end for span in spans), default=0)
    assert done.startswith(text[:first])
    assert done.endswith(text[max(first, last) :])


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8))
@example([(0, 2), (2, 4)])
def test_merged_spans_are_disjoint_and_cover_the_same_places(ends: list[tuple[int, int]]) -> None:
    spans = [Span(min(a, b), max(a, b)) for a, b in ends]
    merged = merge(spans)
    assert all(a.end < b.start for a, b in pairwise(merged))
    covered = {i for span in spans for i in range(span.start, span.end)}
    assert {i for span in merged for i in range(span.start, span.end)} == covered


CITED = "The Alpha bridge carries about nine thousand vehicles across the river every day."


def copies(corpus: Callable[..., Corpus], other: str) -> list[str]:
    built = corpus({"S1": CITED, "S2": other})
    return [built.text(piece) for piece in near_copies(built, [0])]


@pytest.mark.parametrize(
    "other",
    [
        CITED,
        CITED.upper(),
        CITED.replace("about nine", "about  nine"),
        f"As reported: {CITED}",
        "The Alpha bridge carries about nine thousand vehicles.",
        f'{{"id": 3, "text": "{CITED[:-1]}", "kept": true}}',
        f"Doctor: {CITED[:-1]}, or so the harbour master told the reporters who asked him.",
    ],
)
def test_a_copy_of_the_cited_text_elsewhere_is_found(
    corpus: Callable[..., Corpus], other: str
) -> None:
    assert copies(corpus, other) == [other]


@pytest.mark.parametrize(
    "other",
    [
        "The Alpha bridge was painted green in spring.",
        CITED.replace("carries", "never carries"),
        CITED.replace("carries", "cannot carry"),
        CITED.replace("carries", "hardly carries"),
        f"It is not true that {CITED[4:-1]}, as the papers of the time had it.",
        CITED.replace("about nine thousand", "about 9,000"),
        "Traffic over the river is some nine thousand cars daily.",
        "The Alpha bridge carries nine lamps, which a smith of the old town made by hand.",
    ],
)
def test_a_sentence_that_says_something_else_is_no_copy(
    corpus: Callable[..., Corpus], other: str
) -> None:
    assert copies(corpus, other) == []


def triples(words: list[str]) -> list[str]:
    return [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]


few_words = st.lists(st.sampled_from(["alpha", "bravo", "cargo", "delta"]), min_size=3, max_size=14)


@given(few_words, few_words)
@example([f"x{c}" for c in "abcdefghijklmn"], [f"x{c}" for c in "abcdefghiopq"])  # 7 of 12, 10
@example([f"x{c}" for c in "abcdefghijkl"], [f"x{c}" for c in "abcdefghiopqrs"])  # 7 of 10, 12
def test_a_copy_shares_seven_in_ten_triples_of_words_with_the_cited_sentence_or_more(
    cited: list[str], other: list[str]
) -> None:
    theirs, ours = triples(cited), triples(other)
    built = Corpus(
        as_sources({"S1": " ".join(cited), "S2": " ".join(other)}),
        lambda text: [Span(0, len(text))],
        window_tokens=40,
    )
    most_of_it = 10 * sum(triple in theirs for triple in ours) >= 7 * len(ours)
    holds_most = 10 * len({*theirs} & {*ours}) >= 7 * len({*theirs})
    assert bool(near_copies(built, [0])) is (most_of_it or holds_most)


def test_a_short_sentence_is_a_copy_only_if_it_is_the_same(corpus: Callable[..., Corpus]) -> None:
    built = corpus({"S1": "Rates rose.", "S2": "Rates  ROSE.\nRates fell."})
    assert [built.text(piece) for piece in near_copies(built, [0])] == ["Rates  ROSE."]


words = st.lists(st.sampled_from(["a1", "red", "bus", "not", "ran", "off"]), min_size=1, max_size=7)


@given(st.lists(words, min_size=2, max_size=12), st.integers(1, 4))
def test_copies_are_those_that_a_comparison_of_all_sentences_finds(
    sentences: list[list[str]], cited: int
) -> None:
    text = "\n".join(f"{' '.join(each)}." for each in sentences)
    built = Corpus(as_sources({"S1": text}), lines_of, window_tokens=1000)
    cited = min(cited, len(built.sentences) - 1)
    found = {piece.span.start for piece in near_copies(built, range(cited))}
    expected = {
        built.sentences[i].piece.span.start
        for i in range(cited, len(built.sentences))
        if copies_one_or_more(built, i, range(cited))
    }
    assert found == expected


def lines_of(text: str) -> list[Span]:
    return [Span(*match.span()) for match in re.finditer(r".+", text)]


def copies_one_or_more(built: Corpus, other: int, cited: range) -> bool:
    """Compare a sentence with each cited one, as the definition of a near copy has it."""
    grams, marks = trigrams(built, other), marks_of(built, other)
    if not grams:
        texts = {built.text(built.sentences[i].piece).lower() for i in cited}
        return built.text(built.sentences[other].piece).lower() in texts
    known = {gram for i in cited for gram in trigrams(built, i)}
    if sum(gram in known for gram in grams) >= 0.7 * len(grams) and marks <= {
        mark for i in cited for mark in marks_of(built, i)
    }:
        return True
    return any(
        len(set(grams) & set(own)) >= 0.7 * len(set(own))
        and marks_of(built, i) <= marks
        and "not" not in marks - marks_of(built, i)
        for i in cited
        if (own := trigrams(built, i))
    )


def trigrams(built: Corpus, i: int) -> list[tuple[str, ...]]:
    words = built.vocabulary[i]
    return [tuple(words[at : at + 3]) for at in range(len(words) - 2)]


def marks_of(built: Corpus, i: int) -> set[str]:
    return {word for word in built.vocabulary[i] if word[0].isdigit() or word == "not"}
