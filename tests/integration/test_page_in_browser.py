"""The page at `/` in a real browser, in front of a real server that streams real reports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from _upstream import serving
from veridical.core.measurements import Estimate, Query, Unmeasured, UnmeasuredReason
from veridical.pipeline.reports.formats import FORMATS
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.spec("SPEC-16.34")]

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
KEY = "a key of this test"

ANSWER = (
    "👩‍🚀 The pump stopped at 14:02 [S1]. It restarted at once [S1].\n\n"
    "<img src=x onerror=alert(1)> The valve held [S7]. Would you like more?"
)
FILLER = "".join(f"Line {n} of the log says nothing that matters.\n" for n in range(300))
SOURCES = {
    "S1": FILLER + "The pump 🛠 stopped at 14:02. It restarted an hour later.\n" + FILLER,
    "S2": "</script><script>alert(1)</script> The valve is new.",
}


UNSURE = {
    "lukewarm": fake_estimate(0.2, 0.7),
    "tepid": fake_estimate(0.8, 0.1),
    "cool": fake_estimate(0.3, 0.1),
}
"""What is contradicted, supported and not stated, but not surely."""


def judged(query: Query) -> Estimate:
    """Support statements of the context, oppose claims that contain "at once"."""
    for unsure, found in UNSURE.items():
        if unsure in query.claim:
            return found
    if "at once" in query.claim and "hour later" in query.context:
        return fake_estimate(0.02, 0.9)
    stated = "stopped" in query.claim and "14:02" in query.context
    return fake_estimate(0.96, 0.01) if stated else fake_estimate(0.1, 0.1)


class Service:
    """Service for the page, over a real Verifier; it can ask for a key, or fail."""

    def __init__(self) -> None:
        self.marks: list[dict[str, Any]] = []
        self.reports: dict[str, Any] = {}
        self.key: str | None = None
        self.signed_in = False
        self.fail: tuple[int, dict[str, Any]] | None = None
        self.claim_delay_s = 0.0
        self.die_after: int | None = None
        self.unmeasured = False

    def app(self) -> FastAPI:
        from fastapi import FastAPI
        from fastapi.responses import JSONResponse, Response, StreamingResponse

        from veridical.interfaces.http.page import build_page_router

        app = FastAPI()
        app.include_router(build_page_router())

        def refused(request: Request) -> Response | None:
            if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
                return JSONResponse({"title": "A key is needed", "status": 401}, 401)
            if self.fail:
                return JSONResponse(self.fail[1], self.fail[0], {"retry-after": "7"})
            return None

        async def stream(request: Request) -> Response:
            body = await request.json()
            name = f"r{len(self.reports) + 1}"
            return refused(request) or StreamingResponse(
                self.events(name, body),
                media_type="text/event-stream",
                headers={"x-veridical-report": name},
            )

        async def mark(request: Request) -> Response:
            if no := refused(request):
                return no
            self.marks.append(await request.json())
            return JSONResponse({}, 201)

        async def converted(request: Request) -> Response:
            return refused(request) or Response(self.report.to_sarif())

        async def stored(request: Request) -> Response:
            found = self.reports.get(request.path_params["name"])
            return refused(request) or JSONResponse(found or {}, 200 if found else 404)

        app.router.add_route("/page/session", self.session)
        app.router.add_route("/page/logout", self.leave, methods=["POST"])
        app.router.add_route("/v1/check/stream", stream, methods=["POST"])
        app.router.add_route("/v1/feedback", mark, methods=["POST"])
        app.router.add_route("/v1/reports", converted, methods=["POST"])
        app.router.add_route("/v1/reports/{name}/check", stored)
        return app

    async def session(self, _: Request) -> Response:
        from fastapi.responses import JSONResponse

        return JSONResponse({"login": True, "signed_in": self.signed_in})

    async def leave(self, _: Request) -> Response:
        from fastapi.responses import Response

        self.signed_in = False
        return Response(status_code=204)

    async def events(self, name: str, body: dict[str, Any]) -> AsyncIterator[str]:
        import anyio

        late = Unmeasured(UnmeasuredReason.TIMEOUT)
        answer = (lambda _: late) if self.unmeasured else judged
        async with Verifier(FakeBackend(answer)) as verifier:
            sources = {source["id"]: source["text"] for source in body["sources"]}
            report = await verifier.check(body["answer"], sources, body.get("question"))
        document = report.to_dict()
        total = len(document["claims"])
        for done, claim in enumerate(document["claims"], start=1):
            if self.die_after is not None and done > self.die_after:
                return
            yield event("progress", {"done": done, "total": total})
            yield event("claim", claim)
            await anyio.sleep(self.claim_delay_s)
        self.report = report
        whole = {"schema": "veridical.page/1", "id": name, "report": document, "marks": {}}
        self.reports[name] = whole | {"question": None} | body
        yield event("report", document)


def event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Keep marks in a database of the test."""
    return Settings.model_validate({"store": {"url": f"sqlite:///{tmp_path}/marks.db"}})


