"""Feedback: which verdicts were right."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the table `feedback`."""
    op.create_table(
        "feedback",
        sa.Column("id", sa.Integer, autoincrement=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("report", sa.String, nullable=False),
        sa.Column("claim", sa.String, nullable=False),
        sa.Column("claim_hash", sa.String, nullable=False),
        sa.Column("backend", sa.String, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("estimator", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String),
        sa.Column("p1", sa.JSON),
        sa.Column("p0", sa.JSON),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("support_threshold", sa.Float(53), nullable=False),
        sa.Column("contradiction_threshold", sa.Float(53), nullable=False),
        sa.Column("right", sa.Boolean, nullable=False),
        sa.Column("actual", sa.String),
        sa.PrimaryKeyConstraint("id", name="pk_feedback"),
        sa.UniqueConstraint("report", "claim", name="uq_feedback_report_claim"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_feedback_fingerprint", "feedback", ["fingerprint"])


def downgrade() -> None:
    """Drop the table, with what it holds."""
    op.drop_table("feedback")
