"""Answers without a verdict: whether they go out, by `on_unverified`, and what the reply says."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("fastapi")

import httpx2

from _upstream import Upstream
from veridical import Verifier
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.interfaces.http.proxy.checking import MOST_CHARACTERS
from veridical.telemetry import Event, ProxyAnswer, Shed, Telemetry, Waited
from veridical.testing import FakeBackend, fake_estimate

pytestmark = pytest.mark.slow

Start = Callable[..., str]
Json = dict[str, Any]
RIGHT = "The bridge opened in 1998. It has eight lanes."
WRONG = "The bridge opened in 1998. It has six lanes."
MESSAGES: list[Json] = [
    {"role": "system", "content": "[S1] The bridge opened in 1998. It carries eight lanes."},
    {"role": "user", "content": "Tell me about the bridge."},
]
UNVERIFIED = "This answer was not verified against the sources."
WITHHELD = "This answer was withheld: it could not be verified against the sources."


class Heard:
    """Sink that keeps events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def take(self, event: Event, /) -> None:
        self.events.append(event)

    @property
    def answers(self) -> list[ProxyAnswer]:
        return [event for event in self.events if isinstance(event, ProxyAnswer)]


def chat(*messages: Json) -> bytes:
    choices = [
        {"index": index, "message": {"role": "assistant", **one}, "finish_reason": "stop"}
        for index, one in enumerate(messages)
    ]
    return json.dumps({"id": "c1", "object": "chat.completion", "choices": choices}).encode()


def events(*chunks: Json | bytes) -> list[bytes]:
    written = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in chunks]
    return [b"data: " + one + b"\n\n" for one in [*written, b"[DONE]"]]


def delta(**said: object) -> Json:
    return {"id": "c1", "choices": [{"index": 0, "delta": said, "finish_reason": None}]}


def post(url: str, path: str = "chat/completions", **more: object) -> httpx2.Response:
    body = {"model": "m", "messages": MESSAGES, "input": MESSAGES, **more}
    return httpx2.post(f"{url}/{path}", json=body, timeout=30)


def choice(reply: httpx2.Response) -> Json:
    (found,) = reply.json()["veridical"]["choices"]
    return dict(found)


def content(reply: httpx2.Response) -> str:
    return str(reply.json()["choices"][0]["message"]["content"])


# --- ways to stay unverified ------------------------------------------------------------------


class Broken:
    async def check(self, *_: object, **__: object) -> None:
        raise RuntimeError(WRONG)


class Slow:
    async def check(self, *_: object, **__: object) -> None:
        await asyncio.sleep(5)


def unmeasured(_: Query) -> Measurement:
    return Unmeasured(UnmeasuredReason.TIMEOUT)


WAYS: dict[str, tuple[Any, str, Json, Json]] = {
    "verifier_error": (Broken(), WRONG, {}, {}),
    "undetermined": (Verifier(FakeBackend(unmeasured)), WRONG, {}, {}),
    "timeout": (Slow(), WRONG, {"deadline_s": 0.05}, {}),
    "too_long": (None, "long " * MOST_CHARACTERS, {}, {}),
    "no_evidence": (None, WRONG, {}, {"evidence": []}),
}
"""By reason: the verifier, the answer, settings, and the field of the request."""


@pytest.mark.parametrize("reason", WAYS)
@pytest.mark.parametrize(
    ("settings", "action"),
    [
        ({"on_failure": "block"}, "blocked"),
        ({"on_failure": "flag"}, "passed"),
        ({"on_failure": "block", "on_unverified": "pass"}, "passed"),
        ({"on_failure": "flag", "on_unverified": "flag"}, "flagged"),
        ({"on_failure": "pass", "on_unverified": "block"}, "blocked"),
    ],
)
def test_an_unverified_answer_goes_the_way_of_the_settings(
    start: Start, reason: str, settings: Json, action: str
) -> None:
    verifier, text, more, ours = WAYS[reason]
    heard = Heard()
    upstream = Upstream([chat({"content": text})])
    url = start(upstream, verifier, telemetry=Telemetry([heard]), **settings, **more)
    back = post(url, veridical={**ours, "report": False})
    said = {
        "blocked": WITHHELD,
        "passed": text,
        "flagged": f"{text}\n\n---\n\n{UNVERIFIED}",
    }
    assert content(back) == said[action]
    assert choice(back)["action"] == action
    assert choice(back)["reason"].partition(":")[0] == reason
    assert (back.headers["x-veridical-action"], back.headers["x-veridical-reason"]) == (
        action,
        reason,
    )
    (answer,) = heard.answers
    assert (answer.action, answer.reason, answer.unverified) == (action, reason, True)


