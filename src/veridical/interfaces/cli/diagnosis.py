"""Diagnosis for `veridical doctor`: the installation, usable backends and text models."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio

from veridical.core.measurements import TextRequest, Unmeasured
from veridical.errors import BackendError, ConfigurationError, MissingExtraError, VeridicalError
from veridical.pipeline.inference.aliases import MEANINGS
from veridical.pipeline.inference.card import DEFAULT_MODEL, load_card
from veridical.pipeline.inference.embedded import BACKEND as EMBEDDED
from veridical.pipeline.inference.health import TIMEOUT_S, check_up
from veridical.pipeline.inference.probing import Probe
from veridical.pipeline.inference.processors import usable_processors
from veridical.settings.installed import TEXT_GROUP, backend_spec, installed
from veridical.wiring.build import build_backend, build_text_model

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from veridical.core.ports import Backend, TextModel
    from veridical.settings import Settings

# Names that are backends without an entry point.
_BUILT_HERE = frozenset({"cascade", *MEANINGS})
# Extras that developers install, or that are other extras together.
_NOT_FOR_USERS = frozenset({"all", "dev", "train"})
_SAY_HELLO = TextRequest("You are brief.", "Say hello.", max_tokens=16)
_REQUIREMENT = re.compile(r"""^([A-Za-z0-9._-]+).*;.*\bextra\s*==\s*['"]([^'"]+)['"]""")


_T = TypeVar("_T")


class ProbeState(StrEnum):
    """Result of the probe of a backend or text model."""

    USABLE = "usable"
    NOT_ASKED = "not_asked"
    NOT_SET_UP = "not_set_up"
    NOT_INSTALLED = "not_installed"
    NOT_USABLE = "not_usable"


@dataclass(frozen=True, slots=True)
class BackendFinding:
    """Finding on one backend: its usability, and the remedy if unusable (`hint`).

    `calibration` is true if the configured file has an entry for this backend; None if there is no
    file, or the backend was not asked. `support_threshold` is the one in force.

    `logprobs` is None where it is unknown or the estimator has no use for them. `package` is the
    distribution that provides the backend; `latency_ms` the duration of the question, loading
    included.
    """

    name: str
    configured: bool
    state: ProbeState
    model: str | None = None
    estimator: str | None = None
    logprobs: bool | None = None
    detail: str = ""
    hint: str = ""
    package: str | None = None
    latency_ms: float | None = None
    calibration: Literal["in_force", "nothing_for_this_backend"] | None = None
    support_threshold: float | None = None


@dataclass(frozen=True, slots=True)
class TextModelFinding:
    """Finding on one text model; the fields are the same as for a backend."""

    name: str
    configured: bool
    state: ProbeState
    model: str | None = None
    detail: str = ""
    hint: str = ""
    package: str | None = None
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the embedded verifier; `verified` if both files have the checksums of the card."""

    model: str
    verified: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Extra:
    """Optional part of the package, and its missing distributions."""

    name: str
    installed: bool
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Installation:
    """Versions and parts of the installation."""

    version: str
    python: str
    platform: str
    onnxruntime: str | None
    processors: int
    threads: int
    weights: Weights
    extras: tuple[Extra, ...]


def look_around(settings: Settings) -> Installation:
    """Return the state of the installation; hashes the weights, loads none of them."""
    name, _, model = settings.backend.partition(":")
    processors = usable_processors()
    return Installation(
        version=_version("veridical") or "unknown",
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        platform=f"{platform.system()} {platform.machine()}",
        onnxruntime=_version("onnxruntime"),
        processors=processors,
        threads=settings.threads or processors,
        weights=_weights((model if _is_embedded(name) else "") or DEFAULT_MODEL),
        extras=_extras(requires("veridical") or []),
    )


def look_at_all(settings: Settings) -> list[BackendFinding]:
    """Return findings on every installed backend; only the configured one is asked a question.

    `ConfigurationError` if no backend of the configured name is installed.
    """
    configured = settings.backend.partition(":")[0]
    others = sorted(installed().keys() - {configured})
    return [look_at(settings), *(_look(settings, name, asked=False) for name in others)]


def look_at(settings: Settings) -> BackendFinding:
    """Return the finding on the configured backend, which is asked one tiny question.

    `ConfigurationError` if no backend of its name is installed; other failures are in the finding.
    """
    return _look(settings, settings.backend, asked=True)


