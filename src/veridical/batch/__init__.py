"""Verification of data sets: a job that can be interrupted, and its pure stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.batch.stage import batch

__all__ = ["batch"]


def __getattr__(name: str) -> object:
    # Lazy, so that a worker process imports the verifier only when it needs one.
    if name != "batch":
        msg = f"module 'veridical.batch' has no attribute {name!r}"
        raise AttributeError(msg)
    from veridical.batch.stage import batch

    return batch
