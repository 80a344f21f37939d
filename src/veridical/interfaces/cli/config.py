"""`veridical config show`: the settings in force, each with its origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported
from veridical.interfaces.cli.secrets import shown_value

if TYPE_CHECKING:
    from veridical.settings import Layers

EXAMPLES = """\b
Examples:
  veridical config show
  VERIDICAL_POLICY__WINDOWS=all veridical config show --json
  veridical config show --config ci/veridical.yaml
"""

Json = options.Json
Quiet = options.Quiet
Config = options.Config

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Keep `show` a command of its own while it is the only one."""


@app.command("show", epilog=EXAMPLES)
@reported
def show(*, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """Print every setting in force and its origin.

    Of a secret, only the fact that it is set is printed.
    """
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.settings import load_layers

    layers = load_layers(config)
    if json:
        print_json(_document(layers))
    elif not quiet:
        print_text(_table(layers))


def _document(layers: Layers) -> str:
    from json import dumps

    settings: dict[str, Any] = {
        key: {"value": shown_value(key, value), "origin": layer.kind, "place": layer.places[key]}
        for key, (value, layer) in layers.effective().items()
    }
    return dumps({"schema": "veridical.config/1", "settings": settings}, indent=2, default=str)


def _table(layers: Layers) -> str:
    from veridical.interfaces.cli.output import columns

    rows = [
        (key, "null" if value is None else str(shown_value(key, value)), layer.places[key])
        for key, (value, layer) in layers.effective().items()
    ]
    return "\n".join(columns(rows)) + "\n"
