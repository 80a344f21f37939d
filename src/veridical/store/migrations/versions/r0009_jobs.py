"""Tables of jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the tables `jobs` and `job_rows`."""
    op.create_table(
        "jobs",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("finished", sa.Float(53)),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("policy", sa.JSON),
        sa.Column("webhook", sa.String),
        sa.Column("webhook_state", sa.String),
        sa.Column("webhook_attempts", sa.Integer, nullable=False),
        sa.Column("webhook_due", sa.Float(53)),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    for column in ("project", "finished", "webhook_due"):
        op.create_index(f"ix_jobs_{column}", "jobs", [column])
    op.create_table(
        "job_rows",
        sa.Column("job", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("request", sa.LargeBinary),
        sa.Column("result", sa.LargeBinary),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("claimed_by", sa.String),
        sa.Column("claimed_until", sa.Float(53)),
        sa.PrimaryKeyConstraint("job", "number", name="pk_job_rows"),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_job_rows_job_jobs"),
    )
    there = sa.text("request IS NOT NULL")
    op.create_index(
        "ix_job_rows_open",
        "job_rows",
        ["number", "job"],
        sqlite_where=there,
        postgresql_where=there,
    )


def downgrade() -> None:
    """Drop the tables, with what they hold."""
    for name in ("job_rows", "jobs"):
        op.drop_table(name)
