"""`veridical batch --provider-batch`: requests in batches at the provider, at half the price."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.batch.running import BatchJob, BatchRun
    from veridical.core.ports import Backend
    from veridical.settings import Settings
    from veridical.verification.sync import SyncVerifier


def ensure_batchable(settings: Settings, job: BatchJob, built: Backend, engine: str) -> None:
    """Raise `ConfigurationError` for a backend without batches, and for options that need none."""
    from veridical.pipeline.inference.openai_batches import batch_backend

    batch_backend(built)
    refused = {
        "--engine ray": engine == "ray",
        "--stop-share": job.stop_share is not None,
        "claims.model": settings.claims.model is not None,
        "requests.max_cost_usd": settings.requests.max_cost_usd is not None,
    }
    if any(refused.values()):
        named = ", ".join(name for name, given in refused.items() if given)
        msg = f"--provider-batch sends all requests at once, and goes without {named}"
        hint = "Leave them out; --limit and --sample bound a job, --dry-run tells its price"
        raise ConfigurationError(msg, hint=hint)


def asked_once(settings: Settings) -> Settings:
    """Return the settings without limits, repetitions and time limits of single requests."""
    free = {
        "attempts": 1,
        "breaker_failures": None,
        "deadline_s": None,
        "per_minute": None,
        "tokens_per_minute": None,
    }
    requests = settings.requests.model_copy(update=free)
    return settings.model_copy(update={"requests": requests})


def run_at_provider(
    settings: Settings, job: BatchJob, built: Backend, tell: Callable[[str], None]
) -> BatchRun:
    """Check what is left of the job by batches at the provider of the backend."""
    from veridical.batch.provider import BatchLimits, ProviderJob
    from veridical.pipeline.inference.openai_batches import batch_backend

    backend = batch_backend(built)
    limits = BatchLimits(attempts=settings.requests.attempts)
    with ProviderJob(job, tell, limits) as provider:
        endpoint = backend.replayed(provider.ledger.reply)
        return provider.run(partial(_verifier, settings, built), endpoint)


def _verifier(settings: Settings, built: Backend) -> SyncVerifier:
    from veridical.verification.sync import SyncVerifier
    from veridical.wiring.build import build_verifier

    return SyncVerifier(build_verifier(settings, backend=built))