def _look(settings: Settings, backend: str, *, asked: bool) -> BackendFinding:
    name = backend.partition(":")[0]
    entry = installed().get(name)
    finding = partial(
        BackendFinding,
        name=name,
        configured=backend == settings.backend,
        package=entry.dist.name if entry and entry.dist else None,
    )
    try:
        # A backend that is not asked is not read either: a calibration is for the one in use.
        read = settings if asked else settings.model_copy(update={"calibration": None})
        built = build_backend(read, backend)
        finding = partial(finding, model=built.info.model, estimator=built.info.estimator.value)
        finding = partial(
            finding,
            calibration=_calibration(read, built),
            support_threshold=read.to_policy().resolved(built.info).support_threshold,
        )
        if not asked:
            return finding(state=ProbeState.NOT_ASKED)
        probe, latency_ms = _timed(check_up, built)
    except Exception as error:
        if isinstance(error, ConfigurationError) and entry is None and name not in _BUILT_HERE:
            raise
        return finding(**_obstacle(error))
    return finding(
        state=ProbeState.USABLE if probe.ok else ProbeState.NOT_USABLE,
        logprobs=probe.logprobs,
        detail=probe.detail,
        latency_ms=latency_ms,
    )


def _calibration(
    settings: Settings, backend: Backend
) -> Literal["in_force", "nothing_for_this_backend"] | None:
    # A cascade is not calibrated itself, its two backends may be.
    if settings.calibration is None or backend.info.name == "cascade":
        return None
    return "in_force" if hasattr(backend, "recalibration") else "nothing_for_this_backend"


def look_at_text_models(settings: Settings) -> list[TextModelFinding]:
    """Return findings on all installed text models; only the configured one is asked a question.

    One that is configured but not installed is among them, as not set up.
    """
    configured = settings.text_model
    others = sorted(installed(TEXT_GROUP).keys() - {(configured or "").partition(":")[0]})
    first = [] if configured is None else [_look_at_text_model(settings, configured, asked=True)]
    return [*first, *(_look_at_text_model(settings, name, asked=False) for name in others)]


def _look_at_text_model(settings: Settings, named: str, *, asked: bool) -> TextModelFinding:
    name = named.partition(":")[0]
    entry = installed(TEXT_GROUP).get(name)
    package = entry.dist.name if entry and entry.dist else None
    finding = partial(TextModelFinding, name=name, configured=asked, package=package)
    try:
        model = build_text_model(settings, named)
        finding = partial(finding, model=model.info.model)
        if not asked:
            return finding(state=ProbeState.NOT_ASKED)
        probe, latency_ms = _timed(_ask_for_text, model)
    except Exception as error:  # noqa: BLE001 -- a model of somebody else's may raise anything
        return finding(**_obstacle(error))
    state = ProbeState.USABLE if probe.ok else ProbeState.NOT_USABLE
    return finding(state=state, detail=probe.detail, latency_ms=latency_ms)


async def _ask_for_text(model: TextModel) -> Probe:
    # A cache would answer for the model, and asking again only takes time.
    model = getattr(model, "wrapped", model)
    with anyio.move_on_after(TIMEOUT_S):
        found = await model.generate(_SAY_HELLO)
        if isinstance(found, Unmeasured):
            return Probe(ok=False, detail=f"{found.reason}: {found.detail}".removesuffix(": "))
        return Probe(ok=True, detail="writes")
    return Probe(ok=False, detail=f"no answer within {TIMEOUT_S:g} s")


def _obstacle(error: Exception) -> dict[str, Any]:
    """Return the obstacle to the use of something, and the remedy."""
    if not isinstance(error, VeridicalError):
        return {"state": ProbeState.NOT_USABLE, "detail": f"it raised {type(error).__name__}"}
    states = {
        ConfigurationError: ProbeState.NOT_SET_UP,
        MissingExtraError: ProbeState.NOT_INSTALLED,
    }
    found = (state for kind, state in states.items() if isinstance(error, kind))
    state = next(found, ProbeState.NOT_USABLE)
    return {"state": state, "detail": error.message, "hint": error.hint}


def _timed(ask: Callable[[_T], Awaitable[Probe]], subject: _T) -> tuple[Probe, float]:
    started = perf_counter()
    probe = anyio.run(ask, subject)
    return probe, (perf_counter() - started) * 1000


def _is_embedded(name: str) -> bool:
    entry = installed().get(name)
    try:
        return entry is not None and backend_spec(entry) == EMBEDDED
    except Exception:  # noqa: BLE001 -- a backend of somebody else's may raise anything
        return False


def _weights(model: str) -> Weights:
    try:
        load_card(model).verify()
    except BackendError as error:
        return Weights(model, verified=False, detail=str(error))
    return Weights(model, verified=True)


def _extras(requirements: list[str]) -> tuple[Extra, ...]:
    wanted: dict[str, list[str]] = {}
    for requirement in requirements:
        found = _REQUIREMENT.match(requirement)
        if found and found[2] not in _NOT_FOR_USERS:
            wanted.setdefault(found[2], []).append(found[1])
    missing = {
        extra: tuple(package for package in packages if _version(package) is None)
        for extra, packages in wanted.items()
    }
    return tuple(Extra(extra, not missing[extra], missing[extra]) for extra in sorted(wanted))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
