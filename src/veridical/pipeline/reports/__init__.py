"""Reports: an assessment said to a person (text, HTML) or to a program (JSON, SARIF, JUnit)."""

from veridical.pipeline.reports.report import Report

__all__ = ["Report"]