@pytest.mark.parametrize("streamed", [True, False])
def test_no_text_of_a_withheld_answer_is_in_the_reply(start: Start, streamed: bool) -> None:
    said = events(delta(content=WRONG)) if streamed else chat({"content": WRONG})
    url = start(Upstream([said]), Broken(), on_failure="block")
    back = post(url, stream=streamed)
    assert b"six" not in back.content
    assert WITHHELD.encode() in back.content
    assert b'"action":"blocked"' in back.content


def test_a_claim_that_could_not_be_measured_beside_a_small_flag_is_not_verified(
    start: Start,
) -> None:
    """Flagged, but nothing critical: `block` alone would pass the claim that nobody measured."""

    def some(query: Query) -> Measurement:
        if "1998" in query.claim:
            return Unmeasured(UnmeasuredReason.TIMEOUT)
        return fake_estimate(0.3, 0.6)

    verifier = Verifier(FakeBackend(some))
    url = start(Upstream([chat({"content": RIGHT})]), verifier, on_failure="block")
    found = choice(post(url, veridical={"policy": {"fail_on": "sure"}}))
    assert found["outcome"] == "flagged"
    assert (found["action"], found["reason"]) == ("blocked", "undetermined")


@pytest.mark.parametrize(
    ("message", "settings", "reason"),
    [
        ({"content": ""}, {}, "no_answer"),
        ({"content": None, "tool_calls": [{"id": "1"}]}, {}, "no_answer"),
        ({"content": WRONG, "tool_calls": [{"id": "1"}]}, {}, None),
        ({"content": WRONG}, {"settings": {"verification": {"enabled": False}}}, "disabled"),
        ({"content": WRONG}, {"settings": {"verification": {"skip_short": True}}}, "too_short"),
    ],
)
def test_what_somebody_chose_passes_the_guard(
    start: Start, message: Json, settings: Json, reason: str | None
) -> None:
    url = start(Upstream([chat(message)]), on_unverified="block", on_failure="pass", **settings)
    back = post(url)
    assert content(back) == str(message["content"])
    assert (choice(back)["action"], choice(back)["reason"]) == ("passed", reason)


def test_a_request_that_wants_no_verdict_passes_and_is_reported(start: Start) -> None:
    heard, came = Heard(), chat({"content": WRONG})
    url = start(Upstream([came]), telemetry=Telemetry([heard]), on_failure="block")
    assert post(url, veridical={"verify": False}).content == came
    assert [(one.action, one.reason, one.unverified) for one in heard.answers] == [
        ("passed", "not_wanted", False)
    ]


# --- what cannot be read ----------------------------------------------------------------------


@pytest.mark.parametrize("body", [b'{"choices": []}', b"[]", b"\xff", b"no json"])
def test_a_reply_of_another_shape_is_an_error_under_the_guard(start: Start, body: bytes) -> None:
    back = post(start(Upstream([body]), on_failure="block"))
    assert (back.status_code, back.json()["error"]["code"]) == (502, "unreadable_reply")
    assert back.headers["x-veridical-action"] == "blocked"
    assert post(start(Upstream([body]))).content == body


def test_a_request_that_only_the_upstream_reads_gets_no_answer_under_the_guard(
    start: Start,
) -> None:
    came = chat({"content": WRONG})
    for on_failure, status in (("flag", 200), ("block", 502)):
        url = start(Upstream([came]), on_failure=on_failure)
        back = httpx2.post(f"{url}/chat/completions", content='{"messages": []}'.encode("utf-16"))
        assert back.status_code == status
        assert (b"six" in back.content) is (status == 200)


@pytest.mark.parametrize(
    "message",
    [
        {"content": [{"type": "text", "text": WRONG}]},
        {"content": None, "audio": {"transcript": WRONG}},
        {"content": RIGHT, "audio": {"transcript": WRONG}},
    ],
)
def test_a_content_that_is_no_text_is_withheld_under_the_guard(start: Start, message: Json) -> None:
    whole = post(start(Upstream([chat(message)]), on_failure="block"))
    streamed = post(start(Upstream([events(delta(**message))]), on_failure="block"), stream=True)
    for back in (whole, streamed):
        assert b"six" not in back.content
        assert b'"reason":"unreadable_reply"' in back.content
    assert b"six" in post(start(Upstream([chat(message)]))).content


