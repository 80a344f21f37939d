"""Conversion of facts to database rows and back, with validation of the input."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeAlias

from veridical.core.fact_tokens import UNSPACED
from veridical.core.hashing import short_hash
from veridical.core.information import ensure_probability
from veridical.core.text import normalise
from veridical.core.types import ensure_text
from veridical.errors import InputError, TextError
from veridical.memory.decision import FactState, Refusal
from veridical.memory.values import (
    Conflict,
    Fact,
    FactRejection,
    Link,
    Participant,
    Pending,
    Provenance,
    Tier,
    Verification,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.core.types import Source
    from veridical.memory.decision import GateDecision
    from veridical.memory.gate import GateResult
    from veridical.store.memory import Row

Entity: TypeAlias = str | Participant | tuple[str, str]

LONGEST_FACT = 20_000
"""Limit of a fact's text in characters: it is one assertion, its evidence may be long."""

LONGEST_NAME = 500
"""Limit of a name in characters: of an entity, a role, a relation or a source."""

_LONGEST_WORD = 100
_FIELDS = {"fact": "fact_id", "gap_bits": "budget_gap_bits", "stated": "stated_confidence"}
"""Names of fields by the name in the database: a column, or a key of an older JSON column."""

_WORD = re.compile(rf"[^\W_{UNSPACED}]+|[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class FactInput:
    """Validated input for a fact."""

    text: str = field(repr=False)
    participants: tuple[Participant, ...] = ()
    relation: str | None = field(default=None, repr=False)
    stated: float | None = None
    tier: Tier = Tier.LONG_TERM
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Normalised keys of the entities, in order."""
        return tuple(entity_key(each.entity) for each in self.participants)


def statement(  # noqa: PLR0913 -- what a fact consists of
    text: str,
    *,
    entities: Iterable[Entity],
    relation: str | None,
    confidence: float | None,
    tier: str,
    valid_from: datetime | None,
    valid_to: datetime | None,
) -> FactInput:
    """Return validated input for a fact; `InputError` if it is invalid."""
    ensure_storable(text, "the fact", LONGEST_FACT)
    if relation is not None:
        ensure_storable(relation, "the relation")
    if confidence is not None:
        try:
            ensure_probability(confidence, "confidence")
        except ValueError as error:
            raise InputError(str(error), hint="Leave it out if nobody stated one") from None
    start, end = in_utc(valid_from), in_utc(valid_to)
    if start is not None and end is not None and not start < end:
        msg = "the fact ends to be valid before it begins to"
        raise InputError(msg, hint="valid_from has to be before valid_to")
    people = tuple(_participant(each) for each in entities)
    return FactInput(text, people, relation, confidence, as_tier(tier), start, end)


def as_tier(tier: str) -> Tier:
    """Return the tier of that name; `InputError` if there is none."""
    try:
        return Tier(tier)
    except ValueError:
        msg = "there is no tier of that name"
        raise InputError(msg, hint=f"Name one of {', '.join(Tier)}") from None


def ensure_storable(text: object, what: str, longest: int = LONGEST_NAME) -> None:
    """Raise `TextError` unless it is text that SQLite and PostgreSQL can hold."""
    ensure_text(text, what)
    if "\0" in str(text):
        msg = f"{what} holds a NUL"
        raise TextError(msg, hint="Take the NULs out: databases cannot hold them in texts")
    if len(str(text)) > longest:
        msg = f"{what} has {len(str(text))} characters, and may have {longest}"
        raise TextError(msg, hint="A fact is one assertion; what it is from is its source")


def _participant(entity: Entity) -> Participant:
    found = entity if isinstance(entity, Participant) else None
    if isinstance(entity, str):
        found = Participant("", entity)
    elif isinstance(entity, tuple) and len(entity) == 2:  # noqa: PLR2004 -- role and name
        found = Participant(*entity)
    if found is None:
        msg = f"an entity is a name or (role, name), not {type(entity).__name__}"
        raise InputError(msg, hint="Pass entities=['Paris', ('country', 'France')]")
    ensure_storable(found.entity, "the name of an entity")
    if found.role:
        ensure_storable(found.role, "a role")
    return found


def entity_key(name: str) -> str:
    """Return the key of an entity: its name, without case and typography."""
    return normalise(name).text or name.strip()


def words(text: str) -> list[str]:
    """Return the search words of a text."""
    found = _WORD.findall(normalise(text).text)
    return list(dict.fromkeys(word[:_LONGEST_WORD] for word in found))


def in_utc(moment: datetime | None) -> datetime | None:
    """Return a time in UTC; `InputError` if it has no time zone."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        msg = "the time says no time zone"
        raise InputError(msg, hint="datetime.now(UTC) has one")
    return moment.astimezone(UTC)


# --- to rows ---------------------------------------------------------------------------------


def same_key(said: FactInput, sources: Mapping[str, Source], rests_on: Iterable[str]) -> str:
    """Return the key for the identity of a fact: its normalised text and its evidence.

    Relation, entities and validity are part of it, tier and confidence are not.
    """
    parts = [
        normalise(said.text).text,
        sorted(sha256(source.text.encode()).hexdigest() for source in sources.values()),
        sorted(rests_on),
        said.relation,
        sorted(zip((each.role for each in said.participants), said.keys, strict=True)),
        *(moment and moment.isoformat() for moment in (said.valid_from, said.valid_to)),
    ]
    return sha256(json.dumps(parts).encode()).hexdigest()


def fact_row(
    said: FactInput, decision: GateDecision, verification: Verification | None, key: str
) -> Row:
    """Return the row of a new fact."""
    return {
        "key": key,
        "id": token_hex(8),
        "text": said.text,
        "words": " ".join(words(said.text)),
        "relation": said.relation,
        "tier": said.tier.value,
        "stated": said.stated,
        "created": datetime.now(UTC),
        "valid_from": said.valid_from,
        "valid_to": said.valid_to,
        "retracted": None,
        **decided(decision, verification),
    }


def decided(decision: GateDecision, verification: Verification | None) -> Row:
    """Return the columns of the decision about a fact."""
    state = decision.state or FactState.UNSUPPORTED
    return {
        "state": state.value,
        "reason": decision.reason,
        "confidence": decision.confidence,
        "verification": None if verification is None else asdict(verification),
    }


def origins(sources: Mapping[str, Source], result: GateResult | None) -> list[Row]:
    """Return the rows of a fact's provenance: each source, with the deciding spans."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for found in result.verdict.evidence if result and result.verdict else ():
        spans.setdefault(found.source, []).append((found.span.start, found.span.end))
    rows = []
    for source in sources.values():
        data = source.text.encode()
        row = {"source": source.id, "hash": sha256(data).hexdigest(), "text": data}
        for start, end in spans.get(source.id) or [(None, None)]:  # type: ignore[list-item]
            rows.append(row | {"span_start": start, "span_end": end})
    return rows


def rejection_row(  # noqa: PLR0913 -- one per column
    text: str,
    tier: Tier,
    stated: float | None,
    sources: int,
    result: GateResult,
    *,
    origin: str,
    fact: str | None = None,
) -> Row:
    """Return the row of a rejection; no text."""
    found = result.verification
    return {
        "created": datetime.now(UTC),
        "fact": fact,
        "fact_hash": short_hash(text),
        "length": len(text),
        "sources": sources,
        "error": (result.decision.refusal or Refusal.NOT_GROUNDED).value,
        "reason": result.decision.reason,
        "origin": origin,
        "tier": tier.value,
        "stated": stated,
        "confidence": result.decision.confidence,
        "p1": found.p1 if found else None,
        "p0": found.p0 if found else None,
        "gap_bits": found.budget_gap_bits if found else None,
    }


# --- from rows -------------------------------------------------------------------------------


def to_fact(row: Mapping[str, Any]) -> Fact:
    """Return a fact, given its row with roles and provenance."""
    return Fact(
        id=row["id"],
        text=row["text"],
        relation=row["relation"],
        participants=tuple(Participant(each["role"], each["name"]) for each in row["roles"]),
        tier=Tier(row["tier"]),
        state=FactState(row["state"]),
        reason=row["reason"],
        stated_confidence=row["stated"],
        confidence=row["confidence"],
        provenance=tuple(
            Provenance(each["source"], each["hash"], each["span_start"], each["span_end"])
            for each in row["provenance"]
        ),
        created=_utc(row["created"]),
        valid_from=row["valid_from"] and _utc(row["valid_from"]),
        valid_to=row["valid_to"] and _utc(row["valid_to"]),
        retracted=row["retracted"] and _utc(row["retracted"]),
        verification=_verification(row["verification"]),
    )


def to_link(row: Mapping[str, Any]) -> Link:
    """Return a link."""
    return Link(row["source"], row["label"], row["target"])


def to_pending(row: Mapping[str, Any]) -> Pending:
    """Return a pending fact."""
    return Pending(
        fact_id=row["id"],
        reason=row["reason"],
        attempts=row["attempts"],
        due=datetime.fromtimestamp(row["due"], UTC),
        given_up=row["given_up"],
        tier=Tier(row["tier"]) if row["tier"] else None,
    )


def to_rejection(row: Mapping[str, Any]) -> FactRejection:
    """Return a rejection."""
    changed = {
        "created": _utc(row["created"]),
        "error": Refusal(row["error"]),
        "tier": Tier(row["tier"]),
    }
    return FactRejection(**{**_named(row), **changed})


def _verification(found: dict[str, Any] | None) -> Verification | None:
    if found is None:
        return None
    conflicts = tuple(Conflict(**_named(each)) for each in found["conflicts"])
    return Verification(**{**_named(found), "conflicts": conflicts})


def _named(row: Mapping[str, Any]) -> Row:
    return {_FIELDS.get(column, column): value for column, value in row.items()}


def _utc(moment: datetime) -> datetime:
    # SQLite keeps no time zone, PostgreSQL gives its own; times are written in UTC.
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
