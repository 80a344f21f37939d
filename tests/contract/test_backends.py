from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest

from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import Backend
from veridical.pipeline.inference import classify
from veridical.pipeline.inference.cascade import Cascade
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.wrappers import wrap
from veridical.testing import _PROBES, FAKE, FakeBackend, check_backend, fake_estimate

LARGE = BackendInfo("large", "l1", Estimator.LOGPROBS, "bbb")


def _cascade() -> Cascade:
    """Return a cascade of the real verifier, and of another that estimates in another way."""
    answer = replace(fake_estimate(0.9), estimator=Estimator.LOGPROBS)
    return Cascade(EmbeddedVerifier(), FakeBackend(lambda _: answer, LARGE))


def _wrapped(backend: Backend) -> Backend:
    """Return a backend in all wrappers."""
    return wrap(
        backend,
        cache=":memory:",
        deadline_s=600.0,
        attempts=2,
        retry_wait_s=0.001,
        concurrency=2,
        max_cost_usd=1.0,
        price=lambda _: 0.0,
        breaker_failures=100,
    )


BACKENDS: dict[str, Callable[[], Backend]] = {
    "embedded": EmbeddedVerifier,
    "cascade": _cascade,
    "a wrapped fake": lambda: _wrapped(FakeBackend(lambda _: fake_estimate(0.9))),
    "a wrapped cascade": lambda: _wrapped(_cascade()),
    "fake": lambda: FakeBackend(lambda _: fake_estimate(0.9)),
    "failing": lambda: FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT)),
}


@pytest.mark.spec("SPEC-08.28")
@pytest.mark.spec("SPEC-08.29")
@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_keeps_the_promises_of_the_port(name: str) -> None:
    backend = BACKENDS[name]()
    assert isinstance(backend, Backend)
    anyio.run(check_backend, backend)


NAMES = ("contradiction", "entailment", "neutral")


def _found_in(*texts: str) -> list[float]:
    """Return the classes of a claim, the last line, by a search for it in the text before it."""
    context, _, claim = "\n".join(texts).rpartition("\n")
    return [0.1, 0.8, 0.1] if claim.rstrip(".") in context else [0.2, 0.1, 0.7]


@pytest.mark.spec("SPEC-08.28")
@pytest.mark.parametrize(
    ("kind", "options"),
    [("tei", {}), ("vllm", {"template": "{context}\n{claim}", "labels": NAMES})],
)
@pytest.mark.parametrize("texts", [1, 2, 32])
def test_a_classifier_behind_a_server_keeps_them_too(
    kind: str, options: dict[str, object], texts: int, classifier_server: Callable[..., Any]
) -> None:
    server = classifier_server(kind, NAMES, _found_in)
    backend = classify.create(server.url, texts_per_request=texts, **options)  # type: ignore[arg-type]
    anyio.run(check_backend, backend)
    anyio.run(check_backend, _wrapped(backend))
    measured = anyio.run(backend.estimate, _PROBES)
    shares = [m.supported if isinstance(m, Estimate) else m.reason for m in measured]
    assert shares[:2] == pytest.approx([0.8, 0.1])
    assert shares[-1] is UnmeasuredReason.CONTEXT_TOO_LONG


def test_the_cascade_above_gives_estimates_of_both() -> None:
    measured = anyio.run(_cascade().estimate, _PROBES)
    found = {m.estimator for m in measured if isinstance(m, Estimate)}
    assert found == {Estimator.CROSS_ENCODER, Estimator.LOGPROBS}


class _Short(FakeBackend):
    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        return (await super().estimate(queries))[1:]


class _Moody(FakeBackend):
    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        share = 1 / (1 + len(self.queries))
        self.queries += queries
        return [fake_estimate(share)] * len(queries)


@pytest.mark.parametrize(
    "broken",
    [
        _Short(lambda _: fake_estimate(0.9)),
        _Moody(lambda _: fake_estimate(0.9)),
        FakeBackend(lambda _: 0.9),  # type: ignore[arg-type, return-value]
        FakeBackend(lambda _: replace(fake_estimate(0.9), model="")),
        FakeBackend(lambda _: fake_estimate(0.9), info=replace(FAKE, estimator="sampling")),  # type: ignore[arg-type]
    ],
)
def test_a_backend_that_breaks_a_promise_is_found_out(broken: FakeBackend) -> None:
    with pytest.raises(AssertionError, match="breaks a promise"):
        anyio.run(check_backend, broken)


def test_the_fake_remembers_what_it_was_asked() -> None:
    fake = FakeBackend(lambda _: fake_estimate(0.5))
    query = Query("claim", "context")
    anyio.run(fake.estimate, [query])
    assert fake.queries == [query]
