"""One name per value in Python, JSON, HTTP and MCP (docs/decisions/0021-names-of-one-value.md)."""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate

PACKAGE = Path(veridical.__file__).parent
SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
PUBLIC = ("", ".evidence", ".memory", ".repl", ".traces", ".orchestrator")
FIELDS = {
    "gap_bits": "budget_gap_bits",
    "budget_gap": "budget_gap_bits",
    "evidence_gap_bits": "budget_gap_bits",
    "gap_interval": "gap_interval_bits",
    "justified": "confidence_justified",
    "dependence": "evidence_dependence",
    "evidence_support": "p1",
    "support": "p1",
    "posterior": "p1",
    "prior": "p0",
    "about": "entities",
    "phantoms": "phantom_citations",
    "do": "suggested_action",
    "waits": "pending",
    "claims_failing": "failing",
    "checked": "claims_checked",
}
"""Names of fields and keys by their synonyms."""
PARAMETERS = FIELDS | {
    "claims": "text",
    "fact": "text",
    "assertion": "text",
    "evidence": "sources",
    "documents": "sources",
    "context": "sources",
    "entity": "entities",
    "transcript_text": "transcript",
    "citations": "cites",
    "stated": "confidence",
    "probability": "confidence",
}
"""Names of parameters and of fields of requests, by their synonyms."""
BY_SPECIFICATION = {
    *(("ClaimVerification", name) for name in ("evidence_support", "evidence_gap_bits")),
    ("ClaimVerification", "budget_gap"),
    ("EpistemicGap", "gap_bits"),
    *(
        (place, name)
        for place in ("epistemic.py", "audit-1.schema.json")
        for name in ("evidence_support", "evidence_gap_bits", "budget_gap")
    ),
    ("epistemic.py", "gap_bits"),
    ("results.py", "gap_bits"),
    ("POST /v1/verify_claim", "budget_gap"),
    *(
        (function, "evidence")
        for function in ("verify_claim", "consistency", "evidence_dependence", "measure_dependence")
    ),
    *((function, "context") for function in ("verify_claims", "detect_hallucinations", "llm")),
    ("Orchestrator.process", "context"),
    *(
        (function, name)
        for function in ("ground_evidence", "validate_evidence_grounding")
        for name in ("evidence", "transcript_text")
    ),
}
"""Synonyms that a specification uses, in the places to which it gives them."""
OTHER_VALUES = {
    ("StepIn", "context"),
    ("junit.py", "checked"),
    ("errors.py", "about"),
    ("/v1/memory/facts", "entity"),
}
"""Other values, a hint about an old name, and a parameter that is repeated for each value."""
COLUMNS = {("rows.py", "gap_bits")}
"""Columns of the database, which keep their names."""

Found = tuple[str, str]


def classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(veridical.__path__, "veridical."):
        if "__main__" not in module.name and ".migrations" not in module.name:
            home = import_module(module.name)
            yield from (
                value
                for value in vars(home).values()
                if isinstance(value, type) and value.__module__ == home.__name__
            )


@cache
def fields_in_python() -> tuple[Found, ...]:
    return tuple(
        (each.__name__, field.name)
        for each in classes()
        if is_dataclass(each)
        for field in fields(each)
    )


@cache
def keys_in_code() -> tuple[Found, ...]:
    """Return the keys of dict displays: documents that no schema describes are made of them."""
    return tuple(
        (path.name, key.value)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    )


@cache
def keys_of_schemas() -> tuple[Found, ...]:
    return tuple(
        (path.name, name)
        for path in SCHEMAS.glob("*.schema.json")
        for name in properties(json.loads(path.read_text()))
    )


@cache
def openapi() -> dict[str, Any]:
    pytest.importorskip("fastapi")
    from veridical.interfaces.http.app import create_app

    backend = FakeBackend(lambda _: fake_estimate(0.9))
    schema: dict[str, Any] = create_app(Settings(), backend=backend).openapi()
    return schema


@cache
def keys_of_http() -> tuple[Found, ...]:
    return tuple(
        (f"{method.upper()} {path}", name)
        for path, item in openapi()["paths"].items()
        for method, operation in item.items()
        for name in properties(operation["responses"])
    )


@cache
def arguments_of_http() -> tuple[Found, ...]:
    bodies = [(name, each) for name, each in openapi()["components"]["schemas"].items()]
    queries = (
        (path, parameter["name"])
        for path, item in openapi()["paths"].items()
        for operation in item.values()
        for parameter in operation.get("parameters", ())
    )
    return (*((name, key) for name, each in bodies for key in properties(each)), *queries)


@cache
def keys_of_mcp() -> tuple[Found, ...]:
    return tuple(tool_keys("output"))


@cache
def arguments_of_mcp() -> tuple[Found, ...]:
    return tuple(tool_keys("arguments"))


def tool_keys(side: str) -> Iterator[Found]:
    pytest.importorskip("mcp")
    from veridical.interfaces.mcp.tools import Toolbox

    box = Toolbox(Settings(), backend=FakeBackend(lambda _: fake_estimate(0.9)))
    try:
        for tool in box.tools:
            schema = getattr(tool, side).model_json_schema()
            for name, part in {tool.name: schema, **schema.get("$defs", {})}.items():
                yield from ((name, key) for key in part.get("properties", {}))
    finally:
        box.close()


@cache
def parameters_in_python() -> tuple[Found, ...]:
    return tuple(
        (name, parameter)
        for module in PUBLIC
        for name, call in calls(f"veridical{module}")
        for parameter in inspect.signature(call).parameters
    )


def calls(module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    home = import_module(module)
    for name in home.__all__:
        value = getattr(home, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            yield from (
                (f"{name}.{each}", call)
                for each, call in inspect.getmembers(value, inspect.isfunction)
                if each[0] != "_" and call.__module__.startswith("veridical.")
            )


def properties(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        named = schema.get("properties")
        yield from named if isinstance(named, dict) else ()
        for part in schema.values():
            yield from properties(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from properties(part)


SURFACES: dict[str, tuple[Callable[[], tuple[Found, ...]], dict[str, str]]] = {
    "fields in Python": (fields_in_python, FIELDS),
    "keys in code": (keys_in_code, FIELDS),
    "JSON schemas": (keys_of_schemas, FIELDS),
    "replies of HTTP": (keys_of_http, FIELDS),
    "results of MCP": (keys_of_mcp, FIELDS),
    "parameters in Python": (parameters_in_python, PARAMETERS),
    "requests of HTTP": (arguments_of_http, PARAMETERS),
    "arguments of MCP": (arguments_of_mcp, PARAMETERS),
}


def synonyms(surface: str) -> set[Found]:
    read, names = SURFACES[surface]
    return {found for found in read() if found[1] in names}


@pytest.mark.parametrize("surface", SURFACES)
def test_a_value_has_its_own_name_or_that_of_a_specification(surface: str) -> None:
    assert not synonyms(surface) - BY_SPECIFICATION - OTHER_VALUES - COLUMNS


def test_every_exception_is_one() -> None:
    found = set[Found]().union(*map(synonyms, SURFACES))
    assert found >= BY_SPECIFICATION | OTHER_VALUES | COLUMNS


def test_the_budget_gap_is_on_every_surface() -> None:
    for surface in ("fields in Python", "keys in code", "JSON schemas", "replies of HTTP"):
        assert "budget_gap_bits" in {name for _, name in SURFACES[surface][0]()}
    assert "budget_gap_bits" in {name for _, name in keys_of_mcp()}
    assert "budget_gap_bits" in veridical.__all__
