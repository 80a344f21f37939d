"""Chat completions through the proxy, asked for by the official client."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, TypeAlias

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("openai")

import anyio
import httpx2
import openai

from _upstream import Upstream
from veridical import Verifier
from veridical.core.assessment import Assessment
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.interfaces.http.proxy import build_proxy_router, checking
from veridical.interfaces.http.proxy.checking import MOST_CHARACTERS
from veridical.orchestrator import annotate
from veridical.settings.service_blocks import ProxySettings
from veridical.testing import FakeBackend, fake_estimate

pytestmark = pytest.mark.slow

EVIDENCE = "The bridge opened in 1998. It carries eight lanes."
WRONG = "The bridge opened in 1998. It has six lanes."
RIGHT = "The bridge opened in 1998. It has eight lanes."
MESSAGES: list[Any] = [
    {"role": "system", "content": f"[S1] {EVIDENCE}"},
    {"role": "user", "content": "Tell me about the bridge."},
]
TOOL_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"q":  "lanes"}'},
}
Start = Callable[..., str]
Value: TypeAlias = Any


def unmeasured(_: Query) -> Measurement:
    return Unmeasured(UnmeasuredReason.TIMEOUT)


class Broken:
    async def check(self, *_: object, **__: object) -> None:
        raise RuntimeError(WRONG)


def reply(*texts: str | None, **message: Value) -> bytes:
    """Write a reply with odd spacing, which has to survive."""
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": text, **message},
            "finish_reason": "stop",
        }
        for index, text in enumerate(texts)
    ]
    head = '{"id": "c1",  "object":"chat.completion", "created": 1, "model": "m", "x_own": 1.50,\n'
    return f'{head} "choices" : {json.dumps(choices, indent=1)} }}'.encode()


def chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    head = '"id":"c1", "object":"chat.completion.chunk","created":1,"model":"m"'
    return f'data: {{{head}, "choices": [{json.dumps(choice)}]}}\n\n'.encode()


def stream(text: str) -> list[bytes]:
    pieces = [chunk({"content": f"{word} "}) for word in text.split()]
    return [*pieces, chunk({}, "stop"), b"data: [DONE]\n\n"]


OPENED: list[openai.OpenAI] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the clients of a test: a stream is read after the call that opened it."""
    yield
    while OPENED:
        OPENED.pop().close()


def client_of(url: str) -> openai.OpenAI:
    OPENED.append(openai.OpenAI(base_url=url, api_key="client-key", max_retries=0))
    return OPENED[-1]


def ask(url: str, ours: Value = None, **more: Value) -> Value:
    client = client_of(url)
    body = {} if ours is None else {"extra_body": {"veridical": ours}}
    return client.chat.completions.create(model="m", messages=MESSAGES, **body, **more)


