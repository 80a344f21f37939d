"""The pure stage of a batch: rows in, rows out, in order."""

from __future__ import annotations

from pathlib import PurePath
from traceback import extract_tb
from typing import TYPE_CHECKING

from veridical.batch.results import RowResult, of_error, of_fault, of_report, of_verdict
from veridical.batch.rows import FaultyRow, parse_row
from veridical.errors import BackendError, ConfigurationError, MissingExtraError, VeridicalError
from veridical.verification.sync import SyncVerifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from veridical.batch.rows import AnyRow, BatchRow
    from veridical.core.printing import Document
    from veridical.settings import Settings

ENDING = (BackendError, ConfigurationError, MissingExtraError)
"""Errors that no other row escapes."""


def batch(
    rows: Iterable[Mapping[str, object]],
    *,
    settings: Settings | None = None,
    per_claim: bool = False,
) -> Iterator[Document]:
    """Yield an output row for each row, or one for each claim; see docs/batch.md for both.

    A row that cannot be checked has its error in the column `error`. The settings are those of the
    file and the environment by default. `BackendError` if the backend cannot start.
    """
    with SyncVerifier.from_settings(settings) as verifier:
        for value in rows:
            yield from checked(parse_row(value), verifier, per_claim=per_claim).lines


def checked(row: AnyRow, verifier: SyncVerifier, *, per_claim: bool) -> RowResult:
    """Return the result of a row; only an error that would repeat for every row is raised."""
    if isinstance(row, FaultyRow):
        return of_fault(row, per_claim=per_claim)
    try:
        return _checked(row, verifier, per_claim=per_claim)
    except ENDING:
        raise
    except VeridicalError as error:
        return of_error(row, type(error).__name__, error.message, per_claim=per_claim)
    except Exception as error:  # noqa: BLE001 -- one row never ends the job
        return of_error(row, type(error).__name__, _place(error), per_claim=per_claim)


def _checked(row: BatchRow, verifier: SyncVerifier, *, per_claim: bool) -> RowResult:
    if row.whole:
        report = verifier.check(row.text, row.sources, row.question)
        return of_report(row, report, per_claim=per_claim)
    verdict = verifier.verify(row.text, row.sources, row.question)
    return of_verdict(row, verdict, per_claim=per_claim)


def _place(error: Exception) -> str:
    """Return where an error was raised; its own text may quote a row."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{PurePath(frame.filename).name}:{frame.lineno}"
