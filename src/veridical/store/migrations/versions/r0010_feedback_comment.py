"""Comment of a label: the reason for it, in the words of who gave it."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add `feedback.comment`."""
    op.add_column("feedback", sa.Column("comment", sa.String))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("feedback", "comment")
