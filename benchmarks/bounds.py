"""Bounds of a check: time for each megabyte, growth, and the service beside large requests.

**Time and growth.** Processor seconds for texts of several kinds, and how many times as long twice
the text takes, the mean of two doublings: at most 2.3 is required. What takes more than a minute is
stopped.

**Service.** `/healthz` is asked all the time while a large request is checked with the embedded
verifier, with a deadline of 15 s; the longest answer counts. The MCP server is pinged likewise. Ten
requests of 8 MB show what of the memory comes back; up to 64 MB of it are the reports that the
service keeps. A client leaves, and the service is ended,
while 8 MB are checked: the seconds until the work, or the process, has ended.

`--save FILE` keeps the figures; `--before FILE` shows those of another commit beside them.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from _common import Page, Requirement, options, publish, table
from _texts import long_source
from service import serving
from veridical import SyncVerifier, Verifier
from veridical.core.sources import as_sources
from veridical.pipeline.claims import extract_claims, split_sentences
from veridical.pipeline.evidence import Binder, Corpus
from veridical.pipeline.inference.vectors import packaged_vectors
from veridical.pipeline.reports.formats import FORMATS
from veridical.settings.service_blocks import ServerSettings
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.bound_claims import bind_claims

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.pipeline.reports import Report

MB = 1_000_000
LIMIT_S, IDLE_S, SHORT_S = 60.0, 35.0, 2.0
LEFT, ENDED = "seconds of work after a client left", "seconds until the process ended"
MOST_GROWTH, MOST_HEALTH_S = 2.3, 0.2
LOG = "2026-11-27T06:24:40Z INFO worker-3 request finished in 41 ms with status 200\n"
SENTENCE = "The bridge was opened to traffic in 1998. "
ANSWER = (
    "The bridge opened in 1998 [S1]. The request finished in 41 ms [S1:2-900]."
    " The worker has status 200. The bridge has six lanes [S2]."
)


def _repeated(unit: str, characters: int) -> str:
    return unit * (characters // len(unit))


def _numbered(line: str, characters: int) -> str:
    count = characters // len(line)
    return "".join(line.format(n=n, ms=n % 997, year=1900 + n % 99) for n in range(count))


TEXTS: dict[str, Callable[[int], str]] = {
    "prose": lambda size: long_source(size)[:size],
    "equal sentences": lambda size: _repeated(SENTENCE, size),
    "equal log lines": lambda size: _repeated(LOG, size),
    "log lines that differ": lambda size: _numbered(
        "INFO worker-{n} request finished in {ms} ms with status 200\n", size
    ),
    "bullets": lambda size: _repeated("- The bridge was opened to traffic in 1998 [S1].\n", size),
    "headings": lambda size: _repeated("# The bridge opened in 1998\n\nIt has lanes.\n\n", size),
    "table": lambda size: (
        "| name | year |\n| --- | --- |\n" + _repeated("| Harlow bridge | 1998 |\n", size)
    ),
    "code": lambda size: "```\n" + _repeated("print('The bridge')\n", size) + "```\n",
}


# --- time and growth -------------------------------------------------------------------------


def extraction(kind: str, size: int) -> float:
    """Return the seconds that the claims of an answer take."""
    text = TEXTS[kind](size)
    extract_claims("It is warm.", known_ids=["S1"])
    return _seconds(lambda: extract_claims(text, known_ids=["S1"]))


def corpus(kind: str, size: int) -> float:
    """Return the seconds that the index of a source takes."""
    sources, vectors = as_sources({"S1": TEXTS[kind](size)}), packaged_vectors()
    Corpus(as_sources({"S1": "It is warm."}), split_sentences, vectors=vectors)
    return _seconds(lambda: Corpus(sources, split_sentences, vectors=vectors))


def binding(kind: str, size: int) -> float:
    """Return the seconds that four claims take with two equal sources, indexed before."""
    text = TEXTS[kind](size)
    sources = as_sources({"S1": text, "S2": text})
    made = Corpus(sources, split_sentences, vectors=packaged_vectors())
    claims = extract_claims(ANSWER, known_ids=sources).claims
    return _seconds(lambda: bind_claims(claims, sources, Binder(made, windows=0)))


def indexed_and_bound(kind: str, size: int) -> float:
    """Return the seconds for the index of a source and four claims."""
    sources = as_sources({"S1": TEXTS[kind](size), "S2": "It is short."})
    vectors = packaged_vectors()
    claims = extract_claims(ANSWER, known_ids=sources).claims

    def work() -> None:
        made = Corpus(sources, split_sentences, vectors=vectors)
        bind_claims(claims, sources, Binder(made, windows=0))

    return _seconds(work)


def many_claims(_kind: str, count: int) -> float:
    """Return the seconds for so many claims: found and bound, to three sources of 2,000 words."""
    sources = as_sources([long_source(12_000)[:12_000] for _ in range(3)])
    answer = _numbered("The bridge {n} was opened in {year} [1]. ", count * 41)
    return _seconds(lambda: _prepared(answer, sources))


def many_sources(_kind: str, count: int) -> float:
    """Return the seconds for ten claims and so many sources."""
    texts = (
        f"Bridge {n} was opened in {1900 + n % 99}. It has {n % 9} lanes." for n in range(count)
    )
    answer = "".join(f"The bridge {n} was opened in 1950 [S{n}]. " for n in range(1, 11))
    sources = as_sources({f"S{n}": text for n, text in enumerate(texts)})
    return _seconds(lambda: _prepared(answer, sources))


def rendering(form: str, count: int) -> float:
    """Return the seconds for a report with so many claims."""
    text = _report(count)
    return _seconds(lambda: text.render(form))


def _prepared(answer: str, sources: Any) -> None:  # noqa: ANN401 -- what as_sources returns
    claims = extract_claims(answer, known_ids=sources).claims
    made = Corpus(sources, split_sentences, vectors=packaged_vectors())
    bind_claims(claims, sources, Binder(made, windows=0))


def _report(count: int) -> Report:
    answer = _numbered("The bridge {n} was opened in {year} [S1]. ", count * 42)
    backend = FakeBackend(lambda query: fake_estimate(len(query.claim) % 10 / 10))
    with SyncVerifier(Verifier(backend)) as verifier:
        return verifier.check(answer, {"S1": long_source(20_000)[:20_000]})


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


MEASURES = {
    measure.__name__: measure
    for measure in (
        *(extraction, corpus, binding, indexed_and_bound),
        *(many_claims, many_sources, rendering),
    )
}


def measured(name: str, kind: str, size: int) -> float | None:
    """Return a measurement, the least of three if it is short; None if it takes too long."""
    first = _measured(name, kind, size)
    if first is None or first > SHORT_S:
        return first
    again = [_measured(name, kind, size) for _ in range(2)]
    return min([first, *(seconds for seconds in again if seconds is not None)])


def _measured(name: str, kind: str, size: int) -> float | None:
    """Return a measurement made in a process of its own; None if it takes too long."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        try:
            return pool.apply_async(MEASURES[name], (kind, size)).get(LIMIT_S)
        except multiprocessing.TimeoutError:
            return None


