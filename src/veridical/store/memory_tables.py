"""Tables of the memory; the full-text index beside them is made by their migration."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from veridical.store.projects import project_column, rows_of
from veridical.store.tables import metadata

DEPENDS_ON = "depends_on"
"""Label of the links that a retraction follows, from a fact to its dependents."""

TIERS = ("task", "session", "long_term")
"""Tiers of facts, the lowest first."""

_FACT = "memory_facts.number"

all_entities = Table(
    "memory_entities",
    metadata,
    project_column(),
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False),
    Column("name", String, nullable=False),
    UniqueConstraint("project", "key"),
)
# Texts by their hash, of all projects: one is reached by a fact's provenance only.
sources = Table(
    "memory_sources",
    metadata,
    Column("hash", String, primary_key=True),
    Column("text", LargeBinary, nullable=False),  # PostgreSQL keeps no NUL in a text
)
all_facts = Table(
    "memory_facts",
    metadata,
    project_column(),
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String, nullable=False, unique=True),
    Column("text", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("relation", String, index=True),
    Column("tier", String, nullable=False, index=True),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("stated", Float(53)),
    Column("confidence", Float(53), nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("valid_from", DateTime(timezone=True)),
    Column("valid_to", DateTime(timezone=True)),
    Column("retracted", DateTime(timezone=True)),
    Column("verification", JSON(none_as_null=True)),
    Column("key", String),  # identity of a fact; null in rows older than 0006
    sqlite_autoincrement=True,  # ids of removed facts are never reused
)
Index(
    "uq_memory_facts_project_key",
    all_facts.c.project,
    all_facts.c.key,
    unique=True,
    sqlite_where=all_facts.c.retracted.is_(None),
    postgresql_where=all_facts.c.retracted.is_(None),
)
Index("ix_memory_facts_project_number", all_facts.c.project, all_facts.c.number)
all_roles = Table(
    "memory_roles",
    metadata,
    project_column(),
    Column("fact", ForeignKey(_FACT), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("role", String, nullable=False),
    Column("entity", ForeignKey("memory_entities.number"), nullable=False, index=True),
)
all_provenance = Table(
    "memory_provenance",
    metadata,
    project_column(),
    Column("fact", ForeignKey(_FACT), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("source", String, nullable=False, index=True),
    Column("hash", ForeignKey("memory_sources.hash"), nullable=False, index=True),
    Column("span_start", Integer),
    Column("span_end", Integer),
)
all_links = Table(
    "memory_links",
    metadata,
    project_column(),
    Column("source", ForeignKey(_FACT), primary_key=True),
    Column("label", String, primary_key=True),
    Column("target", ForeignKey(_FACT), primary_key=True, index=True),
)
all_vectors = Table(
    "memory_vectors",
    metadata,
    project_column(),
    Column("fact", ForeignKey(_FACT), primary_key=True),
    Column("model", String, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # 32-bit floats, little-endian, of length 1
)
all_queue = Table(
    "memory_queue",
    metadata,
    project_column(),
    Column("fact", ForeignKey(_FACT), primary_key=True, autoincrement=False),
    Column("tier", String),  # where a fact goes once it is verified; null where it is to stay
    Column("reason", String, nullable=False),
    Column("created", Float(53), nullable=False),  # times of the queue are seconds since 1970
    Column("due", Float(53), nullable=False, index=True),
    Column("tried", Float(53)),
    Column("attempts", Integer, nullable=False),
    Column("claimed_by", String),
    Column("claimed_until", Float(53)),
    Column("given_up", Boolean, nullable=False),
)
all_rejections = Table(
    "memory_rejections",
    metadata,
    project_column(),
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("fact", String),
    Column("fact_hash", String, nullable=False),
    Column("length", Integer, nullable=False),
    Column("sources", Integer, nullable=False),
    Column("error", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("origin", String, nullable=False),
    Column("tier", String, nullable=False),
    Column("stated", Float(53)),
    Column("confidence", Float(53), nullable=False),
    Column("p1", Float(53)),
    Column("p0", Float(53)),
    Column("gap_bits", Float(53)),
)

entities, facts, roles = rows_of(all_entities), rows_of(all_facts), rows_of(all_roles)
provenance, links, vectors = rows_of(all_provenance), rows_of(all_links), rows_of(all_vectors)
queue, rejections = rows_of(all_queue), rows_of(all_rejections)
