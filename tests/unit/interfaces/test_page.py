"""The files of the page, as the service hands them out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from veridical.core.measurements import UnmeasuredReason
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Note, Status

pytest.importorskip("fastapi")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from veridical.interfaces.http import page
from veridical.interfaces.http.page import PAGE_POLICY, build_page_router
from veridical.pipeline.reports import templates
from veridical.pipeline.reports.formats import FORMATS

FOLDER, REPORTS = Path(page.__file__).parent, Path(templates.__file__).parent


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = FastAPI()
    app.include_router(build_page_router())
    with TestClient(app) as opened:
        yield opened


def test_policy_allows_own_files_only(client: TestClient) -> None:
    reply = client.get("/")
    assert reply.headers["content-security-policy"] == PAGE_POLICY
    assert "unsafe" not in PAGE_POLICY
    assert "http" not in PAGE_POLICY


def test_page_has_nothing_inline_and_names_no_other_host(client: TestClient) -> None:
    text = client.get("/").text
    assert re.search(r"<style|style=|\son\w+=|javascript:|https?://", text) is None
    assert re.findall(r"<script[^>]*>[^<]", text) == []


def test_every_file_is_served_and_every_served_file_is_there(client: TestClient) -> None:
    files = {path.name: path for path in FOLDER.iterdir() if path.suffix in {".js", ".css"}}
    files |= {name: REPORTS / name for name in templates.SHARED_MODULES}
    names = files.keys()
    for name, path in files.items():
        reply = client.get(f"/page/{name}")
        assert reply.text == path.read_text(encoding="utf-8")
        for imported in re.findall(r'from "\./([\w.]+)"', reply.text):
            assert imported in names
    assert client.get("/page/__init__.py").status_code == 404
    assert client.get("/page/../app.py").status_code == 404


def test_known_file_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/page/app.js")
    again = client.get("/page/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == PAGE_POLICY


def test_page_is_no_part_of_the_api(client: TestClient) -> None:
    assert client.get("/openapi.json").json()["paths"] == {}


def test_words_cover_everything_a_report_can_say(client: TestClient) -> None:
    words = json.loads(client.get("/page/words.json").content)
    unsure = {f"{status}_unsure" for status, row in STATUS_TABLE.items() if row.by_probability}
    assert {*words["looks"]} == {*Status, *unsure, "excluded"}
    assert {*words["urgency"]} == {*Status, *unsure, "excluded"}
    assert {*words["notes"]} == {*Note}
    assert {*words["unmeasured"]} == {*UnmeasuredReason}
    assert {"json", "html", *words["formats"]} == {*FORMATS}
