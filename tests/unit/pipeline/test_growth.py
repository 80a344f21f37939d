"""Growth of the time of stages with the length of texts, in processor time.

A calibration loop in the same process tells how fast the machine is at the moment. Quadratic time
would be several times what is allowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from veridical import SyncVerifier, Verifier
from veridical.core.sources import as_sources
from veridical.pipeline.claims import extract_claims, split_sentences
from veridical.pipeline.evidence import Binder, Corpus
from veridical.pipeline.reports import Report
from veridical.pipeline.reports.formats import FORMATS
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.bound_claims import bind_claims

pytestmark = pytest.mark.slow

TIMES_AS_LONG, MOST = 4, 8.0
"""A text four times as long takes at most eight times as long; quadratic time would be sixteen."""

TEXTS: dict[str, Callable[[int], str]] = {
    "equal sentences": lambda n: "The bridge was opened to traffic in 1998. " * n,
    "equal lines": lambda n: "INFO worker-3 request finished in 41 ms with status 200\n" * n,
    "lines that differ": lambda n: "".join(
        f"INFO worker-{i} request finished in {i % 97} ms with status 200\n" for i in range(n)
    ),
    "headings": lambda n: "# The bridge opened in 1998\n\nIt has six lanes.\n\n" * n,
    "table": lambda n: "| name | year |\n| --- | --- |\n" + "| Harlow bridge | 1998 |\n" * n,
    "citations": lambda n: "".join(f"It has {i} lanes [S1:{i + 1}]. " for i in range(n)),
}
ANSWER = (
    "The bridge opened in 1998 [S1]. The request finished in 41 ms [S1:2-300]."
    " It has six lanes [S2]. The worker has status 200."
)


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return how many times as long the work takes for a size so many times as large."""
    found = []
    for each in (size, TIMES_AS_LONG * size):
        made = work(each)
        found.append(min(_calibrated(made) for _ in range(2)))
    return found[1] / found[0]


def _calibrated(work: Callable[[], object]) -> float:
    """Return the processor time of the work in turns of a loop."""
    before = _loop()
    started = time.process_time()
    work()
    taken = time.process_time() - started
    return taken / (before + _loop())


def _loop() -> float:
    started = time.process_time()
    sum(number * number for number in range(300_000))
    return time.process_time() - started


def extraction(text: str) -> Callable[[], object]:
    return lambda: extract_claims(text, known_ids=["S1"])


def corpus(text: str) -> Callable[[], object]:
    return lambda: Corpus(as_sources({"S1": text}), split_sentences)


def binding(text: str) -> Callable[[], object]:
    sources = as_sources({"S1": text, "S2": text})
    built = Corpus(sources, split_sentences)
    claims = extract_claims(ANSWER, known_ids=sources).claims
    return lambda: bind_claims(claims, sources, Binder(built, windows=0))


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("stage", [extraction, corpus, binding])
def test_a_stage_takes_time_in_proportion_to_the_text(
    stage: Callable[[str], Callable[[], object]], kind: str
) -> None:
    assert growth(lambda size: stage(TEXTS[kind](size)), 500) < MOST


def report(claims: int) -> Report:
    answer = "".join(f"The bridge {n} has {n} lanes [S{n % 50}]. " for n in range(claims))
    sources = {f"S{n}": f"The bridge {n} has {n} lanes. It is long." for n in range(50)}
    backend = FakeBackend(lambda query: fake_estimate(len(query.claim) % 10 / 10))
    with SyncVerifier(Verifier(backend)) as verifier:
        return verifier.check(answer, sources)


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_takes_time_in_proportion_to_its_claims(form: str) -> None:
    def work(claims: int) -> Callable[[], object]:
        found = report(claims)
        found.render(form)  # templates are read with the first
        return lambda: found.render(form)

    assert growth(work, 50) < MOST


def test_claims_take_time_in_proportion_to_their_number() -> None:
    sources = as_sources({f"S{n}": f"The bridge {n} has {n} lanes." for n in range(100)})

    def work(count: int) -> Callable[[], object]:
        answer = "".join(f"The bridge {n} has {n} lanes [{n % 100}]. " for n in range(count))

        def prepared() -> None:
            claims = extract_claims(answer, known_ids=sources).claims
            bind_claims(claims, sources, Binder(Corpus(sources, split_sentences), windows=0))

        return prepared

    assert growth(work, 100) < MOST


def test_sources_take_time_in_proportion_to_their_number() -> None:
    def work(count: int) -> Callable[[], object]:
        sources = as_sources({f"S{n}": f"The bridge {n} has {n} lanes." for n in range(count)})
        claims = extract_claims(ANSWER, known_ids=sources).claims
        return lambda: bind_claims(
            claims, sources, Binder(Corpus(sources, split_sentences), windows=0)
        )

    assert growth(work, 300) < MOST
