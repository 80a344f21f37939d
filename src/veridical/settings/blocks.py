"""Blocks of the settings. A description completes the sentence "must be ..." of an error."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import (
    AllowInfNan,
    BeforeValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from veridical.core.policy import FailOn, Mode  # noqa: TC001 -- pydantic reads it at run time
from veridical.core.projects import DEFAULT_PROJECT
from veridical.settings.backend_blocks import (
    AliasSettings,
    AnthropicSettings,
    CascadeSettings,
    ClassifySettings,
    DecisionSettings,
    GgufSettings,
    ModelSettings,
    OpenAISettings,
)
from veridical.settings.installed import OtherBackends, validated
from veridical.settings.service_blocks import ProxySettings, ServerSettings, TelemetrySettings
from veridical.settings.types import (
    Address,
    Bits,
    Count,
    CountOrNone,
    Duration,
    Name,
    Names,
    Probability,
    ProjectName,
    Seconds,
    Secret,
    SettingsBlock,
    Switch,
)


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

    Its other keys are aliases.
    """

    enabled: Switch = True
    skip_short: Switch = False
    on_failure: Literal["flag", "retry", "ask"] = Field(
        default="flag", description="'flag', 'retry' or 'ask'"
    )
    max_retries: Annotated[StrictInt, Field(ge=0, description="a whole number from 0")] = 2


class HallucinationBackendSettings(SettingsBlock):
    """Block `hallucination.backend:`: backends of gates and audits."""

    type: Literal["self", "haiku", "external", "configurable"] | None = Field(
        default=None, description="'self', 'haiku', 'external', 'configurable' or null"
    )
    default: Name = None


class MemoryGateSettings(SettingsBlock):
    """Block `hallucination.memory_gate:`: facts are verified before they are stored."""

    enabled: Annotated[
        StrictBool | None,
        Field(description="true or false, or null for the host's own: on in the service"),
    ] = None
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


class ClaimsSettings(SettingsBlock):
    """Block `claims:`: text model for claim extraction; rules are used without one."""

    model: Name = None
    max_tokens: Count = 2048
    timeout_s: Seconds = 120.0


class CacheSettings(SettingsBlock):
    """Block `cache:`: estimates that are kept between runs; off without a path or a lifetime.

    `ttl_s` of None is a day. A lifetime without a path keeps estimates until the process ends.

    With `texts` on, texts of text models are cached, too: the file then holds texts.
    """

    path: Annotated[
        StrictStr | None,
        Field(description="a file, ':memory:', ':store:' for store.url, or null for no cache"),
    ] = None
    ttl_s: Duration = None
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
    project: ProjectName = DEFAULT_PROJECT


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
    """Block `extraction:`: how the text model copies evidence out of transcripts."""

    keys: Names = None
    strict: Switch = False
    corrective_retry: Switch = False
    max_tokens: Count = 2048
    max_quotes: CountOrNone = None
    timeout_s: Seconds = 300.0
    failures: Annotated[StrictStr | None, Field(description="a folder, or null for none")] = None
    hash_key: Secret = None


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
        Field(
            description="a file that `veridical calibrate` wrote, in which {project} is the "
            "project's name, or null for none"
        ),
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