GROWTH = (
    *(("extraction", kind, 100_000) for kind in ("prose", "equal sentences", "bullets")),
    *(("corpus", kind, 200_000) for kind in ("prose", "equal log lines")),
    *(("binding", kind, 500_000) for kind in TEXTS),
    *(("rendering", form, 1_000) for form in FORMATS),
    ("many_claims", "", 5_000),
    ("many_sources", "", 2_500),
)
SINGLE = (
    ("indexed_and_bound", "equal log lines", 8 * MB),
    ("binding", "prose", 5 * MB),
)


def times() -> dict[str, Any]:
    """Return the seconds for each text, once and four times as long."""
    found: dict[str, Any] = {}
    for name, kind, size in GROWTH:
        found[f"{name}, {kind or 'all'}, {size:,}"] = [
            measured(name, kind, size),
            measured(name, kind, 4 * size),
        ]
    for name, kind, size in SINGLE:
        found[f"{name}, {kind}, {size:,}"] = [measured(name, kind, size)]
    return found


# --- the service -----------------------------------------------------------------------------


REQUESTS = {
    "answer of 0.1 MB": lambda: _asking(long_source(MB // 10)[: MB // 10], SENTENCE),
    "answer of 1 MB": lambda: _asking(long_source(MB)[:MB], SENTENCE),
    "answer of 7.5 MB": lambda: _asking(long_source(8 * MB)[: 15 * MB // 2], SENTENCE),
    "source of 7.5 MB, equal log lines": lambda: _asking(ANSWER, _repeated(LOG, 15 * MB // 2)),
    "source of 7.5 MB, equal sentences": lambda: _asking(ANSWER, _repeated(SENTENCE, 15 * MB // 2)),
}


def _asking(answer: str, source: str) -> bytes:
    sources = {"S1": source, "S2": "It carries eight lanes."}
    return json.dumps({"answer": answer, "sources": sources}).encode()


def _settings() -> dict[str, str]:
    given = {"SERVER__DEADLINE_S": "15", "SERVER__SHUTDOWN_S": "5"}
    if "max_answer_chars" in ServerSettings.model_fields:
        given |= {"SERVER__MAX_ANSWER_CHARS": "9000000", "SERVER__MAX_ANSWER_CLAIMS": "999999"}
    return given


def service() -> dict[str, Any]:
    """Return what the service did beside large requests."""
    found: dict[str, Any] = {}
    for name, body in REQUESTS.items():
        with TemporaryDirectory() as folder, serving(Path(folder), **_settings()) as (address, _):
            found[f"/healthz beside an {name}"] = _beside(address, body())
    with TemporaryDirectory() as folder, serving(Path(folder), **_settings()) as (address, pid):
        found["memory"] = _memory(address, pid)
    with TemporaryDirectory() as folder, serving(Path(folder), **_settings()) as (address, pid):
        found[LEFT] = _left(address, pid)
    found[ENDED] = _ended()
    found["MCP ping beside 0.62 MB"] = anyio.run(_pinged)
    return found


def _post(address: str, body: bytes, timeout_s: float = LIMIT_S) -> int | None:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=timeout_s)
    try:
        connection.request("POST", "/v1/check", body, {"content-type": "application/json"})
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


def _health(address: str) -> float:
    started = time.perf_counter()
    connection = HTTPConnection(urlsplit(address).netloc, timeout=LIMIT_S)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except OSError:
        return LIMIT_S
    finally:
        connection.close()
    return time.perf_counter() - started


def _beside(address: str, body: bytes) -> dict[str, float]:
    """Return the longest answer of `/healthz` during a request, and the time of the request."""
    asked = threading.Thread(target=_post, args=(address, body), daemon=True)
    started = time.perf_counter()
    asked.start()
    longest = 0.0
    while asked.is_alive() and time.perf_counter() - started < LIMIT_S:
        longest = max(longest, _health(address))
        time.sleep(0.02)
    return {"longest_s": longest, "request_s": time.perf_counter() - started}


def _memory(address: str, pid: int) -> list[float]:
    """Return the resident memory in MB: at first, after each of ten large requests, and idle."""
    _post(address, _asking(ANSWER, SENTENCE))
    found = [_resident(pid)]
    for number in range(10):
        body = _asking(f"{ANSWER} It is {number}.", _repeated(LOG, 15 * MB // 2) + f"\n{number}.\n")
        _post(address, body)
        time.sleep(1)
        found.append(_resident(pid))
    time.sleep(IDLE_S)
    return [*found, _resident(pid)]


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


def _left(address: str, pid: int) -> float:
    """Return the seconds in which a service still works after its client has left."""
    body = _asking(long_source(MB)[:MB], _repeated(LOG, 6 * MB))
    _post(address, body, timeout_s=2.0)
    left = last = time.perf_counter()
    while time.perf_counter() - last < 1.0 and time.perf_counter() - left < LIMIT_S:
        before = _worked(pid)
        time.sleep(0.1)
        if _worked(pid) - before > 0.02:  # noqa: PLR2004 -- a fifth of a processor
            last = time.perf_counter()
    return last - left


def _worked(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ended() -> float:
    """Return the seconds from SIGTERM to the end of a service with a large request."""
    with TemporaryDirectory() as folder, serving(Path(folder), **_settings()) as (address, pid):
        body = _asking(ANSWER, _repeated(SENTENCE, 15 * MB // 2))
        threading.Thread(target=_post, args=(address, body), daemon=True).start()
        time.sleep(2.0)
        os.kill(pid, signal.SIGTERM)
        started = time.perf_counter()
        while _lives(pid) and time.perf_counter() - started < LIMIT_S:
            time.sleep(0.05)
        if _lives(pid):
            os.kill(pid, signal.SIGKILL)
        return time.perf_counter() - started


def _lives(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False


async def _pinged() -> float:
    """Return the longest answer to a ping of the MCP server while it checks 620 kB."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=sys.executable, args=["-m", "veridical", "mcp"])
    answer = long_source(MB)[:620_000]
    longest = 0.0
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        async with anyio.create_task_group() as group:
            given = {"answer": answer, "sources": {"S1": SENTENCE}}
            group.start_soon(session.call_tool, "check", given)
            until = anyio.current_time() + 15
            while anyio.current_time() < until:
                started = anyio.current_time()
                await session.send_ping()
                longest = max(longest, anyio.current_time() - started)
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
    return longest


# --- the page --------------------------------------------------------------------------------


def main() -> None:
    """Measure everything, print the page."""
    chosen = options(
        __doc__,
        rounds=1,
        files={"--save": "keep the figures", "--before": "show the figures of this file, too"},
    )
    found = measure(Path(chosen.save) if chosen.save else None)
    before = json.loads(Path(chosen.before).read_text()) if chosen.before else {}
    publish(Page("Bounds", lines(found, before), requirements(found)), __doc__, chosen)


def measure(kept: Path | None) -> dict[str, Any]:
    """Return all figures; parts that a file has are not measured again."""
    found = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for name, part in (("times", times), ("service", service)):
        if name not in found:
            found[name] = part()
            if kept:
                kept.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def lines(found: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the tables, with the figures before in front."""
    times, served = found["times"], found["service"]
    then, once = before.get("times", {}), before.get("service", {})
    rows = [
        (
            name,
            *([_shown(then.get(name)), _grown(then.get(name))] if before else []),
            _shown(now),
            _grown(now),
        )
        for name, now in times.items()
    ]
    head = ("stage, text, size", *(["s before", "growth"] if before else []), "s", "growth")
    asked = [
        (name, *([_told(once.get(name))] if before else []), _told(now))
        for name, now in served.items()
    ]
    heads = ("service", *(["before"] if before else []), "now")
    return [*table(head, rows), "", *table(heads, asked)]


def _shown(seconds: list[float | None] | None) -> str:
    if not seconds:
        return ""
    return f"over {LIMIT_S:.0f}" if seconds[0] is None else f"{seconds[0]:.2f}"


def _grown(seconds: list[float | None] | None) -> str:
    if not seconds or len(seconds) < 2 or not seconds[0]:  # noqa: PLR2004 -- a size and four times it
        return ""
    return f"{_growth(seconds):.1f}" if seconds[1] else "stopped"


def _growth(seconds: list[float | None]) -> float:
    """Return the mean factor of a doubling, out of the seconds of a size and of four times it."""
    return math.sqrt((seconds[1] or 1e9) / max(seconds[0] or 1e-9, 0.01))


def _told(value: Any) -> str:  # noqa: ANN401 -- what the service part returns
    match value:
        case None:
            return ""
        case dict():
            return f"{value['longest_s']:.2f} s (request {value['request_s']:.0f} s)"
        case list():
            return f"{value[0]:.0f} MB, {value[-2]:.0f} MB after ten, {value[-1]:.0f} MB idle"
        case _:
            return f"{value:.2f} s"


def requirements(found: dict[str, Any]) -> list[Requirement]:
    """Hold growth and waiting against what is required."""
    served = found["service"]
    return [*(_of_times(found["times"]) if found["times"] else ()), *_of_service(served)]


def _of_times(times: dict[str, Any]) -> list[Requirement]:
    pairs = {name: s for name, s in times.items() if len(s) > 1}
    growth = {name: _growth(s) for name, s in pairs.items()}
    worst = max(growth, key=lambda name: growth[name])
    logs = times[f"indexed_and_bound, equal log lines, {8 * MB:,}"][0]
    prose = times[f"binding, prose, {5 * MB:,}"][0]
    return [
        _required(f"twice the size takes {MOST_GROWTH} times as long", growth[worst], MOST_GROWTH),
        _required("8 MB of equal log lines, seconds", logs, 5.0),
        _required("four claims bound to 10 MB, seconds", prose, 3.0),
    ]


def _of_service(served: dict[str, Any]) -> list[Requirement]:
    if not served:
        return []
    health = max(each["longest_s"] for each in served.values() if isinstance(each, dict))
    return [
        _required("/healthz, seconds", health, MOST_HEALTH_S),
        _required("work after a client left, seconds", served[LEFT], 1.0),
        _required("end after SIGTERM, seconds (`shutdown_s` is 5)", served[ENDED], 6.0),
    ]


def _required(text: str, value: float | None, most: float) -> Requirement:
    met = value is not None and value <= most
    return Requirement(text, "stopped" if value is None else f"{value:.2f}", met)


if __name__ == "__main__":
    main()
