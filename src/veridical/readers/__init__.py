"""Readers of documents: text, HTML, PDF, JSON and JSONL files and folders."""
