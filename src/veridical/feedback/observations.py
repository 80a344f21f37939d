"""Selection of the feedback labels that apply to a backend, as observations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from veridical.core.recalibration import tempered
from veridical.feedback.points import Observation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.core.measurements import BackendInfo
    from veridical.core.recalibration import Recalibration
    from veridical.feedback.labels import FeedbackLabel


class Unused(StrEnum):
    """Reason why a label does not count."""

    OTHER_BACKEND = "other_backend"
    OTHER_VERSION = "other_version"
    NOT_BY_PROBABILITY = "not_by_probability"


@dataclass(frozen=True, slots=True)
class SortedLabels:
    """Applicable labels as observations, and the number of the others by reason."""

    observations: tuple[Observation, ...]
    unused: Mapping[Unused, int]


def sort_labels(
    marks: Iterable[FeedbackLabel], info: BackendInfo, in_force: Recalibration | None = None
) -> SortedLabels:
    """Return the labels that apply to the backend `info` (without any recalibration).

    Estimates read at the temperature of `in_force` are converted back to that of the backend.
    """
    temperatures = {info.fingerprint: 1.0}
    if in_force is not None:
        temperatures[in_force.applied_fingerprint] = in_force.temperature
    found: list[Observation] = []
    unused: Counter[Unused] = Counter()
    for mark in marks:
        truth = mark.truly_supported
        if (mark.backend, mark.model) != (info.name, info.model):
            unused[Unused.OTHER_BACKEND] += 1
        elif mark.fingerprint not in temperatures:
            unused[Unused.OTHER_VERSION] += 1
        elif mark.p1 is None or truth is None:
            unused[Unused.NOT_BY_PROBABILITY] += 1
        else:
            back = 1.0 / temperatures[mark.fingerprint]
            p0 = None if mark.p0 is None else tempered(mark.p0, back)
            found.append(Observation(tempered(mark.p1, back), p0, truth, mark.report_id))
    return SortedLabels(tuple(found), dict(unused))
