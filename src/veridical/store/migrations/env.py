"""Run by Alembic: migrates the connection that `store.migrate` hands over."""

from alembic import context

from veridical.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite can roll back DDL, too, as `store.database` begins its transactions by itself.
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
