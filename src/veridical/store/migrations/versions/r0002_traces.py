"""Reasoning traces: nodes, and the labelled edges between them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables `trace_nodes` and `trace_edges`."""
    op.create_table(
        "trace_nodes",
        sa.Column("number", sa.Integer, autoincrement=True),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("root", sa.String, nullable=False),
        sa.Column("parent", sa.String),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("name", sa.String),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_trace_nodes"),
        sa.UniqueConstraint("id", name="uq_trace_nodes_id"),
        sa.UniqueConstraint("root", "name", name="uq_trace_nodes_root_name"),
        sa.ForeignKeyConstraint(
            ["parent"], ["trace_nodes.id"], name="fk_trace_nodes_parent_trace_nodes"
        ),
    )
    op.create_index("ix_trace_nodes_root", "trace_nodes", ["root"])
    op.create_index("ix_trace_nodes_parent", "trace_nodes", ["parent"])
    op.create_table(
        "trace_edges",
        sa.Column("number", sa.Integer, autoincrement=True),
        sa.Column("root", sa.String, nullable=False),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("target", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_trace_edges"),
        sa.UniqueConstraint("source", "label", "target", name="uq_trace_edges_source_label_target"),
        sa.ForeignKeyConstraint(
            ["source"], ["trace_nodes.id"], name="fk_trace_edges_source_trace_nodes"
        ),
        sa.ForeignKeyConstraint(
            ["target"], ["trace_nodes.id"], name="fk_trace_edges_target_trace_nodes"
        ),
    )
    op.create_index("ix_trace_edges_root", "trace_edges", ["root"])
    op.create_index("ix_trace_edges_target", "trace_edges", ["target"])


def downgrade() -> None:
    """Drop the tables, with what they hold."""
    op.drop_table("trace_edges")
    op.drop_table("trace_nodes")
