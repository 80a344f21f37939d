"""Blocks of the settings. A description completes the sentence "must be ..." of an error."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AllowInfNan,
    BeforeValidator,
    Field,
    PlainValidator,
    SecretStr,
    SerializeAsAny,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from veridical.core.policy import FailOn, Mode  # noqa: TC001 -- pydantic reads it at run time
from veridical.settings.installed import OtherBackends, validated
from veridical.settings.types import (
    Address,
    Bits,
    Count,
    CountOrNone,
    Duration,
    JsonObject,
    Name,
    Names,
    Probability,
    Seconds,
    Secret,
    SettingsBlock,
    Switch,
)

PresetName = Annotated[
    StrictStr | None, Field(min_length=1, description="the name of a preset, or null")
]


class PolicySettings(SettingsBlock):
    """Block `policy:`, a mirror of `veridical.core.policy.Policy`."""

    support_threshold: Probability | None = Field(
        default=None, description="a number from 0 to 1, or null for the backend's own"
    )
    contradiction_threshold: Probability | None = Field(
        default=None, description="a number from 0 to 1, or null for the backend's own"
    )
    dependence_threshold: Probability = 0.3
    target_confidence: Probability = 0.95
    windows: Annotated[StrictInt, Field(ge=0)] | Literal["all"] | None = Field(
        default=None, description="a whole number from 0, 'all' or null"
    )
    mode: Mode = Field(default="full", description="'full', 'sample' or 'critical_only'")
    sample_rate: Probability = 0.3
    max_claims: CountOrNone = None
    gap_threshold_bits: Bits = 2.0
    fail_on: FailOn | None = Field(
        default=None,
        description="'any', 'sure', 'contradicted', or null for what suits the backend",
    )
    seed: Annotated[StrictInt, Field(ge=0, description="a whole number from 0")] = 0
    parallel: Switch = True


class VerificationSettings(SettingsBlock):
    """Block `verification:`, SPEC-16's VerificationConfig: answers before they are shown.

    Its other keys are aliases of keys of the block `policy`.
    """

    enabled: Switch = True
    skip_short: Switch = False
    on_failure: Literal["flag", "retry", "ask"] = Field(
        default="flag", description="'flag', 'retry' or 'ask'"
    )
    max_retries: Annotated[StrictInt, Field(ge=0, description="a whole number from 0")] = 2
    verification_model: Name = None


class HallucinationBackendSettings(SettingsBlock):
    """Block `hallucination.backend:`: backends of gates and audits."""

    type: Literal["self", "haiku", "external", "configurable"] | None = Field(
        default=None, description="'self', 'haiku', 'external', 'configurable' or null"
    )
    default: Name = None


class MemoryGateSettings(SettingsBlock):
    """Block `hallucination.memory_gate:`: facts are verified before they are stored."""

    enabled: Switch = False
    min_confidence: Probability = 0.5
    reject_unsupported: Switch = True


class OutputVerificationSettings(SettingsBlock):
    """Block `hallucination.output_verification:`; its keys are aliases."""


class TraceAuditingSettings(SettingsBlock):
    """Block `hallucination.trace_auditing:`: execution traces are audited."""

    enabled: Switch = False
    check_post_hoc: Switch = True


class HallucinationSettings(SettingsBlock):
    """Block `hallucination:` of SPEC-08.34: automatic checks by a host; off by default.

    With `enabled` null a host checks nothing automatically; false also switches off the checks of
    answers by the orchestrator and the proxy.
    """

    enabled: Annotated[
        StrictBool | None,
        Field(description="true or false, or null for what is asked for only"),
    ] = None
    backend: HallucinationBackendSettings = HallucinationBackendSettings()
    memory_gate: MemoryGateSettings = MemoryGateSettings()
    output_verification: OutputVerificationSettings = OutputVerificationSettings()
    trace_auditing: TraceAuditingSettings = TraceAuditingSettings()
    batch_size: Count = 64
    timeout: Duration = None
    cache_ttl: Duration = None


class ClaimsSettings(SettingsBlock):
    """Block `claims:`: text model for claim extraction; rules are used without one."""

    model: Name = None
    max_tokens: Count = 2048
    timeout_s: Seconds = 120.0


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
    top_logprobs: Count = 20
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


class CacheSettings(SettingsBlock):
    """Block `cache:`: estimates that are kept between runs; off without a path.

    With `texts` on, texts of text models are cached, too: the file then holds texts.
    """

    path: Annotated[
        StrictStr | None,
        Field(description="a file, ':memory:', ':store:' for store.url, or null for no cache"),
    ] = None
    ttl_s: Seconds = 86_400.0
    max_entries: Count = 200_000
    texts: Switch = False


def _database(value: object) -> object:
    """Return the address of a database; a password among its options would be shown."""
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch(_DATABASE, value):
        raise ValueError
    return value


_DATABASE = r"sqlite:///[^?#]+|postgresql(\+psycopg)?://(?!.*[?&](ssl)?password=).+"


class StoreSettings(SettingsBlock):
    """Block `store:`: the database for persistent data, such as feedback."""

    url: Annotated[
        StrictStr | None,
        BeforeValidator(_database),
        Field(
            description="sqlite:///FILE or postgresql://USER@HOST/NAME, "
            "or null for a file in the user's folder for data"
        ),
    ] = None


class EmbeddingSettings(SettingsBlock):
    """Block `embeddings:`: vectors of facts, for `veridical memory search --semantic`.

    They come from an OpenAI-compatible endpoint: without a `base_url`, that of the block `openai`.
    """

    model: Annotated[
        StrictStr | None, Field(description="the name of a model at the endpoint, or null")
    ] = None
    base_url: Address = None
    api_key: Secret = None
    timeout_s: Seconds = 30.0


class RequestSettings(SettingsBlock):
    """Block `requests:`: requests to backends other than the embedded one."""

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


class QuantitativeSettings(SettingsBlock):
    """Block `quantitative:`: validation of quotes, named as in Spec 053."""

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


class ExtractionSettings(SettingsBlock):
    """Block `extraction:`: a text model that copies evidence out of transcripts."""

    backend: Name = None
    keys: Names = None
    strict: Switch = False
    corrective_retry: Switch = False
    max_tokens: Count = 2048
    max_quotes: CountOrNone = None
    timeout_s: Seconds = 300.0
    failures: Annotated[StrictStr | None, Field(description="a folder, or null for none")] = None
    hash_key: Secret = None


def _addresses(value: object) -> object:
    """Return addresses as a list; in the environment they have commas between them."""
    if isinstance(value, str):
        value = [one.strip() for one in value.split(",")]
    if value is None or (isinstance(value, list) and all(map(_is_origin, value))):
        return value
    raise ValueError


def _is_origin(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"https?://[^/\s*]+", value))


class ServerSettings(SettingsBlock):
    """Block `server:`: `veridical serve`, its limits, and its access control."""

    host: Annotated[StrictStr, Field(min_length=1, description="a name or an IP address")] = (
        "127.0.0.1"
    )
    port: Annotated[StrictInt, Field(ge=0, le=65_535, description="a port from 0 to 65535")] = 8642
    api_key: Annotated[
        Annotated[SecretStr, Field(min_length=16)] | None,
        Field(description="a key of 16 characters or more, or null"),
    ] = None
    keys: Annotated[
        StrictStr | None, Field(description="a file that `veridical keys` writes, or null")
    ] = None
    origins: Annotated[
        Any,
        BeforeValidator(_addresses),
        Field(description="origins such as https://app.example, or null for none"),
    ] = None
    max_request_bytes: Count = 8_000_000
    running: Count = 16
    waiting: Annotated[StrictInt, Field(ge=0, description="a whole number from 0")] = 64
    per_minute: CountOrNone = None
    deadline_s: Seconds = 60.0
    shutdown_s: Seconds = 30.0
    batch: Count = 32
    reports: Annotated[StrictInt, Field(ge=0, description="a whole number from 0")] = 200
    reports_in: Literal["memory", "store"] = Field(
        default="memory", description="'memory' or 'store'"
    )
    reports_s: Seconds = 3600.0


class TelemetrySettings(SettingsBlock):
    """Block `telemetry:`: logs of `veridical serve`, and its OpenTelemetry export."""

    logs: Literal["json", "text"] = Field(default="json", description="'json' or 'text'")
    otel: Switch = False


ROLES = ("system", "tool", "user")


def _roles(value: object) -> object:
    """Return roles of messages as a list; in the environment they have commas between them."""
    if isinstance(value, str):
        value = [one.strip() for one in value.split(",") if one.strip()]
    if isinstance(value, tuple | list) and all(one in ROLES for one in value):
        return list(value)
    raise ValueError


Roles = Annotated[
    Any,
    BeforeValidator(_roles),
    Field(description="'system', 'tool' and 'user', those that apply, in a list"),
]


class ProxySettings(SettingsBlock):
    """Block `proxy:`: answers of another service, verified on their way to the client."""

    upstream_url: Address = None
    api_key: Secret = None
    evidence: Roles = Field(default_factory=lambda: list(ROLES))
    on_failure: Literal["pass", "flag", "retry", "block"] = Field(
        default="pass", description="'pass', 'flag', 'retry' or 'block'"
    )
    max_retries: Annotated[StrictInt, Field(ge=0, description="a whole number from 0")] = 1
    report: Switch = True
    deadline_s: Seconds = 30.0
    timeout_s: Seconds = 600.0
    max_requests: Count = 256
    max_concurrent_checks: Count = 8


class TopLevel(SettingsBlock):
    """Keys at the top level, in the order of `veridical config show`."""

    backend: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][\w.-]*(:.+)?$")] = Field(
        default="embedded", description="NAME or NAME:MODEL"
    )
    threads: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="a whole number from 1, or null for every CPU this process may use",
    )
    text_model: Name = None
    policy: PolicySettings = PolicySettings()
    claims: ClaimsSettings = ClaimsSettings()
    verification: VerificationSettings = VerificationSettings()
    hallucination: HallucinationSettings = HallucinationSettings()
    cache: CacheSettings = CacheSettings()
    store: StoreSettings = StoreSettings()
    embeddings: EmbeddingSettings = EmbeddingSettings()
    calibration: Annotated[
        StrictStr | None,
        Field(description="a file that `veridical calibrate` wrote, or null for none"),
    ] = None
    requests: RequestSettings = RequestSettings()
    prices: Annotated[StrictStr | None, Field(description="a YAML or JSON file, or null")] = None
    aliases: AliasSettings = AliasSettings()
    cascade: CascadeSettings = CascadeSettings()
    openai: OpenAISettings = OpenAISettings()
    classify: ClassifySettings = ClassifySettings()
    openai_decisions: DecisionSettings = DecisionSettings()
    systemone: DecisionSettings = DecisionSettings()
    anthropic: AnthropicSettings = AnthropicSettings()
    gguf: GgufSettings = GgufSettings()
    models: ModelSettings = ModelSettings()
    backends: Annotated[SerializeAsAny[OtherBackends], PlainValidator(validated)] = OtherBackends()
    extraction: ExtractionSettings = ExtractionSettings()
    quantitative: QuantitativeSettings = QuantitativeSettings()
    server: ServerSettings = ServerSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    proxy: ProxySettings = ProxySettings()
