"""Rendering of audits in a terminal and on the page, for any content of the texts."""

from __future__ import annotations

import re
from dataclasses import replace

import anyio
import pytest
from rich.console import Console

from veridical.audit.auditing import AnswerDeriver, audit
from veridical.audit.render import render, to_html
from veridical.audit.values import TraceAudit
from veridical.core.measurements import Measurement, Query
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

EVIL = "<script>alert(1)</script>\x1b[31m {{ 7*7 }} \u202e end"


def stated(query: Query) -> Measurement:
    found = all(word.strip(".") in query.context for word in query.claim.split())
    return fake_estimate(0.95 if found else 0.02)


def audited(steps: list[object], answer: str = "The bridge opened.") -> TraceAudit:
    backend = FakeBackend(stated)
    trace = {"steps": steps, "answer": answer, "sources": {"S1": "The bridge opened in 1998."}}
    call = AnswerDeriver(backend)
    return anyio.run(lambda: audit(trace, Verifier(backend), executor=call))


FOUND = audited(
    [
        "The bridge opened in 1998.",
        {"claim": "The tower fell.", "cites": ["step3"]},
        "The bridge opened [step1].",
        f"It fell {EVIL}",
    ],
)


def printed(found: TraceAudit, encoding: str = "utf-8") -> str:
    console = Console(width=100, record=True, file=open("/dev/null", "w", encoding=encoding))  # noqa: SIM115, PTH123 -- the console owns it
    with console.capture() as capture:
        render(found, console)
    console.file.close()
    return capture.get()


def test_a_terminal_shows_conclusion_steps_faults_and_answer() -> None:
    text = printed(FOUND)
    assert "WARNING: a step cites a later one" in text
    assert "2 of 4 steps do not hold; the first is step2" in text
    assert "step3 is forward" in " ".join(text.split())
    assert "Answer: derivable" in text
    assert "The first step that does not hold" in text
    assert "\x1b[31m" not in text
    assert "\u202e" not in text


def test_a_poor_terminal_gets_ascii() -> None:
    assert printed(FOUND, "ascii").isascii()


def test_a_long_trace_says_how_much_of_it_is_not_shown() -> None:
    long = replace(FOUND, steps=FOUND.steps * 60)
    assert "The first 200 steps are shown, 40 are not" in printed(long)
    assert to_html(long).count("<article") == 241


def test_what_a_log_held_besides_is_said() -> None:
    counted = replace(FOUND, left_out={"tool_calls": 3, "image_url_parts": 1})
    for text in (printed(counted), to_html(counted)):
        assert "calls of tools, which assert nothing (3)" in text
        assert "image url parts (1)" in text


def test_the_page_shows_all_and_runs_nothing() -> None:
    page = to_html(FOUND)
    assert "<script" not in page
    assert "49" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).split("<main>")[0]
    assert "{{ 7*7 }}" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "cites step3: what comes later: a forward citation" in page
    assert "first that does not hold" in page
    assert "Derivable" in page
    assert re.search(r"default-src 'none'; style-src 'sha256-[\w+/=]+'", page.replace("&#39;", "'"))


@pytest.mark.parametrize("part", ["question", "answer"])
def test_the_page_does_without_what_is_not_known(part: str) -> None:
    assert "None" not in to_html(replace(FOUND, post_hoc=None, overall=None, **{part: None}))  # type: ignore[arg-type]
