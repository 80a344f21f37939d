"""`veridical init`: a configuration file with the best verifier within reach."""

from __future__ import annotations

import json as json_module
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.errors import ConfigurationError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported

if TYPE_CHECKING:
    from veridical.interfaces.cli.surroundings import Choice

EXAMPLES = """\b
Examples:
  veridical init
  veridical init --backend openai:qwen3:8b
  veridical init --config ci/veridical.yaml --force --json

\b
Exit codes:
  0  the file is written
  2  wrong use or configuration, or there is a file already
"""

Backend = Annotated[
    str | None, typer.Option(metavar="NAME[:MODEL]", help="Write this backend, not the best one.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]
Target = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", help="Write this file, not ./veridical.yaml."),
]
Json = options.Json
Quiet = options.Quiet


@reported
def init(
    *,
    backend: Backend = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    config: Target = None,
) -> None:
    """Write a configuration file with the best verifier found here.

    The choice is by published figures, among the verifiers that keep your texts on this machine.
    Without a downloaded preset it is the embedded verifier. A backend that sends texts elsewhere
    is written only if you name it.
    """
    from veridical.interfaces.cli.output import ensure_writable, print_json, print_text, write_file
    from veridical.settings.layers import CONFIG_NAME

    path = config or Path(CONFIG_NAME)
    if path.exists() and not force:
        msg = f"there is a file {path} already"
        raise ConfigurationError(msg, hint="--force overwrites it; --config PATH writes another")
    ensure_writable([path], [])
    choice = _choice(backend)
    text = _text(choice)
    write_file(path, text)
    if json:
        print_json(_document(path, choice))
    elif not quiet:
        print_text(f"{path}:\n\n{text}")


def _choice(backend: str | None) -> Choice:
    """Return the best choice, or the named one once it can be built."""
    from veridical.interfaces.cli import surroundings
    from veridical.pipeline.inference.presets import presets
    from veridical.settings import Settings
    from veridical.wiring.build import build_backend

    # The file that is to be written counts for nothing yet; the environment does.
    found = surroundings.look_for_verifiers(Settings.load(Path(os.devnull)))
    if backend is None:
        return surroundings.best_choice(found, presets())
    choice = surroundings.chosen(backend, found.servers)
    settings = Settings.load(Path(os.devnull), **choice.settings)
    build_backend(settings, settings.backend)
    return choice


def _text(choice: Choice) -> str:
    import yaml

    head = f"# {choice.reason}\n# All settings: veridical config show\n"
    return head + yaml.safe_dump(dict(choice.settings), sort_keys=False)


def _document(path: Path, choice: Choice) -> str:
    from dataclasses import asdict

    document = {"schema": "veridical.init/1", "file": str(path), **asdict(choice)}
    return json_module.dumps(document, indent=2, ensure_ascii=False)
