"""Errors keep their message and hint, and the tree in the docstring is the tree."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from veridical import errors
from veridical.errors import FlaggedError, VeridicalError


def descendants(kind: type[VeridicalError]) -> list[type[VeridicalError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in descendants(child))]


KINDS = [kind for kind in descendants(VeridicalError) if kind.__module__ == errors.__name__]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def documented_tree() -> list[tuple[int, str, str | None]]:
    """Return depth, name and further base of each line of the tree in the docstring."""
    line = re.compile(r"^([│├└─ ]*)(\w+Error)\b(?: \((\w+)\))?", re.MULTILINE)
    return [(len(m[1]) // 4, m[2], m[3]) for m in line.finditer(errors.__doc__ or "")]


def actual_tree() -> list[tuple[int, str, str | None]]:
    return [
        (
            kind.__mro__.index(VeridicalError),
            kind.__name__,
            next((base.__name__ for base in kind.__bases__[1:]), None),
        )
        for kind in KINDS
    ]


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    assert documented_tree() == actual_tree()


@every_kind
def test_the_text_of_an_error_holds_message_and_hint(kind: type[VeridicalError]) -> None:
    error = kind("source 'S1' is empty", hint="Leave it out")
    assert str(error) == "source 'S1' is empty. Leave it out"
    assert (error.message, error.hint) == ("source 'S1' is empty", "Leave it out")


@every_kind
def test_an_error_without_a_hint_is_its_message(kind: type[VeridicalError]) -> None:
    assert str(kind("source 'S1' is empty")) == "source 'S1' is empty"


@every_kind
@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        *(
            lambda error, protocol=protocol: pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 -- our own bytes
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
    ],
)
def test_a_copy_of_an_error_equals_it(kind: type[VeridicalError], duplicate: object) -> None:
    assert callable(duplicate)
    error = kind("message", hint="hint")
    error.unquoted = "without ids"
    error.add_note("note")
    twin = duplicate(error)
    assert type(twin) is kind
    assert (twin.message, twin.hint, str(twin)) == ("message", "hint", "message. hint")
    assert twin.unquoted == "without ids"
    assert twin.__notes__ == ["note"]


def test_an_error_is_caught_as_the_builtin_it_stands_for() -> None:
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.ConfigurationError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert issubclass(errors.BackendError, RuntimeError)
    assert not issubclass(FlaggedError, ValueError)
