"""Stages beside their bare limits, growth with claims and callers, and one call before and after.

**Stages.** Each runs in a process of its own, on one thread, in turns with the library that does
its bare work on the same data: the model beside an ONNX session that gets the same pairs as
tokens, fuzzy quotes beside rapidfuzz on the same strings, the cache beside sqlite3 with the same
rows and journal, claim extraction beside nupunkt's sentences, the index of sources beside bm25s on
the same words. Peak: of the process, with Python and the data.

**Claims.** An answer against three sources of 2,000 words, by the embedded verifier; for the
longest, by a fake backend, so that what is not the model shows.

**Callers.** Tasks that check answers of ten claims with one verifier at once.

**One call.** With `--before DIR`, the `src` of another commit: ten calls of `verify` and one
of `veridical.check` in one process, time and function calls of all threads, in turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from _texts import case, long_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 5
CLAIMS = (10, 100, 1_000)
MANY_CLAIMS = (2_400, 4_800, 9_600)
CALLERS = (1, 8, 32)
ANSWERS = 32
ENTRIES, BATCH = 5_000, 10


# --- stages ----------------------------------------------------------------------------------


def pairs() -> tuple[list[Any], list[list[int]]]:
    """Return the queries of an answer of ten claims, and their tokens."""
    from _common import encode, recorded

    text = case()
    batches = recorded(text.answer, text.sources)
    return [q for batch in batches for q in batch], [
        ids for batch in batches for ids in encode(batch)
    ]


def model() -> Callable[[], object]:
    """Return the scoring of the pairs of an answer by the embedded verifier."""
    from veridical.pipeline.inference.embedded import create

    backend, (queries, _) = create(threads=1), pairs()
    return lambda: asyncio.run(backend.estimate(queries))


def bare_model() -> Callable[[], object]:
    """Return runs of the bare session on the same pairs, already cut into tokens."""
    import numpy as np

    from _common import bare_session

    session, (_, tokens) = bare_session(1), pairs()

    def run() -> None:
        for ids in tokens:
            inputs = np.asarray([ids], dtype=np.int64)
            feed = {"input_ids": inputs, "attention_mask": np.ones_like(inputs)}
            session.run(["logits"], feed)

    return run


def quotes() -> tuple[list[str], str]:
    """Return quotes with a changed word, and the transcript."""
    transcript = long_source(60_000)
    starts = range(1_000, 50_000, 1_000)
    return [
        f"{transcript[n : n + 60]} so {transcript[n + 60 : n + 120]}" for n in starts
    ], transcript


def fuzzy() -> Callable[[], object]:
    """Return the search for the quotes."""
    from veridical.quotes.matching import ground_quotes

    sought, transcript = quotes()
    return lambda: ground_quotes(sought, transcript, mode="fuzzy")


def bare_fuzzy() -> Callable[[], object]:
    """Return rapidfuzz's alignments of the same strings."""
    from rapidfuzz import fuzz

    from veridical.core.text import normalise

    sought, transcript = quotes()
    normal, text = [normalise(one).text for one in sought], normalise(transcript).text
    return lambda: [fuzz.partial_ratio_alignment(one, text, score_cutoff=85) for one in normal]


def entries() -> Iterator[dict[bytes, bytes]]:
    """Yield the cached estimates of calls."""
    for start in range(0, ENTRIES, BATCH):
        yield {n.to_bytes(32, "big"): b"e" * 120 for n in range(start, start + BATCH)}


def cache() -> Callable[[], object]:
    """Return the writing and reading of estimates."""
    from veridical.pipeline.inference.wrappers.stores import SqliteStore

    async def run(path: Path) -> None:
        store = SqliteStore(path)
        for one in entries():
            await store.put(one, ttl_s=3600)
        for one in entries():
            await store.get(list(one), ttl_s=3600)

    return lambda: in_folder(lambda path: asyncio.run(run(path)))


def bare_cache() -> Callable[[], object]:
    """Return the same with sqlite3: a transaction for each call."""

    def run(path: Path) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("CREATE TABLE e (k BLOB PRIMARY KEY, t REAL, v BLOB) WITHOUT ROWID")
        connection.execute("CREATE INDEX e_t ON e (t)")
        for one in entries():
            connection.execute("BEGIN")
            connection.executemany(
                "INSERT OR REPLACE INTO e VALUES (?, ?, ?)", [(k, 1.0, v) for k, v in one.items()]
            )
            connection.execute("COMMIT")
        for one in entries():
            for key in one:
                connection.execute("SELECT v FROM e WHERE k = ? AND t > ?", (key, 0)).fetchone()
        connection.close()

    return lambda: in_folder(run)


def in_folder(run: Callable[[Path], object]) -> None:
    """Run with a file that does not exist yet."""
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder, "cache.db"))


