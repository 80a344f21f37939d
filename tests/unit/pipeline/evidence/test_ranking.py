from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from veridical.pipeline.evidence.ranking import best_of, descending

values = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(-5, 5), max_size=300)


@given(values)
def test_the_order_is_that_of_a_stable_sort(found: list[float]) -> None:
    expected = sorted(range(len(found)), key=lambda at: -found[at])
    assert list(descending(np.asarray(found))) == expected


@given(values.filter(bool))
def test_the_best_is_the_first_of_the_greatest(found: list[float]) -> None:
    assert best_of(np.asarray(found)) == max(range(len(found)), key=found.__getitem__)
