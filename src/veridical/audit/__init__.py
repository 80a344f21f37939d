"""Audit of reasoning traces: verification of each step and of the derivation of the answer."""
