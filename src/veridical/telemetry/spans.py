"""Spans of work under way: the tree of one request. Without a tracer they do nothing.

`veridical.telemetry.otel` has the tracer that sends them, under the extra `otel`.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind: TypeAlias = Literal["internal", "server", "client"]
Attributes: TypeAlias = dict[str, str | int | float | bool]


class TelemetrySpan:
    """Work under way; this one is not traced."""

    def failed(self, kind: str) -> None:
        """Note that the work failed; `kind` is the type of an error or a code, never a text."""

    def end(self) -> None:
        """End the span."""

    def headers(self) -> dict[str, str]:
        """Return the headers that make a request to another service a child of the span."""
        return {}

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the spans that begin in this block children of this one."""
        yield


@runtime_checkable
class Tracer(Protocol):
    """Sink of events that makes spans, too."""

    def begin(
        self, name: str, kind: Kind, attributes: Attributes, headers: Mapping[str, str] | None
    ) -> TelemetrySpan:
        """Return a new span: a child of the current one, or of the one that `headers` name."""
        ...


@dataclass(slots=True)
class Generation:
    """The newest answer of a model, as the span of its request."""

    span: TelemetrySpan


evaluated: ContextVar[Generation | None] = ContextVar("veridical_evaluated", default=None)
"""Generation whose answer is checked: the result of the evaluation belongs to its span."""

sharing: ContextVar[tuple[Context, ...]] = ContextVar("veridical_sharing", default=())
"""Contexts of the requests that share a batch."""


@contextmanager
def evaluating(generation: Generation) -> Iterator[None]:
    """Evaluate the answers of a generation in this block."""
    token = evaluated.set(generation)
    try:
        yield
    finally:
        evaluated.reset(token)


def batch_context(contexts: tuple[Context, ...]) -> Context:
    """Return the context of a batch: of its only request, else the caller's with links to all."""
    if len(contexts) == 1:
        return contexts[0]
    shared = copy_context()
    shared.run(sharing.set, contexts)
    return shared
