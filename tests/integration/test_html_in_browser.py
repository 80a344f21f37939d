"""The HTML page in a real browser: clicking, keys, deep links, and a clean console."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from veridical.core.assessment import Outcome, Summary
from veridical.core.measurements import BackendInfo, Estimate, Estimator
from veridical.core.policy import Policy
from veridical.core.types import Citation, Claim, Source, Span
from veridical.core.verdicts import Budget, EvidenceSpan, Role, Status, Verdict
from veridical.pipeline.reports.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.spec("SPEC-16.34")]

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

FILLER = "".join(f"Line {n} of the log says nothing that matters.\n" for n in range(300))
NEEDLE = "The pump stopped at 14:02."
ANSWER = (
    "👩‍🚀 The pump stopped at 14:02 [S1]. It restarted at once [S1]. "
    "<img src=x onerror=alert(1)> The valve held [S7]."
)
SOURCES = {
    "S1": Source("S1", FILLER + NEEDLE + "\n" + FILLER),
    "S2": Source("S2", "</script><script>alert(1)</script> It restarted an hour later. " + FILLER),
}


def verdict(number: int, text: str, status: Status, source: str, quote: str) -> Verdict:
    start = SOURCES[source].text.index(quote)
    at = ANSWER.index(text)
    role = Role.CONTRADICTS if status is Status.CONTRADICTED else Role.SUPPORTS
    p = Estimate(0.9, 0.05, 0.05, 0.8, 0.95, Estimator.CROSS_ENCODER, "m", "f")
    return Verdict(
        Claim(f"c{number}", text, Span(at, at + len(text)), number),
        status,
        "a_rule",
        (Citation("S1", Span(at, at), "S1"),),
        p,
        p,
        Budget(0.95, 0.3, 0.0, 0.3),
        0.0,
        evidence=(EvidenceSpan(source, Span(start, start + len(quote)), quote, role),),
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    claims = (
        verdict(1, "The pump stopped at 14:02", Status.SUPPORTED, "S1", NEEDLE),
        verdict(2, "It restarted at once", Status.CONTRADICTED, "S2", "It restarted an hour later"),
        verdict(3, "The valve held", Status.PHANTOM_CITATION, "S1", "The pump"),
    )
    counts = {claim.status: 1 for claim in claims}
    summary = Summary(Outcome.FLAGGED, 3, 3, 3, {}, counts, 0.3, 0.9, 12.0)
    backend = BackendInfo("fake", "m", Estimator.CROSS_ENCODER, "f")
    report = Report(ANSWER, SOURCES, claims, summary, Policy(), backend, question="What <b>?")
    file: Path = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(report.to_html(), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open a wide page that collects console messages: there must be none."""
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: said.append(dialog.message))
    opened.on("request", lambda request: said.append(request.url) if http(request.url) else None)
    yield opened
    context.close()
    assert said == []


def http(url: str) -> bool:
    return url.startswith(("http", "ws"))


def selected(page: Page) -> str | None:
    return page.evaluate("document.querySelector('.card.on')?.id ?? null")


def lit(page: Page) -> str:
    return "".join(page.locator(".sources .mark.on").all_inner_texts())


def in_view(page: Page, selector: str) -> bool:
    return page.evaluate(
        """(selector) => {
          const box = document.querySelector(selector).getBoundingClientRect();
          const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
          return hit !== null && hit.closest(selector) !== null;
        }""",
        selector,
    )


