"""Promises of the documents, each with a call: its result once, and its result now.

Every row is a promise that a call did not keep at some time. "Once" is what the call gave then, in
words; "now" is what it gives in this run. All calls use the packaged verifier unless they need a
backend that fails. Written by `.venv/bin/python benchmarks/promises.py [--answers 84] [--write]`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import _promise_calls as calls
from _common import Page, Requirement, publish, table
from veridical import Settings
from veridical.testing import FakeBackend

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Promise:
    """Call, its result once, the wanted result, and a function that gives the one of now."""

    number: int
    call: str
    once: str
    wanted: object
    measure: Callable[[], object]


BROKEN = "not as promised"
SORRY = "I'm sorry to say that the patient died in surgery."
HEDGED = "It carries eight lanes. It might have been red. Perhaps it might have been blue."
QUANTITIES = "He lost 4 kg. Dr. Ames was glad. It took 3 h. We left."
BRACKETS = "The port is old [port]. Sam said so [interview]. Energy is cheap [energy]."
FERRY = {"port": "The port is old.", "interview": "Sam said so."}
PETS = {"S1": "The dog is outside.", "S2": "The child is sleeping."}
OLD = {"S1": "It is old."}
FRENCH = "Le pont compte huit voies."
ASKED = "Interviewer: Do you feel hopeless?\nPatient: No.\n"
OFF = Settings.model_validate({"hallucination": {"enabled": False}})
BANNED = "Smoking indoors is forbidden."
TYPED = {each: calls.NIGHT.replace(*each.split()) for each in ("night nigt", "20 30")}


def promises(limit: int) -> list[Promise]:
    """Return all promises; the seventh is measured on `limit` labelled answers."""
    dosage = partial(calls.outcome, "**Dosage: 5000 mg**", "The dosage is 50 mg.")
    paris = partial(calls.outcome, "**Paris**", "The capital is Lyon.", "What is the capital?")
    guests = partial(calls.outcome, "Guests may smoke indoors.", BANNED)
    hedged = partial(calls.outcome, HEDGED, calls.LANES["S1"])
    brackets = partial(calls.statuses, BRACKETS, FERRY)
    elsewhere = partial(calls.statuses, "According to S9, it is old.", OLD)
    doctors = partial(calls.gated, "Physicians are paid well.", calls.DOCTORS)
    same = ("It opened in 1998.", "The bridge opened in 1998.")
    dead = partial(calls.statuses, "It is old [S9].", OLD, FakeBackend(calls.down))
    three = "supported, supported, phantom_citation"
    halves = "A won the race. supported; B came third. contradicted"
    rows: list[tuple[int, str, object, object, Callable[[], object]]] = [
        (1, "check `**Dosage: 5000 mg**` against 50 mg", "passes", "flagged", dosage),
        (
            1,
            "claims of `## Smoking causes cancer`",
            0,
            1,
            partial(calls.number, "## Smoking causes cancer"),
        ),
        (1, "check `**Paris**` as an answer, against Lyon", "passes", "flagged", paris),
        (
            1,
            f"claim of “{SORRY}”",
            "none",
            "The patient died in surgery.",
            partial(calls.stated, SORRY),
        ),
        (2, "check “Guests may smoke indoors.” against a ban", "a hedge", "flagged", guests),
        (2, "an answer of which more than half is hedged", "grounded", "undetermined", hedged),
        (3, "sentences behind “4 kg.” and “3 h.”", BROKEN, 4, partial(calls.sentences, QUANTITIES)),
        (4, "two clauses with a subject each are parts", "0 of 12", "12 of 12", calls.split_halves),
        (4, "parts of a half-false sentence", "none", halves, calls.named_half),
        (5, "[port], [interview], then [energy]", "no phantom", three, brackets),
        (5, "“According to S9” beside S1", "no phantom", "phantom_citation", elsewhere),
        (
            6,
            "“The kid is asleep.”, two sources",
            "contradicted",
            "supported",
            partial(calls.statuses, "The kid is asleep.", PETS),
        ),
        (
            6,
            f"the gate on “Physicians are paid well.” by “{calls.DOCTORS}”",
            "rejected",
            "stored",
            doctors,
        ),
        (
            6,
            "a step that follows from the one before",
            "not seen",
            "ENTAILED, ENTAILED",
            calls.steps,
        ),
        (
            7,
            f"verdicts on {limit} labelled answers show a deciding sentence",
            BROKEN,
            "at least 95 %",
            partial(calls.shown_share, limit),
        ),
        (7, "words that differ", "not marked", "90 / 30", calls.differing_words),
        (
            8,
            "Orchestrator with hallucination.enabled: false",
            "verifies",
            "not_verified, 0 left out",
            partial(calls.orchestrated, OFF),
        ),
        (8, "has_critical_gaps of a supported claim with a gap", False, True, calls.critical_gap),
        (
            9,
            "Orchestrator on 13 claims, the last one wrong",
            "leaves claims out",
            "flagged, 0 left out",
            partial(calls.orchestrated, Settings()),
        ),
        (
            10,
            "type of evidence_dependence of a text on itself",
            "no float",
            "float",
            partial(calls.dependence_type, "Bananas are yellow."),
        ),
        (10, f"semantic_similarity{same} above .5", ".003", True, partial(calls.alike, *same)),
        (
            10,
            "semantic_similarity without a backend",
            "no error",
            "UnmeasuredError",
            calls.unmeasured,
        ),
        (
            11,
            "a trace after a failed second verification",
            "contradiction lost",
            "contradicted, 1 failure",
            calls.trace_state,
        ),
        (
            12,
            "Memory.remember while the database is locked",
            "31 s, fact lost",
            "queued, in time, 1 fact",
            calls.locked_memory,
        ),
        (13, "tokens and cost of verify_claim", "missing", "tokens True, cost 0.0", calls.spent),
        (14, "log of a flagged claim", "no log", "True, text False, handlers 0", calls.logged),
        (15, "a sentence that recurs in ten samples", "in all or none", "in some", calls.drawn),
        (
            16,
            "“feel hopeless”, asked by the interviewer",
            "accepted",
            False,
            partial(calls.quoted, "feel hopeless", ASKED),
        ),
        (
            16,
            "fuzzy: “nigt” for “night”",
            "refused",
            True,
            partial(calls.quoted, TYPED["night nigt"], calls.NIGHT, "fuzzy"),
        ),
        (
            16,
            "fuzzy: “30” for “20”",
            "refused",
            False,
            partial(calls.quoted, TYPED["20 30"], calls.NIGHT, "fuzzy"),
        ),
        (
            17,
            f"“{FRENCH}”, embedded verifier",
            "supported",
            "undetermined",
            partial(calls.statuses, FRENCH, {"S1": FRENCH}),
        ),
        (
            18,
            "“It is old [S9].” while the backend is down",
            "undetermined",
            "phantom_citation",
            dead,
        ),
        (18, "texts in the repr of a report", True, False, calls.texts_in_repr),
    ]
    return [Promise(*row) for row in rows]


def main() -> None:
    """Make the calls, print the table; exit code 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=84, help="labelled answers of the seventh")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    found = [(promise, promise.measure()) for promise in promises(chosen.answers)]
    rows = [
        (p.number, p.call, p.once, now, "kept" if now == p.wanted else f"**not kept: {p.wanted}**")
        for p, now in found
    ]
    kept = sum(now == promise.wanted for promise, now in found)
    page = Page(
        "Promises",
        table(("promise", "call", "once", "now", ""), rows),
        [Requirement("every promise is kept", f"{kept} of {len(found)}", kept == len(found))],
    )
    publish(page, __doc__, chosen)


if __name__ == "__main__":
    main()
