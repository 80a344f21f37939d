"""`veridical doctor`: installed parts, usable backends, and remedies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say
from veridical.interfaces.cli.secrets import shown_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.interfaces.cli.diagnosis import BackendFinding, Installation, TextModelFinding
    from veridical.interfaces.cli.surroundings import Choice, Surroundings
    from veridical.settings import Layers, Settings

USABLE = 0
NOT_USABLE = 3
EXAMPLES = """\b
Examples:
  veridical doctor
  veridical doctor --backend openai:gpt-4.1-mini
  veridical doctor --json --config ci/veridical.yaml

\b
Exit codes:
  0  the backend that is configured, or named, can be used
  2  wrong use or configuration
  3  it cannot be used
"""

Backend = Annotated[
    str | None,
    typer.Option(metavar="NAME[:MODEL]", help="Check this backend only."),
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config


@dataclass(frozen=True, slots=True)
class _Diagnosis:
    """Findings for the page and the document; `reach` is None where one backend was named."""

    installation: Installation
    cache: dict[str, Any]
    backends: Sequence[BackendFinding]
    text_models: Sequence[TextModelFinding]
    reach: tuple[Surroundings, Choice] | None

    @property
    def usable(self) -> bool:
        return self.backends[0].state == "usable"


@reported
def doctor(
    *,
    backend: Backend = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Check that backends and models are usable.

    For an unusable one the remedy is printed. The configured backend, or the one named, is asked
    one tiny built-in question, and so is the text model in text_model; the others are not asked.
    None of your texts is sent.

    Without --backend the verifiers within reach are listed, too, and the best choice among them:
    API keys by name, model servers on this machine, and downloaded presets.
    """
    from veridical.interfaces.cli.diagnosis import (
        look_around,
        look_at,
        look_at_all,
        look_at_text_models,
    )
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.settings import Settings, load_layers

    layers = load_layers(config, {"backend": backend})
    settings = Settings.model_validate(layers.merged())
    found = _Diagnosis(
        look_around(settings),
        _cache(layers),
        [look_at(settings)] if backend else look_at_all(settings),
        [] if backend else look_at_text_models(settings),
        None if backend else _reach(settings),
    )
    if json:
        print_json(_document(found))
    elif not quiet:
        print_text(_page(found))
    elif not found.usable:
        first = found.backends[0]
        say("error", f"{first.name}: {first.detail}", first.hint)
    raise typer.Exit(USABLE if found.usable else NOT_USABLE)


def _reach(settings: Settings) -> tuple[Surroundings, Choice]:
    """Return the verifiers within reach, and the best choice."""
    from veridical.interfaces.cli.surroundings import best_choice, look_for_verifiers
    from veridical.pipeline.inference.presets import presets

    found = look_for_verifiers(settings)
    return found, best_choice(found, presets())


def _cache(layers: Layers) -> dict[str, Any]:
    """Return the settings of the cache, as far as there are any."""
    effective = layers.effective().items()
    return {
        key: shown_value(key, value) for key, (value, _) in effective if key.startswith("cache")
    }


def _document(found: _Diagnosis) -> str:
    from dataclasses import asdict
    from json import dumps

    surroundings, choice = found.reach or (None, None)
    document = {
        "schema": "veridical.doctor/1",
        "usable": found.usable,
        "configured": found.backends[0].name,
        "installation": asdict(found.installation),
        "cache": found.cache,
        "backends": [asdict(finding) for finding in found.backends],
        "text_models": [asdict(finding) for finding in found.text_models],
        "surroundings": None if surroundings is None else asdict(surroundings),
        "choice": None if choice is None else asdict(choice),
    }
    return dumps(document, indent=2, default=str)


# --- for a person ----------------------------------------------------------------------------


def _page(found: _Diagnosis) -> str:
    from veridical.interfaces.cli.output import columns

    facts = columns(
        [
            *_facts(found.installation),
            *((key, str(value)) for key, value in found.cache.items()),
            *_calibration(found.backends[0]),
        ]
    )
    header: tuple[str, ...] = ("", "backend", "model", "state", "log-probabilities", "detail")
    lines = [*facts, "", *_table(header, list(map(_row, found.backends)), found.backends)]
    if found.text_models:
        header = ("", "text model", "model", "state", "detail")
        texts = [(*_first(finding), _last(finding)) for finding in found.text_models]
        lines += ["", *_table(header, texts, found.text_models)]
    lines += ["", "*: in force and asked a question; the others are not"]
    if found.reach:
        lines += ["", *columns(_within_reach(*found.reach))]
    return "\n".join(lines) + "\n"


def _within_reach(found: Surroundings, choice: Choice) -> list[tuple[str, str]]:
    none = "none found"
    servers = [
        (server.kind, f"{server.base_url}: {', '.join(server.models) or 'no models'}")
        for server in found.servers
    ]
    return [
        ("API keys", ", ".join(found.keys) or none),
        *(servers or [("model servers", f"{none} on this machine")]),
        ("presets", ", ".join(found.presets) or "none downloaded"),
        ("best here", f"{choice.backend}: {choice.reason} (veridical init writes it)"),
    ]


def _table(
    header: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    findings: Sequence[BackendFinding | TextModelFinding],
) -> list[str]:
    """Return the lines of a table, each hint below the row that it is about."""
    from veridical.interfaces.cli.output import columns

    lines = columns([header, *rows])
    for number, finding in reversed(list(enumerate(findings, start=1))):
        if finding.hint:
            lines.insert(number + 1, f"     hint: {finding.hint}")
    return lines


def _facts(installation: Installation) -> list[tuple[str, str]]:
    weights = installation.weights
    verified = "checksums verified" if weights.verified else f"NOT verified: {weights.detail}"
    facts = [
        ("veridical", installation.version),
        ("python", f"{installation.python}, {installation.platform}"),
        ("onnxruntime", installation.onnxruntime or "not installed"),
        ("cpu", f"{installation.threads} threads of {installation.processors} usable processors"),
        ("weights", f"{weights.model}, {verified}"),
    ]
    for extra in installation.extras:
        install = f"pip install 'veridical[{extra.name}]'"
        facts.append((f"[{extra.name}]", "installed" if extra.installed else f"missing: {install}"))
    return facts


def _calibration(finding: BackendFinding) -> list[tuple[str, str]]:
    """Return whether a calibration is in force, if one is configured."""
    if finding.calibration is None:
        return []
    words = finding.calibration.replace("_", " ")
    return [("calibration", f"{words}; support threshold {finding.support_threshold}")]


def _row(finding: BackendFinding) -> tuple[str, ...]:
    return (*_first(finding), _logprobs(finding), _last(finding))


def _first(finding: BackendFinding | TextModelFinding) -> tuple[str, ...]:
    return (
        "*" if finding.configured else "",
        finding.name,
        finding.model or "-",
        finding.state.replace("_", " "),
    )


def _last(finding: BackendFinding | TextModelFinding) -> str:
    took = f"in {finding.latency_ms:,.0f} ms" if finding.latency_ms is not None else ""
    return f"{finding.detail} {took}".strip()


def _logprobs(finding: BackendFinding) -> str:
    if finding.logprobs is not None:
        return "yes" if finding.logprobs else "no"
    return "unknown" if finding.estimator in {None, "logprobs"} else "not used"