def post(url: str, body: bytes, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{url}/chat/completions", content=body, headers=headers)


def heard(chunks: Value) -> tuple[str, Any]:
    """Return the text of a stream, and the verdict in it."""
    text, verdict = "", None
    for one in chunks:
        text += one.choices[0].delta.content or ""
        verdict = (one.model_extra or {}).get("veridical", verdict)
    return text, verdict


# --- a reply in one piece --------------------------------------------------------------------


def test_marks_are_set_beside_the_event_loop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    beside: list[bool] = []

    def watched(report: Assessment) -> str:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            beside.append(True)
        else:
            beside.append(False)
        return annotate(report)

    monkeypatch.setattr(checking, "annotate", watched)
    found = ask(start(Upstream([reply(WRONG)]), on_failure="flag"))
    assert "[!1]" in found.choices[0].message.content
    assert beside
    assert all(beside)


@pytest.mark.spec("SPEC-08.19")
@pytest.mark.spec("SPEC-08.20")
def test_an_answer_comes_with_its_verdict(start: Start) -> None:
    found = ask(start(Upstream([reply(WRONG)]), on_failure="pass"))
    assert found.choices[0].message.content == WRONG
    verdict = found.veridical
    assert (verdict["schema"], verdict["outcome"], verdict["flagged"]) == (
        "veridical.proxy/1",
        "flagged",
        1,
    )
    assert (verdict["action"], verdict["reason"]) == ("passed", None)
    (choice,) = verdict["choices"]
    assert (choice["action"], choice["attempts"], choice["claims_checked"]) == ("passed", 1, 2)
    assert choice["report"]["schema"] == "veridical.report/1"
    assert choice["report"]["claims"][1]["evidence"][0]["source"] == "S1"


@pytest.mark.spec("SPEC-08.21")
def test_the_verdict_says_what_to_correct(start: Start) -> None:
    (choice,) = ask(start(Upstream([reply(WRONG)]))).veridical["choices"]
    assert "It has six lanes." in choice["guidance"]
    assert "eight lanes" in choice["guidance"]


def test_headers_say_the_outcome_and_the_action(start: Start) -> None:
    url = start(Upstream([reply(WRONG), reply(RIGHT), reply("Would you like more?")]))
    body = json.dumps({"messages": MESSAGES}).encode()
    found = [post(url, body).headers for _ in range(3)]
    assert [one["x-veridical-outcome"] for one in found] == [
        "flagged",
        "grounded",
        "nothing_to_check",
    ]
    assert [one.get("x-veridical-flagged") for one in found] == ["1", "0", "0"]
    assert [one["x-veridical-action"] for one in found] == ["flagged", "passed", "passed"]
    assert [one.get("x-veridical-reason") for one in found] == [None, None, "nothing_to_check"]


def test_only_our_field_differs_in_what_goes_on_and_what_comes_back(start: Start) -> None:
    upstream = Upstream([reply(RIGHT)])
    url = start(upstream)
    sent = (
        b'{"model": "m", "seed":7 , "tools": [ {"type":"function"} ], "n": 1,\n'
        b'"veridical": {"report": false}, "messages": '
        + json.dumps(MESSAGES, indent=2).encode()
        + b', "temperature": 0.10}'
    )
    back = post(url, sent)
    assert upstream.bodies == [sent.replace(b'"veridical": {"report": false}, ', b"")]
    came = reply(RIGHT)
    place = came.rindex(b"]") + 1
    assert back.content.startswith(came[:place] + b',"veridical":{"schema"')
    assert back.content.endswith(came[place:])


def test_tool_calls_are_left_alone_whatever_happens_on_failure(start: Start) -> None:
    for on_failure in ("pass", "flag", "retry", "block"):
        upstream = Upstream([reply(WRONG, tool_calls=[TOOL_CALL])])
        url = start(upstream, on_failure=on_failure)
        back = post(url, json.dumps({"messages": MESSAGES}).encode())
        came = reply(WRONG, tool_calls=[TOOL_CALL])
        assert back.content.startswith(came[: came.rindex(b"]") + 1])
        assert back.json()["veridical"]["outcome"] == "flagged"
        assert len(upstream.bodies) == 1


def test_a_reply_of_tool_calls_alone_has_nothing_to_check(start: Start) -> None:
    found = ask(start(Upstream([reply(None, tool_calls=[TOOL_CALL])])))
    assert found.choices[0].message.tool_calls[0].function.arguments == '{"q":  "lanes"}'
    (choice,) = found.veridical["choices"]
    assert (choice["outcome"], choice["reason"]) == ("nothing_to_check", "no_answer")


def test_in_json_mode_flagging_leaves_the_text_alone(start: Start) -> None:
    url = start(Upstream([reply(WRONG)]))
    found = ask(url, {"on_failure": "flag"}, response_format={"type": "json_object"})
    assert found.choices[0].message.content == WRONG
    assert found.veridical["outcome"] == "flagged"


def test_of_an_answer_in_json_the_values_are_verified(start: Start) -> None:
    answer = json.dumps({"text": "It has six lanes.", "opened": 1998})
    found = ask(start(Upstream([reply(answer)])), response_format={"type": "json_object"})
    claims = found.veridical["choices"][0]["report"]["claims"]
    assert [claim["text"] for claim in claims] == ["It has six lanes.", "opened: 1998"]


def test_each_of_several_choices_has_its_verdict(start: Start) -> None:
    found = ask(start(Upstream([reply(RIGHT, WRONG)])), {"on_failure": "flag"}, n=2)
    assert found.choices[0].message.content == RIGHT
    assert found.choices[1].message.content.startswith(f"{WRONG}[!1]")
    verdict = found.veridical
    assert (verdict["outcome"], verdict["flagged"]) == ("flagged", 1)
    assert [one["outcome"] for one in verdict["choices"]] == ["grounded", "flagged"]


def test_documents_of_the_request_are_the_evidence(start: Start) -> None:
    documents = {"D1": "The bridge opened in 1998."}
    found = ask(
        start(Upstream([reply("It opened in 1998 [D1]. It is long [S1].")])),
        {"documents": documents},
    )
    claims = found.veridical["choices"][0]["report"]["claims"]
    assert [claim["status"] for claim in claims] == ["supported", "phantom_citation"]


def test_a_request_may_have_a_policy_of_its_own(start: Start) -> None:
    policy = {"support_threshold": 0.99, "max_claims": 1}
    found = ask(start(Upstream([reply(RIGHT)])), {"policy": policy})
    report = found.veridical["choices"][0]["report"]
    assert report["policy"]["support_threshold"] == 0.99
    assert report["summary"]["claims_checked"] == 1
    assert found.veridical["outcome"] == "flagged"


def test_a_request_may_do_without_verification(start: Start) -> None:
    found = post(
        start(Upstream([reply(WRONG)])),
        json.dumps({"messages": MESSAGES, "veridical": {"verify": False}}).encode(),
    )
    assert found.content == reply(WRONG)
    assert "x-veridical-outcome" not in found.headers


# --- on failure ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.22")
def test_flagging_marks_the_claims_in_the_text(start: Start) -> None:
    found = ask(start(Upstream([reply(WRONG)])))
    text = found.choices[0].message.content
    assert text.startswith(f"{WRONG}[!1]\n\n---")
    assert "S1 says: “It carries eight lanes.”" in text
    assert found.veridical["choices"][0]["action"] == "flagged"


def test_retrying_asks_again_with_guidance_and_takes_the_better_answer(start: Start) -> None:
    upstream = Upstream([reply(WRONG), reply(RIGHT)])
    found = ask(start(upstream, on_failure="retry"), temperature=0.3)
    assert found.choices[0].message.content == RIGHT
    (choice,) = found.veridical["choices"]
    assert (choice["action"], choice["attempts"], choice["outcome"]) == ("retried", 2, "grounded")
    first, second = (json.loads(body) for body in upstream.bodies)
    assert second["messages"][:2] == MESSAGES
    assert second["messages"][2] == {"role": "assistant", "content": WRONG}
    assert "It has six lanes." in second["messages"][3]["content"]
    assert {**second, "messages": []} == {**first, "messages": []}


def test_an_upstream_that_refuses_another_attempt_costs_nothing(start: Start) -> None:
    upstream = Upstream([reply(WRONG), b"not json"])
    found = ask(start(upstream, on_failure="retry"))
    assert found.choices[0].message.content.startswith(WRONG)
    (choice,) = found.veridical["choices"]
    assert (choice["action"], choice["attempts"]) == ("flagged", 1)
    assert choice["reason"] == "generate_error: UpstreamError"


def test_blocking_withholds_the_text_and_its_log_probabilities(start: Start) -> None:
    found = ask(start(Upstream([reply(WRONG)]), on_failure="block"), {"report": False})
    (choice,) = found.choices
    assert choice.finish_reason == "content_filter"
    assert choice.message.content.startswith("This answer was withheld: 1 of 2 checked claims")
    assert "six" not in found.model_dump_json()
    assert found.veridical["choices"][0]["action"] == "blocked"


@pytest.mark.parametrize(
    ("fail_on", "action"), [("sure", "flagged"), ("any", "blocked"), ("contradicted", "blocked")]
)
def test_blocking_withholds_what_fails_by_the_policy(
    start: Start, fail_on: str, action: str
) -> None:
    verifier = Verifier(
        FakeBackend(lambda q: fake_estimate(*((0.3, 0.6) if "blue" in q.claim else (0.97,))))
    )
    url = start(Upstream([reply("The bridge is blue.")]), verifier, on_failure="block")
    (choice,) = ask(url, {"policy": {"fail_on": fail_on}}).veridical["choices"]
    assert (choice["outcome"], choice["flagged"]) == ("flagged", 1)
    assert choice["action"] == action
    assert choice["report"]["summary"]["failing"] == (0 if fail_on == "sure" else 1)


def test_blocking_lets_through_what_is_supported(start: Start) -> None:
    found = ask(start(Upstream([reply(RIGHT)]), on_failure="block"))
    assert found.choices[0].message.content == RIGHT


# --- what fails ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.43")
@pytest.mark.parametrize("on_failure", ["pass", "flag", "retry", "block"])
def test_a_verifier_that_fails_costs_no_answer(start: Start, on_failure: str) -> None:
    more = {"on_failure": on_failure, "on_unverified": "pass"}
    found = ask(start(Upstream([reply(WRONG)]), Broken(), **more))
    assert found.choices[0].message.content == WRONG
    (choice,) = found.veridical["choices"]
    assert (choice["outcome"], choice["reason"]) == (
        "undetermined",
        "verifier_error: RuntimeError",
    )


@pytest.mark.spec("SPEC-08.42")
def test_what_cannot_be_measured_is_undetermined_and_passes(start: Start) -> None:
    verifier = Verifier(FakeBackend(unmeasured))
    found = ask(start(Upstream([reply(WRONG)]), verifier, on_failure="retry"))
    assert found.choices[0].message.content == WRONG
    (choice,) = found.veridical["choices"]
    assert (choice["outcome"], choice["reason"]) == ("undetermined", "undetermined: timeout")


def test_without_evidence_there_is_no_verdict(start: Start) -> None:
    found = ask(start(Upstream([reply(WRONG)])), {"evidence": []})
    (choice,) = found.veridical["choices"]
    assert (choice["outcome"], choice["reason"]) == ("undetermined", "no_evidence")


def test_a_text_too_long_to_verify_is_passed_on(start: Start) -> None:
    found = ask(start(Upstream([reply("long " * MOST_CHARACTERS)])))
    (choice,) = found.veridical["choices"]
    assert (choice["outcome"], choice["reason"]) == ("undetermined", "too_long")


def test_an_error_of_the_upstream_is_passed_on_as_it_is(start: Start) -> None:
    body = b'{"error": {"message": "slow down", "type": "rate_limit", "code": "x"} }'
    headers = {"retry-after": "7", "x-ratelimit-limit-requests": "60", "set-cookie": "a=b"}
    url = start(Upstream([body], status=429, headers=headers))
    back = post(url, b'{"messages": []}')
    assert (back.status_code, back.content) == (429, body)
    assert back.headers["retry-after"] == "7"
    assert back.headers["x-ratelimit-limit-requests"] == "60"
    assert "set-cookie" not in back.headers
    with pytest.raises(openai.RateLimitError, match="slow down"):
        ask(url)


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[]"])
def test_a_request_that_is_no_json_object_goes_on_as_it_is(start: Start, body: bytes) -> None:
    upstream = Upstream([b'{"error": {}}'], status=400)
    assert post(start(upstream), body).status_code == 400
    assert upstream.bodies == [body]


def test_a_reply_of_another_shape_is_passed_on_as_it_is(start: Start) -> None:
    for body in (b'{"choices": []}', b'{"choices": 1}', b"[]", b"\xff"):
        back = post(start(Upstream([body])), b'{"messages": []}')
        assert (back.status_code, back.content) == (200, body)
        assert back.headers["x-veridical-outcome"] == "undetermined"


def test_a_wrong_field_of_ours_is_refused_before_anything_is_sent(start: Start) -> None:
    upstream = Upstream([reply(RIGHT)])
    with pytest.raises(openai.BadRequestError, match=r"veridical\.on_failur:") as caught:
        ask(start(upstream), {"on_failur": "pass"})
    assert caught.value.param == "veridical.on_failur"
    assert upstream.bodies == []


def test_an_upstream_that_is_not_there_is_a_bad_gateway(start: Start) -> None:
    url = start(None, upstream_url="http://127.0.0.1:9/v1")
    with pytest.raises(openai.InternalServerError, match="cannot be reached") as caught:
        ask(url)
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_unreachable")


def test_without_an_upstream_the_proxy_says_what_to_set(start: Start) -> None:
    with pytest.raises(openai.InternalServerError, match=r"proxy\.upstream_url") as caught:
        ask(start(None))
    assert caught.value.status_code == 503


def test_an_upstream_that_takes_too_long_is_a_gateway_timeout(start: Start) -> None:
    with ExitStack() as stack:
        silent = stack.enter_context(HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler))
        url = start(None, upstream_url=f"http://127.0.0.1:{silent.server_port}", timeout_s=0.1)
        back = post(url, b"{}")
    assert (back.status_code, back.json()["error"]["code"]) == (504, "upstream_timeout")


