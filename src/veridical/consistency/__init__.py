"""Consistency of answers and verdicts under resampling, rewording and removal of evidence."""
