"""The files of the page: what they may do, what they say, and the example."""

from __future__ import annotations

import json
import re
import sys
from importlib.resources import files
from pathlib import Path

import anyio
import httpx
import pytest
from fastapi import FastAPI

from veridical.core.status_table import STATUS_TABLE
from veridical.interfaces.http.page import PAGE_POLICY, build_page_router, page_files, vocabulary
from veridical.pipeline.reports.templates import SHARED_MODULES

ROOT = Path(__file__).parents[4]
PAGE = files("veridical.interfaces.http.page")
REPORTS = files("veridical.pipeline.reports")
SCRIPTS = [name for name in page_files() if name.endswith(".js")]


def source(name: str) -> str:
    package = REPORTS if name in SHARED_MODULES else PAGE
    return package.joinpath(name).read_text("utf-8")


def test_every_file_is_served_with_the_policy() -> None:
    app = FastAPI()
    app.include_router(build_page_router())

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
            for name in page_files():
                reply = await client.get(f"/page/{name}")
                assert reply.headers["content-security-policy"] == PAGE_POLICY
                assert reply.text == source(name)
                known = {"if-none-match": reply.headers["etag"]}
                assert (await client.get(f"/page/{name}", headers=known)).status_code == 304

    anyio.run(ask)


def test_every_module_that_is_imported_is_served() -> None:
    imported = {
        name for script in SCRIPTS for name in re.findall(r'from "\./(.+?)"', source(script))
    }
    assert imported <= set(page_files())
    assert set(SCRIPTS) - imported == {"app.js"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_no_markup_of_texts_and_stay_short(name: str) -> None:
    script = source(name)
    assert not re.search(
        r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|\beval\(", script
    )
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", script.replace("https?:\\/\\/", ""))
    assert script.count("\n") <= 300


def test_every_element_that_a_script_asks_for_is_there() -> None:
    made = set(re.findall(r'id="([\w-]+)"', source("index.html")))
    asked = {
        name for script in SCRIPTS for name in re.findall(r'byId\("([\w-]+)"\)', source(script))
    }
    assert asked <= made


def test_words_have_a_look_for_every_status() -> None:
    words = json.loads(vocabulary())
    assert {status.value for status in STATUS_TABLE} <= words["looks"].keys()
    assert set(words["urgency"]) == words["looks"].keys()
    assert words["looks"]["contradicted"]["meaning"]


@pytest.mark.slow
def test_example_is_what_the_embedded_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import page_example

    now, shipped = page_example.example(), json.loads(page_example.FILE.read_text("utf-8"))
    sys.modules.pop("page_example")
    assert now["answer"] == shipped["answer"]
    assert now["sources"] == shipped["sources"]
    told = ("id", "text", "span", "status", "rule", "reason", "certainty", "citations", "evidence")
    for ours, theirs in zip(now["report"]["claims"], shipped["report"]["claims"], strict=True):
        assert {name: ours[name] for name in told} == {name: theirs[name] for name in told}
