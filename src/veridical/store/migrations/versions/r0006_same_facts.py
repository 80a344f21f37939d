"""Unique key of a fact by its text and evidence, so that it is remembered once."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add `memory_facts.key`, of which facts that are not retracted have one each."""
    op.add_column("memory_facts", sa.Column("key", sa.String))
    there = sa.text("retracted IS NULL")
    op.create_index(
        "uq_memory_facts_key",
        "memory_facts",
        ["key"],
        unique=True,
        sqlite_where=there,
        postgresql_where=there,
    )


def downgrade() -> None:
    """Drop the column."""
    op.drop_index("uq_memory_facts_key", "memory_facts")
    op.drop_column("memory_facts", "key")
