"""Cost of verifying an answer with a language model, relative to that of the answer itself.

Ten answers that Qwen2.5-Coder-1.5B really wrote (`procedural/answers.jsonl`): five to a question
over one document of the suite, five over all documents of a kind. The aim is a share below 10 %
(SPEC-16.SC03). The share is verification to answer, both summed over the answers.

- answer: one request, its tokens as the model counted them.
- language model: every query that the verifier sends for the answer is one request, with one token
  of output, as with a model that gives log-probabilities. Models that give none are asked several
  times a query, and cost as many times more.
- cascade: the queries that are left when the embedded verifier, which costs nothing, decides the
  claims it is sure of.
- sample: `Policy(mode="sample", sample_rate=.3)`.
- prefix reused: the common prefix of requests on one context is charged at the price of cached
  input from the second request on. OpenAI and Anthropic cache prefixes from 1,024 tokens only, and
  these are shorter: that is the share to expect of a service without such a limit.

Tokens are counted by Qwen's tokenizer, for both sides. No verdict of a language model is in this:
the embedded verifier answers the queries that are counted, so which claims are looked at twice is
its decision. Prices are the shipped ones (USD per million tokens of input / cached input / output):
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import groupby
from math import fsum
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import _prompted
from _answers import LONG, SHORT, answers, questions
from _common import Page, Recorder, Requirement, publish, table
from veridical import Policy, SyncVerifier, Verifier
from veridical.core.measurements import Reads
from veridical.pipeline.inference.cascade import Cascade
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.llama_cpp import Load, start
from veridical.pipeline.inference.prices import Usage, cost_usd, shipped_prices
from veridical.pipeline.inference.prompts import prompt_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _answers import Answer, Asked
    from veridical.core.measurements import Query

HOME = Path.home() / ".cache" / "veridical"
PAIRS = (
    ("gpt-4.1", "gpt-4o-mini"),
    ("gpt-4.1", "gpt-6-luna"),
    ("claude-opus-5", "gpt-6-luna"),
    ("gpt-4.1", "gpt-4.1"),
    ("gpt-4o-mini", "gpt-4o-mini"),
)
POLICIES = {"every claim": Policy(), "sample": Policy(mode="sample", sample_rate=0.3)}
WAYS = ("language model", "cascade")
AIM = 0.1
SMALLEST_CONTEXT = 256
"""Tokens of the smallest context that llama.cpp makes; what fits in is answered, not refused."""

END_TOKENS = 5
"""What the chat template puts behind the user's text."""


@dataclass(frozen=True)
class Verification:
    """The requests for one answer; `claims` of the answer were found, `checked` verified."""

    claims: int
    checked: int
    requests: tuple[Request, ...]


@dataclass(frozen=True)
class Request:
    """The tokens of one request; `known` of them were in the one before it."""

    prompt: int
    known: int

    def usage(self, *, reuse: bool) -> Usage:
        """Return what is charged."""
        return Usage.from_total(self.prompt, 1, cached_input_tokens=self.known if reuse else 0)


class Counter:
    """Counts tokens: llama.cpp says how long a prompt is that it refuses as too long.

    So nothing is computed. Padding, a message of its own, makes every prompt too long.
    """

    def __init__(self, model: Path) -> None:
        self._server = start(Load(model, SMALLEST_CONTEXT, 1))
        self._pad = {"role": "system", "content": "pad " * 2 * SMALLEST_CONTEXT}
        long = [{"role": "user", "content": "long " * 2 * SMALLEST_CONTEXT}]
        self._padding = self._refused([*long, self._pad]) - self._refused(long)

    def tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Return the tokens of a request, the template of the chat included."""
        return self._refused([*messages, self._pad]) - self._padding

    def _refused(self, messages: Sequence[Mapping[str, str]]) -> int:
        request = {"messages": list(messages), "max_tokens": 1}
        reply: dict[str, Any] = self._server.handle_chat_completions(request)
        return int(reply["error"]["n_prompt_tokens"])


def main() -> None:
    """Count the tokens of each answer and of its verification, print the page."""
    chosen = options()
    written = answers(chosen.models)
    counter = Counter(_prompted.MODELS["qwen-0.5b"].path(chosen.models))
    found = {
        (way, name): {
            asked.name: verification(asked, written[asked.name], way, policy, counter)
            for asked in questions()
        }
        for way in WAYS
        for name, policy in POLICIES.items()
    }
    doc = "\n".join([__doc__.strip(), "", *_prices()])
    page = Page("Cost of verification", lines(written, found), requirements(written, found))
    publish(page, doc, chosen)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=HOME / "models", help="keeps the downloads")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


# --- counting --------------------------------------------------------------------------------


def verification(
    asked: Asked, answer: Answer, way: str, policy: Policy, counter: Counter
) -> Verification:
    """Check an answer, and count what a language model would have been sent for it."""
    recorder = Recorder(EmbeddedVerifier(), Reads.WHOLE)
    backend = Cascade(EmbeddedVerifier(), recorder) if way == "cascade" else recorder
    with SyncVerifier(Verifier(backend)) as verifier:
        report = verifier.check(answer.text, asked.sources, policy=policy)
    sent = (requests(batch, counter) for batch in recorder.batches)
    summary = report.summary
    return Verification(
        summary.claims_extracted,
        summary.claims_checked,
        tuple(one for each in sent for one in each),
    )


def requests(batch: Sequence[Query], counter: Counter) -> Iterator[Request]:
    """Yield the requests of a batch, those on one context behind each other."""
    prompts = sorted((prompt_for(query) for query in batch), key=lambda prompt: prompt.context)
    for context, group in groupby(prompts, key=lambda prompt: prompt.context):
        for number, prompt in enumerate(group):
            known = _prefix(prompt.system, context, counter) if number else 0
            yield Request(counter.tokens(prompt.messages), known)


def _prefix(system: str, context: str, counter: Counter) -> int:
    """Return the tokens up to where the claim begins."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": context}]
    return counter.tokens(messages) - END_TOKENS


