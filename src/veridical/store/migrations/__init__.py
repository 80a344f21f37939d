"""Revisions of the database, oldest first; each stays as it was when it was released."""
