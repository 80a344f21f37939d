"""Rates: when each key may ask again, for all processes of a service."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table `rates`; nothing in it needs to survive a crash of the server."""
    postgresql = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "rates",
        sa.Column("key", sa.String),
        sa.Column("full_until", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_rates"),
        prefixes=["UNLOGGED"] if postgresql else [],
    )


def downgrade() -> None:
    """Drop the table, with what it holds."""
    op.drop_table("rates")
