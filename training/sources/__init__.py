"""Readers of public data sets, each turned into pairs of evidence and claim."""