def claims() -> Callable[[], object]:
    """Return claim extraction from an answer of 200 kB."""
    from veridical.pipeline.claims import extract_claims

    text = long_source(200_000)
    return lambda: extract_claims(text)


def bare_claims() -> Callable[[], object]:
    """Return nupunkt's sentences of the same text."""
    from nupunkt import sent_tokenize

    text = long_source(200_000)
    return lambda: sent_tokenize(text)


def index() -> Callable[[], object]:
    """Return windows and index of a source of 200 kB; it is cut into sentences, too."""
    from veridical.core.sources import as_sources
    from veridical.pipeline.claims import split_sentences
    from veridical.pipeline.evidence import Corpus

    sources = as_sources({"S1": long_source(200_000)})
    return lambda: Corpus(sources, split_sentences)


def bare_index() -> Callable[[], object]:
    """Return bm25s on the words of the same sentences, already cut."""
    import bm25s

    from veridical.pipeline.claims import split_sentences
    from veridical.pipeline.evidence.tokens import words

    text = long_source(200_000)
    tokens = [words(text[span.start : span.end]) for span in split_sentences(text)]

    def run() -> None:
        bm25s.BM25().index(tokens, show_progress=False)

    return run


STAGES: dict[
    str, tuple[str, Callable[[], Callable[[], object]], Callable[[], Callable[[], object]]]
] = {
    "model, 28 pairs": ("ONNX session", model, bare_model),
    "fuzzy quotes, 49 in 60 kB": ("rapidfuzz", fuzzy, bare_fuzzy),
    "cache, 5,000 estimates": ("sqlite3", cache, bare_cache),
    "claims, 200 kB": ("nupunkt", claims, bare_claims),
    "index, 200 kB": ("bm25s", index, bare_index),
}


def run_stage(name: str, bare: str) -> dict[str, float]:
    """Return the processor ms of a stage or of its limit in this process, and the peak in MB."""
    run = STAGES[name][2 if bare == "bare" else 1]()
    run()
    started = process_time()
    for _ in range(3):
        run()
    return {"ms": (process_time() - started) / 3 * 1000, "mb": peak_mb()}


def stage_lines() -> list[str]:
    """Measure all stages in turns; return their table."""
    from _common import table

    rows = []
    for name, (library, _, _) in STAGES.items():
        found = [[child("stage", name, which) for which in ("own", "bare")] for _ in range(ROUNDS)]
        own, bare = (median(pair[n]["ms"] for pair in found) for n in (0, 1))
        ratio = median(pair[0]["ms"] / pair[1]["ms"] for pair in found)
        peaks = [max(pair[n]["mb"] for pair in found) for n in (0, 1)]
        rows.append(
            (
                name,
                library,
                f"{own:.1f}",
                f"{bare:.1f}",
                f"{ratio:.2f}",
                *(f"{p:.0f}" for p in peaks),
            )
        )
    head = ("stage", "limit", "processor ms", "limit ms", "times the limit", "peak MB", "limit MB")
    return ["## Stages", "", *table(head, rows)]


# --- claims and callers ----------------------------------------------------------------------


def run_claims(number: str, backend: str) -> dict[str, float]:
    """Return the seconds of a check of so many claims, and the peak in MB."""
    from veridical import SyncVerifier, Verifier
    from veridical.testing import FakeBackend, fake_estimate

    sources = case().sources
    answer = "".join(
        f"The bridge {n} was opened in {1900 + n % 99} [S{1 + n % 3}]. " for n in range(int(number))
    )
    fake = FakeBackend(lambda _: fake_estimate(0.9))
    verifier = SyncVerifier(Verifier(fake)) if backend == "fake" else SyncVerifier.from_settings()
    with verifier:
        verifier.check("It is so.", {"S1": "It is so."})
        started, cpu = perf_counter(), process_time()
        report = verifier.check(answer, sources)
        if abs(len(report.claims) - int(number)) > int(number) / 100:
            sys.exit(f"{len(report.claims)} claims, {number} expected")
        return {"s": perf_counter() - started, "cpu": process_time() - cpu, "mb": peak_mb()}


def claim_lines() -> list[str]:
    """Measure checks of more and more claims; return their table."""
    from _common import table

    rows = []
    for backend, numbers in (("embedded", CLAIMS), ("fake", MANY_CLAIMS)):
        before: float | None = None
        for number in numbers:
            best = min(
                (child("claims", str(number), backend) for _ in range(2)), key=lambda f: f["cpu"]
            )
            growth = "" if before is None else f"{best['cpu'] / before:.1f}"
            before = best["cpu"]
            each = f"{best['cpu'] / number * 1000:.1f}"
            rows.append(
                (backend, f"{number:,}", f"{best['s']:.2f}", each, growth, f"{best['mb']:.0f}")
            )
    head = ("backend", "claims", "s", "processor ms a claim", "times the row above", "peak MB")
    return ["## Claims", "", *table(head, rows)]


