"""Settings of the process that serves: its address, its shutdown, its logs and its spans."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import anyio
import pytest

from veridical.core.hashing import short_hash
from veridical.errors import ConfigurationError
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.server import _config, _sinks, run
from veridical.settings import Settings
from veridical.telemetry import ClaimsVerified, Event
from veridical.telemetry.logs import JsonFormatter, TextFormatter
from veridical.testing import FakeBackend, fake_estimate

pytestmark = pytest.mark.spec("SPEC-08.34")


class Listening(Exception):  # noqa: N818 -- no error: the end of a test
    """Raised when the service listens, so that it ends."""


def stop(address: str) -> None:
    raise Listening(address)


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Put the handlers of the process back."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = before, level


@pytest.fixture
def port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        found: int = free.getsockname()[1]
    return found


def test_it_listens_where_the_settings_say(port: int) -> None:
    with pytest.raises(Listening, match=f"^http://127.0.0.1:{port}$"):
        run(Settings.load(server={"port": port}), listening=stop)


def test_a_public_address_needs_a_key(port: int) -> None:
    server = {"host": "0.0.0.0", "port": port}  # noqa: S104 -- the point of it
    with pytest.raises(ConfigurationError, match=r"listen on 0\.0\.0\.0"):
        run(Settings.load(server=server), listening=stop)
    with pytest.raises(Listening, match=r"http://0\.0\.0\.0"):
        run(Settings.load(server={**server, "api_key": "k" * 16}), listening=stop)


def test_a_shutdown_takes_as_long_as_the_settings_say() -> None:
    settings = Settings.load(server={"shutdown_s": 7.0})
    assert _config(create_app(settings), settings).timeout_graceful_shutdown == 7


@pytest.mark.parametrize(("style", "kind"), [("json", JsonFormatter), ("text", TextFormatter)])
def test_logs_have_the_format_of_the_settings(style: str, kind: type, port: int) -> None:
    with pytest.raises(Listening):
        run(Settings.load(server={"port": port}, telemetry={"logs": style}), listening=stop)
    assert type(logging.getLogger().handlers[-1].formatter) is kind


@pytest.mark.parametrize("level", ["info", "debug"])
def test_logs_have_the_level_of_the_settings(level: str, port: int) -> None:
    with pytest.raises(Listening):
        run(Settings.load(server={"port": port}, telemetry={"level": level}), listening=stop)
    ours = logging.getLogger("veridical.events").isEnabledFor(logging.DEBUG)
    logging.getLogger("veridical").setLevel(logging.NOTSET)
    assert ours is (level == "debug")
    assert not logging.getLogger("openai").isEnabledFor(logging.DEBUG)


def test_hashes_of_claims_have_the_key_of_the_settings(caplog: pytest.LogCaptureFixture) -> None:
    """In the service's events, and in the log of the library."""
    heard: list[Event] = []

    class Sink:
        def take(self, event: Event, /) -> None:
            heard.append(event)

    settings = Settings.load(telemetry={"hash_key": "a key of ours"})
    backend = FakeBackend(lambda _: fake_estimate(0.02, 0.95))
    app = create_app(settings, backend=backend, sinks=[Sink()])
    caplog.set_level(logging.INFO, "veridical.verifier")
    claim, sources = "It has six lanes.", {"S1": "It has eight lanes."}
    anyio.run(app.state.service.check, claim, sources)
    anyio.run(app.state.service.verifier.check, claim, sources)
    (event,) = [event for event in heard if isinstance(event, ClaimsVerified)]
    expected = short_hash(claim, "a key of ours")
    assert [flag.claim_hash for flag in event.flags] == [expected]
    assert {record.fields["claim_hash"] for record in caplog.records} == {expected}  # type: ignore[attr-defined]


@pytest.mark.parametrize("otel", [False, True])
def test_spans_are_made_only_if_that_is_switched_on(otel: bool) -> None:
    if otel:
        pytest.importorskip("opentelemetry")
    assert bool(_sinks(Settings.load(telemetry={"otel": otel}))) is otel


@pytest.mark.parametrize("batch", [1, 32])
def test_batches_have_the_size_of_the_settings(batch: int) -> None:
    service = create_app(Settings.load(server={"batch": batch})).state.service
    assert service._batching._most == batch