def test_a_redirect_of_the_upstream_is_not_followed(start: Start) -> None:
    upstream = Upstream([b""], status=307, headers={"location": "http://127.0.0.1:9/"})
    back = post(start(upstream), b"{}")
    assert (back.status_code, back.json()["error"]["code"]) == (502, "upstream_redirect")


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        build_proxy_router(Broken(), ProxySettings(upstream_url="http://:x"))


# --- headers ---------------------------------------------------------------------------------


def test_the_client_s_key_goes_on_unless_there_is_one_of_ours(start: Start) -> None:
    upstream = Upstream([reply(RIGHT)])
    ask(start(upstream))
    ask(start(upstream, api_key="upstream-key"))
    ask(start(upstream, forward_authorization=False))
    ask(start(upstream, forward_authorization=lambda request: "x-veridical-key" in request.headers))
    assert [seen.get("authorization") for seen in upstream.seen] == [
        "Bearer client-key",
        "Bearer upstream-key",
        None,
        None,
    ]


def test_only_known_headers_go_on(start: Start) -> None:
    upstream = Upstream([reply(RIGHT)])
    post(start(upstream), b"{}", cookie="a=b", forwarded="for=x", **{"openai-organization": "o"})
    (seen,) = upstream.seen
    assert seen["openai-organization"] == "o"
    assert seen["accept-encoding"] == "identity"
    assert not {"cookie", "forwarded"} & seen.keys()


