"""Feedback on verdicts, and the refitting of a backend's calibration to it."""

from veridical.feedback.labels import Feedback, Mark, report_id, to_document
from veridical.feedback.observations import Sorted, Unused, sort_marks
from veridical.feedback.points import Observation, Reading
from veridical.feedback.search import ENOUGH, Figure, Figures, Refit, TooLittle, refit

__all__ = [
    "ENOUGH",
    "Feedback",
    "Figure",
    "Figures",
    "Mark",
    "Observation",
    "Reading",
    "Refit",
    "Sorted",
    "TooLittle",
    "Unused",
    "refit",
    "report_id",
    "sort_marks",
    "to_document",
]
