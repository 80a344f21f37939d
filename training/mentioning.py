"""Texts that repeat a claim: some state it, others only mention or deny it.

A statement beside evidence that lacks the claim makes it supported, a denial contradicted; a
mention ("Some say that ...") changes nothing. The texts are in `frames.jsonl`, written one by one:
`t`, with the claim as `{sentence}` or, within a sentence, `{clause}`, and `label`. Those of the
benchmark are by other authors.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from programmatic.base import CONTRADICTED, NOT_IN_CONTEXT, SUPPORTED, Pair

from hostile import beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

FRAMES = Path(__file__).resolve().parent / "frames.jsonl"
LABELS = {"S": SUPPORTED, "C": CONTRADICTED, "N": NOT_IN_CONTEXT}
LONGEST = 240
"""Characters of a claim that is repeated."""

_ONE_SENTENCE = re.compile(r"[^.!?\n]+(?:\.\d[^.!?\n]*)*\.?")
_LOWERED = re.compile(
    r"(?:The|A|An|This|That|These|Those|There|It|He|She|They|We|You|His|Her|Its|Their|Our|Your|My"
    r"|All|Some|Most|Many|Few|Several|Each|Every|Both|No|One|Two|Three|Four|Five|Six|Seven|Eight"
    r"|Nine|Ten|In|On|At|For|From|By|With|After|Before|During|Since|Until|Under|Over|If|When|While"
    r"|As|Only|Not|Nobody|Someone|Everyone|People|Women|Men|Children|Patients|More|Less|About)\b"
)


def repetitions(pairs: Sequence[Pair], share: float, rng: Random) -> Iterator[Pair]:
    """Yield changed copies of a share of the pairs; those that are unsuitable are left out."""
    for pair in pairs:
        if rng.random() < share:
            found = repeated(pair, rng.choice(pairs), rng)
            if found is not None:
                yield found


def repeated(pair: Pair, other: Pair, rng: Random) -> Pair | None:
    """Return the pair with a text that repeats its claim beside the evidence; None if unsuitable.

    Where the evidence decides already, no statement is added that would change that: a supported
    claim gets a text on the claim of `other`, a contradicted one is mentioned or denied.
    """
    supported = pair.label == SUPPORTED
    claim = other.claim if supported else pair.claim
    if pair.label not in LABELS.values() or not is_repeatable(claim):
        return None
    letter = rng.choice("SSNNNC" if pair.label == NOT_IN_CONTEXT else "NNC")
    text = framed(rng.choice(frames()[letter]), claim)
    label = pair.label
    if pair.label == NOT_IN_CONTEXT:
        label = LABELS[letter]
    return Pair(beside(pair.evidence, text, rng), pair.claim, label, f"{pair.source}+repeated")


def is_repeatable(claim: str) -> bool:
    """Return whether a claim is one short sentence that can stand within another."""
    return len(claim) <= LONGEST and _ONE_SENTENCE.fullmatch(claim.strip()) is not None


def framed(frame: str, claim: str) -> str:
    """Return a frame with the claim in it."""
    bare = claim.strip().rstrip(".")
    clause = bare[:1].lower() + bare[1:] if _LOWERED.match(bare) else bare
    return frame.replace("{sentence}", bare).replace("{clause}", clause)


@cache
def frames() -> dict[str, list[str]]:
    """Return the frames by label: `S` states the claim, `C` denies it, `N` only mentions it."""
    found: dict[str, list[str]] = {letter: [] for letter in LABELS}
    for line in FRAMES.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        found[entry["label"]].append(entry["t"])
    return found