@pytest.mark.parametrize("said", [reply, stream])
def test_an_idempotency_key_goes_with_the_body_that_it_was_made_for(
    start: Start, said: Callable[[str], Any]
) -> None:
    upstream = Upstream([said(WRONG), said(RIGHT)])
    body = json.dumps({"messages": MESSAGES, "stream": said is stream}).encode()
    post(start(upstream, on_failure="retry"), body, **{"idempotency-key": "k1"})
    assert [seen.get("idempotency-key") for seen in upstream.seen] == ["k1", None]


def test_headers_that_are_not_ascii_go_on_and_come_back_byte_for_byte(start: Start) -> None:
    city = "\u6771\u4eac".encode()
    upstream = Upstream([reply(RIGHT)], headers={"openai-organization": city.decode("latin-1")})
    sent = {"user-agent": b"caf\xe9", "openai-project": city}
    back = httpx2.post(f"{start(upstream)}/chat/completions", content=b"{}", headers=sent)
    assert back.status_code == 200
    assert (b"openai-organization", city) in back.headers.raw
    (seen,) = upstream.seen
    assert {name: seen[name].encode("latin-1") for name in sent} == sent


def test_cookies_of_the_upstream_are_not_kept(start: Start) -> None:
    upstream = Upstream([reply(RIGHT)], headers={"set-cookie": "session=1; Path=/"})
    url = start(upstream)
    post(url, b"{}")
    post(url, b"{}")
    assert ["cookie" in seen for seen in upstream.seen] == [False, False]


