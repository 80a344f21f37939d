"""Tables of jobs: a row for each job, and one for each of its checks."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
)

from veridical.store.tables import metadata

jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    Column("project", String, nullable=False, index=True),
    Column("created", Float(53), nullable=False),  # times are seconds since 1970
    Column("finished", Float(53), index=True),
    Column("total", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("policy", JSON(none_as_null=True)),
    Column("webhook", String),
    Column("webhook_state", String),  # pending, delivered, failed; null without a webhook
    Column("webhook_attempts", Integer, nullable=False),
    Column("webhook_due", Float(53), index=True),
)
job_rows = Table(
    "job_rows",
    metadata,
    Column("job", ForeignKey("jobs.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("request", LargeBinary),  # null as soon as there is a result: no text is kept longer
    Column("result", LargeBinary),
    Column("attempts", Integer, nullable=False),
    Column("claimed_by", String),
    Column("claimed_until", Float(53)),
)
OPEN = job_rows.c.request.is_not(None)
Index(
    "ix_job_rows_open",
    job_rows.c.number,
    job_rows.c.job,
    sqlite_where=OPEN,
    postgresql_where=OPEN,
)
