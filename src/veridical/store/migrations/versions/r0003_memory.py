"""Memory: facts between entities, where they come from, what waits, and what was rejected."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_SQLITE_SEARCH = (
    (
        "CREATE VIRTUAL TABLE memory_text USING fts5("
        "words, content='memory_facts', content_rowid='number', "
        "tokenize='unicode61 remove_diacritics 0')"
    ),
    (
        "CREATE TRIGGER memory_text_added AFTER INSERT ON memory_facts BEGIN "
        "INSERT INTO memory_text(rowid, words) VALUES (new.number, new.words); END"
    ),
    (
        "CREATE TRIGGER memory_text_removed AFTER DELETE ON memory_facts BEGIN "
        "INSERT INTO memory_text(memory_text, rowid, words) "
        "VALUES ('delete', old.number, old.words); END"
    ),
)
_POSTGRESQL_SEARCH = (
    (
        "CREATE INDEX ix_memory_text ON memory_facts "
        "USING gin (array_to_tsvector(string_to_array(words, ' ')))"
    ),
)


def upgrade() -> None:
    """Make the tables and the full-text index."""
    op.create_table(
        "memory_entities",
        sa.Column("number", sa.Integer, autoincrement=True),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_memory_entities"),
        sa.UniqueConstraint("key", name="uq_memory_entities_key"),
    )
    op.create_table(
        "memory_sources",
        sa.Column("hash", sa.String),
        sa.Column("text", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_memory_sources"),
    )
    _facts()
    _parts_of_facts()
    _queue()
    _rejections()
    search = _SQLITE_SEARCH if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL_SEARCH
    for statement in search:
        op.execute(statement)


def _facts() -> None:
    op.create_table(
        "memory_facts",
        sa.Column("number", sa.Integer, autoincrement=True),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("relation", sa.String),
        sa.Column("tier", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("stated", sa.Float(53)),
        sa.Column("confidence", sa.Float(53), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True)),
        sa.Column("valid_to", sa.DateTime(timezone=True)),
        sa.Column("retracted", sa.DateTime(timezone=True)),
        sa.Column("verification", sa.JSON),
        sa.PrimaryKeyConstraint("number", name="pk_memory_facts"),
        sa.UniqueConstraint("id", name="uq_memory_facts_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memory_facts_tier", "memory_facts", ["tier"])
    op.create_index("ix_memory_facts_relation", "memory_facts", ["relation"])


def _parts_of_facts() -> None:
    op.create_table(
        "memory_roles",
        sa.Column("fact", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("entity", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("fact", "position", name="pk_memory_roles"),
        _foreign("memory_roles", "fact", "memory_facts", "number"),
        _foreign("memory_roles", "entity", "memory_entities", "number"),
    )
    op.create_index("ix_memory_roles_entity", "memory_roles", ["entity"])
    op.create_table(
        "memory_provenance",
        sa.Column("fact", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
        sa.Column("span_start", sa.Integer),
        sa.Column("span_end", sa.Integer),
        sa.PrimaryKeyConstraint("fact", "position", name="pk_memory_provenance"),
        _foreign("memory_provenance", "fact", "memory_facts", "number"),
        _foreign("memory_provenance", "hash", "memory_sources", "hash"),
    )
    op.create_index("ix_memory_provenance_source", "memory_provenance", ["source"])
    op.create_index("ix_memory_provenance_hash", "memory_provenance", ["hash"])
    op.create_table(
        "memory_links",
        sa.Column("source", sa.Integer, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("target", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("source", "label", "target", name="pk_memory_links"),
        _foreign("memory_links", "source", "memory_facts", "number"),
        _foreign("memory_links", "target", "memory_facts", "number"),
    )
    op.create_index("ix_memory_links_target", "memory_links", ["target"])


def _queue() -> None:
    op.create_table(
        "memory_queue",
        sa.Column("fact", sa.Integer, autoincrement=False),
        sa.Column("tier", sa.String),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("due", sa.Float(53), nullable=False),
        sa.Column("tried", sa.Float(53)),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("claimed_by", sa.String),
        sa.Column("claimed_until", sa.Float(53)),
        sa.Column("given_up", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("fact", name="pk_memory_queue"),
        _foreign("memory_queue", "fact", "memory_facts", "number"),
    )
    op.create_index("ix_memory_queue_due", "memory_queue", ["due"])


def _rejections() -> None:
    op.create_table(
        "memory_rejections",
        sa.Column("number", sa.Integer, autoincrement=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fact", sa.String),
        sa.Column("fact_hash", sa.String, nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("sources", sa.Integer, nullable=False),
        sa.Column("error", sa.String, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("origin", sa.String, nullable=False),
        sa.Column("tier", sa.String, nullable=False),
        sa.Column("stated", sa.Float(53)),
        sa.Column("confidence", sa.Float(53), nullable=False),
        sa.Column("p1", sa.Float(53)),
        sa.Column("p0", sa.Float(53)),
        sa.Column("gap_bits", sa.Float(53)),
        sa.PrimaryKeyConstraint("number", name="pk_memory_rejections"),
    )


def _foreign(table: str, column: str, other: str, key: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{other}.{key}"], name=f"fk_{table}_{column}_{other}"
    )


def downgrade() -> None:
    """Drop the tables, with what they hold."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE memory_text")
    for name in ("rejections", "queue", "links", "provenance", "roles", "facts"):
        op.drop_table(f"memory_{name}")
    op.drop_table("memory_sources")
    op.drop_table("memory_entities")
