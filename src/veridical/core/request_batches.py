"""Batches of requests at a provider: files of requests that it answers within a day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class ProviderBatch:
    """State of a batch at its provider; `files` hold the replies, `codes` name its errors.

    `status` is the provider's word for it.
    """

    status: str
    total: int = 0
    answered: int = 0
    failed: int = 0
    files: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """True if no reply will follow."""
        return self.status in {"completed", "failed", "expired", "cancelled"}


class BatchEndpoint(Protocol):
    """Endpoints for batches of one provider; each call raises `BackendError` if it fails."""

    @property
    def url(self) -> str:
        """URL of each request, as a line of a file states it."""
        ...

    def find_file(self, name: str) -> str | None:
        """Return the id of the file of this name, if it was uploaded."""
        ...

    def upload(self, name: str, content: BinaryIO) -> str:
        """Upload a file of requests, and return its id."""
        ...

    def find_batch(self, mark: str) -> str | None:
        """Return the id of the batch that was created with a mark, if there is one."""
        ...

    def create(self, file: str, mark: str) -> str:
        """Create the batch of an uploaded file with a mark, and return its id."""
        ...

    def state(self, batch: str) -> ProviderBatch:
        """Return the state of a batch."""
        ...

    def lines(self, file: str) -> Iterator[bytes]:
        """Yield the lines of a file of replies."""
        ...
