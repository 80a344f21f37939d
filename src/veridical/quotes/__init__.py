"""Grounding of quotes in transcripts and other texts, and extraction of quoted evidence."""
