"""Exceptions of veridical, in one tree.

VeridicalError                  base class of all of them
├── InputError (ValueError)     the input cannot be checked
│   ├── TextError               a text is empty, holds a lone surrogate, or is not text at all
│   ├── SizeError               a text is longer, or claims are more, than a limit allows
│   ├── SourceError             sources are missing, duplicated or malformed
│   ├── DocumentError           a file cannot be read or converted to text
│   ├── TranscriptError         a transcript does not have the stated format
│   ├── EvidenceSchemaError     extracted evidence has the wrong shape; `violations` says where
│   │   └── EvidenceJSONError   a model's reply is not one strict JSON value
│   └── EvidenceGroundingError  quotes were extracted, and none of them is in the transcript
├── ConfigurationError (ValueError)  a setting, policy or backend name is wrong
├── MissingExtraError (ImportError)  an optional dependency is not installed
├── BackendError (RuntimeError)      a backend cannot be started (weights damaged, ...)
│   └── UnmeasuredError         a requested number could not be measured: `reason`
├── StoreError (RuntimeError)        the database cannot be opened, read or written
│   └── StoreLockedError        another program held the database's lock beyond the time limit
├── TimeLimitError (TimeoutError)    the work did not end before its deadline
├── FactRejectedError           raised only by a strict `Memory.remember`, as one of its two kinds
└── FlaggedError                raised only by `Report.raise_for_flagged`

Messages carry ids, counts, offsets and types, never text of an answer, a claim or a source.
Every error has a `hint`: one sentence with the remedy. Services answer with `unquoted`, which has
the numbers of sources and steps in place of the ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class VeridicalError(Exception):
    """Base class of all errors of this package; `hint` is the remedy in one sentence.

    `unquoted` is the message without names of the caller's own, such as the ids of sources.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = self.unquoted = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default reduction of exceptions.
        return (_rebuild, (type(self), self.message, self.hint), self.__dict__)


def _rebuild(kind: type[VeridicalError], message: str, hint: str) -> VeridicalError:
    return kind(message, hint=hint)


class InputError(VeridicalError, ValueError):
    """Raised when the input cannot be checked."""


class TextError(InputError):
    """Raised when a text is empty, holds a lone surrogate, or is not text at all."""


class SizeError(InputError):
    """Raised when a text is longer than a limit allows, or has more claims."""


class SourceError(InputError):
    """Raised when sources are missing, duplicated or malformed."""


class DocumentError(InputError):
    """Raised when a file cannot be read or converted to text."""


class TranscriptError(InputError):
    """Raised when a transcript does not have the stated format."""


class EvidenceSchemaError(InputError):
    """Raised when extracted evidence has the wrong shape; `violations` lists faults by key."""

    def __init__(
        self, message: str, violations: Mapping[str, str] | None = None, *, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.violations = dict(violations or {})


class EvidenceJSONError(EvidenceSchemaError):
    """Raised when a model's reply is not one strict JSON value."""


class EvidenceGroundingError(InputError):
    """Raised when quotes were extracted and none of them is in the transcript."""


class ConfigurationError(VeridicalError, ValueError):
    """Raised when a setting, a policy value or a backend name is wrong."""


class MissingExtraError(VeridicalError, ImportError):
    """Raised when an optional dependency is not installed."""


class BackendError(VeridicalError, RuntimeError):
    """Raised when a backend cannot be started."""


class UnmeasuredError(BackendError):
    """Raised when a requested number could not be measured; `reason` is such as `timeout`."""

    def __init__(self, message: str, reason: str = "", *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class StoreError(VeridicalError, RuntimeError):
    """Raised when the database cannot be opened, read or written."""


class StoreLockedError(StoreError):
    """Raised when another program held the database's lock beyond the time limit."""


class TimeLimitError(VeridicalError, TimeoutError):
    """Raised when work did not end before its deadline, or was cancelled."""


class FactRejectedError(VeridicalError):
    """Raised when a fact is rejected: `veridical.memory.FactNotGrounded` or `FactContradicted`."""


class FlaggedError(VeridicalError):
    """Raised by `Report.raise_for_flagged`; carries counts and claim ids only."""