@pytest.mark.parametrize(
    "chunk",
    [
        b"no json: six lanes",
        {"choices": "six"},
        {"choices": [{"index": 0, "text": "six"}]},
        {"choices": [{"index": "0", "delta": {"content": "six"}}]},
        {"type": "response.output_text.delta", "delta": "six"},
    ],
)
def test_a_stream_that_cannot_be_read_is_withheld_under_the_guard(
    start: Start, chunk: Json | bytes
) -> None:
    back = post(start(Upstream([events(chunk)]), on_failure="block"), stream=True)
    assert b"six" not in back.content
    assert b'"reason":"unreadable_reply"' in back.content


def test_choices_that_share_an_index_are_a_reply_of_another_shape(start: Start) -> None:
    came = chat({"content": WRONG}, {"content": RIGHT}).replace(b'"index": 1', b'"index": 0')
    back = post(start(Upstream([came]), on_failure="block"), n=2)
    assert (back.status_code, back.json()["error"]["code"]) == (502, "unreadable_reply")
    assert post(start(Upstream([came])), n=2).content == came


@pytest.mark.parametrize("second", [{"index": "1", "delta": {"content": WRONG}}, WRONG])
def test_a_streamed_choice_without_a_readable_index_goes_with_the_withheld_ones(
    start: Start, second: object
) -> None:
    chunk = {"id": "c1", "choices": [{"index": "0", "delta": {"content": RIGHT}}, second]}
    back = post(start(Upstream([events(chunk)]), on_failure="block"), stream=True, n=2)
    assert b"six" not in back.content
    assert b'"reason":"unreadable_reply"' in back.content


@pytest.mark.parametrize(
    "second",
    [
        chat({"content": RIGHT, "audio": {"transcript": WRONG}}),
        chat({"content": RIGHT}, {"content": "It has six lanes, again."}),
        events(delta(content=RIGHT), b"{broken: six lanes"),
        events(
            delta(content=RIGHT), {"choices": [{"index": 1, "delta": {"content": "six lanes"}}]}
        ),
    ],
)
def test_another_attempt_that_cannot_be_read_is_none(
    start: Start, second: bytes | list[bytes]
) -> None:
    streamed = isinstance(second, list)
    first = events(delta(content=WRONG)) if streamed else chat({"content": WRONG})
    url = start(Upstream([first, second]), on_failure="retry", on_unverified="block")
    back = post(url, stream=streamed, veridical={"report": False})
    assert b'"action":"flagged"' in back.content
    assert b'"reason":"generate_error: UpstreamError"' in back.content
    assert RIGHT.encode() not in back.content


@pytest.mark.parametrize("on_failure", ["flag", "block"])
def test_a_stream_that_fails_shows_its_text_only_without_the_guard(
    start: Start, on_failure: str
) -> None:
    said = events(delta(content=WRONG), {"error": {"message": "overloaded"}})
    heard = Heard()
    url = start(Upstream([said]), telemetry=Telemetry([heard]), on_failure=on_failure)
    back = post(url, stream=True)
    assert b'"error"' in back.content
    assert (b"six" in back.content) is (on_failure == "flag")
    assert [one.reason for one in heard.answers] == ["upstream_failed"]


def test_the_text_of_a_response_is_the_one_at_the_end_of_its_stream(start: Start) -> None:
    """A client reads the text from the last event, whether there were pieces of it or not."""
    parts = [{"type": "output_text", "text": WRONG, "annotations": []}]
    output = [{"type": "message", "id": "m", "role": "assistant", "content": parts}]
    last = {"type": "response.completed", "response": {"id": "r", "output": output}}
    url = start(Upstream([events(last)]), on_failure="block")
    back = post(url, "responses", stream=True, veridical={"report": False})
    assert b"six" not in back.content
    assert b'"outcome":"flagged"' in back.content


