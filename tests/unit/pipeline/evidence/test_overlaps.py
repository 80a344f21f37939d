from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veridical.core.types import Span
from veridical.pipeline.evidence.overlaps import Stretches, overlapping
from veridical.pipeline.evidence.scrubbing import merge

spans = st.tuples(st.integers(0, 60), st.integers(0, 8)).map(lambda pair: Span(pair[0], sum(pair)))


@given(st.lists(spans), spans)
def test_the_spans_are_those_that_a_look_at_each_of_them_finds(
    several: list[Span], wanted: Span
) -> None:
    merged = merge(several)
    assert overlapping(merged, wanted) == [span for span in merged if span.overlaps(wanted)]


@given(st.lists(st.tuples(spans, spans)), st.lists(spans), st.lists(spans))
def test_all_stretches_are_found_that_a_look_at_each_of_them_finds(
    windows: list[tuple[Span, Span]], first: list[Span], second: list[Span]
) -> None:
    starts = sorted(span.start for pair in windows for span in pair)
    ends = sorted(span.end for pair in windows for span in pair)
    stretches = [Span(start, end) for start, end in zip(starts, ends, strict=True)]
    ranges = {"S1": range(len(windows)), "S2": range(len(windows), len(stretches))}
    wanted = {"S1": merge(first), "S2": merge(second)}
    expected = [
        (number, span)
        for source, numbers in ranges.items()
        for number in numbers
        for span in wanted[source]
        if span.overlaps(stretches[number])
    ]
    made = Stretches({source: stretches[at.start : at.stop] for source, at in ranges.items()})
    found = made.overlapping(wanted)
    assert list(zip(found.numbers.tolist(), found.spans, strict=True)) == expected
    assert found.cut.tolist() == [
        span.common(stretches[number]) != stretches[number] for number, span in expected
    ]
    inside = {number for number, _ in expected}
    assert made.outside(wanted).tolist() == [n for n in range(len(stretches)) if n not in inside]