def test_models_are_those_of_the_upstream(start: Start) -> None:
    body = b'{"object": "list", "data": [{"id": "m", "object": "model"}]}'
    upstream = Upstream([body])
    url = start(upstream)
    client = client_of(url)
    assert [model.id for model in client.models.list()] == ["m"]
    assert httpx2.get(f"{url}/models?limit=1").content == body
    assert upstream.paths == ["/v1/models?", "/v1/models?limit=1"]


# --- a reply in pieces -----------------------------------------------------------------------


def test_a_stream_is_passed_on_as_it_is_with_the_verdict_before_its_end(start: Start) -> None:
    sent = stream(WRONG)
    url = start(Upstream([sent]), on_failure="pass")
    body = json.dumps({"messages": MESSAGES, "stream": True}).encode()
    back = post(url, body).content
    before, after = b"".join(sent[:-1]), sent[-1]
    assert back.startswith(before)
    assert back.endswith(after)
    ours = json.loads(back[len(before) : -len(after)].removeprefix(b"data: "))
    assert ours["veridical"]["outcome"] == "flagged"
    assert ours["choices"][0]["delta"] == {}
    assert (ours["id"], ours["model"]) == ("c1", "m")


def test_chunks_come_while_the_upstream_is_still_writing(start: Start) -> None:
    more = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(chunk({"content": "First"}))
            assert more.wait(10)
            self.wfile.write(b"".join(stream("second.")))

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as upstream:
        serve = threading.Thread(target=upstream.handle_request, daemon=True)
        serve.start()
        chunks = iter(
            ask(start(None, upstream_url=f"http://127.0.0.1:{upstream.server_port}"), stream=True)
        )
        first = next(chunks)
        assert first.choices[0].delta.content == "First"
        assert not more.is_set()
        more.set()
        _, verdict = heard(chunks)
        serve.join()
    assert verdict["choices"][0]["report"]["summary"]["sentences"] == 1


