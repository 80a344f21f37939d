from __future__ import annotations

import pytest

from veridical.composition import build_backend, build_verifier
from veridical.errors import BackendError, ConfigurationError
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate


@pytest.mark.spec("SPEC-08.27")
def test_the_default_backend_is_the_embedded_verifier() -> None:
    info = build_backend(Settings(), Settings().backend).info
    assert (info.name, info.model) == ("embedded", "verifier-v1")


def test_a_model_may_follow_the_name() -> None:
    assert build_backend(Settings(), "embedded:verifier-v1").info.model == "verifier-v1"


def test_an_unknown_model_is_a_named_error() -> None:
    with pytest.raises(BackendError, match="no-such-model"):
        build_backend(Settings(), "embedded:no-such-model")


def test_an_unknown_backend_is_named_and_the_installed_ones_listed() -> None:
    with pytest.raises(ConfigurationError, match="embedded"):
        build_verifier(Settings(), backend="oracle")


def test_a_backend_that_is_built_already_is_used_as_it_is() -> None:
    fake = FakeBackend(lambda _: fake_estimate(0.9))
    assert build_backend(Settings(), fake) is fake


@pytest.mark.parametrize("backend", [5, None, object()])
def test_what_is_neither_a_name_nor_a_backend_is_refused(backend: object) -> None:
    with pytest.raises(ConfigurationError, match="is a name or"):
        build_backend(Settings(), backend)
