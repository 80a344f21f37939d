"""Construction of memories, their gates and embedding models from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError
from veridical.wiring.build import backend_of, build_backend, build_store, build_verifier

if TYPE_CHECKING:
    from veridical.core.ports import Backend, EmbeddingModel
    from veridical.memory import Memory
    from veridical.settings import Settings


def build_memory(settings: Settings, *, gate: bool | None = None) -> Memory:
    """Return the memory of the settings, in their database.

    With `gate` facts are verified before they are stored (default: by `hallucination.enabled` and
    `hallucination.memory_gate.enabled`).
    """
    from veridical.memory import GatePolicy, Memory, MemoryGate
    from veridical.memory.gate import TIMEOUT_S

    block, store = settings.hallucination, build_store(settings)
    embeddings = build_embeddings(settings)
    if gate is None:
        gate = bool(block.enabled and block.memory_gate.enabled)
    if not gate:
        return _closing(Memory(store, embeddings=embeddings), store)
    backend = build_backend(settings, backend_of(settings, "memory"), operation="memory")
    _ensure_p0(backend)
    policy = settings.to_policy()
    made = MemoryGate(
        build_verifier(settings, backend=backend, operation="memory"),
        backend,
        rules=GatePolicy(
            policy.gap_threshold_bits,
            block.memory_gate.min_confidence,
            block.memory_gate.reject_unsupported,
        ),
        policy=policy,
        timeout_s=block.timeout or TIMEOUT_S,
    )
    return _closing(Memory(store, made, embeddings=embeddings), backend, store)


def _ensure_p0(backend: Backend) -> None:
    """Raise `ConfigurationError` for a backend without p0: each fact would stay unverified."""
    if not backend.info.measures_dependence:
        msg = f"the memory gate needs p0, which {backend.info.name} does not measure"
        raise ConfigurationError(msg, hint="Set hallucination.backend to another backend")


def build_embeddings(settings: Settings) -> EmbeddingModel | None:
    """Return the embedding model of the settings; None if they name none."""
    block = settings.embeddings
    if block.model is None:
        return None
    from veridical.pipeline.inference.openai_embeddings import OpenAIEmbeddings

    place = settings.openai if block.base_url is None else block
    key = block.api_key or place.api_key
    return OpenAIEmbeddings(
        block.model,
        base_url=place.base_url,
        api_key=None if key is None else key.get_secret_value(),
        timeout_s=block.timeout_s,
    )


def _closing(memory: Memory, *parts: object) -> Memory:
    for part in parts:
        if hasattr(part, "close"):
            memory.on_close(part.close)
    return memory
