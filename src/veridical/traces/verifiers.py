"""Pool of verifiers for the claims of traces, built by backend name on first use."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

from veridical.errors import ConfigurationError, MissingExtraError
from veridical.store import Store
from veridical.traces.verdicts import failed, unasked
from veridical.wiring.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from veridical.core.policy import Policy
    from veridical.core.verdicts import Verdict
    from veridical.settings import Settings
    from veridical.traces.values import TraceNode
    from veridical.traces.verdicts import CitableEvidence
    from veridical.verification.verifier import Verifier

T = TypeVar("T")


class VerifierPool:
    """Verifiers by backend name, built on first use and kept open until `close`."""

    def __init__(
        self, verifier: Verifier | None, policy: Policy | None, settings: Settings | None
    ) -> None:
        self._given = verifier
        self._policy = policy
        self._parts = Runtime(None, None, policy, settings, "trace")
        self._named: dict[str, Runtime] = {}
        self._lock = threading.Lock()

    @property
    def settings(self) -> Settings:
        """Settings in force, read when first needed."""
        return self._parts.settings

    @property
    def policy(self) -> Policy:
        """Thresholds of the verdicts."""
        own: Policy | None = getattr(self._given, "policy", None)
        return self._policy or own or self.settings.to_policy()

    @property
    def audits(self) -> bool:
        """True if claims are verified automatically, by the settings."""
        block = self.settings.hallucination
        return bool(block.enabled) and block.trace_auditing.enabled

    @property
    def auditor(self) -> str | None:
        """Backend of automatic verification; None if a verifier was given."""
        from veridical.wiring.build import hallucination_backend

        return hallucination_backend(self.settings, "trace") if self._given is None else None

    def store(self, url: str | None) -> Store:
        """Return the store of a URL; of None, that of the settings."""
        from veridical.wiring.build import build_store

        return build_store(self.settings) if url is None else Store(url)

    def verifier(self, model: str | None) -> Verifier:
        """Return the verifier of a name, else the given one, else that of the settings."""
        if model is None and self._given is not None:
            return self._given
        with self._lock:
            return self._parts_of(model).verifier

    def _parts_of(self, model: str | None) -> Runtime:
        if model is None:
            return self._parts
        if model not in self._named:
            self._named[model] = Runtime(model, None, self._policy, self.settings, "trace")
        return self._named[model]

    async def verdict(
        self, node: TraceNode, evidence: CitableEvidence, policy: Policy, model: str | None
    ) -> Verdict:
        """Return the verdict on a claim; a failure of the backend is an undetermined one.

        `ConfigurationError` if there is no backend of that name.
        """
        cites, sources = evidence.named(node.data["evidence_ids"]), evidence.sources.values()
        if not sources:
            return unasked(node, cites, policy)
        try:
            verifier = self.verifier(model)
            return await verifier.verify(node.text, sources, cites=cites, policy=policy)
        except (ConfigurationError, MissingExtraError):
            raise
        except Exception as error:  # noqa: BLE001 -- a backend that fails must not break the host
            return failed(node, cites, policy, type(error).__name__)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run a call in an event loop of its own, so that it works inside a running one, too."""
        return self._parts.run(call)

    def close(self) -> None:
        """Close the verifiers built here; they are built again when needed."""
        with self._lock:
            made = (*self._named.values(), self._parts)
        with ExitStack() as closing:  # the last one first: its portal waits for calls under way
            for parts in made:
                closing.callback(parts.close)