def test_flagging_a_stream_adds_what_is_wrong_at_its_end(start: Start) -> None:
    text, verdict = heard(ask(start(Upstream([stream(WRONG)]), on_failure="flag"), stream=True))
    assert text.startswith(f"{WRONG} \n\n---\n\nThis claim is not confirmed")
    assert "“It has six lanes.”" in text
    assert verdict["choices"][0]["action"] == "flagged"


def test_a_stream_that_may_be_written_again_is_held_back(start: Start) -> None:
    upstream = Upstream([stream(WRONG), stream(RIGHT)])
    text, verdict = heard(ask(start(upstream, on_failure="retry"), stream=True))
    assert text == f"{RIGHT} "
    assert verdict["choices"][0]["action"] == "retried"
    assert json.loads(upstream.bodies[1])["stream"] is True


def test_a_stream_that_is_blocked_never_shows_its_text(start: Start) -> None:
    url = start(Upstream([stream(WRONG)]), on_failure="block", report=False)
    body = json.dumps({"messages": MESSAGES, "stream": True}).encode()
    assert b"six" not in post(url, body).content
    chunks = list(ask(url, stream=True))
    assert chunks[0].choices[0].finish_reason == "content_filter"
    assert heard(chunks)[0].startswith("This answer was withheld")


def test_a_streamed_choice_says_its_role_once_withheld_or_not(start: Start) -> None:
    for text in (RIGHT, WRONG):
        sent = [chunk({"role": "assistant", "content": ""}), *stream(text)]
        chunks = list(ask(start(Upstream([sent]), on_failure="block"), stream=True))
        assert [one.choices[0].delta.role for one in chunks if one.choices[0].delta.role] == [
            "assistant"
        ]


def test_of_several_streamed_choices_only_the_blocked_one_is_withheld(start: Start) -> None:
    both = {"id": "c1", "choices": [{"index": n, "delta": {"content": "!"}} for n in range(2)]}
    pieces = [
        chunk({"content": RIGHT}),
        chunk({"content": WRONG}, index=1),
        b"data: " + json.dumps(both).encode() + b"\n\n",
        chunk({}, "length"),
        chunk({}, "stop", index=1),
        b"data: [DONE]\n\n",
    ]
    texts, ends = {0: "", 1: ""}, {}
    for one in ask(start(Upstream([pieces]), on_failure="block"), stream=True, n=2):
        for choice in one.choices:
            texts[choice.index] += choice.delta.content or ""
            ends[choice.index] = choice.finish_reason or ends.get(choice.index)
    assert texts[0] == f"{RIGHT}!"
    assert texts[1].startswith("This answer was withheld")
    assert ends == {0: "length", 1: "content_filter"}


@pytest.mark.parametrize("streamed", [stream(WRONG), stream(RIGHT)])
def test_the_usage_of_a_stream_comes_withheld_or_not(start: Start, streamed: list[bytes]) -> None:
    end = streamed[-2].replace(b', "choices"', b', "usage": {"total_tokens": 9}, "choices"')
    url = start(Upstream([[*streamed[:-2], end, streamed[-1]]]), on_failure="block")
    chunks = list(ask(url, stream=True))
    assert [one.usage.total_tokens for one in chunks if one.usage] == [9]
    assert all(one.choices for one in chunks)  # clients look at the first one without asking
    (finish,) = {one.choices[0].finish_reason for one in chunks} - {None}
    assert finish == ("content_filter" if streamed == stream(WRONG) else "stop")


