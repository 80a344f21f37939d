"""The blocks of the settings. A description completes the sentence "must be ..." of an error."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

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
Address = Annotated[
    Annotated[StrictStr, Field(pattern=r"^https?://.+")] | None,
    Field(description="an address that begins with http:// or https://, or null"),
]
Switch = Annotated[StrictBool, Field(description="true or false")]
Secret = Annotated[SecretStr | None, Field(description="a key, or null")]
Name = Annotated[
    Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][\w.-]*(:.+)?$")] | None,
    Field(description="NAME or NAME:MODEL, or null"),
]


def _names(value: object) -> object:
    """Return descriptions by name; a list of names, or text with commas between them, has none."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        value = [name.strip() for name in value.split(",")]
    if isinstance(value, list):
        value = dict.fromkeys(value, "")
    value = _json_object(value)
    if isinstance(value, dict) and not all(_described(*item) for item in value.items()):
        raise ValueError
    if value == {}:
        raise ValueError
    return value


def _described(name: str, description: object) -> bool:
    return bool(re.fullmatch(r"[^\W\d_]\w{0,39}", name)) and isinstance(description, str)


def _json_object(value: object) -> object:
    """Return what can be sent as JSON; text, as in the environment, is JSON itself."""
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
    BeforeValidator(_json_object),
    Field(description="names with values, in the environment as JSON, or null"),
]

Names = Annotated[
    Any,
    BeforeValidator(_names),
    Field(description="names, each with a description where it helps, or null"),
]


class Block(BaseModel):
    """A group of settings under one key."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PolicySettings(Block):
    """The block `policy:`, a mirror of `veridical.core.policy.Policy`."""

    support_threshold: Probability | None = Field(
        default=None, description="a number from 0 to 1, or null for the backend's own"
    )
    contradiction_threshold: Probability | None = Field(
        default=None, description="a number from 0 to 1, or null for the backend's own"
    )
    dependence_threshold: Probability = 0.3
    target_confidence: Probability = 0.95
    windows: Annotated[StrictInt, Field(ge=1)] | Literal["all"] = Field(
        default=2, description="a whole number from 1, or 'all'"
    )


class OpenAISettings(Block):
    """The block `openai:`: a chat endpoint; samples where it gives no log-probabilities."""

    base_url: Address = None
    api_key: Secret = None
    top_logprobs: Count = 20
    sampling: Switch = True
    samples_min: Count = 3
    samples_max: Count = 10
    extra_body: JsonObject = None
    concurrency: Count = 8
    timeout_s: Seconds = 30.0


class AnthropicSettings(Block):
    """The block `anthropic:`: repeated sampling from Claude."""

    base_url: Address = None
    api_key: Secret = None
    samples_min: Count = 3
    samples_max: Count = 10
    claims_per_request: Count = 20
    concurrency: Count = 4
    timeout_s: Seconds = 60.0


class DecisionSettings(Block):
    """The blocks `openai_decisions:` and `systemone:`: services that decide among options."""

    base_url: Address = None
    api_key: Secret = None
    claims_per_request: Count = 64
    concurrency: Count = 8
    timeout_s: Seconds = 30.0


class GgufSettings(Block):
    """The block `gguf:`: a language model in this process."""

    context_tokens: Count = 4096
    top_logprobs: Count = 20
    timeout_s: Seconds = 60.0


class CascadeSettings(Block):
    """The block `cascade:`: the second backend is asked where the first is in doubt."""

    first: Name = "embedded"
    second: Name = None
    low: Probability = 0.15
    high: Probability = 0.85


class AliasSettings(Block):
    """The block `aliases:`: what `self`, `external` and, by operation, `configurable` stand for."""

    self: Name = None
    external: Name = None
    check: Name = None
    memory: Name = None
    output: Name = None
    trace: Name = None


class CacheSettings(Block):
    """The block `cache:`: estimates that are kept between runs; off without a path."""

    path: Annotated[
        StrictStr | None, Field(description="a file, ':memory:', or null for no cache")
    ] = None
    ttl_s: Seconds = 86_400.0
    max_entries: Count = 200_000


class RequestSettings(Block):
    """The block `requests:`: how backends other than the embedded one are asked."""

    deadline_s: Annotated[
        Seconds | None, Field(description="a number of seconds above 0, or null for no limit")
    ] = None
    attempts: Count = 3
    per_minute: CountOrNone = None
    tokens_per_minute: CountOrNone = None
    max_wait_s: Seconds = 60.0
    breaker_failures: CountOrNone = 5
    breaker_reset_s: Seconds = 30.0
    max_cost_usd: Annotated[
        Annotated[StrictFloat, AllowInfNan(False), Field(ge=0)] | None,
        Field(description="a number from 0, or null for no limit"),
    ] = None


class QuantitativeSettings(Block):
    """The block `quantitative:`: how quotes are validated, named as in Spec 053."""

    evidence_quote_validation_enabled: Switch = True
    evidence_quote_validation_mode: Literal["substring", "fuzzy"] = Field(
        default="substring", description="'substring' or 'fuzzy'"
    )
    evidence_quote_fuzzy_threshold: Annotated[
        StrictFloat,
        AllowInfNan(False),
        Field(ge=0.5, le=1, description="a number from 0.5 to 1"),
    ] = 0.85
    evidence_quote_fail_on_all_rejected: Switch = False
    evidence_quote_log_rejections: Switch = True


class ExtractionSettings(Block):
    """The block `extraction:`: a text model that copies evidence out of transcripts."""

    backend: Name = None
    keys: Names = None
    strict: Switch = False
    corrective_retry: Switch = False
    max_tokens: Count = 2048
    max_quotes: CountOrNone = None
    timeout_s: Seconds = 300.0
    failures: Annotated[StrictStr | None, Field(description="a folder, or null for none")] = None
    hash_key: Secret = None
