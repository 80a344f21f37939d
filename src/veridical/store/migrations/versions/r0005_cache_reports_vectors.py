"""Tables of estimates, reports, and vectors of facts."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables `cache_entries`, `reports` and `memory_vectors`."""
    op.create_table(
        "cache_entries",
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_cache_entries"),
    )
    op.create_index("ix_cache_entries_created", "cache_entries", ["created"])
    op.create_table(
        "reports",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reports"),
    )
    op.create_index("ix_reports_created", "reports", ["created"])
    op.create_table(
        "memory_vectors",
        sa.Column("fact", sa.Integer, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("fact", "model", name="pk_memory_vectors"),
        sa.ForeignKeyConstraint(
            ["fact"], ["memory_facts.number"], name="fk_memory_vectors_fact_memory_facts"
        ),
    )


def downgrade() -> None:
    """Drop the tables, with what they hold."""
    for name in ("memory_vectors", "reports", "cache_entries"):
        op.drop_table(name)