def test_a_log_probability_that_is_no_json_number_goes_on_beside_a_withheld_choice(
    start: Start,
) -> None:
    choices = [
        {"index": 0, "delta": {"content": WRONG}},
        {"index": 1, "delta": {"content": RIGHT}, "logprobs": {"content": [float("-inf")]}},
    ]
    sent = b"data: " + json.dumps({"id": "c1", "choices": choices}).encode() + b"\n\n"
    url = start(Upstream([[sent, b"data: [DONE]\n\n"]]), on_failure="block", report=False)
    back = post(url, json.dumps({"messages": MESSAGES, "stream": True, "n": 2}).encode()).content
    assert b'"logprobs":{"content":[-Infinity]}' in back
    assert b"six" not in back
    assert back.endswith(b"data: [DONE]\n\n")


def test_a_stream_that_passes_the_block_is_what_the_upstream_said(start: Start) -> None:
    text, verdict = heard(ask(start(Upstream([stream(RIGHT)]), on_failure="block"), stream=True))
    assert (text, verdict["outcome"]) == (f"{RIGHT} ", "grounded")


def test_a_stream_of_tool_calls_is_left_alone(start: Start) -> None:
    pieces = [
        chunk({"content": WRONG}),
        chunk({"tool_calls": [{"index": 0, **TOOL_CALL}]}, "tool_calls"),
        b"data: [DONE]\n\n",
    ]
    for on_failure in ("flag", "retry", "block"):
        url = start(Upstream([pieces]), on_failure=on_failure)
        back = post(url, json.dumps({"messages": MESSAGES, "stream": True}).encode()).content
        assert b"".join(pieces[:2]) in back
        assert b'"action":"passed"' in back


def test_a_verifier_that_fails_costs_no_stream(start: Start) -> None:
    text, verdict = heard(ask(start(Upstream([stream(WRONG)]), Broken()), stream=True))
    assert (text, verdict["outcome"]) == (f"{WRONG} ", "undetermined")


@pytest.mark.parametrize("on_failure", ["pass", "block"])
def test_a_stream_that_breaks_off_is_an_error_for_the_client(start: Start, on_failure: str) -> None:
    pieces: list[bytes | Exception] = [chunk({"content": "The"}), RuntimeError("broken")]
    with pytest.raises(openai.APIError, match="broke off"):
        heard(ask(start(Upstream([pieces]), on_failure=on_failure), stream=True))


def test_an_error_within_a_stream_is_passed_on(start: Start) -> None:
    pieces = [chunk({"content": "The"}), b'data: {"error": {"message": "overloaded"}}\n\n']
    with pytest.raises(openai.APIError, match="overloaded"):
        heard(ask(start(Upstream([pieces])), stream=True))


def test_a_stream_without_its_last_event_has_a_verdict_all_the_same(start: Start) -> None:
    _, verdict = heard(ask(start(Upstream([stream(RIGHT)[:-1]])), stream=True))
    assert verdict["outcome"] == "grounded"


def test_the_client_s_own_assembly_of_a_stream_works(start: Start) -> None:
    client = client_of(start(Upstream([stream(RIGHT)])))
    with client.chat.completions.stream(model="m", messages=MESSAGES) as events:
        found = events.get_final_completion().choices[0]
    assert (found.message.content, found.finish_reason) == (f"{RIGHT} ", "stop")


def test_a_stream_may_go_unverified(start: Start) -> None:
    sent = stream(WRONG)
    body = {"messages": MESSAGES, "stream": True, "veridical": {"verify": False}}
    assert post(start(Upstream([sent])), json.dumps(body).encode()).content == b"".join(sent)


def test_two_proxies_one_behind_the_other_give_one_verdict(start: Start) -> None:
    inner = start(Upstream([reply(WRONG)]))
    found = post(start(None, upstream_url=inner), json.dumps({"messages": MESSAGES}).encode())
    assert found.content.count(b'"veridical":{') == 1
    assert found.json()["veridical"]["outcome"] == "flagged"


