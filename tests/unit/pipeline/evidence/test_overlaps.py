from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veridical.core.types import Span
from veridical.pipeline.evidence.overlaps import overlapping
from veridical.pipeline.evidence.scrubbing import merge

spans = st.tuples(st.integers(0, 60), st.integers(0, 8)).map(lambda pair: Span(pair[0], sum(pair)))


@given(st.lists(spans), spans)
def test_the_spans_are_those_that_a_look_at_each_of_them_finds(
    several: list[Span], wanted: Span
) -> None:
    merged = merge(several)
    assert overlapping(merged, wanted) == [span for span in merged if span.overlaps(wanted)]
