"""The generated pages of the reference: the command line, HTTP and MCP, out of the program itself.

python scripts/reference.py            # writes docs/reference/{cli,http,mcp}.md
"""

from __future__ import annotations

import json
import os
from contextlib import closing, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Schema: TypeAlias = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "docs" / "reference"


# --- the command line ------------------------------------------------------------------------


def cli() -> str:
    """Return the help of every command, as the program prints it."""
    import typer

    # By the package's name: the module of a command may move, its program stays.
    from veridical.interfaces.cli import app as commands

    root = typer.main.get_command(commands.app)
    parts = [
        "# Command line",
        "What `--help` prints. [Command line](../cli.md) has examples, formats and exit codes.",
    ]
    for words in _commands(root, ["veridical"]):
        parts += [f"## {' '.join(words)}", _fenced(help_of(words))]
    return _page(parts)


def help_of(words: list[str]) -> str:
    """Return what `--help` of a command prints on a terminal of the usual width."""
    from veridical.interfaces.cli import app as commands

    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        commands.app([*words[1:], "--help"], prog_name=words[0])
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def _commands(command: Any, words: list[str]) -> Iterator[list[str]]:  # noqa: ANN401 -- typer's own click
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, [*words, name])


# --- HTTP ------------------------------------------------------------------------------------


def http() -> str:
    """Return the routes and bodies that the OpenAPI document describes."""
    from veridical import Settings
    from veridical.interfaces.http.app import create_app

    document: Schema = create_app(Settings()).openapi()
    schemas: Schema = document["components"]["schemas"]
    parts = [
        "# HTTP",
        "The routes of [`veridical serve`](../service.md), as `/openapi.json` describes them.",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts += _operation(f"{method.upper()} {path}", operation)
    parts += ["## Errors", _errors(document["paths"]), "## Bodies"]
    for name, schema in sorted(schemas.items()):
        parts += [f"### {name}", _cell(schema.get("description", "")), _properties(schema)]
    page = _page(parts)
    for name in schemas:
        page = page.replace(f"`{name}`", f"[`{name}`](#{name.lower()})")
    return page


def _operation(title: str, operation: Schema) -> Iterator[str]:
    yield f"## {title}"
    yield operation.get("summary", "") + "."
    rows = [
        (f"`{one['name']}`", one["in"], _type(one["schema"]), _cell(one.get("description", "")))
        for one in operation.get("parameters", ())
    ]
    yield _table(("parameter", "in", "type", "meaning"), rows)
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Takes `{kind}`: {_type(body['schema'])}."
    answers: Schema = operation["responses"]
    fine = [(status, _cell(answers[status]["description"])) for status in answers if _fine(status)]
    yield _table(("status", "answer"), fine)
    errors = [status for status in answers if not _fine(status)]
    yield f"[Errors](#errors): {', '.join(errors)}." if errors else ""


def _errors(paths: Schema) -> str:
    """Return the table of all errors, with all that a status means on some route."""
    found: dict[str, dict[str, None]] = {}
    for operation in (one for methods in paths.values() for one in methods.values()):
        for status, answer in operation["responses"].items():
            found.setdefault(status, {})[_cell(answer["description"]).rstrip(".")] = None
    rows = [(status, "; ".join(found[status])) for status in sorted(found) if not _fine(status)]
    return _table(("status", "meaning"), rows)


def _fine(status: str) -> bool:
    return status.startswith("2")


# --- MCP -------------------------------------------------------------------------------------


def mcp() -> str:
    """Return the tools that an agent is shown, with what they take and return."""
    from veridical import Settings
    from veridical.interfaces.mcp.tools import Toolbox

    parts = [
        "# MCP",
        "The tools of `veridical mcp`, as an agent is shown them ([manual](../mcp.md)).",
    ]
    with closing(Toolbox(Settings())) as toolbox:
        for tool in toolbox.tools:
            parts += [f"## {tool.name}", *_description(tool.description), "**Takes**"]
            parts += [_properties(tool.arguments.model_json_schema()), "**Returns**"]
            returned = tool.output.model_json_schema()
            parts += [_properties(returned)]
            for name, schema in returned.get("$defs", {}).items():
                parts += [f"`{name}`: {_cell(schema.get('description', ''))}", _properties(schema)]
    return _page(parts)


def _description(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        says, example, arguments = paragraph.partition("Example arguments: ")
        if not example:
            yield says
            continue
        yield "Example:"
        yield _fenced(json.dumps(json.loads(arguments), indent=2), "json")


# --- schemas ---------------------------------------------------------------------------------


def _properties(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", _type(one), _needed(name in required, one), _cell(_meaning(one)))
        for name, one in schema.get("properties", {}).items()
    ]
    return _table(("key", "type", "default", "meaning"), rows)


def _meaning(schema: Schema) -> str:
    """Return the description of a schema, or of the first of several that has one."""
    texts = [one.get("description") for one in (schema, *schema.get("anyOf", ()))]
    return next(filter(None, texts), "")


def _needed(required: bool, schema: Schema) -> str:  # noqa: FBT001 -- one of two words of a table
    if required:
        return "required"
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def _type(schema: Schema) -> str:
    """Return a schema in a few words."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "const" in schema or "enum" in schema:
        return ", ".join(
            f"`{json.dumps(one)}`" for one in schema.get("enum", [schema.get("const")])
        )
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[several])))
    kinds = schema.get("type", "anything")
    if kinds == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)


# --- Markdown --------------------------------------------------------------------------------


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _fenced(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"


def _page(parts: list[str]) -> str:
    note = "<!-- Made by scripts/reference.py: change the program, and run it. -->"
    return "\n\n".join([parts[0], note, *filter(None, parts[1:])]) + "\n"


PAGES: dict[str, Callable[[], str]] = {"cli": cli, "http": http, "mcp": mcp}


def main() -> None:
    """Write the pages."""
    os.environ["COLUMNS"] = "80"
    for name, page in PAGES.items():
        (FOLDER / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
