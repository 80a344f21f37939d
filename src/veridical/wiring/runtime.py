"""Runtime of blocking and shared callers: the objects that the settings describe."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from veridical.errors import ConfigurationError
from veridical.verification.portal import Portal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from veridical.consistency.measures import ConsistencyChecker
    from veridical.core.policy import Policy
    from veridical.core.ports import Backend, EmbeddingModel, TextModel
    from veridical.memory import Memory
    from veridical.pipeline.inference.aliases import Operation
    from veridical.settings import Settings
    from veridical.store import Store
    from veridical.verification.verifier import Verifier

T = TypeVar("T")

Comparison: TypeAlias = Literal["entailment", "embeddings"]
"""Method of comparing two texts."""


class Runtime:
    """Backend, verifier, text model, database and memory, built on first use and kept open.

    `operation` decides the backend's aliases and cache. After `close` they are built again.
    """

    def __init__(
        self,
        backend: str | Backend | None = None,
        text_model: str | TextModel | None = None,
        policy: Policy | None = None,
        settings: Settings | None = None,
        operation: Operation = "check",
    ) -> None:
        self.given_settings = settings
        self.named_backend = backend
        self.named_text_model = text_model
        self.given_policy = policy
        self.operation: Operation = operation
        self._portal = Portal()
        self._closing = ExitStack()

    @cached_property
    def settings(self) -> Settings:
        """Settings in force, loaded unless they were given."""
        from veridical.settings import Settings

        return self.given_settings or Settings.load()

    @cached_property
    def backend(self) -> Backend:
        """Backend for claims."""
        from veridical.wiring.build import build_backend

        named = self.settings.backend if self.named_backend is None else self.named_backend
        return self._kept(build_backend(self.settings, named, operation=self.operation), named)

    @cached_property
    def model(self) -> TextModel | None:
        """Text model; None if neither the caller nor the settings name one."""
        from veridical.wiring.build import build_text_model

        named = self.named_text_model or self.settings.text_model
        return None if named is None else self._kept(build_text_model(self.settings, named), named)

    @cached_property
    def store(self) -> Store:
        """Database of the settings."""
        from veridical.wiring.build import build_store

        return self._kept(build_store(self.settings))

    @cached_property
    def memory(self) -> Memory:
        """Memory of facts; its gate is as configured."""
        from veridical.wiring.memories import build_memory

        return self._kept(build_memory(self.settings))

    @cached_property
    def gated_memory(self) -> Memory:
        """Memory of facts with a gate, whether or not the settings have one."""
        from veridical.wiring.memories import build_memory

        return self._kept(build_memory(self.settings, gate=True))

    def embeddings(self, by: str) -> EmbeddingModel | None:
        """Return the model whose vectors are compared; None to compare by entailment.

        `ConfigurationError` if there is no such method, or if the settings name no model.
        """
        from veridical.wiring.memories import build_embeddings

        if by == "entailment":
            return None
        if by != "embeddings":
            msg = "texts are compared by 'entailment' or by 'embeddings'"
            raise ConfigurationError(msg, hint="Choose one of the two for by=")
        model = build_embeddings(self.settings)
        if model is None:
            msg = "there is no embedding model"
            raise ConfigurationError(msg, hint="Name one in the settings: embeddings.model")
        return model

    @property
    def policy(self) -> Policy:
        """Policy in force."""
        return self.given_policy or self.settings.to_policy()

    @cached_property
    def verifier(self) -> Verifier:
        """Verifier over the backend."""
        from veridical.wiring.build import build_verifier

        return build_verifier(
            self.settings, backend=self.backend, policy=self.policy, operation=self.operation
        )

    @property
    def reasker(self) -> ConsistencyChecker:
        """Measures by repeated questions."""
        from veridical.consistency.measures import ConsistencyChecker

        return ConsistencyChecker(self.verifier, self.backend, self.model)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run a call in an event loop of its own, so that it works inside a running one, too."""
        return self._portal.run(call)

    def made(self, part: str) -> bool:
        """Return whether an object was built."""
        return part in self.__dict__

    def close(self) -> None:
        """Close the objects built here; objects of the caller stay open."""
        self._portal.close()
        for part in ("backend", "verifier", "model", "store", "memory", "gated_memory"):
            self.__dict__.pop(part, None)
        self._closing.close()

    def take_over(self, part: object) -> None:
        """Close an object of the caller together with those built here."""
        if hasattr(part, "close"):
            self._closing.callback(part.close)

    def _kept(self, made: T, given: object = None) -> T:
        if made is not given:
            self.take_over(made)
        return made


def load_gate_model(memory: Memory) -> None:
    """Load an instant backend before the gate's time limit starts; services need no warming."""
    from veridical.wiring.build import is_instant

    if memory.gate is not None and is_instant(memory.gate.backend):
        memory.gate.warm_up()


class Current:
    """Runtime in use."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.engine = Runtime()
        atexit.register(self.use, None)

    def use(self, engine: Runtime | None) -> None:
        """Close the runtime in use and take another, or a new one."""
        with self.lock:
            self.engine.close()
            self.engine = engine or Runtime()
