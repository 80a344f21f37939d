"""Blocks of the settings for `veridical serve`: the service, its telemetry and the proxy."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    StrictInt,
    StrictStr,
)

from veridical.core.limits import Limits
from veridical.settings.types import (
    Address,
    Count,
    CountOrNone,
    Seconds,
    Secret,
    SettingsBlock,
    Switch,
)


def _addresses(value: object) -> object:
    """Return addresses as a list; in the environment they have commas between them."""
    if isinstance(value, str):
        value = [one.strip() for one in value.split(",")]
    if value is None or (isinstance(value, list) and all(map(_is_origin, value))):
        return value
    raise ValueError


def _is_origin(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"https?://[^/\s*]+", value))


class OidcSettings(SettingsBlock):
    """Block `server.oidc:`: tokens of an OpenID Connect provider beside the keys; off by default.

    `public_url` is the address of this service as browsers know it, for the sign-in of the page.
    """

    issuer: Address = None
    audience: Annotated[StrictStr | None, Field(description="a text, or null")] = None
    client_id: Annotated[StrictStr | None, Field(description="a text, or null")] = None
    client_secret: Secret = None
    public_url: Address = None
    project_claim: Annotated[
        StrictStr | None, Field(description="the name of a claim, or null for store.project")
    ] = "project"
    scope_claim: Annotated[StrictStr, Field(description="the name of a claim")] = "scope"
    login_scope: Annotated[StrictStr, Field(description="scopes to sign in with")] = "openid"
    clock_skew_s: Seconds = 60.0


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
    max_answer_chars: Count = 1_000_000
    max_source_chars: Count = 8_000_000
    max_answer_claims: Count = 10_000
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
    audit_log: Annotated[
        StrictStr | None, Field(description="a file, or null for the log of the process")
    ] = None
    usage_in: Literal["memory", "store"] = Field(
        default="memory", description="'memory' or 'store'"
    )
    oidc: OidcSettings = OidcSettings()
    docs: Switch = False

    @property
    def limits(self) -> Limits:
        """Limits of the texts that are checked for a client."""
        return Limits(
            max_answer_chars=self.max_answer_chars,
            max_source_chars=self.max_source_chars,
            max_answer_claims=self.max_answer_claims,
        )


class TelemetrySettings(SettingsBlock):
    """Block `telemetry:`: logs of `veridical serve`, and its OpenTelemetry export."""

    logs: Literal["json", "text"] = Field(default="json", description="'json' or 'text'")
    level: Literal["info", "debug"] = Field(default="info", description="'info' or 'debug'")
    hash_key: Secret = None
    otel: Switch = False

    @property
    def key_of_hashes(self) -> str | None:
        """Key of the hashes of claims in logs; None for a random one of the process."""
        return None if self.hash_key is None else self.hash_key.get_secret_value()


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
        default="flag", description="'pass', 'flag', 'retry' or 'block'"
    )
    on_unverified: Literal["pass", "flag", "block"] | None = Field(
        default=None, description="'pass', 'flag', 'block', or null"
    )
    max_retries: Annotated[StrictInt, Field(ge=0, description="a whole number from 0")] = 1
    report: Switch = True
    deadline_s: Seconds = 30.0
    timeout_s: Seconds = 600.0
    max_requests: Count = 256
    max_concurrent_checks: Count = 8
