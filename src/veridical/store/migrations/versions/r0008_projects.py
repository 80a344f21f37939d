"""Project of each row, `default` for rows from before, and the usage of each key."""

import sqlalchemy as sa
from alembic import op

from veridical.errors import StoreError

revision = "0008"
down_revision = "0006"

_WITH_A_COLUMN = (
    *("memory_facts", "memory_provenance", "memory_links", "memory_vectors"),
    *("memory_queue", "memory_rejections", "reports"),
)


def upgrade() -> None:
    """Add the column, and make what was unique unique within a project."""
    for name in _WITH_A_COLUMN:
        op.add_column(name, _project())
    _facts()
    op.create_index("ix_reports_project_created", "reports", ["project", "created"])
    _usage()
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_feedback()
        _rebuild_entities()
        _rebuild_traces()
        return
    for name in ("feedback", "memory_entities", "memory_roles", "trace_nodes", "trace_edges"):
        op.add_column(name, _project())
    _unique("feedback", "uq_feedback_report_claim", ["project", "report", "claim"])
    _unique("memory_entities", "uq_memory_entities_key", ["project", "key"])
    _traces()


def _project() -> sa.Column[str]:
    return sa.Column("project", sa.String, nullable=False, server_default="default")


def _facts() -> None:
    there = sa.text("retracted IS NULL")
    op.drop_index("uq_memory_facts_key", "memory_facts")
    op.create_index(
        "uq_memory_facts_project_key",
        "memory_facts",
        ["project", "key"],
        unique=True,
        sqlite_where=there,
        postgresql_where=there,
    )
    op.create_index("ix_memory_facts_project_number", "memory_facts", ["project", "number"])


def _usage() -> None:
    op.create_table(
        "usage",
        _project(),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("day", sa.String, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("project", "key", "day", name="pk_usage"),
    )


def _unique(table: str, before: str, columns: list[str]) -> None:
    op.drop_constraint(before, table)
    op.create_unique_constraint(f"uq_{table}_{'_'.join(columns)}", table, columns)


def _traces() -> None:
    references = (("trace_nodes", "parent"), ("trace_edges", "source"), ("trace_edges", "target"))
    for table, column in references:
        op.drop_constraint(f"fk_{table}_{column}_trace_nodes", table)
    _unique("trace_nodes", "uq_trace_nodes_id", ["project", "id"])
    _unique("trace_nodes", "uq_trace_nodes_root_name", ["project", "root", "name"])
    columns = ["project", "source", "label", "target"]
    _unique("trace_edges", "uq_trace_edges_source_label_target", columns)
    for table, column in references:
        name = f"fk_{table}_{column}_trace_nodes"
        op.create_foreign_key(name, table, "trace_nodes", ["project", column], ["project", "id"])


# --- SQLite, which can change a constraint only by making the table again ---------------------


def _rebuild_feedback() -> None:
    op.create_table(
        "feedback_new",
        sa.Column("id", sa.Integer, autoincrement=True),
        _project(),
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
        sa.UniqueConstraint("project", "report", "claim", name="uq_feedback_project_report_claim"),
        sqlite_autoincrement=True,
    )
    op.execute(
        "INSERT INTO feedback_new (id, created, report, claim, claim_hash, backend, model, "
        "estimator, fingerprint, p1, p0, status, support_threshold, contradiction_threshold, "
        '"right", actual) '
        "SELECT id, created, report, claim, claim_hash, backend, model, estimator, fingerprint, "
        'p1, p0, status, support_threshold, contradiction_threshold, "right", actual FROM feedback'
    )
    # Also numbers of marks that were removed are never given again.
    op.execute("DELETE FROM sqlite_sequence WHERE name = 'feedback_new'")
    op.execute(
        "INSERT INTO sqlite_sequence (name, seq) "
        "SELECT 'feedback_new', seq FROM sqlite_sequence WHERE name = 'feedback'"
    )
    op.drop_table("feedback")
    op.rename_table("feedback_new", "feedback")
    op.create_index("ix_feedback_fingerprint", "feedback", ["fingerprint"])


def _rebuild_entities() -> None:
    """Make the entities again, and before the old ones go, the roles that refer to them."""
    op.create_table(
        "entities_new",
        _project(),
        sa.Column("number", sa.Integer, autoincrement=True),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_memory_entities"),
        sa.UniqueConstraint("project", "key", name="uq_memory_entities_project_key"),
    )
    op.create_table(
        "roles_new",
        _project(),
        sa.Column("fact", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("entity", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("fact", "position", name="pk_memory_roles"),
        sa.ForeignKeyConstraint(
            ["fact"], ["memory_facts.number"], name="fk_memory_roles_fact_memory_facts"
        ),
        sa.ForeignKeyConstraint(
            ["entity"], ["entities_new.number"], name="fk_memory_roles_entity_memory_entities"
        ),
    )
    op.execute(
        "INSERT INTO entities_new (number, key, name) SELECT number, key, name FROM memory_entities"
    )
    op.execute(
        "INSERT INTO roles_new (fact, position, role, entity) "
        "SELECT fact, position, role, entity FROM memory_roles"
    )
    op.drop_table("memory_roles")
    op.drop_table("memory_entities")
    op.rename_table("entities_new", "memory_entities")
    op.rename_table("roles_new", "memory_roles")
    op.create_index("ix_memory_roles_entity", "memory_roles", ["entity"])


def _rebuild_traces() -> None:
    op.create_table(
        "nodes_new",
        sa.Column("number", sa.Integer, autoincrement=True),
        sa.Column("id", sa.String, nullable=False),
        _project(),
        sa.Column("root", sa.String, nullable=False),
        sa.Column("parent", sa.String),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("name", sa.String),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_trace_nodes"),
        sa.UniqueConstraint("project", "id", name="uq_trace_nodes_project_id"),
        sa.UniqueConstraint("project", "root", "name", name="uq_trace_nodes_project_root_name"),
        _node("nodes_new", "trace_nodes", "parent"),
    )
    op.create_table(
        "edges_new",
        sa.Column("number", sa.Integer, autoincrement=True),
        _project(),
        sa.Column("root", sa.String, nullable=False),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("target", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_trace_edges"),
        sa.UniqueConstraint(
            *("project", "source", "label", "target"),
            name="uq_trace_edges_project_source_label_target",
        ),
        _node("nodes_new", "trace_edges", "source"),
        _node("nodes_new", "trace_edges", "target"),
    )
    op.execute(
        "INSERT INTO nodes_new (number, id, root, parent, kind, name, text, folded, data, created) "
        "SELECT number, id, root, parent, kind, name, text, folded, data, created "
        "FROM trace_nodes ORDER BY number"
    )
    op.execute(
        "INSERT INTO edges_new (number, root, source, label, target) "
        "SELECT number, root, source, label, target FROM trace_edges"
    )
    op.drop_table("trace_edges")
    op.drop_table("trace_nodes")
    op.rename_table("nodes_new", "trace_nodes")
    op.rename_table("edges_new", "trace_edges")
    for table, column in (
        *(("trace_nodes", "root"), ("trace_nodes", "parent")),
        *(("trace_edges", "root"), ("trace_edges", "target")),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])


def _node(place: str, table: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project", column],
        [f"{place}.project", f"{place}.id"],
        name=f"fk_{table}_{column}_trace_nodes",
    )


def downgrade() -> None:
    """Refuse: the rows of all projects would become those of one."""
    msg = "a database with projects cannot go back to a schema without them"
    raise StoreError(msg, hint="Restore the copy that was made before")
