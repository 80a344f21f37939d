"""The processors that this process may use."""

from __future__ import annotations

import os


def usable_processors() -> int:
    """Return how many processors this process may use."""
    # Not every system has affinity; where it does, containers and taskset are respected.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
