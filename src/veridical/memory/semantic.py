"""Semantic search for facts, by the vectors of an embedding model.

Vectors are made by the first search, not when a fact is written: no writer waits for them, and a
change of model needs no migration. The search is exhaustive, hence exact: 10,000 facts take
milliseconds, far less than computing their vectors.
"""

from __future__ import annotations

import logging
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.hashing import short_hash
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.ports import fingerprint_of
from veridical.errors import BackendError
from veridical.memory.deadline import DeadlineError, DeadlineRunner
from veridical.store.memory_vectors import VectorTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from veridical.core.ports import EmbeddingModel
    from veridical.store.database import Store
    from veridical.store.memory import Filter

logger = logging.getLogger(__name__)

AT_ONCE = 64
"""Texts in one request."""

PATIENCE_S = 120.0
"""Time limit of one request in seconds, if the model has none of its own."""

_NOT_THE_TEXTS = frozenset({UnmeasuredReason.TIMEOUT, UnmeasuredReason.RATE_LIMITED})


class Semantic:
    """Semantic search over facts."""

    def __init__(self, store: Store, model: EmbeddingModel) -> None:
        self._table = VectorTable(store)
        self._model = model
        info = model.info
        self._name = f"{info.name}:{info.model}:{short_hash(fingerprint_of(model))}"
        self._loops = DeadlineRunner()

    def of(self, store: Store) -> Semantic:
        """Return the search over the facts of another project, with the same model."""
        other = copy(self)
        other._table = VectorTable(store)  # noqa: SLF001 -- its own copy
        return other

    def close(self) -> None:
        """Stop the thread of the model's calls."""
        self._loops.close()

    def nearest(self, text: str, wanted: Filter) -> list[tuple[str, float]]:
        """Return ids of facts with their cosine similarity (-1 to 1) to a text, the nearest first.

        `BackendError` if the model fails.
        """
        sought = self._units([text])
        if isinstance(sought, Unmeasured):
            raise _failed(sought)
        self._complete()
        size = 4 * sought.shape[1]
        found = self._table.of(self._name, wanted)
        kept = {key: data for key, data in found.items() if len(data) == size}
        if not kept:
            return []
        vectors = np.frombuffer(b"".join(kept.values()), "<f4").reshape(len(kept), -1)
        alike = vectors @ sought[0]
        ids = list(kept)
        first = np.argsort(-alike, kind="stable")[: wanted.limit]
        return [(ids[number], float(alike[number])) for number in first]

    def _complete(self) -> None:
        """Compute missing vectors; facts that the model refuses have none."""
        refused: set[int] = set()
        while texts := self._table.missing(self._name, AT_ONCE, refused):
            made = self._made(texts)
            refused |= texts.keys() - made.keys()
            self._table.put(self._name, made)
        if refused:
            logger.warning("the embedding model refused %d facts: too long?", len(refused))

    def _made(self, texts: dict[int, str]) -> dict[int, bytes]:
        """Return the vectors of texts; computed one by one if the model refuses the batch.

        The model is known to work: a text refused alone is at fault itself, unless all are refused.
        """
        made = self._units(list(texts.values()))
        if not isinstance(made, Unmeasured):
            return {number: vector.tobytes() for number, vector in zip(texts, made, strict=True)}
        if made.reason in _NOT_THE_TEXTS:
            raise _failed(made)
        if len(texts) == 1:
            return {}
        each = (self._made({number: text}) for number, text in texts.items())
        found = {number: vector for one in each for number, vector in one.items()}
        if not found:
            raise _failed(made)
        return found

    def _units(self, texts: Sequence[str]) -> NDArray[np.float32] | Unmeasured:
        """Return a unit vector for each text, little-endian; a zero vector stays 0."""
        try:
            found = self._loops.run(partial(self._embed, texts), PATIENCE_S)
        except DeadlineError:
            return Unmeasured(UnmeasuredReason.TIMEOUT)
        except Exception as error:  # noqa: BLE001 -- a model's bug is a failure with a name
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR, type(error).__name__)
        if isinstance(found, Unmeasured):
            return found
        vectors = _as_vectors(found)
        if vectors is None or len(vectors) != len(texts):
            return Unmeasured(UnmeasuredReason.MALFORMED_REPLY)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1)).astype("<f4")

    async def _embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Unmeasured:
        return await self._model.embed(texts)


def _as_vectors(found: object) -> NDArray[np.float32] | None:
    """Return the vectors of a reply, all of one length; None if they are none."""
    try:
        vectors = np.asarray(found, dtype="<f4")
    except (TypeError, ValueError):  # of different lengths, or no numbers
        return None
    table = vectors.ndim == 2 and vectors.size > 0  # noqa: PLR2004 -- texts by numbers
    return vectors if table and np.isfinite(vectors).all() else None


def _failed(why: Unmeasured) -> BackendError:
    detail = f", {why.detail}" if why.detail else ""
    msg = f"the embedding model gave no vectors ({why.reason}{detail})"
    return BackendError(msg, hint="Look at embeddings.base_url and embeddings.model")
