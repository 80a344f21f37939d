"""Runtime of the functions of `veridical.repl`: a verifier, its backend and a text model."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.from_thread import BlockingPortal

    from veridical.consistency.measures import ConsistencyChecker
    from veridical.core.policy import Policy
    from veridical.core.ports import Backend, EmbeddingModel, TextModel
    from veridical.settings import Settings
    from veridical.verification.verifier import Verifier

T = TypeVar("T")

Comparison: TypeAlias = Literal["entailment", "embeddings"]
"""Method of comparing two texts."""


class Runtime:
    """Verifier, its backend and the text model, built on first use and kept open."""

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
        self._stack = ExitStack()

    @cached_property
    def settings(self) -> Settings:
        """Settings in force, loaded unless they were given."""
        from veridical.settings import Settings

        return self.given_settings or Settings.load()

    @cached_property
    def backend(self) -> Backend:
        """Backend for claims."""
        from veridical.wiring.build import build_backend

        return build_backend(self.settings, self.named_backend or self.settings.backend)

    @cached_property
    def model(self) -> TextModel | None:
        """Text model; None if neither the caller nor the settings name one."""
        from veridical.wiring.build import build_text_model

        named = self.named_text_model or self.settings.text_model
        return None if named is None else build_text_model(self.settings, named)

    def embeddings(self, by: str) -> EmbeddingModel | None:
        """Return the model whose vectors are compared; None to compare by entailment.

        `ConfigurationError` if there is no such method, or if the settings name no model.
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
        """Policy in force."""
        return self.given_policy or self.settings.to_policy()

    @cached_property
    def verifier(self) -> Verifier:
        """Verifier over the backend."""
        from veridical.wiring.build import build_verifier

        return build_verifier(self.settings, backend=self.backend, policy=self.policy)

    @property
    def reasker(self) -> ConsistencyChecker:
        """Measures by repeated questions."""
        from veridical.consistency.measures import ConsistencyChecker

        return ConsistencyChecker(self.verifier, self.backend, self.model)

    @cached_property
    def _portal(self) -> BlockingPortal:
        from anyio.from_thread import start_blocking_portal

        portal = self._stack.enter_context(start_blocking_portal())
        self._stack.enter_context(portal.wrap_async_context_manager(self.verifier))
        return portal

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run a call in an event loop of its own, so that it works inside a running one, too."""
        return self._portal.call(call)

    def close(self) -> None:
        """Close the objects built here; objects of the caller stay open."""
        self._stack.close()
        for part, given in (("backend", self.named_backend), ("model", self.named_text_model)):
            made = self.__dict__.pop(part, None)
            if made is not given and hasattr(made, "close"):
                made.close()


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
