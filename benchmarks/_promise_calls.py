"""Calls that show whether a promise of the documents is kept: of the packaged verifier."""

from __future__ import annotations

import io
import logging
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import anyio

import deciding
import veridical
from veridical import Policy, Settings, SyncVerifier, Verifier, repl
from veridical.audit.auditing import audit
from veridical.core.differences import marked
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.errors import UnmeasuredError
from veridical.evidence import ground_quotes
from veridical.memory import Memory, MemoryGate
from veridical.orchestrator import Orchestrator
from veridical.pipeline.claims import extract_claims, split_sentences
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.store import Store
from veridical.testing import FakeBackend, fake_estimate
from veridical.traces import ReasoningTraces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veridical.core.measurements import Measurement, Query
    from veridical.core.types import Claim

HALVES = (
    "A won and B came third.",
    "A won the race and B came third.",
    "A won the race; B came third.",
    "Ann won and Bert came third.",
    "J. Smith won the race and K. Jones came third.",
    "He won the race, but she came third.",
    "X fell by 12 % and Y rose by 3 %.",
    "Sales fell by 12 % and costs rose by 3 %.",
    "It opened in 1998 and they closed it in 2005.",
    "A was founded in 1990, while B was founded in 2001.",
    "The bridge opened in 1998, and its toll is 3 euros.",
    "Paris is the capital of France, and its mayor is Ann Lee.",
)
NIGHT = "well i could not sleep last night and in seven hours i took 20 milligrams twice a week"
LANES = {"S1": "The bridge carries eight lanes."}
DOCTORS = "Doctors have high salaries."


def outcome(answer: str, source: str, question: str | None = None) -> str:
    """Return the outcome of an answer against one source."""
    return veridical.check(answer, {"S1": source}, question).summary.outcome.value


def statuses(answer: str, sources: dict[str, str], backend: FakeBackend | None = None) -> str:
    """Return the statuses of the claims of an answer."""
    with SyncVerifier(Verifier(backend or EmbeddedVerifier())) as verifier:
        return ", ".join(verdict.status.value for verdict in verifier.check(answer, sources).claims)


def assertions(answer: str) -> list[Claim]:
    """Return the claims of an answer that are verified."""
    return [claim for claim in extract_claims(answer).claims if claim.assertive]


def number(answer: str) -> int:
    """Return the number of claims of an answer that are verified."""
    return len(assertions(answer))


def stated(answer: str) -> str:
    """Return the texts of the claims of an answer that are verified."""
    return "; ".join(claim.text for claim in assertions(answer))


def sentences(text: str) -> int:
    """Return the number of sentences of a text."""
    return len(split_sentences(text))


def split_halves() -> str:
    """Return how many of the sentences with two clauses come apart."""
    found = (assertions(text) for text in HALVES)
    pieces = (sum(len(claim.parts) or 1 for claim in claims) for claims in found)
    return f"{sum(number == 2 for number in pieces)} of {len(HALVES)}"  # noqa: PLR2004 -- halves


def named_half() -> str:
    """Return the parts of a half-false sentence."""
    report = veridical.check(HALVES[1], {"S1": "A won the race. B came fourth."})
    return "; ".join(f"{part.text} {part.status.value}" for part in report.claims[0].parts)


def gated(claim: str, evidence: str) -> str:
    """Return what the memory's gate does with a fact."""
    with tempfile.TemporaryDirectory() as folder:
        gate = MemoryGate(Verifier(EmbeddedVerifier()), EmbeddedVerifier(), timeout_s=60.0)
        with Memory(f"sqlite:///{folder}/m.db", gate) as memory:
            return memory.remember(claim, {"S1": evidence}).outcome.value


def steps() -> str:
    """Return the labels of two steps, the second of which follows from the first."""
    texts = ["The child is sleeping.", "The kid is asleep."]
    call = partial(audit, texts, Verifier(EmbeddedVerifier()), sources={"S1": texts[0]})
    return ", ".join(step.label for step in anyio.run(call).steps)


def shown_share(limit: int) -> str:
    """Return whether the share of verdicts that show their deciding sentence is the asked one."""
    found = deciding.hits([each.also for each in deciding.verdicts(deciding.answers(limit))])
    return "at least 95 %" if found >= deciding.ASKED else f"{found:.1%}"


def differing_words() -> str:
    """Return the words in which a claim and the sentence that opposes it differ."""
    claim, source = "Returns are free for 90 days.", "Returns are free for 30 days."
    verdict = veridical.check(claim, {"S1": source}).claims[0]
    found = marked(claim, verdict.shown[0])
    sides = ((found.claim, claim), (found.evidence, source))
    return " / ".join(text[each.start : each.end] for spans, text in sides for each in spans)


