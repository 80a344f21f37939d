"""Filter of facts from the arguments of a search."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from veridical.errors import InputError
from veridical.memory.decision import FactState
from veridical.memory.rows import as_tier, entity_key, in_utc
from veridical.store.memory import Filter

if TYPE_CHECKING:
    from collections.abc import Iterable

_REMEMBERED = tuple(state for state in FactState if state is not FactState.QUEUED)


def fact_filter(  # noqa: PLR0913 -- those of `Memory.facts`
    *,
    entities: str | Iterable[str],
    limit: int,
    source: str | None = None,
    relation: str | None = None,
    tier: str | None = None,
    states: Iterable[FactState] | None = None,
    at: datetime | None = None,
    everything: bool = False,
) -> Filter:
    """Return the filter of a search; `InputError` for values that make no sense."""
    if limit < 1:
        msg = "the limit has to be 1 or more"
        raise InputError(msg, hint="100 is the default")
    names = [entities] if isinstance(entities, str) else list(entities)
    wanted = Filter(
        entities=tuple(dict.fromkeys(map(entity_key, names))),
        source=source,
        relation=relation,
        tier=None if tier is None else as_tier(tier).value,
        states=None if states is None else [FactState(state).value for state in states],
        limit=limit,
    )
    if everything:
        return wanted
    shown = [state.value for state in _REMEMBERED] if wanted.states is None else wanted.states
    return replace(wanted, states=shown, at=in_utc(at) or datetime.now(UTC), retracted=False)
