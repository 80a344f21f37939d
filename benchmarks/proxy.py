"""Overhead of the verifying proxy on the time to the first token of a stream.

The same streamed chat completion is asked for directly and through the proxy, in turns, over
connections that stay open. The upstream is a server on loopback that answers at once, so that only
the proxy is measured; with `--llama` it is llama.cpp with a small model. The time runs from
sending the request to the first byte of the body. The proxy is `veridical serve`, a process of its
own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from statistics import median, quantiles
from time import perf_counter, sleep
from typing import TYPE_CHECKING

import httpx2

from _common import Page, Requirement, publish, table
from _llama_server import LlamaServer, small_model
from _upstream import Upstream, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

REQUIRED_MS = 5.0
MESSAGES = [
    {"role": "system", "content": "[S1] The bridge was opened in 1998. It carries eight lanes."},
    {"role": "user", "content": "When was the bridge opened?"},
]
TEXT = "The bridge was opened in 1998. It carries eight lanes."


def main() -> None:
    """Measure, and print the page."""
    chosen = _options()
    with ExitStack() as stack:
        upstream = _upstream(stack, llama=chosen.llama)
        proxy = _proxy(stack, upstream)
        client = stack.enter_context(httpx2.Client(timeout=300.0))
        found: dict[str, list[float]] = {upstream: [], proxy: []}
        for number in range(-3, chosen.rounds):
            for address in (upstream, proxy) if number % 2 else (proxy, upstream):
                taken = _first_byte_ms(client, address)
                if number >= 0:
                    found[address].append(taken)
    publish(_page(found[upstream], found[proxy], llama=chosen.llama), __doc__ or "", chosen)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="default 200")
    parser.add_argument("--llama", action="store_true", help="ask a real language model")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


def _upstream(stack: ExitStack, *, llama: bool) -> str:
    if llama:
        return f"{stack.enter_context(LlamaServer(small_model())).address}/v1"
    pieces = [_chunk({"content": f"{word} "}) for word in TEXT.split()]
    answers = [[*pieces, _chunk({}, "stop"), b"data: [DONE]\n\n"]]
    return f"{stack.enter_context(serving(Upstream(answers).app()))}/v1"


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode()


def _proxy(stack: ExitStack, upstream: str) -> str:
    """Start `veridical serve` in front of the upstream; its address."""
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "veridical", "serve", "--port", "0", "--json"],
            env={**os.environ, "VERIDICAL_PROXY__UPSTREAM_URL": upstream},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    )
    stack.callback(process.terminate)
    assert process.stdout is not None  # noqa: S101 -- a pipe, see above
    return f"{json.loads(process.stdout.readline())['address'].rstrip('/')}/v1"


def _first_byte_ms(client: httpx2.Client, address: str) -> float:
    body = {"model": "m", "messages": MESSAGES, "stream": True, "max_tokens": 4}
    started = perf_counter()
    with client.stream("POST", f"{address}/chat/completions", json=body) as reply:
        pieces = reply.iter_bytes()
        next(pieces)
        taken = (perf_counter() - started) * 1000
        reply.raise_for_status()
        for _ in pieces:
            pass
    sleep(0.005)  # the verdict's work is over, too
    return taken


def _page(direct: Sequence[float], through: Sequence[float], *, llama: bool) -> Page:
    added = [one - other for one, other in zip(through, direct, strict=True)]
    rows = [
        (name, *(f"{figure:.2f}" for figure in (median(taken), *_tail(taken))))
        for name, taken in (("direct", direct), ("through the proxy", through), ("added", added))
    ]
    lines = table(("Time to the first token, ms", "p50", "p90", "p99"), rows)
    measured = median(added)
    required = Requirement(
        f"the proxy adds under {REQUIRED_MS:.0f} ms", f"{measured:.2f} ms", measured < REQUIRED_MS
    )
    upstream = "llama.cpp" if llama else "a server that answers at once"
    return Page(f"What the proxy adds, in front of {upstream}", lines, [required])


def _tail(taken: Sequence[float]) -> tuple[float, float]:
    steps = quantiles(taken, n=100, method="inclusive")
    return steps[89], steps[98]


if __name__ == "__main__":
    main()
