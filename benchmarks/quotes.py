"""Quotes looked up in a transcript, against the algorithm that Spec 053 prints.

The baseline normalises transcript and quotes with the standard library, then asks `in`, and in the
mode `fuzzy` rapidfuzz's `partial_ratio` over the whole transcript (its regular expressions, printed
with doubled backslashes, are read as meant). 200 quotes of a doctor's conversations, 120,000
characters: half are verbatim but for case, quotation marks and white space, half have a word
exchanged, dropped or misspelt, or come from another conversation. Measured in turns, in processor
time (both use one core).

Two readings of the requirement. A call per quote: a program that asks as the quotes come, for which
the baseline normalises the transcript each time and veridical has it prepared. One call: the same
200 quotes at once, for which the baseline normalises the transcript once. The time to prepare
the transcript, and to index it at the first call, is shown as well; it is the same for any number
of calls. Decisions are compared one by one: in the mode `fuzzy` the only differences allowed are
quotes refused because a number or the polarity differs from the nearest match, or because what they
leave out is marked by an ellipsis.

At the end, the share of the labelled quotes in `../shared/data/dev` that the mode `fuzzy` accepts,
by kind of alteration.

Written by `.venv/bin/python benchmarks/quotes.py [--rounds 5] [--write]`.
Needs the dialogues and the labelled quotes in `../shared/data`; stops with a message without them.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from rapidfuzz import fuzz

from _common import Page, Requirement, cpu, in_turns, options, publish, table, timed
from _texts import long_source
from veridical.evidence import (
    ANYONE,
    PHQ8_DOMAIN_KEYS,
    ground_quotes,
    prepare,
    validate_evidence_grounding,
    validate_evidence_schema,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from _common import Timing

DATA = Path(__file__).parents[2] / "shared" / "data"
DIALOGUES = DATA / "dialogues" / "aci_bench.jsonl"
LABELLED = sorted((DATA / "dev").glob("quote_*.jsonl.gz"))
SIZE, QUOTES = 120_000, 200
REPEATS = 5
"""How often each run is repeated within a round: some take less than a millisecond."""
EACH = 20
"""Quotes of which each is a call of its own, as the baseline takes long for it."""
THRESHOLD = 0.85
SIZES = (100_000, 1_000_000, 10_000_000)
SUBSTRING, FUZZY = "substring", "fuzzy"
SEED, SEED_EACH = "Spec 053, one call", "Spec 053, a call per quote"
OURS, OURS_EACH = "veridical, one call", "veridical, a call per quote"
PLACES, PREPARE = "veridical, one call, with places and caveats", "prepare and index"
LIMITS = """Asked for all quotes at once, Spec 053 normalises once and then looks for each quote at
the speed of memory: `in` reads 120,000 characters in 20 to 40 µs. veridical brings all quotes of a
call into normal form in one go and looks each up in an index of the beginnings of words. What is
left is about half Python's own string functions and half the look-up, whose places are scattered
over the memory: the first call after other work takes half as long again as the next ones.

