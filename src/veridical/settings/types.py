"""Types of setting values. A description completes the sentence "must be ..." of an error."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from pydantic import (
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from veridical.core.projects import is_project


class SettingsBlock(BaseModel):
    """Group of settings under one key."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Probability = Annotated[
    StrictFloat, AllowInfNan(False), Field(ge=0, le=1, description="a number from 0 to 1")
]
Count = Annotated[StrictInt, Field(ge=1, description="a whole number from 1")]
CountOrNone = Annotated[
    Annotated[StrictInt, Field(ge=1)] | None,
    Field(description="a whole number from 1, or null for no limit"),
]
Seconds = Annotated[
    StrictFloat, AllowInfNan(False), Field(gt=0, description="a number of seconds above 0")
]
Bits = Annotated[
    StrictFloat, AllowInfNan(False), Field(ge=0, description="a number of bits from 0")
]
Address = Annotated[
    Annotated[StrictStr, Field(pattern=r"^https?://.+")] | None,
    Field(description="an address that begins with http:// or https://, or null"),
]
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def seconds_of(value: object) -> object:
    """Return a duration such as "1m30s" in seconds; a number is one already."""
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        return float(value)
    if not re.fullmatch(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+", value):
        raise ValueError
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smhd])", value)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


Duration = Annotated[
    Annotated[StrictFloat, AllowInfNan(False), Field(gt=0)] | None,
    BeforeValidator(seconds_of),
    Field(description="a duration above 0 such as 500ms, 2s or 1h30m, or null"),
]
Switch = Annotated[StrictBool, Field(description="true or false")]
Secret = Annotated[SecretStr | None, Field(description="a key, or null")]
Name = Annotated[
    Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][\w.-]*(:.+)?$")] | None,
    Field(description="NAME or NAME:MODEL, or null"),
]


def _project(value: object) -> object:
    if not is_project(value):
        raise ValueError
    return value


ProjectName = Annotated[
    StrictStr,
    BeforeValidator(_project),
    Field(description="a name of 1 to 64 letters, digits, dots, hyphens or underscores"),
]


def _names(value: object) -> object:
    """Return descriptions by name; a list of names, or text with commas between them, has none."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        value = [name.strip() for name in value.split(",")]
    if isinstance(value, list):
        value = dict.fromkeys(value, "")
    value = json_object(value)
    if isinstance(value, dict) and not all(_described(*item) for item in value.items()):
        raise ValueError
    if value == {}:
        raise ValueError
    return value


def _described(name: str, description: object) -> bool:
    return bool(re.fullmatch(r"[^\W\d_]\w{0,39}", name)) and isinstance(description, str)


def json_object(value: object) -> object:
    """Return a JSON-serialisable value; text, as in the environment, is JSON itself."""
    value = json.loads(value) if isinstance(value, str) else value
    try:
        json.dumps(value, allow_nan=False)
    except TypeError as error:  # a date, which YAML has and JSON has not
        raise ValueError from error
    if value is not None and not isinstance(value, dict):
        raise ValueError
    if not all(isinstance(name, str) for name in value or ()):
        raise ValueError
    return value


JsonObject = Annotated[
    Any,
    BeforeValidator(json_object),
    Field(description="names with values, in the environment as JSON, or null"),
]

Names = Annotated[
    Any,
    BeforeValidator(_names),
    Field(description="names, each with a description where it helps, or null"),
]
