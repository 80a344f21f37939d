"""Places of an array in the order of its values, without sorting all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST = 64
"""Places that are sorted first; most callers need no more."""


def best_of(values: Any) -> int:  # noqa: ANN401 -- numpy, imported late
    """Return the place of the greatest value, the first of equal ones."""
    return int(values.argmax())


def descending(values: Any) -> Iterator[int]:  # noqa: ANN401 -- see above
    """Yield the places from the greatest value to the least; equal ones as they stand."""
    import numpy as np

    if len(values) <= 2 * _FIRST:
        yield from _sorted(values, np.arange(len(values)))
        return
    least = np.partition(values, -_FIRST)[-_FIRST]
    yield from _sorted(values, np.flatnonzero(values >= least))
    yield from _sorted(values, np.flatnonzero(values < least))


def _sorted(values: Any, places: Any) -> Iterator[int]:  # noqa: ANN401 -- see above
    import numpy as np

    yield from places[np.argsort(-values[places], kind="stable")].tolist()
