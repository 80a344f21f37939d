"""Identity of a job: everything that its results depend on besides the rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING

import veridical
from veridical.core.ports import fingerprint_of

if TYPE_CHECKING:
    from veridical.batch.survey import Selection
    from veridical.core.measurements import BackendInfo
    from veridical.core.policy import Policy
    from veridical.core.ports import TextModel
    from veridical.core.printing import Document


def identity_of(
    backend: BackendInfo,
    policy: Policy,
    selection: Selection,
    *,
    claims_model: Document | None = None,
    per_claim: bool = False,
) -> Document:
    """Return the identity, with its digest as `fingerprint`."""
    who = (backend.name, backend.model, backend.estimator.value, backend.fingerprint)
    rules = asdict(policy.resolved(backend))
    del rules["parallel"]  # the order of requests is no part of a result
    job = {
        "version": veridical.__version__,
        "backend": dict(zip(("name", "model", "estimator", "fingerprint"), who, strict=True)),
        "policy": rules,
        "claims_model": claims_model,
        "per_claim": per_claim,
        "sample": selection.sample,
        "seed": selection.seed if selection.sample is not None else None,
    }
    digest = sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()
    return job | {"fingerprint": digest}


def text_model_identity(model: TextModel, max_tokens: int) -> Document:
    """Return the part of a text model that writes replies of up to `max_tokens`."""
    # A fingerprint may hold an address and options of its requests: not for the manifest.
    digest = sha256(fingerprint_of(model).encode()).hexdigest()[:16]
    who = {"name": model.info.name, "model": model.info.model, "fingerprint": digest}
    return who | {"max_tokens": max_tokens}
