"""Blocks of the settings for backends: endpoints, models, aliases and the cascade."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    StrictStr,
)

from veridical.settings.types import (
    Address,
    Count,
    JsonObject,
    Name,
    Probability,
    Seconds,
    Secret,
    SettingsBlock,
    Switch,
)

PresetName = Annotated[
    StrictStr | None, Field(min_length=1, description="the name of a preset, or null")
]


class OpenAISettings(SettingsBlock):
    """Block `openai:`: a chat endpoint; sampled where it gives no log-probabilities."""

    base_url: Address = None
    api_key: Secret = None
    top_logprobs: Count = 20
    sampling: Switch = True
    samples_min: Count = 3
    samples_max: Count = 10
    extra_body: JsonObject = None
    preset: PresetName = None
    concurrency: Count = 8
    timeout_s: Seconds = 30.0


def _labels(value: object) -> object:
    """Return names of classes as a list; in the environment they have commas between them."""
    if isinstance(value, str):
        value = [one.strip() for one in value.split(",")]
    if value is None or (isinstance(value, list) and value and all(map(_is_label, value))):
        return value
    raise ValueError


def _is_label(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


class ClassifySettings(SettingsBlock):
    """Block `classify:`: a classifier behind Text Embeddings Inference or vLLM."""

    server: Literal["tei", "vllm"] | None = Field(
        default=None, description="'tei', 'vllm', or null to ask the server"
    )
    preset: PresetName = None
    labels: Annotated[
        Any,
        BeforeValidator(_labels),
        Field(description="names of the classes in their order, or null"),
    ] = None
    template: Annotated[
        StrictStr | None, Field(description="a text with {context} and {claim}, or null for a pair")
    ] = None
    api_key: Secret = None
    texts_per_request: Count = 32
    concurrency: Count = 8
    timeout_s: Seconds = 30.0


class AnthropicSettings(SettingsBlock):
    """Block `anthropic:`: repeated sampling from Claude."""

    base_url: Address = None
    api_key: Secret = None
    samples_min: Count = 3
    samples_max: Count = 10
    claims_per_request: Count = 20
    concurrency: Count = 4
    timeout_s: Seconds = 60.0


class DecisionSettings(SettingsBlock):
    """Blocks `openai_decisions:` and `systemone:`: services that decide among options."""

    base_url: Address = None
    api_key: Secret = None
    claims_per_request: Count = 64
    concurrency: Count = 8
    timeout_s: Seconds = 30.0


class GgufSettings(SettingsBlock):
    """Block `gguf:`: a language model in this process."""

    context_tokens: Count = 4096
    timeout_s: Seconds = 60.0


class ModelSettings(SettingsBlock):
    """Block `models:`: public verifiers that `veridical models get` downloads."""

    folder: Annotated[
        StrictStr | None,
        Field(description="a folder, or null for one in the user's folder for caches"),
    ] = None


_BAND = "a number from 0 to 1, or null for as far as the first is not sure"


class CascadeSettings(SettingsBlock):
    """Block `cascade:`: the second backend is asked where the first is in doubt."""

    first: Name = "embedded"
    second: Name = None
    low: Probability | None = Field(default=None, description=_BAND)
    high: Probability | None = Field(default=None, description=_BAND)


class AliasSettings(SettingsBlock):
    """Block `aliases:`: backends for `self`, `external` and, by operation, `configurable`."""

    self: Name = None
    external: Name = None
    check: Name = None
    memory: Name = None
    output: Name = None
    trace: Name = None