def test_clicking_a_claim_shows_its_evidence(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_text("The pump stopped at 14:02").first.click()
    assert selected(page) == "c1"
    assert lit(page) == NEEDLE
    assert in_view(page, ".sources .mark.on")
    assert in_view(page, ".card.on .claim-text")
    assert page.url.endswith("#c1")


def test_first_flagged_claim_is_open_at_the_start(page: Page, address: str) -> None:
    page.goto(address)
    assert selected(page) == "c2"
    assert in_view(page, ".sources .mark.on")


def test_deep_link_opens_its_claim(page: Page, address: str) -> None:
    page.goto(f"{address}#c1")
    assert selected(page) == "c1"
    assert in_view(page, ".sources .mark.on")
    page.evaluate("location.hash = '#c2'")
    page.wait_for_function("document.querySelector('.card.on')?.id === 'c2'")
    assert lit(page) == "It restarted an hour later"


def test_keys_walk_through_the_claims(page: Page, address: str) -> None:
    page.goto(f"{address}#c1")
    walked = []
    for key in ("j", "j", "j", "k", "f", "Escape"):
        page.keyboard.press(key)
        walked.append(selected(page))
    assert walked == ["c2", "c3", "c1", "c3", "c2", None]


def test_tab_and_enter_reach_a_claim(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("#answer").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "Claim c1: supported, unsure"
    page.keyboard.press("Enter")
    assert selected(page) == "c1"
    page.keyboard.press("ArrowDown")
    assert selected(page) == "c2"


def test_shared_evidence_cycles_through_its_claims(page: Page, address: str) -> None:
    page.goto(f"{address}#c1")
    shared = page.locator(".sources .mark", has_text="The pump").first
    shared.click()
    assert selected(page) == "c3"
    shared.click()
    assert selected(page) == "c1"


def test_evidence_link_scrolls_back_to_its_place(page: Page, address: str) -> None:
    page.goto(f"{address}#c1")
    page.evaluate("document.getElementById('sources').scrollTop = 0")
    assert not in_view(page, ".sources .mark.on")
    page.locator(".card.on .place").click()
    assert in_view(page, ".sources .mark.on")


def test_page_width_fits_a_phone(page: Page, address: str) -> None:
    page.set_viewport_size(PHONE)
    page.goto(address)
    assert selected(page) is None
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#answer-text .badge").nth(1).click()
    assert in_view(page, ".card.on .claim-text")
    assert in_view(page, "#answer-text .badge.on")
    page.locator(".card.on .close").click()
    assert selected(page) is None


def test_page_reads_without_scripts(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator(".card:visible").count() == 3
    page.locator("#answer-text .badge").first.click()
    assert page.url.endswith("#c1")
    context.close()


MARKDOWN = """# The log

- **The pump** stopped at *14:02* [S1].
- The [site](javascript:alert(1)) and <https://evil.example/x> say so.

| Fact | Value |
|---|---|
| Restarted | `at once` **today.** |

> ![chart](https://evil.example/p.png) The valve <img src=x onerror=alert(1)> held.

```html
<script>alert(1)</script>
```
"""
PARTS = (
    "**The pump** stopped at *14:02* [S1].",
    "The [site]",
    "| Restarted | `at once` **today.**",
)


@pytest.fixture
def drawn(page: Page, tmp_path: Path) -> Page:
    """Open the report on a Markdown answer that holds active markup."""
    given = [verdict(number, "The pump", Status.SUPPORTED, "S1", NEEDLE) for number in range(1, 4)]
    claims = []
    for one, part in zip(given, PARTS, strict=True):
        at = MARKDOWN.index(part)
        claims.append(replace(one, claim=replace(one.claim, span=Span(at, at + len(part)))))
    summary = Summary(Outcome.GROUNDED, 3, 3, 3, {}, {Status.SUPPORTED: 3}, 0.0, 0.9, 12.0)
    backend = BackendInfo("fake", "m", Estimator.CROSS_ENCODER, "f")
    file = tmp_path / "report.html"
    report = Report(MARKDOWN, SOURCES, tuple(claims), summary, Policy(), backend)
    file.write_text(report.to_html(), encoding="utf-8")
    page.goto(file.as_uri())
    return page


def test_markdown_of_the_answer_is_drawn(drawn: Page) -> None:
    shown = {
        "p.md-heading": ["The log"],
        "li strong": ["The pump"],
        "li em": ["14:02"],
        "th": ["Fact", "Value"],
        "td": ["Restarted", "at once today."],
        "pre code": ["<script>alert(1)</script>"],
    }
    texts = {tag: drawn.locator(f"#answer-text {tag}").all_text_contents() for tag in shown}
    assert texts == shown


def test_marks_and_badges_stand_inside_the_markdown(drawn: Page) -> None:
    marks = {n: "".join(drawn.locator(f"#answer-text .mark[href='#c{n}']").all_text_contents())
             for n in (1, 2, 3)}  # fmt: skip
    assert marks == {
        1: "The pump stopped at 14:02 [S1].",
        2: "The site",
        3: "Restartedat once today.",
    }
    places = drawn.locator("#answer-text .badge").evaluate_all(
        "all => all.map((badge) => badge.closest('li, td, blockquote').textContent)"
    )
    assert places == [
        "The pump stopped at 14:02 [S1].",
        "The site and https://evil.example/x say so.",
        "at once today.",
    ]
    drawn.locator("#answer-text em .mark").click()
    assert selected(drawn) == "c1"


def test_nothing_in_the_markdown_becomes_active(drawn: Page) -> None:
    links = drawn.locator("#answer-text a").evaluate_all(
        "all => all.map(({ hash, href }) => [hash, href])"
    )
    assert all(target and href.startswith("file:") for target, href in links)
    assert drawn.locator("#answer-text :is(img, script, iframe, [src], [onerror])").count() == 0
    assert "<img src=x onerror=alert(1)>" in drawn.locator("#answer-text").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser: Browser, address: str, scheme: str) -> None:
    context = browser.new_context(viewport=WIDE, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    ratios = page.evaluate(CONTRAST, [*Status])
    context.close()
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


CONTRAST = """(statuses) => {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  const luminance = (hex) => {
    const full = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
    const [r, g, b] = full.match(/[0-9a-f]{2}/gi).map((pair) => {
      const c = parseInt(pair, 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const result = {};
  for (const tone of statuses) {
    result[tone] = ratio(value(`--${tone}`), value(`--${tone}-tint`));
    result[`text on ${tone}`] = ratio(value("--ink"), value(`--${tone}-tint`));
  }
  for (const name of ["ink", "soft", "excluded"])
    for (const ground of ["bg", "panel"])
      result[`${name} on ${ground}`] = ratio(value(`--${name}`), value(`--${ground}`));
  return result;
}"""
