"""`veridical doctor`: what is installed, which backends can be used, and what to do if not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say
from veridical.interfaces.cli.secrets import shown_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.interfaces.diagnosis import BackendFinding, Installation
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
    typer.Option(metavar="NAME[:MODEL]", help="Look at this backend only, not at all of them."),
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
    """Say which backends can be used here, and what to do where not.

    The backend that is configured, or named, is asked one tiny question that is built in; the
    others are not asked. None of your texts is sent anywhere.
    """
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.interfaces.diagnosis import look_around, look_at, look_at_all
    from veridical.settings import Settings, load_layers

    layers = load_layers(config, {"backend": backend})
    settings = Settings.model_validate(layers.merged())
    installation = look_around(settings)
    findings = [look_at(settings)] if backend else look_at_all(settings)
    code = USABLE if findings[0].state == "usable" else NOT_USABLE
    if json:
        print_json(_document(installation, findings, _cache(layers), usable=code == USABLE))
    elif not quiet:
        print_text(_page(installation, findings, _cache(layers)))
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
    }
    return dumps(document, indent=2, default=str)


# --- for a person ----------------------------------------------------------------------------


def _page(
    installation: Installation, findings: Sequence[BackendFinding], cache: dict[str, Any]
) -> str:
    facts = _columns([*_facts(installation), *((key, str(value)) for key, value in cache.items())])
    header = ("", "backend", "model", "state", "log-probabilities", "detail")
    lines = _columns([header, *map(_row, findings)])
    for number, finding in reversed(list(enumerate(findings, start=1))):
        if finding.hint:
            lines.insert(number + 1, f"     hint: {finding.hint}")
    return (
        "\n".join(
            [
                *facts,
                "",
                *lines,
                "",
                "*: the backend in force, the only one that is asked a question",
            ]
        )
        + "\n"
    )


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


def _row(finding: BackendFinding) -> tuple[str, ...]:
    took = f"in {finding.latency_ms:,.0f} ms" if finding.latency_ms is not None else ""
    return (
        "*" if finding.configured else "",
        finding.name,
        finding.model or "-",
        finding.state.replace("_", " "),
        _logprobs(finding),
        f"{finding.detail} {took}".strip(),
    )


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
