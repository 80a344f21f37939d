"""One-call checks with the settings in force: `veridical.check` and `veridical.acheck`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.settings.current import current_settings
from veridical.verification.sync import SyncVerifier
from veridical.wiring.build import build_verifier

if TYPE_CHECKING:
    from veridical.core.policy import Policy
    from veridical.core.ports import Backend
    from veridical.core.sources import Sources
    from veridical.pipeline.reports import Report


def check(
    answer: str,
    sources: Sources,
    question: str | None = None,
    policy: Policy | None = None,
    backend: str | Backend | None = None,
) -> Report:
    """Return the verdict on each claim of `answer`; see `Verifier.check`.

    `backend` is a name (`"embedded"`) or a backend; the default comes from the settings.
    """
    verifier = build_verifier(current_settings(), backend=backend)
    with SyncVerifier(verifier) as blocking:
        return blocking.check(answer, sources, question, policy=policy)


async def acheck(
    answer: str,
    sources: Sources,
    question: str | None = None,
    policy: Policy | None = None,
    backend: str | Backend | None = None,
) -> Report:
    """Return the verdict on each claim of `answer`; see `Verifier.check`."""
    async with build_verifier(current_settings(), backend=backend) as verifier:
        return await verifier.check(answer, sources, question, policy=policy)
