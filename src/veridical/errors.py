"""Every error veridical raises, in one tree.

VeridicalError                  catch this to catch them all
├── InputError (ValueError)     what was handed in cannot be checked
│   ├── TextError               a text is empty, holds a lone surrogate, or is not text at all
│   ├── SourceError             sources are missing, duplicated or malformed
│   ├── DocumentError           a file cannot be read or converted to text
│   ├── TranscriptError         a transcript is not in the format it is said to be in
│   ├── EvidenceSchemaError     extracted evidence has the wrong shape; `violations` says where
│   │   └── EvidenceJSONError   a model's reply is not the one strict JSON value it has to be
│   └── EvidenceGroundingError  quotes were extracted, and none of them is in the transcript
├── ConfigurationError (ValueError)  a setting, policy or backend name is wrong
├── MissingExtraError (ImportError)  an optional dependency is not installed
├── BackendError (RuntimeError)      a backend cannot be started (weights damaged, ...)
│   └── UnmeasuredError         a number was asked for, and it could not be measured: `reason`
├── StoreError (RuntimeError)        the database cannot be opened, read or written
│   └── StoreLockedError        another program held its lock for longer than there was time
├── FactRejectedError           raised only by a strict `Memory.remember`, as one of its two kinds
└── FlaggedError                raised only by `Report.raise_for_flagged`

Messages carry ids, counts, offsets and types, never text of an answer, a claim or a source.
Every error has a `hint`: one sentence that says what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class VeridicalError(Exception):
    """Base of every error of this package; `hint` says what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default reduction of exceptions.
        return (_rebuild, (type(self), self.message, self.hint), self.__dict__)


def _rebuild(kind: type[VeridicalError], message: str, hint: str) -> VeridicalError:
    return kind(message, hint=hint)


class InputError(VeridicalError, ValueError):
    """What was handed in cannot be checked."""


class TextError(InputError):
    """A text is empty, holds a lone surrogate, or is not text at all."""


class SourceError(InputError):
    """Sources are missing, duplicated or malformed."""


class DocumentError(InputError):
    """A file cannot be read or converted to text."""


class TranscriptError(InputError):
    """A transcript is not in the format it is said to be in."""


class EvidenceSchemaError(InputError):
    """Extracted evidence has the wrong shape; `violations` says by key what is wrong there."""

    def __init__(
        self, message: str, violations: Mapping[str, str] | None = None, *, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.violations = dict(violations or {})


class EvidenceJSONError(EvidenceSchemaError):
    """A model's reply is not the one strict JSON value it has to be."""


class EvidenceGroundingError(InputError):
    """Quotes were extracted, and none of them is in the transcript."""


class ConfigurationError(VeridicalError, ValueError):
    """A setting, a policy value or a backend name is wrong."""


class MissingExtraError(VeridicalError, ImportError):
    """An optional dependency is not installed."""


class BackendError(VeridicalError, RuntimeError):
    """A backend cannot be started."""


class UnmeasuredError(BackendError):
    """A number was asked for that could not be measured; `reason` says why, such as `timeout`."""

    def __init__(self, message: str, reason: str = "", *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class StoreError(VeridicalError, RuntimeError):
    """The database that keeps things from run to run cannot be opened, read or written."""


class StoreLockedError(StoreError):
    """Another program held the database's lock for longer than there was time to wait."""


class FactRejectedError(VeridicalError):
    """A fact is not kept: `veridical.memory.FactNotGrounded` or `FactContradicted`."""


class FlaggedError(VeridicalError):
    """Raised by `Report.raise_for_flagged`; carries counts and claim ids only."""
