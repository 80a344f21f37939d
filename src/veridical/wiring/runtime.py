"""The parts that callers share: made from the settings when first needed, closed together."""

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
"""How two texts are compared."""


class Runtime:
    """Backend, verifier, text model, database and memory: made when first needed, kept, closed.

    `operation` is what the backend is asked for. What is closed is made again when it is needed.
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
        """Return the settings, loaded unless they were given."""
        from veridical.settings import Settings

        return self.given_settings or Settings.load()

    @cached_property
    def backend(self) -> Backend:
        """Return the backend that judges claims."""
        from veridical.wiring.build import build_backend

        named = self.settings.backend if self.named_backend is None else self.named_backend
        return self._kept(build_backend(self.settings, named, operation=self.operation), named)

    @cached_property
    def model(self) -> TextModel | None:
        """Return the text model; None if neither the caller nor the settings name one."""
        from veridical.wiring.build import build_text_model

        named = self.named_text_model or self.settings.text_model
        return None if named is None else self._kept(build_text_model(self.settings, named), named)

    @cached_property
    def store(self) -> Store:
        """Return the database of the settings."""
        from veridical.wiring.build import build_store

        return self._kept(build_store(self.settings))

    @cached_property
    def memory(self) -> Memory:
        """Return the memory; its gate is as configured."""
        from veridical.wiring.build import build_memory

        return self._kept(build_memory(self.settings))

    @cached_property
    def gated_memory(self) -> Memory:
        """Return the memory with its gate, whatever the settings say of it."""
        from veridical.wiring.build import build_memory

        return self._kept(build_memory(self.settings, gate=True))

    def embeddings(self, by: str) -> EmbeddingModel | None:
        """Return the model whose vectors are compared; None to compare by entailment.

        `ConfigurationError` if there is no such way, or if the settings name no model.
        """
        from veridical.wiring.build import build_embeddings

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
        """Return the thresholds by which claims are judged."""
        return self.given_policy or self.settings.to_policy()

    @cached_property
    def verifier(self) -> Verifier:
        """Return the verifier over the backend."""
        from veridical.wiring.build import build_verifier

        return build_verifier(
            self.settings, backend=self.backend, policy=self.policy, operation=self.operation
        )

    @property
    def reasker(self) -> ConsistencyChecker:
        """Return what asks again."""
        from veridical.consistency.measures import ConsistencyChecker

        return ConsistencyChecker(self.verifier, self.backend, self.model)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return what a coroutine returns that runs in the loop of the portal."""
        return self._portal.run(call)

    def made(self, part: str) -> bool:
        """Return whether a part was needed so far."""
        return part in self.__dict__

    def close(self) -> None:
        """Close what was opened; what the caller built stays the caller's."""
        self._portal.close()
        for part in ("backend", "verifier", "model", "store", "memory", "gated_memory"):
            self.__dict__.pop(part, None)
        self._closing.close()

    def take_over(self, part: object) -> None:
        """Close a part together with the others, whoever built it."""
        if hasattr(part, "close"):
            self._closing.callback(part.close)

    def _kept(self, made: T, given: object = None) -> T:
        if made is not given:
            self.take_over(made)
        return made


def load_gate_model(memory: Memory) -> None:
    """Load the model of a memory's gate before the gate's clock starts; services need none."""
    from veridical.wiring.build import LOCAL

    if memory.gate is not None and memory.gate.backend.info.name in LOCAL:
        memory.gate.warm_up()


class Current:
    """The engine in use."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.engine = Runtime()
        atexit.register(self.use, None)

    def use(self, engine: Runtime | None) -> None:
        """Close the engine in use and take another, or a new one."""
        with self.lock:
            self.engine.close()
            self.engine = engine or Runtime()
