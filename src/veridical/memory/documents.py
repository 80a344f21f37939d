"""JSON documents of facts, and of the results of memory operations."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from veridical.memory.decision import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.core.printing import Document
    from veridical.memory.values import (
        Fact,
        FactRejection,
        Link,
        Match,
        Pending,
        QueueResult,
        RememberResult,
    )


def fact_document(fact: Fact) -> Document:
    """Return a fact; times are in ISO 8601."""
    times = ("created", "valid_from", "valid_to", "retracted")
    found = asdict(fact)
    return found | {name: found[name] and found[name].isoformat() for name in times}


def facts_document(facts: Iterable[Fact]) -> Document:
    """Return facts as the document `veridical.facts/1`."""
    return {"schema": "veridical.facts/1", "facts": [fact_document(fact) for fact in facts]}


def deleted_document(fact_id: str, retracted: Iterable[Fact]) -> Document:
    """Return the deletion of a fact as `veridical.deleted/1`, with its dependents."""
    rows = [fact_document(fact) for fact in retracted]
    return {"schema": "veridical.deleted/1", "deleted": fact_id, "retracted": rows}


def matches_document(matches: Iterable[Match]) -> Document:
    """Return facts as `veridical.facts/1`, each with its `similarity`: cosine, -1 to 1."""
    rows = [fact_document(each.fact) | {"similarity": each.similarity} for each in matches]
    return {"schema": "veridical.facts/1", "facts": rows}


def one_document(fact: Fact, links: Iterable[Link]) -> Document:
    """Return a fact with its links as the document `veridical.fact/1`."""
    return {
        "schema": "veridical.fact/1",
        "fact": fact_document(fact),
        "links": [asdict(link) for link in links],
    }


def remembered_document(done: RememberResult) -> Document:
    """Return the result of remembering a fact as the document `veridical.remembered/1`."""
    error = done.error
    status = getattr(error, "status", None)
    return {
        "schema": "veridical.remembered/1",
        "outcome": done.outcome.value,
        "reason": done.reason,
        "confidence": done.confidence,
        "pending": done.pending,
        "error": error
        and {
            "status": status.value if isinstance(status, Refusal) else None,
            "kind": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
        },
        "conflicts": [asdict(each) for each in done.conflicts],
        "verification": done.verification and asdict(done.verification),
        "fact": done.fact and fact_document(done.fact),
    }


def pending_document(pending: Iterable[Pending]) -> Document:
    """Return the pending facts as the document `veridical.pending/1`."""
    rows = [asdict(each) | {"due": each.due.isoformat()} for each in pending]
    return {"schema": "veridical.pending/1", "pending": rows}


def rejections_document(rejections: Iterable[FactRejection]) -> Document:
    """Return the rejections as the document `veridical.rejections/1`."""
    rows = [asdict(each) | {"created": each.created.isoformat()} for each in rejections]
    return {"schema": "veridical.rejections/1", "rejections": rows}


def worked_document(worked: QueueResult) -> Document:
    """Return the result of a run over the queue as the document `veridical.worked/1`."""
    return {"schema": "veridical.worked/1", **worked.to_dict()}