def run_callers(number: str) -> dict[str, float]:
    """Return the claims checked in a second by so many tasks with one verifier."""
    from veridical import Verifier
    from veridical.settings import Settings

    text, waits = case(), []

    async def one(verifier: Verifier, at_once: asyncio.Semaphore) -> None:
        async with at_once:
            started = perf_counter()
            await verifier.check(text.answer, text.sources)
            waits.append(perf_counter() - started)

    async def run() -> float:
        async with Verifier.from_settings(Settings()) as verifier:
            await one(verifier, asyncio.Semaphore(1))
            waits.clear()
            at_once, started = asyncio.Semaphore(int(number)), perf_counter()
            await asyncio.gather(*(one(verifier, at_once) for _ in range(ANSWERS)))
            return perf_counter() - started

    seconds = asyncio.run(run())
    return {"claims": ANSWERS * 10 / seconds, "wait": median(waits), "mb": peak_mb()}


def caller_lines() -> list[str]:
    """Measure one caller and many; return their table."""
    from _common import table

    found = {number: child("callers", str(number)) for number in CALLERS}
    rows = [
        (number, f"{one['claims']:.1f}", f"{one['wait']:.2f}", f"{one['mb']:.0f}")
        for number, one in found.items()
    ]
    return [
        "## Callers",
        "",
        *table(("at once", "claims/s", "median s of an answer", "peak MB"), rows),
    ]


# --- one call, before and after --------------------------------------------------------------


def run_calls(counted: str) -> dict[str, float]:
    """Return the ms of ten one-call verifications and of one check; function calls if `counted`."""
    import veridical

    # Before the first thread: only those that start later are counted.
    measure = FunctionCalls().during if counted == "counted" else timed_ms
    text = case()
    sentences = split(text.answer)
    with veridical.SyncVerifier.from_settings() as verifier:
        runs: dict[str, Callable[[], object]] = {
            "verify": lambda: [verifier.verify(one, text.sources) for one in sentences],
            "check": lambda: veridical.check(text.answer, text.sources),
        }
        for run in runs.values():
            run()
        return {name: measure(run) for name, run in runs.items()}


def split(answer: str) -> list[str]:
    """Return the sentences of an answer."""
    from veridical.pipeline.claims import split_sentences

    return [answer[span.start : span.end] for span in split_sentences(answer)]


def timed_ms(run: Callable[[], object]) -> float:
    """Return the processor ms of a call."""
    started = process_time()
    run()
    return (process_time() - started) * 1000


class FunctionCalls:
    """Function calls of this thread, and of all that start after it."""

    def __init__(self) -> None:
        self._count = 0
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, _frame: object, event: str, _argument: object) -> None:
        self._count += event in {"call", "c_call"}

    def during(self, run: Callable[[], object]) -> float:
        """Return the calls during a call."""
        before = self._count
        run()
        return self._count - before


def call_lines(before: Path) -> list[str]:
    """Measure the other commit and this one in turns; return their table."""
    from _common import table

    here = Path(__file__).parents[1] / "src"
    found: dict[Path, list[dict[str, float]]] = {before: [], here: []}
    for _ in range(ROUNDS):
        for source, each in found.items():
            each.append(child("calls", "timed", source=source))
    rows = []
    for name, says in (("verify", "ten calls of verify"), ("check", "one call of check")):
        counts = {source: child("calls", "counted", source=source)[name] for source in found}
        for source, when in ((before, "before"), (here, "after")):
            ms = median(one[name] for one in found[source])
            rows.append((says, when, f"{ms:.0f}", f"{counts[source]:,.0f}"))
    return ["## One call", "", *table(("calls", "commit", "processor ms", "function calls"), rows)]


# --- processes -------------------------------------------------------------------------------

PARTS = {"stage": run_stage, "claims": run_claims, "callers": run_callers, "calls": run_calls}


def child(part: str, *arguments: str, source: Path | None = None) -> dict[str, float]:
    """Run a part in a process of its own; return its figures."""
    path = {"PYTHONPATH": str(source)} if source else {}
    threads = {"OMP_NUM_THREADS": "1"} if part == "stage" else {}
    done = subprocess.run(
        [sys.executable, __file__, "--part", part, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **path, **threads},
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(part, *arguments, found, file=sys.stderr)
    return found


def peak_mb() -> float:
    """Return the peak of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure all parts; print the page."""
    from _common import Page, options, publish

    chosen = options(__doc__, rounds=ROUNDS, files={"--before": "src of another commit"})
    lines = [*stage_lines(), *claim_lines(), *caller_lines()]
    if chosen.before:
        lines += call_lines(Path(chosen.before))
    publish(Page("Stages and scaling", lines, []), __doc__, chosen)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        print(json.dumps(PARTS[sys.argv[2]](*sys.argv[3:])))
    else:
        main()
