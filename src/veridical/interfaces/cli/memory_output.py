"""Output of `veridical memory` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from veridical.memory import FactOutcome, FactState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from rich.console import Console

    from veridical.memory import (
        Fact,
        FactRejection,
        Link,
        Match,
        Pending,
        QueueResult,
        RememberResult,
    )

_SAID = {
    "grounded": "its evidence carries it",
    "contradicted": "its evidence opposes it",
    "gap_above_threshold": "its evidence lacks too many bits",
    "below_min_confidence": "its evidence leaves too little confidence",
    "no_evidence": "it comes without evidence",
    "gate_off": "nothing was verified, the gate is off (--gate turns it on)",
    "timeout": "it could not be verified in time",
    "rate_limited": "the backend was asked too often",
}
_MARKS = {
    FactState.VERIFIED: "verified",
    FactState.UNSUPPORTED: "not carried by its evidence",
    FactState.UNVERIFIED: "not verified",
    FactState.QUEUED: "waits to be verified",
}


def facts_table(facts: Sequence[Fact], empty: str) -> Callable[[Console], None]:
    """Return a printer of facts as a table; `empty` is the message for none."""
    heads = ("id", "state", "conf", "tier", "entities", "fact")
    return _facts(heads, [_cells(fact) for fact in facts], empty)


def matches_table(matches: Sequence[Match]) -> Callable[[Console], None]:
    """Return a printer of facts as a table, with their similarity to the query."""
    heads = ("id", "similarity", "state", "conf", "tier", "entities", "fact")
    rows = [_cells(each.fact) for each in matches]
    cells = [
        (row[0], f"{each.similarity:.2f}", *row[1:])
        for row, each in zip(rows, matches, strict=True)
    ]
    return _facts(heads, cells, "No facts to compare")


def _cells(fact: Fact) -> tuple[str, ...]:
    named = ", ".join(fact.entities) or "-"
    return fact.id, _state(fact), f"{fact.confidence:.2f}", fact.tier.value, named, fact.text


def _facts(
    heads: Sequence[str], rows: Sequence[Sequence[str]], empty: str
) -> Callable[[Console], None]:
    def show(console: Console) -> None:
        if not rows:
            console.print(empty)
            return
        console.print(_table(heads, rows, right={"conf", "similarity"}))
        console.print(_count(len(rows), "fact"))

    return show


def fact_page(fact: Fact, links: Iterable[Link]) -> Callable[[Console], None]:
    """Return a printer of all data of a fact."""
    found = fact.verification
    lines: list[tuple[str, str]] = [
        ("fact", fact.text),
        ("id", fact.id),
        ("state", f"{_state(fact)} ({fact.reason})"),
        ("confidence", f"{fact.confidence:.2f}, stated {_number(fact.stated_confidence)}"),
        ("tier", fact.tier.value),
        ("relation", fact.relation or "-"),
        *(
            ("entity", f"{each.role}: {each.entity}".removeprefix(": "))
            for each in fact.participants
        ),
        *(
            ("source", f"{each.source}, {_place(each.start, each.end)}, sha256 {each.hash[:12]}")
            for each in fact.provenance
        ),
        ("created", _time(fact.created)),
        ("valid", _validity(fact)),
    ]
    if fact.retracted:
        lines.append(("retracted", _time(fact.retracted)))
    if found:
        lines += [
            ("verified at", found.at),
            ("verdict", f"{found.status} ({found.rule}), {found.backend} {found.model}"),
            ("p1, p0", f"{_number(found.p1)}, {_number(found.p0)}"),
            ("required", f"{_number(found.required_bits)} bits"),
            ("observed", f"{_number(found.observed_bits)} bits"),
            ("budget gap", f"{_number(found.budget_gap_bits)} bits"),
            ("compared", f"with {found.conflicts_read} facts, {found.conflicts_unread} unread"),
        ]
    lines += [("link", f"{each.source} {each.label} {each.target}") for each in links]
    return _page(lines)


def remembered_lines(done: RememberResult) -> Callable[[Console], None]:
    """Return a printer of the outcome for a fact."""
    said = _SAID.get(done.reason, f"it could not be verified ({done.reason})")
    if done.outcome is FactOutcome.REJECTED:
        lines = [("Rejected", said), *([("do", done.error.hint)] if done.error else [])]
    elif done.outcome is FactOutcome.FAILED:
        lines = [("Not stored", str(done.error) if done.error else "the store failed")]
    else:
        head = "Queued" if done.outcome is FactOutcome.QUEUED else "Stored"
        fact = done.fact
        lines = [(head, f"{fact.id}, {_state(fact)}: {said}" if fact else said)]
    lines.append(("confidence", f"{done.confidence:.2f}"))
    found = done.verification
    if found:
        lines.append(("p1, p0", f"{_number(found.p1)}, {_number(found.p0)}"))
        lines.append(("budget gap", f"{_number(found.budget_gap_bits)} bits"))
    lines += [
        ("contradicts", f"{each.fact_id}, which is in memory (P {each.probability:.2f})")
        for each in done.conflicts
    ]
    if done.pending:
        lines.append(("next", "veridical memory verify-pending"))
    return _page(lines)


def pending_table(pending: Sequence[Pending]) -> Callable[[Console], None]:
    """Return a printer of the queue as a table."""

    def show(console: Console) -> None:
        rows = [
            (
                each.fact_id,
                each.reason,
                str(each.attempts),
                "given up" if each.given_up else _time(each.due),
                each.tier.value if each.tier else "-",
            )
            for each in pending
        ]
        if rows:
            heads = ("fact", "reason", "attempts", "due", "promote to")
            console.print(_table(heads, rows, right={"attempts"}))
        console.print(_count(len(pending), "fact") + " waiting")

    return show


def rejections_table(rejections: Sequence[FactRejection]) -> Callable[[Console], None]:
    """Return a printer of rejections as a table; `--json` has all their data."""

    def show(console: Console) -> None:
        rows = [
            (
                str(each.number),
                _time(each.created),
                each.fact_hash,
                each.reason,
                each.origin,
                _number(each.budget_gap_bits),
            )
            for each in rejections
        ]
        if rows:
            heads = ("no", "when", "hash", "reason", "by", "budget gap")
            console.print(_table(heads, rows, right={"no", "budget gap"}))
        console.print(_count(len(rejections), "rejection"))

    return show


def retracted_lines(gone: Sequence[Fact]) -> Callable[[Console], None]:
    """Return a printer of the retracted facts."""

    def show(console: Console) -> None:
        console.print(f"Retracted {_count(len(gone), 'fact')}")
        for fact in gone:
            console.print(Text(f"  {fact.id}  {fact.text}"))

    return show


def deleted_lines(gone: Sequence[Fact]) -> Callable[[Console], None]:
    """Return a printer of the facts that were retracted since they rested on a deleted one."""

    def show(console: Console) -> None:
        console.print("Deleted 1 fact")
        if gone:
            retracted_lines(gone)(console)

    return show


def worked_lines(worked: QueueResult) -> Callable[[Console], None]:
    """Return a printer of the outcomes for the queue."""
    counts = [(name, str(count)) for name, count in worked.to_dict().items()]
    return _page([(name.replace("_", " "), count) for name, count in counts])


# --- parts -----------------------------------------------------------------------------------


def _page(lines: Sequence[tuple[str, str]]) -> Callable[[Console], None]:
    def show(console: Console) -> None:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for name, value in lines:
            table.add_row(Text(name), Text(value))
        console.print(table)

    return show


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: set[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in heads:
        whole = head not in {"entities", "fact"} or "reason" in heads
        table.add_column(head, justify="right" if head in right else "left", no_wrap=whole)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _state(fact: Fact) -> str:
    return "retracted" if fact.retracted else _MARKS[fact.state]


def _place(start: int | None, end: int | None) -> str:
    return "no place" if start is None else f"characters {start}-{end}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _validity(fact: Fact) -> str:
    start = f"from {_time(fact.valid_from)}" if fact.valid_from else ""
    end = f"until {_time(fact.valid_to)}" if fact.valid_to else ""
    return f"{start} {end}".strip() or "always"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