def orchestrated(settings: Settings) -> str:
    """Return the action of an orchestrator on a long wrong answer with these settings."""

    async def generate(_: str, *, context: object) -> str:  # noqa: ARG001 -- as it is called
        return "The bridge carries eight lanes. " * 12 + "The bridge has six lanes."

    answer = anyio.run(Orchestrator(generate, settings=settings).process, "How wide?", LANES)
    left = sum((answer.left_out or {}).values())
    return f"{answer.action.value}, {left} left out"


def critical_gap() -> bool:
    """Return whether a supported claim with a gap above the threshold is a critical gap."""
    with configured(by_evidence(0.9, 0.8), Policy(gap_threshold_bits=0.0)):
        return repl.detect_hallucinations(
            "The bridge carries eight lanes.", LANES
        ).has_critical_gaps


def by_evidence(with_it: float, without: float) -> FakeBackend:
    """Return a backend that tells evidence from its absence."""
    return FakeBackend(lambda q: fake_estimate(with_it if "eight" in q.context else without))


@contextmanager
def configured(backend: FakeBackend, policy: Policy | None = None) -> Iterator[None]:
    """Have the functions for notebooks use a backend."""
    repl.configure(backend=backend, policy=policy)
    yield
    repl.configure(backend=None, policy=None)


def down(_: Query) -> Measurement:
    """Return the answer of a backend that is down."""
    return Unmeasured(UnmeasuredReason.BACKEND_ERROR)


def unmeasured() -> str:
    """Return the error of a similarity that cannot be measured."""
    with configured(FakeBackend(down)):
        try:
            return str(repl.semantic_similarity("It rains.", "It pours."))
        except UnmeasuredError as error:
            return type(error).__name__


def trace_state() -> str:
    """Return the state of a contradicted claim after a failed second verification."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Store(f"sqlite:///{folder}/t.db")) as kept,
    ):
        found = ReasoningTraces(kept, Verifier(EmbeddedVerifier()))
        goal = found.add_goal("g")
        found.add_evidence(goal, "S1", LANES["S1"])
        claim = found.add_claim(goal, "The bridge has six lanes.", ["S1"])
        found.verify_claim(claim)
        ReasoningTraces(kept, Verifier(FakeBackend(down))).verify_claim(claim)
        (record,) = found.claims(goal)
        return f"{record.state}, {len(record.failed_since)} failure"


def locked_memory() -> str:
    """Return the result of `remember` while the database is locked, and whether it was in time."""
    with tempfile.TemporaryDirectory() as folder:
        gate = MemoryGate(Verifier(by_evidence(0.97, 0.3)), by_evidence(0.97, 0.3))
        with Memory(f"sqlite:///{folder}/m.db", gate) as memory:
            memory.facts()
            with closing(sqlite3.connect(f"{folder}/m.db", isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                started = perf_counter()
                done = memory.remember("The bridge carries eight lanes.", LANES)
                late = perf_counter() - started > 2.5  # noqa: PLR2004 -- two seconds, and some grace
                other.execute("ROLLBACK")
            return (
                f"{done.outcome.value}, {'late' if late else 'in time'}, {len(memory.facts())} fact"
            )


def logged() -> str:
    """Return whether a flagged claim is logged, without its text, by no handler of the library."""
    out = io.StringIO()
    handler, logger = logging.StreamHandler(out), logging.getLogger("veridical")
    own = [each for each in logger.handlers if not isinstance(each, logging.NullHandler)]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        veridical.check("The bridge has six lanes.", LANES)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    text = out.getvalue()
    return f"{'claim_flagged' in text}, text {'six' in text}, handlers {len(own)}"


def drawn() -> str:
    """Return whether a sentence that recurs in ten answers is in some of the samples only."""
    rules, ten = Policy(mode="sample", sample_rate=0.5), range(10)
    with SyncVerifier(Verifier(by_evidence(0.9, 0.1), policy=rules)) as verifier:
        answers = [f"It carries eight lanes. It opened in {1990 + n}." for n in ten]
        chosen = {
            verifier.check(answer, LANES).claims[0].claim.skipped is None for answer in answers
        }
    return "in some" if len(chosen) > 1 else "always the same"


def quoted(quote: str, talk: str, mode: str = "substring") -> bool:
    """Return whether a quote of a transcript is accepted."""
    return ground_quotes([quote], talk, mode=mode)[0].accepted


def spent() -> str:
    """Return whether one claim says what it cost."""
    found = repl.verify_claim("The bridge has six lanes.", LANES)
    return f"tokens {bool(found.tokens)}, cost {found.cost_usd}"


def texts_in_repr() -> bool:
    """Return whether the repr of a report holds a text of it."""
    return "lanes" in repr(veridical.check("The bridge has six lanes.", LANES))


def alike(first: str, second: str) -> bool:
    """Return whether two texts are called more alike than not."""
    return repl.semantic_similarity(first, second) > 0.5  # noqa: PLR2004 -- half


def dependence_type(text: str) -> str:
    """Return the type of the dependence of a text on itself."""
    return type(repl.evidence_dependence(None, text, text)).__name__
