"""Exchange: one request, and the reply to it with its verdict."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fastapi import Response

from veridical.core.assessment import Outcome
from veridical.interfaces.http.proxy.checking import (
    BROKE_OFF,
    FAILED,
    UNREADABLE,
    ChoiceVerifier,
    UpstreamText,
    VerifiedChoice,
    undetermined,
)
from veridical.interfaces.http.proxy.relaying import body_of, report_unverified, withheld
from veridical.interfaces.http.proxy.replies import read_reply
from veridical.interfaces.http.proxy.reply_edits import ReplyEdits, verdict_headers
from veridical.interfaces.http.proxy.request import chat_turns
from veridical.interfaces.http.proxy.responses import (
    ResponseTranscript,
    read_response,
    response_turns,
)
from veridical.interfaces.http.proxy.streams import BufferedStream, ChatReplyStream, error_event
from veridical.interfaces.http.proxy.upstream import UpstreamError, returned
from veridical.telemetry import Generation, Telemetry, evaluating
from veridical.verification.worker_threads import in_worker_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from veridical.interfaces.http.proxy.request import ProxyRequest, Turns
    from veridical.interfaces.http.proxy.streams import ReplyStream
    from veridical.interfaces.http.proxy.upstream import UpstreamResponse

ALIVE = b":\n\n"
"""A comment: the connection is alive."""
ALIVE_S = 5.0
NO_TEXT = "the upstream did not answer in text"


class WholeReply(Protocol):
    """Reply in one piece: its texts by the index of their choice.

    `calling` are the choices that call tools, `cut_off` the ones that ended at the limit on tokens.
    """

    @property
    def texts(self) -> dict[int, str]: ...  # noqa: D102 -- see above

    @property
    def calling(self) -> frozenset[int]: ...  # noqa: D102 -- see above

    @property
    def cut_off(self) -> frozenset[int]: ...  # noqa: D102 -- see above

    def unreadable(self, index: int) -> bool:
        """Return whether a choice has a content that is no text."""
        ...

    def changed(self, settling: ReplyEdits) -> bytes:
        """Return the reply with the edits, and with the verdict."""
        ...


@dataclass(frozen=True, slots=True)
class Shape:
    """Parsers of the requests, replies and streams of one address."""

    path: str
    turns: Callable[[Mapping[str, Any]], Turns]
    reply: Callable[[bytes], WholeReply | None]
    transcript: Callable[[], ReplyStream]


CHAT = Shape("/chat/completions", chat_turns, read_reply, ChatReplyStream)
RESPONSES = Shape("/responses", response_turns, read_response, ResponseTranscript)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and the handling of the reply to it.

    `send_again` returns the reply to another body; `generation` is the newest answer.
    """

    shape: Shape
    asked: ProxyRequest
    checking: ChoiceVerifier
    telemetry: Telemetry
    send_again: Callable[[bytes], Awaitable[UpstreamResponse]]
    generation: Generation

    async def whole(self, reply: UpstreamResponse) -> Response:
        """Return a reply in one piece with its verdict."""
        body = await body_of(reply)
        found = self.shape.reply(body)
        if found is None:
            return self._unreadable(body, reply)
        attempts = [found]

        async def again(answer: str, guidance: str) -> UpstreamText:
            written = self.shape.reply(await body_of(await self._another(answer, guidance)))
            said = None if written is None else _said_again(written, written.texts, found.texts)
            if written is None or said is None:
                raise UpstreamError(502, UNREADABLE, NO_TEXT)
            attempts.append(written)
            return said

        judged = await self._judged(found, found.texts, again)
        best = attempts[next(iter(judged.values())).number - 1]
        settling = self._settled(judged, found)
        headers = returned(reply.headers) | settling.headers
        written = await in_worker_thread(partial(best.changed, settling))  # an answer may be long
        return Response(written, reply.status_code, headers)

    def _unreadable(self, body: bytes, reply: UpstreamResponse) -> Response:
        """Return a reply of another shape as it came, or an error in its place."""
        if self._closed:
            return withheld(self.telemetry, UNREADABLE, "the upstream's reply cannot be read")
        report_unverified(self.telemetry, UNREADABLE)
        headers = verdict_headers(Outcome.UNDETERMINED, "passed", UNREADABLE)
        return Response(body, reply.status_code, returned(reply.headers) | headers)

    async def stream(self, reply: UpstreamResponse) -> AsyncIterator[bytes]:
        """Pass events on as they come; hold them back if they may have to be replaced."""
        hold = self._closed or self.asked.options.on_failure in {"retry", "block"}
        attempts = [BufferedStream(self.shape.transcript())]
        async for event in attempts[0].listen(reply):
            if hold:
                attempts[0].kept.append(event)
            yield ALIVE if hold else event
        if (ended := self._ended(attempts[0], hold=hold)) is not None:
            yield ended
            return

        async def again(answer: str, guidance: str) -> UpstreamText:
            heard = BufferedStream(self.shape.transcript())
            more = await self._another(answer, guidance)
            heard.kept += [event async for event in heard.listen(more)]
            transcript = heard.transcript
            said = _said_again(transcript, transcript.whole(), texts)
            if heard.unusable or said is None:
                raise UpstreamError(502, UNREADABLE, NO_TEXT)
            attempts.append(heard)
            return said

        first, judged = attempts[0].transcript, dict[int, VerifiedChoice]()
        texts = first.whole() or {0: ""}
        if not first.failed:
            judging = asyncio.create_task(self._judged(first, texts, again))
            async for comment in _until(judging, apart=attempts[0].loose and not hold):
                yield comment
            judged = judging.result()
        best = attempts[next(iter(judged.values())).number - 1 if judged else 0]
        settling = self._settled(judged, first)
        for event in best.transcript.shown(best.kept, settling):
            yield event
        yield best.closing(settling) if judged else best.end

    @property
    def _closed(self) -> bool:
        """True if no answer may go out unverified."""
        return self.asked.options.on_unverified == "block"

    def _ended(self, heard: BufferedStream, *, hold: bool) -> bytes | None:
        """Return the error that ends a stream without a verdict; None if it goes on."""
        if heard.broke_off:
            report_unverified(self.telemetry, BROKE_OFF, withheld=hold)
            return error_event("the upstream broke off", BROKE_OFF)
        if heard.transcript.failed:
            report_unverified(self.telemetry, FAILED, withheld=self._closed)
        if heard.transcript.failed and self._closed:
            return error_event("the upstream failed", FAILED)
        return None

    def _settled(
        self, judged: dict[int, VerifiedChoice], reply: WholeReply | ReplyStream
    ) -> ReplyEdits:
        """Return the edits of the reply, reported to telemetry."""
        settling = ReplyEdits(self.asked, judged, reply.calling)
        for answer in settling.answers():
            self.telemetry.take(answer)
        return settling

    async def _another(self, answer: str, guidance: str) -> UpstreamResponse:
        reply = await self.send_again(self.asked.again(answer, guidance))
        self.generation.span = reply.span
        return reply

    async def _judged(
        self,
        reply: WholeReply | ReplyStream,
        texts: Mapping[int, str],
        again: Callable[[str, str], Awaitable[UpstreamText]],
    ) -> dict[int, VerifiedChoice]:
        """Return the verdicts; only the text of a single choice without calls is written again."""
        wanted = self.asked.options.on_failure == "retry" and self.asked.turns.repeatable
        alone = wanted and len(texts) == 1 and not reply.calling

        async def verdict(index: int, text: str) -> VerifiedChoice:
            if reply.unreadable(index) and index not in reply.calling:
                return undetermined(text, UNREADABLE)
            said = UpstreamText(text, index in reply.cut_off)
            return await self.checking.judge(said, self.asked, again if alone else None)

        with evaluating(self.generation):
            found = await asyncio.gather(*(verdict(*each) for each in texts.items()))
        return dict(zip(texts, found, strict=True))


def _said_again(
    reply: WholeReply | ReplyStream, texts: Mapping[int, str], first: Mapping[int, str]
) -> UpstreamText | None:
    """Return the text of another attempt; None if it is none in the place of the first one."""
    index = next(iter(first))
    if reply.calling or reply.unreadable(index) or texts.keys() - {index}:
        return None
    return UpstreamText(texts.get(index, ""), index in reply.cut_off)


async def _until(work: asyncio.Task[Any], *, apart: bool) -> AsyncIterator[bytes]:
    """Yield comments until the work is done; it ends with its reader.

    `apart` is true if the last event, which is out, was never ended.
    """
    try:
        while not (await asyncio.wait({work}, timeout=ALIVE_S))[0]:
            yield b"\n\n" + ALIVE if apart else ALIVE
    finally:
        work.cancel()
