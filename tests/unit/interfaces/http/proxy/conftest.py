"""Proxy over real sockets, in front of a scripted upstream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from _upstream import Upstream, serving
from veridical import Verifier
from veridical.core.measurements import Measurement, Query
from veridical.settings import Settings
from veridical.settings.service_blocks import ProxySettings
from veridical.testing import FakeBackend, fake_estimate
from veridical.wiring.build import build_verifier


def judge(query: Query) -> Measurement:
    """Six lanes are contradicted; the rest is supported wherever there is evidence."""
    if "six" in query.claim:
        return fake_estimate(0.02, 0.95)
    return fake_estimate(0.97 if "1998" in query.context else 0.1)


@pytest.fixture
def start() -> Iterator[Callable[..., str]]:
    """Start the proxy in front of an upstream; its address with `/v1`."""
    from fastapi import FastAPI

    from veridical.interfaces.http.proxy import build_proxy_router

    with ExitStack() as stack:

        def begin(upstream: Upstream | None, verifier: Any = None, **more: Any) -> str:  # noqa: ANN401
            if upstream is not None:
                more["upstream_url"] = stack.enter_context(serving(upstream.app())) + "/v1"
            forward = more.pop("forward_authorization", True)
            said, telemetry = more.pop("settings", None), more.pop("telemetry", None)
            settings: Settings | ProxySettings = ProxySettings(**more)
            if said is not None:
                settings = Settings.model_validate({**said, "proxy": more})
                backend = verifier or FakeBackend(judge)
                verifier = build_verifier(settings, backend=backend)
            app = FastAPI()
            router = build_proxy_router(
                verifier or Verifier(FakeBackend(judge)),
                settings,
                forward_authorization=forward,
                telemetry=telemetry,
            )
            app.include_router(router)
            return stack.enter_context(serving(app)) + "/v1"

        yield begin
