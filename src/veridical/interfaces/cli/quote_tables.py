"""Tables of evidence and of the outcomes for its quotes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from veridical.quotes.extraction import Extraction
    from veridical.quotes.grounding import QuoteMatch


def render_matches(matches: Mapping[str, Sequence[QuoteMatch]], console: Console) -> None:
    """Print every quote under its key, with its place, and the counts by key."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    # The key has a row of its own, and all remarks share one column: the quote needs the width.
    for name in ("", "quote", "characters", "match"):
        table.add_column(name, overflow="fold", no_wrap=name == "characters")
    for key, found in matches.items():
        if found:
            table.add_row("", Text(key, style="bold"))
        for match in found:
            table.add_row(*map(Text, _row(match)))
    if table.row_count:
        console.print(table)
        console.print()
    counts = Table(box=None, pad_edge=False, show_edge=False)
    counts.add_column("key", overflow="fold")
    counts.add_column("extracted", justify="right")
    counts.add_column("rejected", justify="right")
    for key, found in matches.items():
        rejected = sum(not match.accepted for match in found)
        counts.add_row(Text(key), str(len(found)), str(rejected))
    console.print(counts)


def render_extraction(found: Extraction, console: Console) -> None:
    """Print the quotes that a text model extracted, and the usage."""
    if found.validated:
        render_matches({key: item.matches for key, item in found.items.items()}, console)
    else:
        for key, quotes in found.evidence.items():
            for quote in quotes:
                console.print(Text(f"? {key}: {quote}"))
        console.print("\nValidation is switched off: no quote was looked up.")
    usage = found.usage
    parts = [usage.model, f"{usage.answers} answer{'s' * (usage.answers > 1)}"]
    parts += [] if usage.tokens is None else [f"{usage.tokens:,} tokens"]
    parts += [] if usage.cost_usd is None else [f"{usage.cost_usd:.4f} USD"]
    parts += [deviation.value for deviation in found.deviations]
    console.print()
    console.print(Text(", ".join(parts)))


def _row(match: QuoteMatch) -> tuple[str, ...]:
    place = "" if match.start is None else f"{match.start}-{match.end}"
    more = f" and {match.count - 1} more" if match.count > 1 else ""
    found = [match.grade, match.reason, *match.caveats]
    notes = dict.fromkeys(each.value for each in found if each is not None)
    said = f"{match.speaker or ''} {_clock(match.start_s)}".strip()
    remarks = [*notes, said] if said else [*notes]
    return ("✓" if match.accepted else "✗", match.quote, f"{place}{more}", ", ".join(remarks))


def _clock(seconds: float | None) -> str:
    """Return a time within a recording as h:mm:ss; empty if unknown."""
    return "" if seconds is None else str(timedelta(seconds=int(seconds)))
