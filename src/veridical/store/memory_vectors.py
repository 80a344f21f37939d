"""Table of fact vectors, by embedding model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from veridical.store.memory import Filter, beside_others, matching
from veridical.store.memory_tables import all_vectors, facts, vectors
from veridical.store.tables import dialect

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from veridical.store.database import Store


class VectorTable:
    """Vectors of a project's facts: at most one for a fact and a model; removed with its fact."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def missing(self, model: str, limit: int, without: Collection[int] = ()) -> dict[int, str]:
        """Return the texts of facts that have no vector of this model yet, by their numbers.

        Retracted facts and the facts in `without` are left out.
        """
        made = select(vectors.c.fact).where(vectors.c.model == model)
        wanted = (
            select(facts.c.number, facts.c.text)
            .where(facts.c.retracted.is_(None), facts.c.number.not_in(made))
            .where(facts.c.number.not_in(without))
            .order_by(facts.c.number)
            .limit(limit)
        )
        with self._store.read() as connection:
            return {row.number: row.text for row in connection.execute(wanted)}

    def put(self, model: str, made: Mapping[int, bytes]) -> None:
        """Store vectors by the numbers of their facts; vectors of removed facts are dropped."""
        with self._store.write() as connection:
            beside_others(connection)
            there = select(facts.c.number).where(facts.c.number.in_(made))
            rows = [
                {"fact": number, "model": model, "vector": made[number]}
                for number in sorted(connection.scalars(there))
            ]
            if rows:
                new = dialect(connection).insert(all_vectors)
                connection.execute(new.on_conflict_do_nothing(), rows)

    def of(self, model: str, wanted: Filter) -> dict[str, bytes]:
        """Return the vectors of the facts of a filter, without its limit, by the facts' ids."""
        query = matching(wanted).with_only_columns(facts.c.id, vectors.c.vector).limit(None)
        query = query.join(vectors, vectors.c.fact == facts.c.number)
        with self._store.read() as connection:
            found = connection.execute(query.where(vectors.c.model == model))
            return {row.id: bytes(row.vector) for row in found}
