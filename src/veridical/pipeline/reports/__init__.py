"""Report formats: for people (text, HTML) and for programs (JSON, SARIF, JUnit)."""

from veridical.pipeline.reports.report import Report

__all__ = ["Report"]