# --- prices ----------------------------------------------------------------------------------


def share(
    written: Mapping[str, Answer],
    checks: Mapping[str, Verification],
    pair: tuple[str, str],
    *,
    reuse: bool = False,
) -> float:
    """Return what verifying all of the answers costs, by what writing them did."""
    large, small = pair
    names = list(checks)
    base = fsum(_cost(large, _usage(written[name])) for name in names)
    each = (request for name in names for request in checks[name].requests)
    return fsum(_cost(small, request.usage(reuse=reuse)) for request in each) / base


def _usage(answer: Answer) -> Usage:
    return Usage(answer.prompt_tokens, answer.output_tokens)


def _cost(model: str, usage: Usage) -> float:
    cost = cost_usd(model, usage)
    if cost is None:
        msg = f"{model} has no price for this request"
        raise ValueError(msg)
    return cost


def _prices() -> Iterator[str]:
    for model in dict.fromkeys(name for pair in PAIRS for name in pair):
        price = shipped_prices()[model]
        yield f"- `{model}`: {price.input:g} / {price.cached_input:g} / {price.output:g}"


# --- the page --------------------------------------------------------------------------------

Checks = dict[tuple[str, str], dict[str, Verification]]


def lines(written: Mapping[str, Answer], found: Checks) -> list[str]:
    """Return the tables."""
    groups = {"one document": list(SHORT), "all documents of a kind": list(LONG)}
    text = "Share of the answer's cost, the answer by the first model, verification by the second"
    return [
        *_counts(written, found, groups),
        f"{text}:",
        "",
        *_shares(written, found, [name for names in groups.values() for name in names]),
        *(
            line
            for group, names in groups.items()
            for line in (f"The same, answers over {group}:", "", *_shares(written, found, names))
        ),
    ]


def _counts(
    written: Mapping[str, Answer], found: Checks, groups: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return medians over the answers: tokens, claims and requests."""
    head = ("median of an answer", *groups)
    figures = {
        "prompt tokens": lambda name: written[name].prompt_tokens,
        "answer tokens": lambda name: written[name].output_tokens,
        "claims": lambda name: found["language model", "every claim"][name].claims,
    }
    rows = [
        (label, *(f"{median(map(figure, names)):.0f}" for names in groups.values()))
        for label, figure in figures.items()
    ]
    for key, checks in found.items():
        for label, figure in (
            ("claims verified", lambda one: one.checked),
            ("requests", lambda one: len(one.requests)),
            ("tokens", lambda one: sum(request.prompt + 1 for request in one.requests)),
            ("of them known", lambda one: sum(request.known for request in one.requests)),
        ):
            cells = (median(figure(checks[name]) for name in names) for names in groups.values())
            rows.append((f"{', '.join(key)}: {label}", *(f"{cell:.0f}" for cell in cells)))
    return table(head, rows)


def _shares(written: Mapping[str, Answer], found: Checks, names: Sequence[str]) -> list[str]:
    rows = [
        (
            f"{', '.join(key)}{', prefix reused' if reuse else ''}",
            *(
                f"{share(written, {n: checks[n] for n in names}, pair, reuse=reuse):.1%}"
                for pair in PAIRS
            ),
        )
        for key, checks in found.items()
        for reuse in (False, True)
    ]
    return table(("", *(f"{large}, {small}" for large, small in PAIRS)), rows)


def requirements(written: Mapping[str, Answer], found: Checks) -> list[Requirement]:
    """Hold sample mode, which is what SPEC-16 starts with, against SC03."""
    return [
        _required(way, pair, share(written, found[way, "sample"], pair))
        for way in WAYS
        for pair in PAIRS
    ]


def _required(way: str, pair: tuple[str, str], measured: float) -> Requirement:
    text = f"SPEC-16.SC03, {way}, sample, {pair[0]} verified by {pair[1]}: below {AIM:.0%}"
    return Requirement(text, f"{measured:.1%}", measured < AIM)


if __name__ == "__main__":
    main()
