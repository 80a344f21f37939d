"""Settings -> Verifier: the only wiring. Backends are found by entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from veridical.core.ports import Backend
from veridical.errors import ConfigurationError
from veridical.verifier import Verifier

if TYPE_CHECKING:
    from veridical.settings import Settings

GROUP = "veridical.backends"


def build_verifier(settings: Settings, *, backend: str | Backend | None = None) -> Verifier:
    """Return the verifier that the settings describe; `backend` overrides theirs."""
    return Verifier(
        build_backend(settings, settings.backend if backend is None else backend),
        policy=settings.to_policy(),
    )


def build_backend(settings: Settings, backend: object) -> Backend:
    """Return a backend by its name `NAME[:MODEL]`; one that is built already is returned as it is.

    `ConfigurationError` if no backend of that name is installed.
    """
    if isinstance(backend, Backend):
        return backend
    if not isinstance(backend, str):
        msg = f"a backend is a name or has `info` and `estimate`, not {type(backend).__name__}"
        raise ConfigurationError(msg, hint="'embedded' is the default")
    name, _, model = backend.partition(":")
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        msg = f"there is no backend named {name!r}"
        raise ConfigurationError(msg, hint=f"Installed here: {', '.join(sorted(found))}")
    created: Backend = found[name].load()(model or None, threads=settings.threads)
    return created
