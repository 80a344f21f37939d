"""Field `veridical` of a client's request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, ValidationError

from veridical.core.sources import as_sources
from veridical.errors import InputError
from veridical.settings.blocks import PolicySettings  # noqa: TC001 -- pydantic reads it at run time

if TYPE_CHECKING:
    from veridical.settings.service_blocks import ProxySettings

FIELD = "veridical"
OnFailure = Literal["pass", "flag", "retry", "block"]
OnUnverified = Literal["pass", "flag", "block"]
STRICTNESS: tuple[OnUnverified, ...] = get_args(OnUnverified)
Role = Literal["system", "tool", "user"]


class _Field(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Document(_Field):
    """Text that may be cited by its id."""

    id: StrictStr
    text: StrictStr


class Options(_Field):
    """The field `veridical` of a request; the settings hold for missing keys.

    `documents` are the evidence, instead of the messages unless `evidence` names their roles, too.
    `policy` has the keys of the settings' block `policy`. With `verify` off the request is only
    passed on. With `report` off the claims are left out of the verdict. `on_unverified` can only be
    stricter than what holds without it.
    """

    verify: StrictBool = True
    documents: dict[StrictStr, StrictStr] | list[Document | StrictStr] | None = None
    evidence: list[Role] | None = None
    policy: PolicySettings | None = None
    on_failure: OnFailure | None = None
    on_unverified: OnUnverified | None = None
    report: StrictBool | None = None


class InForce(_Field):
    """Options in force for one request, from its field and the settings."""

    verify: bool
    documents: Annotated[dict[str, str], Field(repr=False)]
    roles: frozenset[str]
    policy: dict[str, Any]
    on_failure: OnFailure
    on_unverified: OnUnverified
    report: bool


class FieldError(InputError):
    """Error in the field `veridical` of a request; `where` names the key."""

    def __init__(self, message: str, where: str = "") -> None:
        self.where = f"{FIELD}.{where}" if where else FIELD
        super().__init__(f"{self.where}: {message}", hint="docs/proxy.md lists the keys")


def read_options(value: object, settings: ProxySettings) -> InForce:
    """Return the options in force; `FieldError` names the first error, never a text."""
    try:
        given = Options.model_validate({} if value is None else value)
        texts = None if given.documents is None else _texts(given.documents)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"][:2])
        raise FieldError(first["msg"], where) from None
    except InputError as error:
        raise FieldError(error.unquoted, "documents") from None
    roles = given.evidence
    if roles is None:
        roles = settings.evidence if texts is None else []
    on_failure = given.on_failure or settings.on_failure
    return InForce(
        verify=given.verify,
        documents=texts or {},
        roles=frozenset(roles),
        policy={} if given.policy is None else given.policy.model_dump(exclude_unset=True),
        on_failure=on_failure,
        on_unverified=_at_least(unverified_by(settings, on_failure), given.on_unverified),
        report=settings.report if given.report is None else given.report,
    )


def unverified_by(settings: ProxySettings, on_failure: OnFailure | None = None) -> OnUnverified:
    """Return the action on unverified answers that holds without a request's own."""
    blocks = (on_failure or settings.on_failure) == "block"
    return settings.on_unverified or ("block" if blocks else "pass")


def _at_least(least: OnUnverified, given: OnUnverified | None) -> OnUnverified:
    """Return the action that a request asks for; `FieldError` if it would be a laxer one."""
    if given is not None and STRICTNESS.index(given) < STRICTNESS.index(least):
        msg = f"{least} holds for this request, which can only be stricter"
        raise FieldError(msg, "on_unverified")
    return given or least


def _texts(documents: dict[str, str] | list[Document | str]) -> dict[str, str]:
    if isinstance(documents, list):
        shaped = [one if isinstance(one, str) else one.model_dump() for one in documents]
        found = as_sources(shaped)
    else:
        found = as_sources(documents)
    return {source.id: source.text for source in found.values()}