In the mode `fuzzy` the baseline pays `partial_ratio` over all of the text for each quote that is
not there. For a near one veridical compares where its rarer words stand, which is soon done, then
cuts both into words and compares number by number and negation by negation, which the baseline does
not do and which is about half of what a near quote takes. What is rejected has to be shown to be
nowhere, or decisions would differ: of its sequences of three letters only the commonest few may be
passed over, so some ten thousand places a quote are fetched, sorted and counted, and the stretches
that are left, most often hundreds to thousands of characters, are compared letter by letter. The
quotes that are rejected, a sixth of all, take more by themselves than a tenth of what the baseline
takes for all of them.
"""
KEPT = ("number_changed", "negation_flipped", "antonym", "ellipsis_join")
"""Kinds of altered quotes of which the mode `fuzzy` has to accept none."""


def main() -> None:
    """Compare the decisions, then the times; print the page."""
    chosen = options(__doc__, rounds=5)
    if not (DIALOGUES.is_file() and LABELLED):
        sys.exit(f"the dialogues and labelled quotes are not here: {DATA}")
    transcript, rest = texts()
    quotes = drawn(transcript, rest)
    lines, requirements = [], []
    for mode, times in ((SUBSTRING, 20), (FUZZY, 10)):
        agreed = decisions(quotes, transcript, mode)
        found = in_turns(runs(quotes, transcript, mode), chosen.rounds)
        lines += page_of(mode, found, agreed)
        lines += by_outcome(quotes, transcript, mode, chosen.rounds)
        for theirs, ours in ((SEED_EACH, OURS_EACH), (SEED, OURS)):
            ratio = per_quote(theirs, found) / per_quote(ours, found)
            text = f"{mode}: {ours} {times} times as fast as {theirs}, same decisions"
            met = ratio >= times and not agreed["otherwise"]
            requirements.append(Requirement(text, f"{ratio:.1f} times", met))
    lines += [LIMITS]
    lines += ["## Size of the transcript", "", *growth(chosen.rounds, requirements)]
    lines += ["## Labelled quotes, mode fuzzy", "", *by_kind(requirements)]
    micros = schema_time()
    text = "schema of 8 keys with 5 quotes each: below 50 µs"
    requirements.append(Requirement(text, f"{micros:.1f} µs", micros < 50))  # noqa: PLR2004
    publish(Page("Quotes", lines, requirements), __doc__, chosen)


# --- texts -----------------------------------------------------------------------------------


def texts() -> tuple[str, str]:
    """Return a transcript of `SIZE` characters, and the conversations that it does not hold."""
    said = []
    for line in DIALOGUES.read_text(encoding="utf-8").splitlines():
        said += [f"{turn['speaker']}: {turn['text']}" for turn in json.loads(line)["turns"]]
    whole = "\n".join(said)
    return whole[:SIZE], whole[2 * SIZE :]


def drawn(transcript: str, rest: str) -> list[str]:
    """Return the quotes; the same ones every time."""
    random = Random("quotes")  # noqa: S311 -- text, not a secret
    own, other = transcript.split(" "), rest.split(" ")
    return [_quote(i, own, other, random) for i in range(QUOTES)]


def _quote(number: int, own: Sequence[str], other: Sequence[str], random: Random) -> str:
    kind = number % 8
    words = list(_stretch(other if kind == 7 else own, random))  # noqa: PLR2004
    at = random.randrange(len(words))
    if kind == 4:  # noqa: PLR2004
        words[at] = random.choice(own)
    elif kind == 5:  # noqa: PLR2004
        del words[at]
    elif kind == 6:  # noqa: PLR2004
        words[at] = f"{words[at][1:]}x"
    joined = ("  " if kind == 1 else " ").join(words)
    return (joined, joined, joined.upper(), joined.replace("'", "’"))[kind % 4]


def _stretch(words: Sequence[str], random: Random) -> Sequence[str]:
    start = random.randrange(len(words) - 20)
    return words[start : start + random.randint(4, 18)]


# --- the baseline ----------------------------------------------------------------------------

_SMART = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " "})


def spec_normal(text: str) -> str:
    """Return the normal form that Spec 053 prints."""
    normal = unicodedata.normalize("NFKC", text).translate(_SMART)
    for char in "\u200b\u200c\u200d\ufeff":
        normal = normal.replace(char, "")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", normal)).strip().lower()


def spec_accepts(quotes: Sequence[str], transcript: str, mode: str) -> list[bool]:
    """Return the decisions of the algorithm that Spec 053 prints."""
    return spec_decides(quotes, spec_normal(transcript), mode)


def spec_decides(quotes: Sequence[str], normal: str, mode: str) -> list[bool]:
    """Return the decisions once the transcript is normalised."""
    decided = []
    for quote in map(spec_normal, quotes):
        grounded = bool(quote) and quote in normal
        if not grounded and mode == FUZZY:
            grounded = fuzz.partial_ratio(quote, normal) / 100 >= THRESHOLD
        decided.append(grounded)
    return decided


# --- measuring -------------------------------------------------------------------------------


def decisions(quotes: Sequence[str], transcript: str, mode: str) -> Counter[str]:
    """Return how many quotes are decided alike, refused for what they change, or otherwise."""
    spec = spec_accepts(quotes, transcript, mode)
    found: Counter[str] = Counter()
    for theirs, match in zip(
        spec, ground_quotes(quotes, transcript, mode=mode, speaker=ANYONE), strict=True
    ):
        if theirs == match.accepted:
            found["accepted by both" if theirs else "rejected by both"] += 1
        else:
            refused = match.reason in {"number_mismatch", "polarity", "ellipsis"}
            found[f"refused: {match.reason}" if refused else "otherwise"] += 1
    return found


def runs(quotes: Sequence[str], transcript: str, mode: str) -> dict[str, partial[Timing]]:
    """Return what is measured."""
    source, few = prepare(transcript), quotes[:: QUOTES // EACH]
    rules = {"mode": mode, "log_rejections": False, "speaker": ANYONE}  # as Spec 053 has it
    ground = partial(validate_evidence_grounding, **rules)
    found = {
        SEED_EACH: lambda: [spec_accepts([quote], transcript, mode) for quote in few],
        OURS_EACH: lambda: [ground({"PHQ8_Sleep": [quote]}, source) for quote in quotes],
        SEED: partial(spec_accepts, quotes, transcript, mode),
        OURS: partial(ground, {"PHQ8_Sleep": list(quotes)}, source),
        PLACES: partial(ground_quotes, quotes, source, mode=mode),
        PREPARE: partial(indexed, transcript, mode),
    }
    return {name: partial(timed, partial(repeated, run)) for name, run in found.items()}


def repeated(run: Callable[[], object]) -> None:
    """Call `run` several times."""
    for _ in range(REPEATS):
        run()


def indexed(transcript: str, mode: str) -> None:
    """Prepare a transcript, and make the index that the first quotes would make."""
    ground_quotes(["what is in no conversation at all"], prepare(transcript), mode=mode)


def page_of(
    mode: str, found: Mapping[str, Sequence[Timing]], agreed: Mapping[str, int]
) -> list[str]:
    """Return the table of a mode, and what became of the decisions."""
    rows = [
        (name, f"{per_quote(name, found):.0f}",
         *(f"{per_quote(spec, found) / per_quote(name, found):.1f}" for spec in (SEED_EACH, SEED)))
        for name in found
    ]  # fmt: skip
    decided = ", ".join(f"{count} {name}" for name, count in sorted(agreed.items()))
    head = ("", "µs per quote", f"times as fast as {SEED_EACH}", f"as {SEED}")
    return [f"## {mode}", "", *table(head, rows), f"Decisions: {decided}.", ""]


def per_quote(name: str, found: Mapping[str, Sequence[Timing]]) -> float:
    """Return the microseconds of processor time for each quote."""
    return cpu(found[name]) / REPEATS / (EACH if name == SEED_EACH else QUOTES) * 1e6


def by_outcome(quotes: Sequence[str], transcript: str, mode: str, rounds: int) -> list[str]:
    """Return the table of what quotes of each outcome take, the transcript being prepared."""
    source, normal = prepare(transcript), spec_normal(transcript)
    groups = defaultdict(list)
    for quote, match in zip(quotes, ground_quotes(quotes, source, mode=mode), strict=True):
        near = match.accepted and match.grade == FUZZY
        outcome = "nearly there" if near else "there" if match.accepted else "rejected"
        groups[outcome].append(quote)
    runs = {}
    for name, some in groups.items():
        ours = partial(validate_evidence_grounding, mode=mode, log_rejections=False)
        runs[f"baseline, {name}"] = partial(spec_decides, some, normal, mode)
        runs[f"ours, {name}"] = partial(ours, {"PHQ8_Sleep": some}, source)
    timings = {name: partial(timed, partial(repeated, run)) for name, run in runs.items()}
    found = in_turns(timings, rounds)
    normalising = cpu([timed(partial(spec_normal, transcript)) for _ in range(REPEATS)])
    rows = []
    for name, some in groups.items():
        theirs, own = (
            cpu(found[f"{who}, {name}"]) / REPEATS / len(some) for who in ("baseline", "ours")
        )
        rows.append((name, len(some), f"{theirs * 1e6:.0f}", f"{own * 1e6:.1f}"))
    once = f"{normalising * 1000:.1f} ms, {normalising / QUOTES * 1e6:.0f} µs for each quote"
    return [
        f"One call: Spec 053 normalises the transcript in {once}. What each takes after that:",
        "",
        *table(("quotes", "number", "Spec 053, µs each", "veridical, µs each"), rows),
    ]


def growth(rounds: int, requirements: list[Requirement]) -> list[str]:
    """Return the table of transcripts of several sizes; adds what is required of it."""
    rows, each = [], []
    for size in SIZES:
        text = long_source(size)
        quotes = drawn(text, text[::-1])
        source = prepare(text)
        times = {
            "prepare": partial(prepare, text),
            SUBSTRING: partial(ground_quotes, quotes, source),
            FUZZY: partial(ground_quotes, quotes[:20], source, mode=FUZZY),
        }
        found = in_turns({k: partial(timed, v) for k, v in times.items()}, 1, warm=rounds > 1)
        each.append(sum(map(cpu, found.values())) / len(text))
        values = (f"{cpu(found[name]) * 1000:.0f}" for name in times)
        rows.append((f"{len(text):,} characters", *values, f"{each[-1] * 1e9:.0f}"))
    text = "cost linear up to 10 MB: at most 1.5 times as much per character"
    ratio = each[-1] / each[0]
    requirements.append(Requirement(text, f"{ratio:.2f} times", ratio <= 1.5))  # noqa: PLR2004
    head = ("", "prepare, ms", "200 quotes, ms", "20 fuzzy, ms", "ns per character, all")
    return table(head, rows)


def by_kind(requirements: list[Requirement]) -> list[str]:
    """Return the table of the labelled quotes by kind; adds what is required of it."""
    accepted: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for path in LABELLED:
        by_source = defaultdict(list)
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                by_source[row["evidence"]].append(row)
        for source, rows in by_source.items():
            matches = ground_quotes(
                [row["claim"] for row in rows], source, mode=FUZZY, speaker=ANYONE
            )
            for row, match in zip(rows, matches, strict=True):
                accepted[row["label"], row["extra"]["kind"]][match.accepted] += 1
    wrong = sum(accepted["not_supported", kind][True] for kind in KEPT)
    text = "changed numbers, changed polarity and joined parts that the mode fuzzy accepts: none"
    requirements.append(Requirement(text, str(wrong), wrong == 0))
    lost = sum(counts[False] for (label, _), counts in accepted.items() if label == "supported")
    text = "quotes that are there and that the mode fuzzy rejects: none"
    requirements.append(Requirement(text, str(lost), lost == 0))
    rows = [
        (kind, "in the source" if label == "supported" else "not, by the rule", counts[True],
         counts[False])
        for (label, kind), counts in sorted(accepted.items(), reverse=True) if counts
    ]  # fmt: skip
    return table(("kind", "label", "accepted", "rejected"), rows)


def schema_time() -> float:
    """Return the microseconds that one validation of a full reply takes."""
    obj = {key: [f"this is quote {i} of {key}" for i in range(5)] for key in PHQ8_DOMAIN_KEYS}
    seconds = []
    for _ in range(2000):
        began = perf_counter()
        validate_evidence_schema(obj)
        seconds.append(perf_counter() - began)
    return median(seconds) * 1e6


if __name__ == "__main__":
    main()
