"""What people say of verdicts -> how a backend's probabilities are best read."""

from veridical.evaluation.refit.marks import Sorted, Unused, sort_marks
from veridical.evaluation.refit.points import Observation, Reading
from veridical.evaluation.refit.search import ENOUGH, Figure, Figures, Refit, TooLittle, refit

__all__ = [
    "ENOUGH",
    "Figure",
    "Figures",
    "Observation",
    "Reading",
    "Refit",
    "Sorted",
    "TooLittle",
    "Unused",
    "refit",
    "sort_marks",
]
