"""Generators of pairs whose label is known by construction."""
