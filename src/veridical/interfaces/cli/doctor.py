"""`veridical doctor`: installed parts, usable backends, and remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say
from veridical.interfaces.cli.secrets import shown_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.interfaces.cli.diagnosis import BackendFinding, Installation, TextModelFinding
    from veridical.settings import Layers

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
    one tiny built-in question, and so is the text model in text_model, else in extraction.backend;
    the others are not asked. None of your texts is sent.
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
    installation = look_around(settings)
    findings = [look_at(settings)] if backend else look_at_all(settings)
    texts = [] if backend else look_at_text_models(settings)
    cache = _cache(layers)
    code = USABLE if findings[0].state == "usable" else NOT_USABLE
    if json:
        print_json(_document(installation, findings, texts, cache, usable=code == USABLE))
    elif not quiet:
        print_text(_page(installation, findings, texts, cache))
    elif code != USABLE:
        say("error", f"{findings[0].name}: {findings[0].detail}", findings[0].hint)
    raise typer.Exit(code)


def _cache(layers: Layers) -> dict[str, Any]:
    """Return the settings of the cache, as far as there are any."""
    effective = layers.effective().items()
    return {
        key: shown_value(key, value) for key, (value, _) in effective if key.startswith("cache")
    }


def _document(
    installation: Installation,
    findings: Sequence[BackendFinding],
    texts: Sequence[TextModelFinding],
    cache: dict[str, Any],
    *,
    usable: bool,
) -> str:
    from dataclasses import asdict
    from json import dumps

    document = {
        "schema": "veridical.doctor/1",
        "usable": usable,
        "configured": findings[0].name,
        "installation": asdict(installation),
        "cache": cache,
        "backends": [asdict(finding) for finding in findings],
        "text_models": [asdict(finding) for finding in texts],
    }
    return dumps(document, indent=2, default=str)


# --- for a person ----------------------------------------------------------------------------


def _page(
    installation: Installation,
    findings: Sequence[BackendFinding],
    texts: Sequence[TextModelFinding],
    cache: dict[str, Any],
) -> str:
    facts = _columns(
        [
            *_facts(installation),
            *((key, str(value)) for key, value in cache.items()),
            *_calibration(findings[0]),
        ]
    )
    header = ("", "backend", "model", "state", "log-probabilities", "detail")
    lines = [*facts, "", *_table(header, list(map(_row, findings)), findings)]
    if texts:
        columns = ("", "text model", "model", "state", "detail")
        rows = [(*_first(finding), _last(finding)) for finding in texts]
        lines += ["", *_table(columns, rows, texts)]
    return "\n".join([*lines, "", "*: in force and asked a question; the others are not"]) + "\n"


def _table(
    header: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    findings: Sequence[BackendFinding | TextModelFinding],
) -> list[str]:
    """Return the lines of a table, each hint below the row that it is about."""
    lines = _columns([header, *rows])
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


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