@pytest.fixture
def address(request: pytest.FixtureRequest, settings: Settings) -> Iterator[str]:
    """Serve the page: by the service itself, or by the double that can be slow and fail."""
    if "service" in request.fixturenames:
        app = request.getfixturevalue("service").app()
    else:
        from veridical.interfaces.http.app import create_app

        app = create_app(settings, backend=FakeBackend(judged))
    with serving(app) as url:
        yield f"{url}/"


@pytest.fixture
def new_page(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Open pages that may ask this server only, and whose console must stay silent."""
    contexts = []
    said: list[str] = []

    def opened(**options: object) -> Page:
        known: dict[str, Any] = {"viewport": WIDE, "reduced_motion": "reduce", **options}
        context = browser.new_context(**known)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: said.append(request.url) if foreign(request.url) else 0)
        page.goto(address)
        page.wait_for_selector(".source-in", state="attached")
        return page

    def foreign(url: str) -> bool:
        return not url.startswith((address, "blob:", "data:"))

    opened.said = said  # type: ignore[attr-defined]
    yield opened
    for context in contexts:
        context.close()
    assert [line for line in said if "Failed to load resource" not in line] == []


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()


def fill(page: Page, answer: str = ANSWER, sources: dict[str, str] = SOURCES) -> None:
    page.fill("#answer-in", answer)
    files = [
        {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": text.encode()}
        for name, text in sources.items()
    ]
    page.set_input_files("#file-sources", files)  # type: ignore[arg-type]
    page.wait_for_function(
        "n => document.querySelectorAll('.source-in').length === n", arg=len(files)
    )


def checked(page: Page, answer: str = ANSWER, sources: dict[str, str] = SOURCES) -> None:
    fill(page, answer, sources)
    page.click("#submit")
    page.wait_for_selector("html:not(.running):not(.composing)", timeout=90_000)


def selected(page: Page) -> str | None:
    return page.evaluate("document.querySelector('#card .card')?.dataset.id ?? null")


def lit(page: Page) -> str:
    return "".join(page.locator("#sources .mark.on").all_inner_texts())


def problem(page: Page) -> str:
    page.wait_for_selector("#problem:not([hidden])")
    return page.inner_text("#problem p")


def in_view(page: Page, selector: str) -> bool:
    """Return whether an element comes into view: scrolling is smooth, and takes its time."""
    from playwright.sync_api import TimeoutError as PlaywrightTimeout

    try:
        page.wait_for_function(
            """(selector) => {
              const box = document.querySelector(selector).getBoundingClientRect();
              const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
              return document.elementFromPoint(x, y)?.closest(selector) != null;
            }""",
            arg=selector,
            timeout=5000,
        )
    except PlaywrightTimeout:
        return False
    return True


def test_check_ends_with_the_first_flagged_claim_and_its_evidence(page: Page) -> None:
    checked(page)
    assert page.inner_text("#headline") == "Flagged: 2 of 3 checked claims"
    assert selected(page) == "c2"
    assert "restarted an hour later" in lit(page)
    assert in_view(page, "#c2-evidence-1 ~ .mark.on")
    assert in_view(page, "#headline")
    assert page.evaluate("document.documentElement.scrollHeight") <= WIDE["height"]


def test_marks_stand_where_the_claims_do_in_code_points(page: Page) -> None:
    checked(page)
    marks = page.locator('#answer-text .mark[data-claims="c1"]').all_inner_texts()
    assert "".join(marks).replace("👩‍🚀", "").strip().startswith("The pump stopped at 14:02")
    page.locator('#answer-text .badge[data-claims="c1"]').click()
    assert lit(page) == "The pump 🛠 stopped at 14:02."
    assert page.locator("#answer-text img").count() == 0


def test_claims_appear_as_they_are_decided(page: Page, service: Service) -> None:
    service.claim_delay_s = 0.6
    fill(page)
    page.click("#submit")
    page.wait_for_selector("#listed .entry")
    assert page.evaluate("document.documentElement.classList.contains('running')")
    assert page.locator("#listed .entry").count() < 4
    page.wait_for_selector("html:not(.running)")
    assert page.locator("#listed .entry").count() == 4


def test_stopping_keeps_what_was_decided(page: Page, service: Service) -> None:
    service.claim_delay_s = 1.0
    fill(page)
    page.click("#submit")
    page.wait_for_selector("#listed .entry")
    page.click("#stop")
    page.wait_for_selector("html:not(.running)")
    assert problem(page).startswith("Stopped.")
    assert page.locator("#listed .entry").count() >= 1


def test_stream_that_ends_early_is_no_verdict(page: Page, service: Service) -> None:
    service.die_after = 1
    fill(page)
    page.click("#submit")
    page.wait_for_selector("#problem:not([hidden])")
    assert "ended before the check was done" in problem(page)
    assert page.inner_text("#headline") == "Not finished"
    assert "o-grounded" not in (page.get_attribute("#top", "class") or "")


def test_keys_walk_through_the_claims(page: Page) -> None:
    checked(page)
    walked = []
    for key in ("k", "k", "j", "f", "f", "Escape"):
        page.keyboard.press(key)
        walked.append(selected(page))
    assert walked == ["c1", "c3", "c1", "c2", "c3", None]


def test_enter_goes_to_the_evidence(page: Page) -> None:
    checked(page)
    page.keyboard.press("k")
    page.evaluate("document.getElementById('sources').scrollTop = 0")
    page.keyboard.press("Enter")
    assert in_view(page, "#sources .mark.on")
    assert page.evaluate("document.activeElement.matches('.place')")


def test_slash_finds_and_escape_leaves(page: Page) -> None:
    checked(page)
    page.keyboard.press("/")
    page.keyboard.type("valve")
    page.wait_for_function("() => document.getElementById('listed-n').innerText === '1 of 4'")
    # Not the inner text: what is not painted yet has none.
    assert (page.locator("#listed .entry").first.text_content() or "").strip().startswith("†")
    page.keyboard.press("Escape")
    assert page.inner_text("#listed-n") == "4"


def test_filter_by_status_leads_the_keys(page: Page) -> None:
    checked(page)
    page.locator('#legend button[data-tone="phantom_citation"]').click()
    assert page.locator("#listed .entry").count() == 1
    assert page.locator("#answer-text .mark.faded").count() >= 2
    page.locator("#answer").focus()
    page.keyboard.press("j")
    assert selected(page) == "c3"


def test_help_opens_and_closes_by_key(page: Page) -> None:
    checked(page)
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    assert selected(page) == "c2"


def test_deep_link_survives_a_reload(page: Page) -> None:
    checked(page)
    page.goto(page.url.partition("#")[0] + "#c1")
    page.reload()
    page.wait_for_selector("#card .card")
    assert selected(page) == "c1"
    assert "14:02" in lit(page)


def test_check_has_an_address_and_back_leads_to_the_texts(page: Page, address: str) -> None:
    checked(page)
    assert page.url == f"{address}?report={page.url.partition('=')[2]}"
    page.go_back()
    page.wait_for_selector("html.composing")
    assert page.input_value("#answer-in") == ANSWER
    page.go_forward()
    page.wait_for_selector("html:not(.composing)")
    assert page.inner_text("#headline") == "Flagged: 2 of 3 checked claims"


def test_kept_report_opens_by_its_address_with_its_texts(
    page: Page, new_page: Callable[..., Page]
) -> None:
    checked(page)
    with page.expect_response("**/v1/feedback"):
        page.keyboard.press("w")
    other = new_page()
    other.goto(page.url.partition("#")[0] + "#c2")
    other.wait_for_selector("#card .card")
    assert selected(other) == "c2"
    assert lit(other) == lit(page)
    assert other.inner_text("#answer-text") == page.inner_text("#answer-text")
    assert other.locator('.marking [aria-pressed="true"]').inner_text() == "Wrong"
    assert other.locator(".source .path").all_inner_texts() == ["S1.txt", "S2.txt"]


def test_report_that_is_not_kept_is_said_so(page: Page, address: str) -> None:
    page.goto(f"{address}?report=nothing")
    page.wait_for_selector("#problem:not([hidden])")
    assert "not kept any more" in problem(page)
    assert page.locator("#problem .retry").count() == 0


def test_history_lists_and_finds_reports(page: Page) -> None:
    checked(page)
    page.click("#edit")
    page.fill("#answer-in", "The ferry stopped [S1].")
    page.click("#submit")
    page.wait_for_selector("html:not(.running):not(.composing)")
    page.click("#history-open")
    page.wait_for_selector("#history-list .kept")
    assert page.locator("#history-list .kept").count() == 2
    page.fill("#history-search", "valve")
    page.wait_for_function("() => document.querySelectorAll('#history-list .kept').length === 1")
    page.click("#history-list .kept")
    page.wait_for_function("() => document.querySelectorAll('#listed .entry').length === 4")
    assert "The valve held" in page.inner_text("#answer-text")


def test_opened_report_finds_its_texts_in_the_form(page: Page, service: Service) -> None:
    checked(page)
    document = service.report.to_json()
    page.evaluate("sessionStorage.clear()")
    page.goto(page.url.partition("?")[0])
    fill(page)
    page.set_input_files(
        "#file-open",
        {"name": "r.json", "mimeType": "application/json", "buffer": document.encode()},
    )
    page.wait_for_selector("#card .card")
    assert not page.locator("#no-answer").is_visible()
    assert "restarted an hour later" in lit(page)


def test_file_that_is_no_report_is_said_so(page: Page) -> None:
    page.set_input_files(
        "#file-open", {"name": "r.json", "mimeType": "application/json", "buffer": b'{"a": 1}'}
    )
    page.wait_for_selector("#problem:not([hidden])")
    assert "not a report" in problem(page)


def test_what_is_missing_is_said_before_anything_is_sent(page: Page) -> None:
    page.click("#submit")
    assert problem(page) == "There is no answer to check."
    page.fill("#answer-in", "It is so.")
    page.keyboard.press("Control+Enter")
    assert problem(page).startswith("There are no sources")


def test_marking_a_verdict_tells_the_service(page: Page, service: Service) -> None:
    checked(page)
    page.keyboard.press("w")
    page.wait_for_selector('.marking [aria-pressed="true"]')
    (mark,) = service.marks
    assert (mark["claim_id"], mark["right"]) == ("c2", False)
    assert mark["report"] == service.report.to_dict()
    assert page.inner_text("#said") == "The verdict on c2 is marked wrong."


def test_mark_shows_at_once_and_is_taken_back_if_it_is_not_kept(
    page: Page, service: Service
) -> None:
    checked(page)
    service.fail = (503, {"title": "Down"})
    page.keyboard.press("w")
    assert "The mark is not kept." in problem(page)
    assert page.locator("#listed .marked").count() == 0
    service.fail = None
    page.keyboard.press("w")
    page.wait_for_selector("#listed .marked")
    assert page.locator("#listed .entry.on").inner_text().endswith("you: wrong")
    assert page.get_attribute("#answer-text .badge.on", "data-label") == "✗ c2 ✎"


def test_key_is_asked_for_and_used(page: Page, service: Service) -> None:
    service.key = KEY
    fill(page)
    page.click("#submit")
    page.wait_for_selector("#key[open]")
    page.fill("#key-in", KEY)
    page.keyboard.press("Enter")
    page.wait_for_selector("#card .card")
    assert selected(page) == "c2"
    assert page.evaluate("localStorage.length") == 1  # the colours, not the key


def test_signing_out_ends_the_session_and_forgets_the_texts(page: Page, service: Service) -> None:
    assert not page.is_visible("#sign-out")
    service.signed_in = True
    page.reload()
    page.wait_for_selector("#sign-out:not([hidden])")
    checked(page)
    page.click("#sign-out")
    page.wait_for_selector("#sign-out", state="hidden")
    page.wait_for_selector("#answer-in")
    assert not service.signed_in
    assert page.input_value("#answer-in") == ""
    assert page.evaluate("sessionStorage.length") == 0


def test_service_keeps_what_was_marked(page: Page, settings: Settings) -> None:
    from veridical.feedback.labels import Feedback
    from veridical.wiring.build import build_store

    checked(page)
    with page.expect_response("**/v1/feedback"):
        page.keyboard.press("w")
    page.select_option(".marking select", "supported")
    page.fill('.marking input[type="text"]', "An hour is at once here.")
    with page.expect_response("**/v1/feedback"):
        page.keyboard.press("Enter")
    (mark,) = Feedback(build_store(settings)).list()
    assert (mark.claim_id, mark.right, mark.status) == ("c2", False, "contradicted")
    assert (mark.actual, mark.comment) == ("supported", "An hour is at once here.")
    with page.expect_response("**/v1/feedback"):
        page.click(".marking >> text=Undo")
    assert Feedback(build_store(settings)).list() == []
    assert page.locator("#listed .marked").count() == 0


class TestWithKeys:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        server = settings.server.model_copy(update={"api_key": SecretStr(KEY)})
        return settings.model_copy(update={"server": server})

    def test_service_opens_a_report_to_its_key(
        self, new_page: Callable[..., Page], address: str
    ) -> None:
        page = new_page()
        fill(page)
        with page.expect_response(
            lambda reply: reply.status == 200 and "stream" in reply.url
        ) as got:
            page.click("#submit")
            page.fill("#key-in", KEY)
            page.keyboard.press("Enter")
        name = got.value.headers["x-veridical-report"]
        page.wait_for_selector("#card .card")
        other = new_page()
        other.goto(f"{address}?report={name}#c3")
        other.fill("#key-in", "a key that is not known here")
        other.keyboard.press("Enter")
        other.wait_for_selector("#key[open] :text('does not accept this key')")
        other.fill("#key-in", KEY)
        other.keyboard.press("Enter")
        other.wait_for_selector("#card .card")
        assert selected(other) == "c3"


def test_edited_texts_stay_while_the_report_is_looked_at(page: Page) -> None:
    checked(page)
    page.click("#edit")
    page.fill("#answer-in", "Another answer.")
    page.click("#back")
    assert page.inner_text("#headline") == "Flagged: 2 of 3 checked claims"
    page.click("#edit")
    assert page.input_value("#answer-in") == "Another answer."


def test_overload_is_said_with_its_wait(page: Page, service: Service) -> None:
    service.fail = (429, {"title": "Too busy", "hint": "Come back later", "request_id": "q9"})
    fill(page)
    page.click("#submit")
    page.wait_for_selector("#problem:not([hidden])")
    said = problem(page)
    assert said == "The service has too much to do. Other checks are under way. Request q9."
    assert page.input_value("#answer-in") == ANSWER
    retry = page.locator("#problem .retry")
    assert retry.inner_text().startswith("Try again in")
    assert retry.is_disabled()
    service.fail = None
    retry.click(timeout=15_000)
    page.wait_for_selector("#card .card")


def download(page: Page, kind: str) -> str:
    page.click("#export summary")
    with page.expect_download() as waiting:
        page.click(f'[data-export="{kind}"]')
    return Path(waiting.value.path()).read_text(encoding="utf-8")


SAVED = [name for name in FORMATS if name not in {"json", "html"}]
"""The formats that the page has the service write."""


def kept(page: Page, address: str, answer: str = ANSWER) -> Callable[[str], str]:
    """Check an answer; return how to get the report of it that the service keeps."""
    with page.expect_response(lambda reply: "stream" in reply.url) as got:
        checked(page, answer)
    url = f"{address}v1/reports/{got.value.headers['x-veridical-report']}?format="
    return lambda name: page.request.get(url + name).text()


def test_exports_are_the_formats_of_the_service(page: Page, address: str) -> None:
    report = kept(page, address)
    assert json.loads(download(page, "json")) == json.loads(report("json"))
    for name in SAVED:
        assert download(page, name) == report(name), name


def test_report_from_a_file_is_saved_in_the_formats_of_the_service(
    page: Page, new_page: Callable[..., Page], address: str
) -> None:
    report = kept(page, address)
    for kind in ("texts", "json"):
        other = new_page()
        saved = {"name": "r.json", "mimeType": "application/json"}
        saved["buffer"] = download(page, kind).encode()  # type: ignore[assignment]
        other.set_input_files("#file-open", saved)  # type: ignore[arg-type]
        other.wait_for_selector("#card .card")
        results = json.loads(download(other, "sarif"))["runs"][0]["results"]
        whole = json.loads(report("sarif"))["runs"][0]["results"]
        assert [one["message"] for one in results] == [one["message"] for one in whole]
        assert (results == whole) is (kind == "texts")


def test_key_is_asked_for_before_a_report_is_saved(page: Page, service: Service) -> None:
    checked(page)
    service.key = KEY
    page.click("#export summary")
    page.click('[data-export="sarif"]')
    page.wait_for_selector("#key[open]")
    with page.expect_download():
        page.fill("#key-in", KEY)
        page.keyboard.press("Enter")


def test_what_is_unsure_looks_different_and_says_please_look(page: Page, address: str) -> None:
    tail = " The water was lukewarm [S1]. The water was tepid [S1]. The water was cool [S1]."
    report = kept(page, address, ANSWER + tail)
    assert page.inner_text("#headline") == "Flagged: 4 of 6 checked claims, 2 of them unsure"
    labels = page.locator("#answer-text .badge").evaluate_all(
        "all => all.map(b => b.dataset.label)"
    )
    assert labels == ["✓ c1", "✗ c2", "† c3", "· skipped", "?✗ c5", "?✓ c6", "?○ c7"]
    looks = page.locator("#answer-text .badge").evaluate_all(
        """all => all.map(badge => {
          const style = getComputedStyle(badge, "::after");
          return [style.borderTopStyle, style.fontStyle, style.color].join(" ");
        })"""
    )
    assert looks[0] != looks[5], "a sure and an unsure pass"
    assert looks[1] != looks[4], "a sure and an unsure contradiction"
    for number in (4, 5, 6):
        page.locator("#answer-text .badge").nth(number).click()
        assert "please look" in page.inner_text("#card .why")
    facts = page.locator("#card .facts").text_content() or ""
    assert "unsure, right with a probability of 0.70" in facts
    assert page.inner_text("#card .certain") == "unsure"
    page.locator("#answer-text .badge").nth(1).click()
    assert "please look" not in page.inner_text("#card .why")
    assert "1 contradicted, unsure" in page.inner_text("#legend")
    assert download(page, "sarif") == report("sarif")


def test_headline_says_that_no_error_is_sure(page: Page) -> None:
    checked(page, "The water was lukewarm [S1]. The pump stopped at 14:02 [S1].")
    assert page.inner_text("#headline") == "No sure errors: 1 of 2 checked claims needs a look"
    assert page.locator("#top.o-flagged.unsure").count() == 1


def test_report_with_texts_opens_as_it_was(page: Page, new_page: Callable[..., Page]) -> None:
    checked(page)
    saved = download(page, "texts")
    other = new_page()
    other.set_input_files(
        "#file-open",
        {"name": "check.json", "mimeType": "application/json", "buffer": saved.encode()},
    )
    other.wait_for_selector("#card .card")
    assert other.inner_text("#answer-text") == page.inner_text("#answer-text")
    assert lit(other) == lit(page)


def test_exported_page_needs_no_script(page: Page, browser: Browser, tmp_path: Path) -> None:
    checked(page)
    file = tmp_path / "report.html"
    file.write_text(download(page, "html"), encoding="utf-8")
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)  # type: ignore[arg-type]
    alone = context.new_page()
    alone.goto(file.as_uri())
    assert alone.locator(".card:visible").count() == 4
    assert alone.locator("button").count() == 0
    alone.locator("#answer-text .badge").first.click()
    assert alone.url.endswith("#c1")
    context.close()


def test_page_width_fits_a_phone(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    checked(page)
    assert selected(page) is None
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#answer-text .badge").nth(1).click()
    assert in_view(page, "#card .claim-text")
    page.locator("#card .close").click()
    assert selected(page) is None


STATES = ("compose", "example", "result", "why", "marked", "plain", "source", "history", "help")


@pytest.mark.parametrize(
    ("viewport", "scheme"),
    [(PHONE, "light"), (PHONE, "dark"), (WIDE, "dark"), ({"width": 2560, "height": 1300}, "light")],
)
def test_axe_finds_nothing(
    new_page: Callable[..., Page], viewport: dict[str, int], scheme: str
) -> None:
    pytest.importorskip("axe_playwright_python")
    import axe_playwright_python

    script = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")
    page = new_page(color_scheme=scheme, viewport=viewport)
    found = {"compose": violations(page, script)}
    page.click("#example-open")
    found["example"] = violations(page, script)
    page.click("#edit")
    checked(page, f"# Title\n\n- {ANSWER}\n\n| a | b |\n|---|---|\n| 1 | `2` |")
    page.locator("#answer-text .badge").nth(1).click()
    found["result"] = violations(page, script)
    page.click("#card .figures summary")
    found["why"] = violations(page, script)
    page.keyboard.press("w")
    found["marked"] = violations(page, script)
    page.keyboard.press("Escape")
    page.click("#format")
    found["plain"] = violations(page, script)
    page.select_option("#sort", "source")
    found["source"] = violations(page, script)
    page.click("#history-open")
    page.wait_for_selector("#history-list .kept")
    found["history"] = violations(page, script)
    page.keyboard.press("Escape")
    page.click("#help-open")
    found["help"] = violations(page, script)
    assert found == {state: [] for state in STATES}


def test_axe_finds_nothing_in_an_error(page: Page, service: Service) -> None:
    pytest.importorskip("axe_playwright_python")
    import axe_playwright_python

    script = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")
    service.fail = (503, {"title": "Down", "detail": "the backend is down"})
    fill(page)
    page.click("#submit")
    page.wait_for_selector("#problem .retry")
    assert violations(page, script) == []


def violations(page: Page, script: str) -> list[str]:
    page.evaluate(script)
    result = page.evaluate("axe.run()")
    return [
        f"{rule['impact']} {rule['id']}: {[node['target'] for node in rule['nodes']][:3]}"
        for rule in result["violations"]
    ]


HEIGHT = "(selector) => document.querySelector(selector).getBoundingClientRect().height"


def test_card_leaves_the_sources_two_thirds_and_has_its_figures_under_why(page: Page) -> None:
    checked(page)
    assert page.evaluate(HEIGHT, "#details") <= page.evaluate(HEIGHT, ".right") * 0.34
    page.keyboard.press("w")
    page.wait_for_selector(".marking .more")
    assert page.evaluate(HEIGHT, "#details") <= page.evaluate(HEIGHT, ".right") * 0.34
    assert not page.locator("#card .meters").is_visible()
    page.click("#card .figures summary")
    assert page.locator("#card .meters").is_visible()


def test_card_takes_a_third_of_a_phone(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport=PHONE)
    checked(page)
    page.locator("#answer-text .badge").nth(1).click()
    page.keyboard.press("w")
    page.wait_for_selector(".marking .more")
    assert page.evaluate(HEIGHT, "#details") <= PHONE["height"] * 0.34
    assert in_view(page, "#card .claim-text")
    assert in_view(page, "#answer-text .badge.on")


def test_example_is_there_before_anything_is_typed(page: Page) -> None:
    assert "Example" in page.inner_text("#example-title")
    first = page.locator("#example-claims .card").first
    assert first.locator(".compare mark.differs").all_inner_texts() == ["six", "eight"]
    assert page.input_value("#answer-in") == ""
    page.locator("#example-answer .badge").nth(1).click()
    assert selected(page) == "c2"
    assert page.url.endswith("?example#c2")
    assert "It carries eight lanes." in lit(page)
    assert page.locator(".for-example").is_visible()
    assert page.locator("#card .marking").count() == 0  # nobody's feedback is about the example
    page.go_back()
    page.wait_for_selector("html.composing")


def test_only_the_evidence_of_the_chosen_claim_is_coloured(page: Page) -> None:
    checked(page)
    grounds = """(on) => [...document.querySelectorAll("#sources .mark")]
      .filter((mark) => mark.matches(".on") === on)
      .map((mark) => getComputedStyle(mark).backgroundColor)"""
    assert set(page.evaluate(grounds, False)) == {"rgba(0, 0, 0, 0)"}
    assert any(ground != "rgba(0, 0, 0, 0)" for ground in page.evaluate(grounds, True))
    weak = page.locator("#sources .mark.on.weak").all_inner_texts()
    assert not any("restarted an hour later" in text for text in weak)


def test_claim_and_source_stand_side_by_side_with_what_differs(page: Page) -> None:
    checked(page, "The pump stopped at 15:02 at once [S1].")
    assert page.locator("#card .said mark.differs").all_inner_texts() == ["15:02", "once"]
    assert page.inner_text("#card .compare .place") == "S1, line 301"
    boxes = page.locator("#card .compare > div")
    left, right = boxes.nth(0).bounding_box(), boxes.nth(1).bounding_box()
    assert left
    assert right
    assert (left["y"], left["x"] < right["x"]) == (right["y"], True)


def test_sentence_that_decides_stands_beside_the_claim(page: Page) -> None:
    """The embedded verifier shows a nearest passage before the sentence with the other number."""
    page.goto(page.url + "?example#c2")
    page.wait_for_selector("#card .card")
    other = {"source": "notice.txt", "start": 0, "end": 63, "text": "It opened.", "role": "nearest"}
    chosen = page.evaluate(
        """async (other) => {
          const { deciding } = await import("/page/words.js");
          const shipped = await (await fetch("/page/example.json")).json();
          const claim = shipped.report.claims[1];
          const before = { ...claim, evidence: [other, ...claim.evidence] };
          const without = { ...before, quantity_difference: undefined };
          return [deciding(claim), deciding(before), deciding(without)];
        }""",
        other,
    )
    assert chosen == [0, 1, 1]


def test_flagged_claims_are_first_and_can_be_sorted_and_grouped(page: Page) -> None:
    checked(page)
    order = """() => [...document.querySelectorAll("#listed .entry, #listed .group .chip")]
      .map((each) => each.dataset.claims ?? each.textContent)"""
    assert page.evaluate(order) == ["c2", "c3", "c1", "c4"]
    page.select_option("#sort", "text")
    assert page.evaluate(order) == ["c1", "c2", "c3", "c4"]
    page.select_option("#sort", "source")
    assert page.evaluate(order) == ["S1", "c2", "c1", "S7", "c3", "no source", "c4"]


def test_search_stays_in_view_in_a_long_list(page: Page) -> None:
    checked(page, " ".join(f"Gate {n} stopped at 14:02 [S1]." for n in range(80)))
    page.evaluate("document.getElementById('claims').scrollTop = 3000")
    assert in_view(page, "#search")


def test_markdown_is_formatted_with_marks_exact_to_the_character(page: Page) -> None:
    answer = (
        "# Log\n\n- The **pump** 👩‍🚀 stopped at `14:02` [S1].\n- It *restarted* at once [S1].\n\n"
        "| Valve | State |\n|---|---|\n| new | held [S7] |\n\n<b>bold</b> is text."
    )
    checked(page, answer)
    marked = """(id) => [...document.querySelectorAll(`#answer-text .mark[data-claims~="${id}"]`)]
      .map((mark) => mark.textContent).join("")"""
    assert page.evaluate(marked, "c2").strip() == "The pump 👩‍🚀 stopped at 14:02 [S1]."
    assert page.evaluate(marked, "c3").strip() == "It restarted at once [S1]."
    assert page.locator("#answer-text strong").all_inner_texts() == ["pump"]
    assert page.locator("#answer-text td").count() == 2
    assert page.locator("#answer-text b").count() == 0
    assert "<b>bold</b>" in page.inner_text("#answer-text")
    page.click("#format")
    assert "**pump**" in page.inner_text("#answer-text")
    assert page.evaluate(marked, "c3").strip() == "It *restarted* at once [S1]."


def test_documents_are_read_by_the_service_and_keep_their_names(page: Page) -> None:
    html = "<h1>Log</h1><p>The pump stopped at 14:02.</p>"
    file = {"name": "log.html", "mimeType": "text/html", "buffer": html.encode()}
    page.fill("#answer-in", "The pump stopped at 14:02 [log.html].")
    page.set_input_files("#file-sources", [file])  # type: ignore[list-item]
    page.wait_for_selector(".source-in .file")
    page.click("#submit")
    page.wait_for_selector("#listed .entry.t-supported")
    assert page.inner_text(".source .chip") == "log.html"
    assert page.inner_text("#sources .text").startswith("Log")


def test_file_that_cannot_be_read_is_said_so_and_tried_again(page: Page) -> None:
    file = {"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 no"}
    page.set_input_files("#file-sources", [file])  # type: ignore[list-item]
    assert "cannot be read as PDF" in problem(page)


def test_page_has_at_most_six_sizes_of_type(page: Page) -> None:
    sizes = """() => [...new Set([...document.querySelectorAll("body *")]
      .filter((each) => each.checkVisibility() && each.textContent.trim())
      .map((each) => getComputedStyle(each).fontSize))]"""
    found = set(page.evaluate(sizes))
    checked(page, f"# Title\n\n{ANSWER} `code`")
    page.click("#card .figures summary")
    found |= set(page.evaluate(sizes))
    page.keyboard.press("?")
    found |= set(page.evaluate(sizes))
    assert len(found) <= 6, sorted(found)


def spread() -> tuple[str, str]:
    """Return 24 claims, and 150 kB of text with lines of all lengths, the evidence all over it."""
    filler = ["word " * (n * 7919 % 160) + "and so on.\n" for n in range(372)]
    for n in range(24):
        filler[n * 15 + n % 7] = f"Gate {n} stopped at 14:02 that day.\n"
    return " ".join(f"Gate {n} stopped at 14:02 [S1]." for n in range(24)), "".join(filler)


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_going_to_the_evidence_always_arrives(
    new_page: Callable[..., Page], viewport: dict[str, int]
) -> None:
    page = new_page(viewport=viewport, reduced_motion="no-preference")
    answer, text = spread()
    assert len(text) > 140_000
    checked(page, answer, {"S1": text})
    missed = []
    for number in (*range(0, 24, 5), *range(23, 0, -4), 12, 1):
        page.evaluate(CHOOSE, f"c{number + 1}")
        page.evaluate("document.querySelector('#card .place').click()")
        if not in_view(page, "#sources .mark.on"):
            missed.append(number)
    assert missed == []


CHOOSE = """(id) => {
  document.querySelector("#card .close")?.click();
  document.querySelector(`#answer-text .badge[data-claims="${id}"]`).click();
}"""


def test_it_says_why_claims_could_not_be_measured(page: Page, service: Service) -> None:
    service.unmeasured = True
    checked(page)
    assert "2 because the backend took too long" in page.inner_text("#totals")


def test_colours_can_be_chosen(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    page.click("#theme")
    assert page.evaluate(ground) != light
    page.reload()
    page.wait_for_selector(".source-in", state="attached")
    assert page.evaluate(ground) != light


def test_paper_has_the_flagged_claims(page: Page) -> None:
    checked(page)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#printed .card:visible").count() == 2
    assert not page.locator("#details").is_visible()


def large() -> tuple[str, dict[str, str]]:
    """Return an answer of 300 claims, and 1 MB of sources, each of its lines different."""
    words = [
        "anchor",
        "basin",
        "crane",
        "dock",
        "engine",
        "ferry",
        "gauge",
        "harbour",
        "inlet",
        "jetty",
        "keel",
        "lamp",
        "mast",
    ]
    lines = [
        f"Entry {n} 🙂 says "
        + " ".join(f"{words[n * k % 13]} {n * 7919 * k % 10_007}" for k in range(1, 32))
        + ".\n"
        for n in range(3_200)
    ]
    for n in range(300):
        lines[n * 10 + 7] = f"Gate {n} stopped at 14:02 that day.\n"
    fifth = len(lines) // 5
    texts = {f"S{k + 1}": "".join(lines[k * fifth : (k + 1) * fifth]) for k in range(5)}
    claims = [f"Gate {n} stopped at 14:02 [S{n // 60 + 1}]." for n in range(300)]
    return " ".join(claims), texts


def test_three_hundred_claims_and_a_megabyte_stay_fast(page: Page) -> None:
    """A key or a filter takes no longer than to lay out a list of 3,000 lines on this machine."""
    answer, texts = large()
    assert sum(len(text.encode()) for text in texts.values()) > 1_000_000
    checked(page, answer, texts)
    assert page.locator("#listed .entry").count() == 300
    assert page.locator("#sources .mark").count() >= 200
    took = page.evaluate(TIMED)
    for name in ("keys", "filters"):
        assert median(took[name]) < median(took["lists"]), took


TIMED = """() => {
  const timed = (act) => {
    const start = performance.now();
    act();
    document.body.getBoundingClientRect();
    return performance.now() - start;
  };
  const press = (key) => document.body.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true }));
  const list = () => {
    const made = document.createElement("ol");
    for (let n = 0; n < 3000; n += 1) {
      const line = document.createElement("li");
      line.textContent = `Line ${n} of a list`;
      made.append(line);
    }
    document.getElementById("card").append(made);
    made.getBoundingClientRect();
    made.remove();
  };
  const lists = [];
  for (let n = 0; n < 9; n += 1) lists.push(timed(list));
  const keys = [];
  for (let n = 0; n < 40; n += 1) keys.push(timed(() => press("j")));
  const filters = [];
  for (let n = 0; n < 6; n += 1)
    filters.push(timed(() => document.querySelector("#legend button").click()));
  const search = document.getElementById("search");
  for (const words of ["2", "29", "299", ""]) {
    search.value = words;
    filters.push(timed(() => search.dispatchEvent(new Event("input"))));
  }
  return { lists, keys, filters };
}"""
