"""Feedback on verdicts, and the recalibration of a backend from it."""

from veridical.feedback.labels import Feedback, FeedbackLabel, report_id, to_document
from veridical.feedback.observations import SortedLabels, Unused, sort_labels
from veridical.feedback.points import DecisionRule, Observation
from veridical.feedback.search import ENOUGH, Metric, Metrics, NotEnoughFeedback, Refit, refit

__all__ = [
    "ENOUGH",
    "DecisionRule",
    "Feedback",
    "FeedbackLabel",
    "Metric",
    "Metrics",
    "NotEnoughFeedback",
    "Observation",
    "Refit",
    "SortedLabels",
    "Unused",
    "refit",
    "report_id",
    "sort_labels",
    "to_document",
]