def done(text: str) -> list[Json]:
    """Write the events of a part and of an item that are done."""
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "content": [part]}
    return [
        {"type": "response.content_part.done", "item_id": "m", "content_index": 0, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]


@pytest.mark.parametrize("last", [[], [{"type": "response.completed", "response": {"output": []}}]])
@pytest.mark.parametrize("said", [done(WRONG), done(WRONG)[:1], done(WRONG)[1:]])
def test_a_response_that_comes_only_in_whole_parts_is_verified(
    start: Start, said: list[Json], last: list[Json]
) -> None:
    url = start(Upstream([events(*said, *last)]), on_failure="block")
    back = post(url, "responses", stream=True, veridical={"report": False})
    assert b"six" not in back.content
    assert b"withheld" in back.content
    assert (b'"claims_checked":2' in back.content) is bool(last)


@pytest.mark.parametrize("part", [WRONG, {"type": "output_audio", "transcript": WRONG}])
def test_a_part_that_is_done_and_no_text_is_withheld_under_the_guard(
    start: Start, part: object
) -> None:
    sent = events({"type": "response.content_part.done", "item_id": "m", "part": part})
    back = post(start(Upstream([sent]), on_failure="block"), "responses", stream=True)
    assert b"six" not in back.content


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "output_audio", "transcript": WRONG}],
        [WRONG],
        {"type": "output_text", "text": WRONG},
        WRONG,
    ],
)
def test_a_response_with_a_part_that_is_no_text_is_withheld_under_the_guard(
    start: Start, parts: object
) -> None:
    output = [{"type": "message", "id": "m", "role": "assistant", "content": parts}]
    whole = json.dumps({"id": "r", "object": "response", "output": output}).encode()
    last = {"type": "response.completed", "response": {"id": "r", "output": output}}
    for said, streamed in ((whole, False), (events(last), True)):
        url = start(Upstream([said]), on_failure="block")
        back = post(url, "responses", stream=streamed)
        assert b"six" not in back.content
        assert b'"reason":"unreadable_reply"' in back.content


def test_a_character_in_halves_is_no_reason_to_withhold_a_stream(start: Start) -> None:
    sent = events(delta(content="The bridge opened in 1998 \ud83d"), delta(content="\ude00."))
    back = post(start(Upstream([sent]), on_failure="block"), stream=True)
    assert b"".join(sent[:2]) in back.content
    assert b'"outcome":"grounded"' in back.content


# --- the request's own key --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "ours", "status", "action"),
    [
        ({}, {"on_unverified": "block"}, 200, "blocked"),
        ({}, {"on_unverified": "flag"}, 200, "flagged"),
        ({}, {"on_failure": "block"}, 200, "blocked"),
        ({"on_failure": "block"}, {"on_failure": "flag"}, 200, "passed"),
        ({"on_failure": "block"}, {"on_unverified": "pass"}, 400, None),
        ({"on_failure": "block"}, {"on_unverified": "flag"}, 400, None),
        ({"on_unverified": "flag"}, {"on_unverified": "pass"}, 400, None),
        ({"on_unverified": "block"}, {"on_failure": "pass"}, 200, "blocked"),
        ({}, {"on_failure": "block", "on_unverified": "flag"}, 400, None),
    ],
)
def test_a_request_can_only_be_stricter(
    start: Start, settings: Json, ours: Json, status: int, action: str | None
) -> None:
    back = post(start(Upstream([chat({"content": WRONG})]), Broken(), **settings), veridical=ours)
    assert back.status_code == status
    if status == 400:
        assert back.json()["error"]["param"] == "veridical.on_unverified"
    else:
        assert choice(back)["action"] == action


def test_json_gets_no_remark_but_is_withheld(start: Start) -> None:
    said = json.dumps({"lanes": "It has six lanes."})
    upstream = Upstream([chat({"content": said})])
    for on_unverified, shown in (("flag", said), ("block", WITHHELD)):
        url = start(upstream, Broken(), on_unverified=on_unverified)
        back = post(url, response_format={"type": "json_object"})
        assert content(back) == shown


def test_a_stream_that_was_sent_ends_with_the_remark(start: Start) -> None:
    url = start(Upstream([events(delta(content=RIGHT))]), Broken(), on_unverified="flag")
    back = post(url, stream=True).text
    assert RIGHT in back
    assert back.index(RIGHT) < back.index(UNVERIFIED)
    assert '"action":"flagged","reason":"verifier_error"' in back.replace(": RuntimeError", "")


@pytest.mark.parametrize("streamed", [True, False])
def test_a_response_ends_with_the_remark(start: Start, streamed: bool) -> None:
    parts = [{"type": "output_text", "text": RIGHT, "annotations": []}]
    output = [{"type": "message", "id": "m", "role": "assistant", "content": parts}]
    last = {"type": "response.completed", "response": {"id": "r", "output": output}}
    said = events(last) if streamed else json.dumps({"id": "r", "output": output}).encode()
    url = start(Upstream([said]), Broken(), on_unverified="flag")
    back = post(url, "responses", stream=streamed).text
    assert UNVERIFIED in back
    assert '"action":"flagged"' in back


