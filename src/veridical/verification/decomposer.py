"""Decomposition of an answer into claims by a text model, with the rules as fallback."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from veridical.core.measurements import Generated, Unmeasured, UnmeasuredReason
from veridical.pipeline.claims import decompose, decomposition_request, split_for_model
from veridical.pipeline.inference.wrappers.base import log_failure
from veridical.verification.scoring import failed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.measurements import TextRequest
    from veridical.core.ports import TextModel
    from veridical.core.types import ClaimSet, Source
    from veridical.pipeline.claims.decomposition import AnswerChunk

PIECES = 4
"""Pieces of an answer that are put to a text model at once."""


class ModelDecomposer:
    """Text model that takes answers apart into claims; the rules remain where it fails."""

    def __init__(self, model: TextModel, max_tokens: int, timeout_s: float) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._timeout_s = timeout_s

    async def decompose(
        self, answer: str, rules: ClaimSet, sources: Mapping[str, Source]
    ) -> ClaimSet:
        """Return the claims by the model in place of those by the rules."""
        started = perf_counter()
        texts = {source.id: source.text for source in sources.values()}
        replies = await self._asked(answer, split_for_model(rules), texts)
        claims = await anyio.to_thread.run_sync(decompose, answer, rules, replies, tuple(texts))
        info = self._model.info
        extraction = replace(
            claims.extraction,
            model=f"{info.name}:{info.model}",
            latency_ms=(perf_counter() - started) * 1000,
        )
        return replace(claims, extraction=extraction)

    async def _asked(
        self, answer: str, pieces: Sequence[AnswerChunk], sources: Mapping[str, str]
    ) -> dict[AnswerChunk, Generated | Unmeasured]:
        """Return the model's reply to each piece; pieces that wait for others have more time."""
        replies: dict[AnswerChunk, Generated | Unmeasured] = dict.fromkeys(
            pieces, Unmeasured(UnmeasuredReason.TIMEOUT)
        )
        free = anyio.CapacityLimiter(PIECES)

        async def ask(piece: AnswerChunk) -> None:
            request = decomposition_request(answer, piece, sources, max_tokens=self._max_tokens)
            async with free:
                replies[piece] = await self._reply(request)

        with anyio.move_on_after(self._timeout_s * len(pieces)):
            async with anyio.create_task_group() as group:
                for piece in pieces:
                    group.start_soon(ask, piece)
        return replies

    async def _reply(self, request: TextRequest) -> Generated | Unmeasured:
        try:
            reply = await self._model.generate(request)
        except Exception as error:  # noqa: BLE001 -- there are the rules; a model must not break the host
            log_failure(self._model.info, error, 1)
            return failed(type(error).__name__)
        return reply if isinstance(reply, Generated | Unmeasured) else failed("not a text")
