"""What the functions of `veridical.repl` stand on: a verifier, its backend and a text model."""

from __future__ import annotations

import atexit
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
    from veridical.settings import Settings
    from veridical.verification.verifier import Verifier

T = TypeVar("T")

Comparison: TypeAlias = Literal["entailment", "embeddings"]
"""How two texts are compared."""


class Runtime:
    """A verifier, its backend and the text model, made when first needed and kept open."""

    def __init__(
        self,
        backend: str | Backend | None = None,
        text_model: str | TextModel | None = None,
        policy: Policy | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.given_settings = settings
        self.named_backend = backend
        self.named_text_model = text_model
        self.given_policy = policy
        self._portal = Portal()

    @cached_property
    def settings(self) -> Settings:
        """Return the settings, loaded unless they were given."""
        from veridical.settings import Settings

        return self.given_settings or Settings.load()

    @cached_property
    def backend(self) -> Backend:
        """Return who judges claims."""
        from veridical.wiring.build import build_backend

        return build_backend(self.settings, self.named_backend or self.settings.backend)

    @cached_property
    def model(self) -> TextModel | None:
        """Return who writes; None if neither the caller nor the settings name one."""
        from veridical.wiring.build import build_text_model

        named = self.named_text_model or self.settings.text_model
        return None if named is None else build_text_model(self.settings, named)

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
        """Return what counts as supported."""
        return self.given_policy or self.settings.to_policy()

    @cached_property
    def verifier(self) -> Verifier:
        """Return the verifier over the backend."""
        from veridical.wiring.build import build_verifier

        return build_verifier(self.settings, backend=self.backend, policy=self.policy)

    @property
    def reasker(self) -> ConsistencyChecker:
        """Return what asks again."""
        from veridical.consistency.measures import ConsistencyChecker

        return ConsistencyChecker(self.verifier, self.backend, self.model)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return what a coroutine returns that runs in the loop of the portal."""
        return self._portal.run(call)

    def close(self) -> None:
        """Close what was opened; what the caller built stays the caller's."""
        self._portal.close()
        for part, given in (("backend", self.named_backend), ("model", self.named_text_model)):
            made = self.__dict__.pop(part, None)
            if made is not given and hasattr(made, "close"):
                made.close()


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
