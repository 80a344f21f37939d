"""Who verifies the claims of traces: found by name, made when first needed."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

from veridical.store import Store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.from_thread import BlockingPortal

    from veridical.core.policy import Policy
    from veridical.settings import Settings
    from veridical.verifier import Verifier

T = TypeVar("T")


class Asking:
    """Who verifies: made when first needed, by name, and kept open until it is closed."""

    def __init__(
        self, verifier: Verifier | None, policy: Policy | None, settings: Settings | None
    ) -> None:
        self._given = verifier
        self._policy = policy
        self._settings = settings
        self._made: dict[str | None, Verifier] = {}
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._lock = threading.RLock()

    @property
    def settings(self) -> Settings:
        """Return the settings in force, read when first needed."""
        from veridical.settings import Settings

        with self._lock:
            self._settings = self._settings or Settings.load()
            return self._settings

    @property
    def policy(self) -> Policy:
        """Return the thresholds by which claims are judged."""
        return self._policy or self.settings.to_policy()

    def store(self, url: str | None) -> Store:
        """Return the store of a URL; of None, that of the settings."""
        from veridical.composition import build_store

        return build_store(self.settings) if url is None else Store(url)

    def verifier(self, model: str | None) -> Verifier:
        """Return who verifies: who is named, else who was given, else who the settings name."""
        from veridical.composition import build_backend, build_verifier

        if model is None and self._given is not None:
            return self._given
        with self._lock:
            if model not in self._made:
                named = self.settings.backend if model is None else model
                backend = build_backend(self.settings, named, operation="trace")
                if hasattr(backend, "close"):
                    self._stack.callback(backend.close)
                self._made[model] = build_verifier(self.settings, backend=backend)
            return self._made[model]

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Wait for what runs in a loop of its own, so that it works inside a running one, too."""
        from anyio.from_thread import start_blocking_portal

        with self._lock:
            if self._portal is None:
                self._portal = self._stack.enter_context(start_blocking_portal())
        return self._portal.call(call)

    def close(self) -> None:
        """Close what was made here; it is made again when it is needed."""
        with self._lock:
            self._portal = None
            self._made.clear()
            self._stack.close()
