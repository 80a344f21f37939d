"""Progress notifications of a tool call, for clients that ask for them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.streams.memory import MemoryObjectReceiveStream
    from mcp.server.session import ServerSession

Progress: TypeAlias = Callable[[int, int], None]
"""Callback for the number of finished parts and of all parts."""


@asynccontextmanager
async def notifications(session: ServerSession) -> AsyncGenerator[Progress]:
    """Return a callback for (done, total), which notifies the client until the block ends.

    A slow client gets fewer notifications: the call does not wait for it. A client that did not
    ask gets none.
    """
    sending, receiving = anyio.create_memory_object_stream[tuple[int, int]](1)

    def tell(done: int, total: int, /) -> None:
        if sending.statistics().current_buffer_used == 0:
            sending.send_nowait((done, total))

    async with anyio.create_task_group() as group:
        group.start_soon(_send, session, receiving)
        with sending:
            yield tell


async def _send(
    session: ServerSession, receiving: MemoryObjectReceiveStream[tuple[int, int]]
) -> None:
    with receiving:
        async for done, total in receiving:
            await session.report_progress(done, total)