@pytest.mark.parametrize(("text", "action"), [(RIGHT, "passed"), (WRONG, "flagged")])
def test_a_stream_held_back_by_the_guard_is_what_the_upstream_said_once_it_is_verified(
    start: Start, text: str, action: str
) -> None:
    verifier = Verifier(FakeBackend(lambda q: fake_estimate(0.02 if "six" in q.claim else 0.97)))
    sent = events(delta(content=text))
    url = start(Upstream([sent]), verifier, on_failure="flag", on_unverified="block")
    back = post(url, stream=True)
    assert sent[0] in back.content
    assert back.content.index(b":\n\n") < back.content.index(sent[0])
    assert f'"action":"{action}"' in back.text


def test_a_notice_is_in_the_language_of_the_answer_it_stands_for(start: Start) -> None:
    german = "Die Brücke wurde 1998 eröffnet und ist nicht sehr breit."
    upstream = Upstream([chat({"content": german})])
    back = content(post(start(upstream, Broken(), on_failure="block")))
    assert back.startswith("Diese Antwort wurde zurückgehalten: Sie konnte nicht")
    wrong = Verifier(FakeBackend(lambda _: fake_estimate(0.02, 0.95)))
    back = content(post(start(upstream, wrong, on_failure="block")))
    assert back.startswith("Diese Antwort wurde zurückgehalten: 1 von 1 geprüften Aussagen")
    back = content(post(start(upstream, wrong)))
    assert back.startswith(f"{german}[!1]")
    assert "Diese Aussage ist durch die Quellen nicht bestätigt:" in back


# --- load ------------------------------------------------------------------------------------


class Counting:
    """Verifier that finds everything wrong, and counts how many checks run at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._verifier = Verifier(FakeBackend(lambda _: fake_estimate(0.02, 0.95)))
        self._lock = threading.Lock()
        self.running = self.most = 0

    async def check(self, *case: Any, **more: Any) -> object:  # noqa: ANN401 -- those of a verifier
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self._seconds)
            return await self._verifier.check(*case, **more)
        finally:
            with self._lock:
                self.running -= 1


@pytest.mark.spec("SPEC-08.39")
@pytest.mark.parametrize("streamed", [True, False])
def test_more_answers_than_slots_wait_and_none_is_passed_on(start: Start, streamed: bool) -> None:
    said = events(delta(content=WRONG)) if streamed else chat({"content": WRONG})
    verifier, heard = Counting(0.02), Heard()
    more = {"on_failure": "block", "max_concurrent_checks": 2, "report": False}
    url = start(Upstream([said]), verifier, telemetry=Telemetry([heard]), **more)
    with ThreadPoolExecutor(12) as pool:
        backs = list(pool.map(lambda _: post(url, stream=streamed), range(12)))
    assert not [back for back in backs if b"six" in back.content]
    assert [(one.action, one.reason) for one in heard.answers] == [("blocked", "none")] * 12
    assert verifier.most == 2
    waits = [event.seconds for event in heard.events if isinstance(event, Waited)]
    assert len(waits) == 12
    assert sorted(waits) == sorted(one.waited_s for one in heard.answers)
    assert max(waits) > 0.02


def test_a_check_that_waited_has_as_much_time_as_any_other(start: Start) -> None:
    """Both together take longer than the deadline; each of them does not."""
    upstream = Upstream([chat({"content": WRONG})])
    url = start(upstream, Counting(3.0), max_concurrent_checks=1, deadline_s=5.9)
    with ThreadPoolExecutor(2) as pool:
        backs = list(pool.map(lambda _: post(url), range(2)))
    assert [choice(back)["outcome"] for back in backs] == ["flagged"] * 2


@pytest.mark.spec("SPEC-08.39")
@pytest.mark.parametrize(("on_failure", "action"), [("flag", "passed"), ("block", "blocked")])
def test_an_answer_whose_turn_does_not_come_is_unverified_for_load(
    start: Start, on_failure: str, action: str
) -> None:
    going, end, heard = threading.Event(), threading.Event(), Heard()

    class Held:
        def check(self, *_: object, **__: object) -> None:
            going.set()
            end.wait(10)

    more = {"on_failure": on_failure, "max_concurrent_checks": 1, "deadline_s": 0.3}
    upstream = Upstream([chat({"content": WRONG})])
    url = start(upstream, Held(), telemetry=Telemetry([heard]), **more)
    with ThreadPoolExecutor(8) as pool:
        backs = list(pool.map(lambda _: post(url), range(8)))
    end.set()
    reasons = [choice(back)["reason"] for back in backs]
    assert {"load"} <= set(reasons) <= {"load", "timeout"}
    assert {choice(back)["action"] for back in backs} == {action}
    shed = [event for event in heard.events if isinstance(event, Shed)]
    assert len(shed) == reasons.count("load")
