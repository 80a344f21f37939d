"""Flagged answers that the proxy lets out under load with `on_failure: block`, and its waits.

Users ask for chat completions at once, each again as soon as it has its answer, whole or as a
stream. The upstream is a server on loopback that answers at once; every other answer states
something that the evidence contradicts. The proxy is `veridical serve` with its defaults, a process
of its own. A flagged answer is passed on if a wrong sentence is anywhere in the reply. How long an
answer waited for a slot is what the log of the service says.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from _common import Page, Requirement, publish, table
from _upstream import Upstream
from _upstream import serving as serving_app
from service import Client, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

USERS = (12, 24, 48)
FACTS = {
    "The bridge was opened to traffic in 1998.": "1998",
    "It carries eight lanes.": "eight lanes",
    "Its towers are 120 metres high.": "120 metres",
    "The crossing costs four euros.": "four euros",
    "It was painted green.": "green",
}
EVIDENCE = "[S1] " + " ".join(FACTS)
RIGHT = " ".join(FACTS)
WRONG = RIGHT.replace("eight lanes", "six lanes").replace("120 metres", "210 metres")
MARKS = ("six lanes", "210 metres")


@dataclass(frozen=True)
class Load:
    """Result of one load: the replies, the seconds of each, and the lines of the log."""

    users: int
    streamed: bool
    replies: Sequence[str]
    seconds: Sequence[float]
    lines: Sequence[dict[str, Any]]

    @property
    def passed_on(self) -> int:
        """Number of replies with a wrong sentence."""
        return sum(any(mark in reply for mark in MARKS) for reply in self.replies)

    @property
    def right(self) -> int:
        """Number of replies with the right answer."""
        return sum("eight lanes" in reply for reply in self.replies)

    @property
    def ways(self) -> Counter[str]:
        """Number of answers by action and reason."""
        return Counter(f"{line['action']}, {line['reason']}" for line in self.lines)

    @property
    def waits(self) -> list[float]:
        """Seconds of the waits for a slot."""
        return [line["waited_s"] for line in self.lines]


def main() -> None:
    """Measure, and print the page."""
    chosen = _options()
    loads = [
        _load(users, chosen.each, streamed=streamed)
        for users in USERS
        for streamed in (False, True)
    ]
    publish(_page(loads), __doc__ or "", chosen)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=2, help="requests of each user (2)")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


def _load(users: int, each: int, *, streamed: bool) -> Load:
    answers = [_stream(WRONG), _stream(RIGHT)] if streamed else [_whole(WRONG), _whole(RIGHT)]
    upstream = Upstream(answers * (users * each))
    settings = {"PROXY__ON_FAILURE": "block", "PROXY__REPORT": "false"}
    with TemporaryDirectory() as name, serving_app(upstream.app()) as address:
        folder = Path(name)
        with serving(folder, PROXY__UPSTREAM_URL=f"{address}/v1", **settings) as (proxy, _):
            replies, seconds = _asked(proxy, users, each, streamed=streamed)
        lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    told = [line for line in lines if line["event"] == "proxy_answer"]
    return Load(users, streamed, replies, seconds, told)


def _asked(proxy: str, users: int, each: int, *, streamed: bool) -> tuple[list[str], list[float]]:
    def user(number: int) -> list[tuple[str, float]]:
        client, found = Client(proxy), []
        for turn in range(each):
            body = _request(f"{number}-{turn}", streamed=streamed)
            started = perf_counter()
            status, reply = client.ask("POST", "/v1/chat/completions", body)
            if status != 200:  # noqa: PLR2004 -- OK
                raise RuntimeError(status)
            found.append((reply.decode(), perf_counter() - started))
        return found

    with ThreadPoolExecutor(users) as pool:
        found = [one for each_user in pool.map(user, range(users)) for one in each_user]
    return [reply for reply, _ in found], [seconds for _, seconds in found]


def _request(name: str, *, streamed: bool) -> dict[str, Any]:
    """Return a request whose evidence is that of no other one: nothing can be shared."""
    messages = [
        {"role": "system", "content": f"{EVIDENCE} This is copy {name} of the notice."},
        {"role": "user", "content": "Tell me about the bridge."},
    ]
    return {"model": "m", "messages": messages, "stream": streamed}


def _whole(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "c1", "object": "chat.completion", "choices": [choice]}).encode()


def _stream(text: str) -> list[bytes]:
    pieces = [{"content": text[: len(text) // 2]}, {"content": text[len(text) // 2 :]}]
    chunks = [{"id": "c1", "choices": [{"index": 0, "delta": delta}]} for delta in pieces]
    return [*(f"data: {json.dumps(one)}\n\n".encode() for one in chunks), b"data: [DONE]\n\n"]


# --- page ------------------------------------------------------------------------------------


def _page(loads: Sequence[Load]) -> Page:
    head = ("Users", "reply", "flagged, passed on", "right, passed on", "ways out")
    ways = [
        (
            load.users,
            "stream" if load.streamed else "whole",
            f"{load.passed_on} of {len(load.replies) // 2}",
            f"{load.right} of {len(load.replies) // 2}",
            "; ".join(f"{name}: {count}" for name, count in load.ways.most_common()),
        )
        for load in loads
    ]
    timed = ("Seconds", "reply", "wait p50", "wait p95", "whole p50", "whole p95")
    times = [
        (
            f"{load.users} users",
            "stream" if load.streamed else "whole",
            *(f"{one:.2f}" for one in (*_quantiles(load.waits), *_quantiles(load.seconds))),
        )
        for load in loads
    ]
    passed = sum(load.passed_on for load in loads)
    required = [Requirement("no flagged answer is passed on", str(passed), passed == 0)]
    lines = [*table(head, ways), "", *table(timed, times)]
    return Page("A guard that closes: the proxy with `block` under load", lines, required)


def _quantiles(values: Sequence[float]) -> tuple[float, float]:
    return median(values), quantiles(values, n=20, method="inclusive")[-1]


if __name__ == "__main__":
    main()