# --- what the other blocks of the settings say -----------------------------------------------


@pytest.mark.spec("SPEC-08.34")
@pytest.mark.parametrize(
    "said", [{"verification": {"enabled": False}}, {"hallucination": {"enabled": False}}]
)
def test_the_settings_switch_verification_off(start: Start, said: Value) -> None:
    found = ask(start(Upstream([reply(WRONG)]), settings=said))
    assert found.choices[0].message.content == WRONG
    assert found.veridical["choices"][0]["reason"] == "disabled"


@pytest.mark.spec("SPEC-08.34", "SPEC-16.28")
def test_the_settings_say_how_much_is_verified_and_the_verdict_what_is_left_out(
    start: Start,
) -> None:
    said = {"verification": {"mode": "sample", "sample_rate": 0.5}}
    (choice,) = ask(start(Upstream([reply(WRONG)]), settings=said)).veridical["choices"]
    assert (choice["claims_checked"], choice["left_out"]) == (1, {"not_sampled": 1})
    said = {"verification": {"skip_short": True}}
    (choice,) = ask(start(Upstream([reply(WRONG)]), settings=said)).veridical["choices"]
    assert (choice["reason"], choice["left_out"]) == ("too_short", None)


@pytest.mark.spec("SPEC-08.34")
@pytest.mark.parametrize(("bits", "action"), [(9.0, "flagged"), (0.5, "blocked")])
def test_the_flag_threshold_in_bits_decides_what_is_withheld(
    start: Start, bits: float, action: str
) -> None:
    text = "The bridge opened in 1998. Dolphins guard it."
    said = {"hallucination": {"output_verification": {"flag_threshold_bits": bits}}}

    def invented(query: Query) -> Measurement:
        return fake_estimate(0.02 if "Dolphins" in query.claim else 0.97)

    url = start(Upstream([reply(text)]), FakeBackend(invented), settings=said, on_failure="block")
    assert ask(url).veridical["choices"][0]["action"] == action


@pytest.mark.spec("SPEC-08.34")
@pytest.mark.parametrize("retries", [0, 1, 2])
def test_the_block_proxy_says_how_often_the_upstream_is_asked_again(
    start: Start, retries: int
) -> None:
    upstream = Upstream([reply(WRONG + " " * n) for n in range(4)])
    ask(start(upstream, on_failure="retry", max_retries=retries))
    assert len(upstream.bodies) == retries + 1


@pytest.mark.spec("SPEC-08.34")
def test_an_answer_waits_for_its_verdict_as_long_as_the_block_proxy_says(start: Start) -> None:
    class Slow:
        async def check(self, *_: object, **__: object) -> None:
            await anyio.sleep(2)

    (choice,) = ask(start(Upstream([reply(WRONG)]), Slow(), deadline_s=0.05)).veridical["choices"]
    assert (choice["outcome"], choice["reason"]) == ("undetermined", "timeout")


@pytest.mark.spec("SPEC-08.34")
def test_the_evidence_is_what_the_block_proxy_says(start: Start) -> None:
    def reason(**more: Any) -> str | None:  # noqa: ANN401 -- of the block
        (choice,) = ask(start(Upstream([reply(RIGHT)]), **more)).veridical["choices"]
        found: str | None = choice["reason"]
        return found

    assert reason(evidence=["tool"]) == "no_evidence"
    assert reason() is None


@pytest.mark.parametrize("cut_off", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
def test_the_verdict_says_that_the_upstream_cut_the_answer_off(
    start: Start, cut_off: bool, streamed: bool
) -> None:
    finish = "length" if cut_off else "stop"
    if streamed:
        pieces = [chunk({"content": RIGHT}), chunk({}, finish), b"data: [DONE]\n\n"]
        _, verdict = heard(ask(start(Upstream([pieces])), stream=True))
    else:
        body = reply(RIGHT).replace(b'"stop"', f'"{finish}"'.encode())
        verdict = ask(start(Upstream([body]))).veridical
    (choice,) = verdict["choices"]
    assert choice["cut_off"] is cut_off
    assert ("answer_cut_off" in choice["report"]["claims"][-1]["notes"]) is cut_off
