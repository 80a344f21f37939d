"""Interactive API documentation in a real browser, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from _upstream import serving
from veridical.interfaces.http.app import create_app
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture
def address() -> Iterator[str]:
    settings = Settings.load(server={"docs": True, "host": "127.0.0.1"})
    with serving(create_app(settings, backend=FakeBackend(lambda _: fake_estimate(0.9)))) as found:
        yield found


def test_every_route_is_listed_and_nothing_is_asked_elsewhere(
    browser: Browser, address: str
) -> None:
    elsewhere: list[str] = []
    page = browser.new_page()
    page.on("request", lambda one: one.url.startswith(address) or elsewhere.append(one.url))
    page.goto(f"{address}/docs")
    page.wait_for_selector(".opblock-summary-path")
    listed = page.locator(".opblock-summary-path").count()
    described = page.request.get(f"{address}/openapi.json").json()["paths"]
    operations = sum(map(len, described.values()))
    page.close()
    assert (listed, elsewhere) == (operations, [])
